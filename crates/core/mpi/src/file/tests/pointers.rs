//! File pointers: where they are while an access is under way, and behind it.

use super::streams::pipe;
use super::*;
use std::io::Write;
use std::sync::mpsc;
use std::time::Duration;

/// A read of a pipe waits for bytes: another thread writes them, and asks for the pointer.
#[test]
fn an_access_under_way_leaves_the_pointer_to_other_threads() {
    let folder = Folder::new("under-way");
    let mut other_end = pipe(&folder);
    run(1, |world, fake| {
        let file = &open(world, &folder.file(), MPI_MODE_RDWR, fake).unwrap();
        let (told, heard) = mpsc::channel();
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let (region, _owner) = memory(&[0; 8]);
                file.read(&Buffer::Contiguous(region)).unwrap();
                region.to_vec()
            });
            std::thread::sleep(Duration::from_millis(100));
            scope.spawn(move || {
                let (region, _owner) = memory(b"abcd");
                told.send(file.position().unwrap()).unwrap();
                told.send(file.write_at(0, &Buffer::Contiguous(region)).unwrap() as i64).unwrap();
                told.send(file.write(&Buffer::Contiguous(region)).unwrap() as i64).unwrap();
            });
            let found: Vec<_> = (0..3).map(|_| heard.recv_timeout(Duration::from_secs(3)).ok()).collect();
            // The reader must end in any case.
            (&other_end).write_all(&[0; 16]).unwrap();
            assert_eq!(reader.join().unwrap(), b"abcdabcd");
            assert_eq!(found, [Some(8), Some(4), Some(4)]);
        });
    });
    other_end.flush().unwrap();
}

/// One rule for all pointers: they move on by what is asked for, in whole etypes, also where the
/// file ends earlier.
#[test]
fn a_pointer_moves_on_by_what_is_asked_for() {
    let folder = Folder::new("asked-for");
    std::fs::write(folder.file(), [1; 10]).unwrap();
    run(1, |world, fake| {
        let file = Arc::new(open(world, &folder.file(), MPI_MODE_RDWR, fake).unwrap());
        let int = Datatype::predefined(MPI_INT).unwrap();
        file.set_view(NewView::At(View::new(0, int, int, b"native", true)), Ok(None), fake).unwrap();
        let (region, _owner) = memory(&[0; 16]);
        let data = bytes(&Buffer::Contiguous(region));
        assert_eq!(file.access(Direction::Read, Place::Individual, &data).unwrap(), 10);
        assert_eq!(file.access(Direction::Read, Place::Shared, &data).unwrap(), 10);
        assert_eq!((file.position().unwrap(), file.position_shared().unwrap()), (4, 4));
        assert_eq!(file.access(Direction::Read, Place::Individual, &data).unwrap(), 0);
        assert_eq!(file.position().unwrap(), 8);
    });
}

/// A failed access leaves the pointer where it was.
#[test]
fn a_pointer_goes_back_if_the_access_fails() {
    run(1, |world, fake| {
        let file = open(world, Path::new("/dev/full"), MPI_MODE_WRONLY, fake).unwrap();
        let (region, _owner) = memory(&[0; 16]);
        assert_eq!(class(file.write(&Buffer::Contiguous(region))), MPI_ERR_NO_SPACE);
        assert_eq!(file.position().unwrap(), 0);
    });
}
