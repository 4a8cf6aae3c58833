//! The calls that keep processes and machines apart or show them each other's bytes: what is
//! synchronised, forgotten and locked, and what is refused.

use super::faults::{tile, unfailing};
use super::*;
use crate::info::Info;
use verbena_storage::faulty::{Call, Faults, FaultyDisk, MemoryDisk};
use verbena_storage::{FileSystem, Lock};

const NFS: FileSystem = FileSystem::shared("nfs");
const LUSTRE: FileSystem = FileSystem::parallel("lustre");

/// A file of `world` on this disk, opened so.
fn file_on(fake: &Fake, world: &Comm, disk: &Arc<FaultyDisk>, amode: i32, hints: &[(&str, &str)]) -> File {
    let disk: Arc<dyn Disk> = disk.clone();
    super::faults::opened_on(fake, world, &disk, amode, hints)
}

/// A process that only reads must look again as well, after all have written; one that wrote
/// nothing has nothing to move to the device.
#[test]
fn what_others_wrote_is_looked_for_where_machines_keep_what_they_read() {
    for (file_system, forgets) in [(NFS, true), (FileSystem::UNKNOWN, true), (LUSTRE, false)] {
        run(3, |world, fake| {
            let disk = Arc::new(unfailing().on(file_system));
            let file = file_on(fake, world, &disk, MPI_MODE_RDWR, &[]);
            let (region, _owner) = memory(&[1; 10]);
            let is_writer = world.rank() == 1;
            if is_writer {
                file.write_at(0, &Buffer::Contiguous(region)).unwrap();
            }
            file.sync(fake).unwrap();
            let refresh = if forgets { &[Call::Refresh][..] } else { &[] };
            let expected = [if is_writer { &[Call::Sync][..] } else { &[] }, refresh].concat();
            assert_eq!(disk.take_noted(), expected, "{file_system:?}");
            file.sync(fake).unwrap();
            assert_eq!(disk.take_noted(), refresh, "nothing was written since");
            file.set_size(5, fake).unwrap();
            file.close(fake).unwrap();
            let sync = if world.rank() == 0 { &[Call::Sync][..] } else { &[] };
            assert_eq!(disk.take_noted(), [refresh, sync].concat(), "the first has set the size");
        });
    }
}

/// Some of the bytes are on the device's way though the write failed.
#[test]
fn a_write_that_failed_is_synchronised_all_the_same() {
    run(1, |world, fake| {
        let faults = Faults { full_at: 70, ..Faults::default() };
        let disk = Arc::new(FaultyDisk::new(Arc::new(MemoryDisk::default()), faults, 1));
        let file = file_on(fake, world, &disk, MPI_MODE_RDWR, &[]);
        let (region, _owner) = memory(&[3; 100]);
        assert_eq!(class(file.write_at(0, &Buffer::Contiguous(region))), MPI_ERR_NO_SPACE);
        file.close(fake).unwrap();
        assert_eq!(disk.take_noted(), [Call::Sync]);
    });
}

#[test]
fn an_atomic_access_locks_all_its_bytes_and_a_file_system_without_locks_says_so_at_once() {
    run(1, |world, fake| {
        let disk = Arc::new(unfailing());
        let file = file_on(fake, world, &disk, MPI_MODE_RDONLY, &[]);
        let byte = Datatype::predefined(MPI_BYTE).unwrap();
        // The last byte of the stream is not the last one of the file.
        let overlapping = tile(&[(0, 100), (10, 10)], 200);
        let view = View::new(0, byte, &overlapping, b"native", false);
        file.set_view(NewView::At(view), Ok(None), fake).unwrap();
        file.set_atomic(true, fake).unwrap();
        let tried = Extent { start: 0, end: 1 };
        assert_eq!(disk.take_noted(), [Call::Lock(tried, Lock::Shared), Call::Unlock(tried)]);
        let (region, _owner) = memory(&[0; 110]);
        file.read_at(0, &Buffer::Contiguous(region)).unwrap();
        let whole = Extent { start: 0, end: 100 };
        assert_eq!(disk.take_noted(), [Call::Lock(whole, Lock::Shared), Call::Unlock(whole)]);
    });
    run(2, |world, fake| {
        let lockless = Faults { has_no_locks: world.rank() == 1, ..Faults::default() };
        let disk = Arc::new(FaultyDisk::new(Arc::new(MemoryDisk::default()), lockless, 1));
        let file = file_on(fake, world, &disk, MPI_MODE_RDWR, &[]);
        assert_eq!(class(file.set_atomic(true, fake)), MPI_ERR_UNSUPPORTED_OPERATION);
        assert!(!file.is_atomic());
        file.set_atomic(false, fake).unwrap();
    });
}

/// No gaps are written back where the file system has no locks, and the hint says so.
#[test]
fn a_hint_that_is_not_followed_is_not_told() {
    run(1, |world, fake| {
        for (has_no_locks, told) in [(false, "enable"), (true, "disable")] {
            let faults = Faults { has_no_locks, ..Faults::default() };
            let disk = Arc::new(FaultyDisk::new(Arc::new(MemoryDisk::default()), faults, 1));
            let file = file_on(fake, world, &disk, MPI_MODE_RDWR, &[("romio_ds_write", "enable")]);
            let value = file.hints().unwrap().get(b"romio_ds_write").unwrap();
            assert_eq!(value.as_deref(), Some(told.as_bytes()));
        }
    });
}

#[test]
fn what_a_sequential_file_has_not_is_refused() {
    let folder = Folder::new("refuses");
    run(2, |world, fake| {
        let amode = MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL;
        let file = open(world, &folder.file(), amode, fake).unwrap();
        assert_eq!(class(file.seek_shared(0, MPI_SEEK_SET, fake)), MPI_ERR_UNSUPPORTED_OPERATION);
        assert_eq!(class(file.position_shared()), MPI_ERR_UNSUPPORTED_OPERATION);
        assert_eq!(file.byte_offset(7).unwrap(), 7, "no pointer is asked for");
        let byte = Datatype::predefined(MPI_BYTE).unwrap();
        for displacement in [0, 4] {
            let view = NewView::At(View::new(displacement, byte, byte, b"native", true));
            assert_eq!(class(file.set_view(view, Ok(None), fake)), MPI_ERR_ARG, "no place of its own");
        }
    });
}

/// The first process reads the pointer for all, once all are there: one that comes early must not
/// take a place that another one still moves.
#[test]
fn a_view_at_the_shared_pointer_is_the_same_in_all_processes() {
    let folder = Folder::new("current");
    run(4, |world, fake| {
        let amode = MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL;
        let file = open(world, &folder.file(), amode, fake).unwrap();
        let byte = Datatype::predefined(MPI_BYTE).unwrap();
        let (region, _owner) = memory(&[1; 10]);
        for turn in 1..=5 {
            std::thread::sleep(std::time::Duration::from_millis(5 * world.rank() as u64));
            file.access(Direction::Write, Place::Shared, &bytes(&Buffer::Contiguous(region))).unwrap();
            let view = NewView::AtShared(View::new(0, byte, byte, b"native", true));
            file.set_view(view, Ok(None), fake).unwrap();
            assert_eq!(file.view().displacement, 40 * turn);
        }
    });
}

/// Each call hears of the error of one process, and none waits for it.
#[test]
fn a_wrong_argument_of_one_process_reaches_all_where_all_must_agree() {
    let folder = Folder::new("argument");
    run(3, |world, fake| {
        let wrong = || fault::bad_value("handle", 7, "pass another");
        let is_wrong = world.rank() == 2;
        let given = || if is_wrong { Err(wrong()) } else { Ok(None) };
        let byte = Datatype::predefined(MPI_BYTE).unwrap();
        let view = || View::new(0, byte, byte, b"native", true);
        let path = folder.file();
        let word = |comm: &Comm| -> Result<Box<dyn Word>> { Ok(Box::new(TestWord::of(comm, &path))) };
        let opening = Opening::new(fake, 1, &word);
        let open_so =
            |path: Result<&Path>, info| File::open(world, path, NEW, info, predefined::returning(), &opening);
        let own = if is_wrong { Err(wrong()) } else { Ok(&*path) };
        assert_eq!(class(open_so(own, Ok(None))), MPI_ERR_ARG);
        assert_eq!(class(open_so(Ok(&path), given())), MPI_ERR_ARG);
        let file = open(world, &folder.file(), NEW, fake).unwrap();
        assert_eq!(class(file.set_hints(given(), fake)), MPI_ERR_ARG);
        assert_eq!(class(file.set_view(NewView::At(view()), given(), fake)), MPI_ERR_ARG);
        let own = if is_wrong { Err(wrong()) } else { view() };
        assert_eq!(class(file.set_view(NewView::At(own), Ok(None), fake)), MPI_ERR_ARG);
        file.set_view(NewView::At(view()), Ok(Some(&Info::new())), fake).unwrap();
    });
}
