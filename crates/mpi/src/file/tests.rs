//! Files opened together by simulated ranks.

use super::*;
use crate::comm::tests::fake::{Fake, run};
use crate::errhandler::{Action, predefined};
use mpi::*;
use std::path::Path;

/// A folder of a test's own, deleted with it.
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

fn open(comm: &Comm, path: &Path, amode: i32, fake: &Fake) -> Result<File> {
    File::open(comm, path, amode, None, predefined::returning(), fake)
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
        let other = Arc::new(Errhandler::new(Action::Call(Kind::Comm, Box::new(|_, _| ()))));
        assert_eq!(class(file.set_errhandler(other)), MPI_ERR_ERRHANDLER);
        assert!(Arc::ptr_eq(&file.errhandler(), &predefined::returning()));
    });
}
