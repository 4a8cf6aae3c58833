//! Files opened together by simulated ranks.

mod consistency;
pub(super) mod faults;
mod mixed;
mod names;
mod pointers;
mod registered;
mod shared;
mod streams;

use super::*;
use crate::comm::Traffic;
use crate::comm::tests::fake::{Fake, run};
use crate::comm::words::fingerprint;
use crate::datatype::construct::Unit;
use crate::datatype::{Datatype, Form};
use crate::errhandler::{Action, predefined};
use mpi::*;
use std::path::Path;
use verbena_memory::elements::Elements;
use verbena_memory::layout::Layout;
use verbena_memory::{Buffer, Owned, Region};

/// A folder of one test, deleted with it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("verbena-file-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self) -> PathBuf {
        self.0.join("data")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The shared file pointers of the tests, by the context of the file's communicator.
static WORDS_OF_TESTS: Mutex<Vec<(u64, u64, Arc<LocalWord>)>> = Mutex::new(Vec::new());

/// A shared file pointer in memory that all ranks of a test share.
struct TestWord(Arc<LocalWord>);

impl TestWord {
    /// The word of a file: ranks of one test have the same name of the folder.
    fn of(comm: &Comm, path: &Path) -> TestWord {
        let test = fingerprint(path.to_string_lossy().bytes());
        let context = comm.context(Traffic::Point);
        let mut words = WORDS_OF_TESTS.lock().unwrap();
        if let Some(word) = words.iter().find(|word| (word.0, word.1) == (test, context)) {
            return TestWord(word.2.clone());
        }
        words.push((test, context, Arc::default()));
        TestWord(words.last().unwrap().2.clone())
    }
}

impl Word for TestWord {
    fn fetch_add(&self, more: u64) -> Result<u64> {
        self.0.fetch_add(more)
    }

    fn load(&self) -> Result<u64> {
        self.0.load()
    }

    fn store(&self, value: u64) -> Result<()> {
        self.0.store(value)
    }

    fn free(&self, exchange: &dyn Exchange) -> Result<()> {
        self.0.free(exchange)
    }

    fn needs_progress(&self) -> bool {
        self.0.needs_progress()
    }
}

fn open_with(comm: &Comm, path: &Path, amode: i32, info: Option<&Info>, fake: &Fake) -> Result<File> {
    let word = |comm: &Comm| -> Result<Box<dyn Word>> { Ok(Box::new(TestWord::of(comm, path))) };
    File::open(comm, Ok(path), amode, Ok(info), predefined::returning(), &Opening::new(fake, 1, &word))
}

fn open(comm: &Comm, path: &Path, amode: i32, fake: &Fake) -> Result<File> {
    open_with(comm, path, amode, None, fake)
}

/// Bytes as an access sees them.
fn bytes(buffer: &Buffer) -> Data {
    let datatype = Datatype::predefined(MPI_BYTE).unwrap().clone();
    Data { buffer: buffer.clone(), datatype, count: buffer.len(), address: 0 }
}

impl File {
    fn read_at(&self, offset: i64, into: &Buffer) -> Result<usize> {
        self.access(Direction::Read, Place::At(offset), &bytes(into))
    }

    fn write_at(&self, offset: i64, from: &Buffer) -> Result<usize> {
        self.access(Direction::Write, Place::At(offset), &bytes(from))
    }

    fn read(&self, into: &Buffer) -> Result<usize> {
        self.access(Direction::Read, Place::Individual, &bytes(into))
    }

    fn write(&self, from: &Buffer) -> Result<usize> {
        self.access(Direction::Write, Place::Individual, &bytes(from))
    }
}

fn class<T>(result: Result<T>) -> i32 {
    result.err().map_or(MPI_SUCCESS, |error| error.class)
}

const NEW: i32 = MPI_MODE_RDWR | MPI_MODE_CREATE;

#[test]
fn one_process_creates_a_file_and_all_open_it() {
    let folder = Folder::new("create");
    run(4, |world, fake| {
        let file = open(world, &folder.file(), NEW | MPI_MODE_EXCL, fake).unwrap();
        assert_eq!((file.size().unwrap(), file.group().size()), (0, 4));
        file.close(fake).unwrap();
        assert_eq!(class(open(world, &folder.file(), NEW | MPI_MODE_EXCL, fake)), MPI_ERR_FILE_EXISTS);
    });
    assert!(folder.file().exists());
}

#[test]
fn what_the_system_refuses_is_told_to_all() {
    let folder = Folder::new("refused");
    std::fs::write(folder.file(), b"x").unwrap();
    let below = folder.file().join("below");
    let missing = folder.0.join("missing");
    run(3, |world, fake| {
        assert_eq!(class(open(world, &missing, MPI_MODE_RDONLY, fake)), MPI_ERR_NO_SUCH_FILE);
        assert_eq!(class(open(world, &below, NEW, fake)), MPI_ERR_BAD_FILE);
        assert_eq!(class(open(world, &folder.0, MPI_MODE_RDONLY, fake)), MPI_ERR_BAD_FILE);
        assert_eq!(class(open(world, &folder.file(), MPI_MODE_CREATE, fake)), MPI_ERR_AMODE);
        let amode = if world.rank() == 1 { MPI_MODE_RDONLY } else { MPI_MODE_RDWR };
        assert_eq!(class(open(world, &folder.file(), amode, fake)), MPI_ERR_NOT_SAME);
    });
}

#[test]
fn a_failure_in_one_process_is_told_to_all() {
    let folder = Folder::new("one");
    std::fs::write(folder.file(), b"x").unwrap();
    run(3, |world, fake| {
        let path = if world.rank() == 2 { folder.0.join("missing") } else { folder.file() };
        assert_eq!(class(open(world, &path, MPI_MODE_RDONLY, fake)), MPI_ERR_NO_SUCH_FILE);
    });
}

#[test]
fn a_file_is_deleted_when_the_last_process_closes_it() {
    let folder = Folder::new("delete");
    run(2, |world, fake| {
        let file = open(world, &folder.file(), NEW | MPI_MODE_DELETE_ON_CLOSE, fake).unwrap();
        // The others close it long after the first process.
        std::thread::sleep(std::time::Duration::from_millis(30 * world.rank() as u64));
        assert!(folder.file().exists());
        file.close(fake).unwrap();
        assert!(!folder.file().exists());
    });
    assert_eq!(class(delete(&folder.file())), MPI_ERR_NO_SUCH_FILE);
}

#[test]
fn sizes_are_set_by_all_or_none() {
    let folder = Folder::new("size");
    run(2, |world, fake| {
        let file = open(world, &folder.file(), NEW, fake).unwrap();
        file.set_size(1000, fake).unwrap();
        assert_eq!(file.size().unwrap(), 1000);
        fake.allgather(world, &[]).unwrap();
        assert_eq!(class(file.set_size(-1, fake)), MPI_ERR_ARG);
        assert_eq!(class(file.set_size(world.rank().into(), fake)), MPI_ERR_NOT_SAME);
        file.preallocate(5000, fake).unwrap();
        file.preallocate(2000, fake).unwrap();
        assert_eq!(file.size().unwrap(), 5000);
        let reader = open(world, &folder.file(), MPI_MODE_RDONLY, fake).unwrap();
        assert_eq!(class(reader.set_size(0, fake)), MPI_ERR_READ_ONLY);
        let sequential = open(world, &folder.file(), MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL, fake).unwrap();
        assert_eq!(class(sequential.set_size(0, fake)), MPI_ERR_UNSUPPORTED_OPERATION);
    });
}

#[test]
fn atomicity_is_chosen_by_all_and_handlers_fit() {
    let folder = Folder::new("atomic");
    run(2, |world, fake| {
        let file = open(world, &folder.file(), NEW, fake).unwrap();
        assert!(!file.is_atomic());
        file.set_atomic(true, fake).unwrap();
        assert_eq!(class(file.set_atomic(world.rank() == 0, fake)), MPI_ERR_NOT_SAME);
        assert!(file.is_atomic());
        let other = Arc::new(Errhandler::new(Action::Call(Kind::Comm, Box::new(|_, code| code))));
        assert_eq!(class(file.set_errhandler(other)), MPI_ERR_ERRHANDLER);
        assert!(Arc::ptr_eq(&file.errhandler(), &predefined::returning()));
    });
}

/// Devices have no storage that could be synchronised, and no size that could be set.
#[test]
fn what_a_device_refuses_is_told_by_its_class_and_what_it_needs_not_is_no_error() {
    run(1, |world, fake| {
        let (region, _owner) = memory(&[1; 10]);
        let wrote = |path: &str, expected| {
            let file = open(world, Path::new(path), MPI_MODE_WRONLY, fake).unwrap();
            assert_eq!(class(file.write_at(0, &Buffer::Contiguous(region))), expected, "{path}");
            assert_eq!(class(file.sync(fake)), MPI_SUCCESS, "{path}");
            assert_eq!(class(file.set_size(5, fake)), MPI_ERR_UNSUPPORTED_OPERATION, "{path}");
            assert_eq!(class(file.write_at(0, &Buffer::Contiguous(region))), expected, "{path}");
            assert_eq!(class(file.close(fake)), MPI_SUCCESS, "{path}");
        };
        wrote("/dev/null", MPI_SUCCESS);
        wrote("/dev/full", MPI_ERR_NO_SPACE);
    });
}

/// Memory of the test from which buffers can be made.
fn memory(bytes: &[u8]) -> (Region, Owned) {
    let owner = Owned::from(bytes);
    (owner.lend(), owner)
}

fn read_at(file: &File, offset: i64, len: usize) -> Vec<u8> {
    let owner = Owned::zeroed(len);
    let region = owner.lend();
    let bytes = file.read_at(offset, &Buffer::Contiguous(region)).unwrap();
    region.part(0, bytes).to_vec()
}

/// Every other byte of `region`.
fn spread(region: Region, count: usize) -> Buffer {
    assert!(2 * count <= region.len());
    let layout = Arc::new(Layout::new(vec![(0, 1)], 2));
    Elements::at_origins(region, &layout).buffer(0, count)
}

/// Every `of`-th byte, beginning with number `which`.
fn comb(which: i64, of: i64) -> Arc<Datatype> {
    let byte = Datatype::predefined(MPI_BYTE).unwrap();
    let tooth = Datatype::indexed(Form::Int, &[1], &[which], Unit::Byte, byte).unwrap();
    Arc::new(Datatype::resized(Form::Large, 0, of, &Arc::new(tooth)).unwrap())
}

#[test]
fn processes_with_interleaved_views_write_one_file() {
    let folder = Folder::new("views");
    run(3, |world, fake| {
        let byte = Datatype::predefined(MPI_BYTE).unwrap();
        let file = open(world, &folder.file(), NEW, fake).unwrap();
        file.set_view(
            NewView::At(View::new(2, byte, &comb(world.rank().into(), 3), b"native", true)),
            Ok(None),
            fake,
        )
        .unwrap();
        let (region, _owner) = memory(&[world.rank() as u8 + 1; 5]);
        assert_eq!(file.write(&Buffer::Contiguous(region)).unwrap(), 5);
        assert_eq!(file.position().unwrap(), 5);
        file.sync(fake).unwrap();
        assert_eq!(read_at(&file, 1, 3), [world.rank() as u8 + 1; 3]);
        assert_eq!(read_at(&file, 3, 9).len(), 2, "the file ends");
        assert_eq!(file.view().place(4).unwrap(), 2 + 12 + world.rank() as u64);
        file.seek(-1, MPI_SEEK_END).unwrap();
        assert_eq!(file.position().unwrap(), 4);
    });
    let expected: Vec<u8> = [0, 0].into_iter().chain([1, 2, 3].repeat(5)).collect();
    assert_eq!(std::fs::read(folder.file()).unwrap(), expected);
}

#[test]
fn scattered_memory_is_written_and_read_in_pieces() {
    let folder = Folder::new("scattered");
    run(1, |world, fake| {
        let file = open(world, &folder.file(), NEW, fake).unwrap();
        let count = 1_500_000;
        let data: Vec<u8> = (0..2 * count).map(|i| (i / 2 % 251) as u8).collect();
        let (region, _owner) = memory(&data);
        let from = spread(region, count);
        assert_eq!(file.write_at(10, &from).unwrap(), count);
        let owner = Owned::zeroed(2 * count);
        let other = owner.lend();
        assert_eq!(file.read_at(10, &spread(other, count)).unwrap(), count);
        let other = other.to_vec();
        assert!(other.iter().step_by(2).eq(data.iter().step_by(2)));
        assert!(other.iter().skip(1).step_by(2).all(|&byte| byte == 0));
    });
}

#[test]
fn appending_begins_at_the_end_and_modes_forbid() {
    let folder = Folder::new("append");
    std::fs::write(folder.file(), b"12345").unwrap();
    run(2, |world, fake| {
        let file = open(world, &folder.file(), MPI_MODE_WRONLY | MPI_MODE_APPEND, fake).unwrap();
        assert_eq!(file.position().unwrap(), 5);
        assert_eq!(class(file.read_at(0, &Buffer::EMPTY)), MPI_ERR_ACCESS);
        assert_eq!(class(file.write_at(-1, &Buffer::EMPTY)), MPI_ERR_ARG);
        assert_eq!(class(file.seek(-6, MPI_SEEK_CUR)), MPI_ERR_ARG);
        assert_eq!(class(file.seek(0, 7)), MPI_ERR_ARG);
        let reader = open(world, &folder.file(), MPI_MODE_RDONLY | MPI_MODE_SEQUENTIAL, fake).unwrap();
        assert_eq!(class(reader.write_at(0, &Buffer::EMPTY)), MPI_ERR_READ_ONLY);
        assert_eq!(class(reader.read(&Buffer::EMPTY)), MPI_ERR_UNSUPPORTED_OPERATION);
    });
}

#[test]
fn atomic_writes_do_not_mix() {
    let folder = Folder::new("turns");
    run(4, |world, fake| {
        let byte = Datatype::predefined(MPI_BYTE).unwrap();
        let file = open(world, &folder.file(), NEW, fake).unwrap();
        file.set_view(NewView::At(View::new(0, byte, &comb(0, 2), b"internal", true)), Ok(None), fake)
            .unwrap();
        file.set_atomic(true, fake).unwrap();
        let (region, _owner) = memory(&[world.rank() as u8; 300]);
        for _ in 0..20 {
            file.write_at(0, &Buffer::Contiguous(region)).unwrap();
            let seen = read_at(&file, 0, 300);
            assert!(seen.iter().all(|&byte| byte == seen[0]), "{seen:?}");
        }
    });
}

/// The copies of this filetype follow each other without gaps, though it begins beyond its origin
/// and so ends beyond its extent.
#[test]
fn a_filetype_may_begin_beyond_its_origin() {
    let byte = Datatype::predefined(MPI_BYTE).unwrap();
    let late = Datatype::indexed(Form::Int, &[1, 0, 2], &[5, 6, 8], Unit::Byte, byte).unwrap();
    let view = View::new(100, byte, &Arc::new(late), b"native", true).unwrap();
    let mut runs = Vec::new();
    view.for_each_run(1, 4, |at, len| runs.push((at, len))).unwrap();
    assert_eq!(runs, [(108, 2), (110, 1), (113, 1)]);
    let ends = [0, 105, 106, 109, 110, 111, 113, 114, 115].map(|bytes| view.end(bytes));
    assert_eq!(ends, [0, 0, 1, 2, 3, 4, 4, 5, 6]);
}

#[test]
fn impossible_views_are_refused() {
    let (byte, int) = (Datatype::predefined(MPI_BYTE).unwrap(), Datatype::predefined(MPI_INT).unwrap());
    let down = Arc::new(Datatype::indexed(Form::Int, &[1, 1], &[4, 0], Unit::Byte, byte).unwrap());
    let view =
        |displacement, filetype, name: &[u8]| class(View::new(displacement, int, filetype, name, true));
    assert_eq!(view(0, int, b"native"), MPI_SUCCESS);
    assert_eq!(view(-1, int, b"native"), MPI_ERR_ARG);
    assert_eq!(view(0, byte, b"native"), MPI_ERR_ARG);
    assert_eq!(class(View::new(0, byte, &down, b"native", true)), MPI_ERR_IO);
    let indexed = |lengths: &[i64], places: &[i64], writes| {
        let filetype = Datatype::indexed(Form::Int, lengths, places, Unit::Byte, byte).unwrap();
        class(View::new(0, byte, &Arc::new(filetype), b"native", writes))
    };
    assert_eq!(
        [indexed(&[3, 1], &[0, 1], true), indexed(&[3, 1], &[0, 1], false)],
        [MPI_ERR_IO, MPI_SUCCESS]
    );
    assert_eq!(indexed(&[1, 1], &[-2, 2], false), MPI_ERR_IO);
    assert_eq!(view(0, int, b"external32"), MPI_SUCCESS);
    assert_eq!(view(0, int, b"external33"), MPI_ERR_UNSUPPORTED_DATAREP);
    let huge = View::new(i64::MAX - 2, byte, byte, b"native", true).unwrap();
    assert_eq!(class(huge.for_each_run(u64::MAX - 1, 1, |_, _| ())), MPI_ERR_ARG);
    assert_eq!(class(huge.place(5)), MPI_ERR_ARG);
}

/// Tiles that lie over each other show a byte several times; found by the fuzz target `view`.
#[test]
fn the_end_of_a_stream_that_is_longer_than_any_file_can_be_told() {
    let byte = Datatype::predefined(MPI_BYTE).unwrap();
    let four = Arc::new(Datatype::contiguous(Form::Int, 4, byte).unwrap());
    let close = Arc::new(Datatype::resized(Form::Int, 0, 1, &four).unwrap());
    let view = View::new(0, byte, &close, b"native", false).unwrap();
    assert_eq!(view.end(i64::MAX as u64), i64::MAX as u64);
}

/// HDF5 makes filetypes of several chunks whose extent is that of the last one.
#[test]
fn a_filetype_that_is_longer_than_its_extent_has_one_copy() {
    let byte = Datatype::predefined(MPI_BYTE).unwrap();
    let chunks = Arc::new(Datatype::indexed(Form::Int, &[20, 4], &[0, 4096], Unit::Byte, byte).unwrap());
    for (low, extent) in [(4096, 20), (0, 1), (0, 0), (0, -5)] {
        let short = Arc::new(Datatype::resized(Form::Int, low, extent, &chunks).unwrap());
        let view = View::new(100, byte, &short, b"native", true).unwrap();
        let mut runs = Vec::new();
        view.for_each_run(18, 6, |at, len| runs.push((at, len))).unwrap();
        assert_eq!(runs, [(118, 2), (4196, 4)]);
        let ends = [0, 101, 120, 4197, 4200, 10_000].map(|bytes| view.end(bytes));
        assert_eq!(ends, [0, 1, 20, 21, 24, 24], "extent {extent}");
        assert_eq!(class(view.for_each_run(20, 5, |_, _| ())), MPI_ERR_ARG);
    }
}

/// PnetCDF gives such a view to processes that have nothing to fill.
#[test]
fn a_view_may_show_no_byte() {
    let byte = Datatype::predefined(MPI_BYTE).unwrap();
    let empty = Arc::new(Datatype::indexed(Form::Int, &[0, 0], &[5, 9], Unit::Byte, byte).unwrap());
    for name in [&b"native"[..], b"external32"] {
        let view = View::new(7, byte, &empty, name, true).unwrap();
        view.for_each_run(0, 0, |_, _| panic!("a byte")).unwrap();
        assert_eq!((view.end(1000), view.before(1000)), (0, 0));
        assert_eq!((view.readable(9), view.place(0).unwrap()), (0, 7));
        assert_eq!([class(view.for_each_run(0, 1, |_, _| ())), class(view.place(1))], [MPI_ERR_ARG; 2]);
    }
    assert_eq!(class(View::new(0, &empty, &empty, b"native", true)), MPI_ERR_ARG);
}
