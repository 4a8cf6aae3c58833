//! Files that are streams: their bytes have an order and no places.

use super::*;
use std::io::Read;

/// A pipe in the file system, open at both ends.
pub(super) fn pipe(folder: &Folder) -> std::fs::File {
    nix::unistd::mkfifo(&folder.file(), nix::sys::stat::Mode::S_IRWXU).unwrap();
    std::fs::OpenOptions::new().read(true).write(true).open(folder.file()).unwrap()
}

/// Pieces that are longer than the system writes at once; the first processes are the slowest.
#[test]
fn processes_write_to_a_pipe_in_the_order_of_ranks() {
    const PIECE: usize = 10_000;
    const TIMES: usize = 5;
    const RANKS: usize = 4;
    let folder = Folder::new("pipe");
    let mut reader = pipe(&folder);
    std::thread::scope(|scope| {
        let all = scope.spawn(move || {
            let mut all = vec![0; PIECE * TIMES * RANKS];
            reader.read_exact(&mut all).map(|()| all).unwrap()
        });
        run(RANKS as u32, |world, fake| {
            let file = open(world, &folder.file(), MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL, fake).unwrap();
            let (region, _owner) = memory(&[world.rank() as u8; PIECE]);
            let data = bytes(&Buffer::Contiguous(region));
            for _ in 0..TIMES {
                std::thread::sleep(std::time::Duration::from_millis(4 * (3 - world.rank() as u64)));
                let written = file.access_ordered(Direction::Write, Ok(data.clone()), fake).unwrap();
                assert_eq!(written, PIECE);
            }
            file.close(fake).unwrap();
        });
        let all = all.join().unwrap();
        for (i, &byte) in all.iter().enumerate() {
            assert_eq!(usize::from(byte), i / PIECE % RANKS, "byte {i}");
        }
    });
}

/// The gaps of a view are bytes that a stream does not have.
#[test]
fn a_view_with_holes_is_refused_on_a_stream() {
    let folder = Folder::new("holes");
    let _other_end = pipe(&folder);
    run(2, |world, fake| {
        let file = open(world, &folder.file(), MPI_MODE_RDWR, fake).unwrap();
        let (byte, int) = (Datatype::predefined(MPI_BYTE).unwrap(), Datatype::predefined(MPI_INT).unwrap());
        let none = Arc::new(Datatype::contiguous(Form::Int, 0, byte).unwrap());
        let holes = if world.rank() == 1 { comb(0, 2) } else { byte.clone() };
        let view = NewView::At(View::new(0, byte, &holes, b"native", true));
        assert_eq!(class(file.set_view(view, Ok(None), fake)), MPI_ERR_UNSUPPORTED_OPERATION);
        let three = Arc::new(Datatype::contiguous(Form::Int, 3, int).unwrap());
        for (etype, filetype) in [(int, &three), (byte, &none), (int, int)] {
            let view = NewView::At(View::new(0, etype, filetype, b"native", true));
            file.set_view(view, Ok(None), fake).unwrap();
        }
    });
}

#[test]
fn room_is_reserved_in_files_of_storage_only() {
    let folder = Folder::new("room");
    let _other_end = pipe(&folder);
    run(1, |world, fake| {
        for path in [&folder.file(), Path::new("/dev/null")] {
            let file = open(world, path, MPI_MODE_RDWR, fake).unwrap();
            assert_eq!(class(file.preallocate(10, fake)), MPI_ERR_UNSUPPORTED_OPERATION, "{path:?}");
        }
    });
}
