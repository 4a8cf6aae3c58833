//! The names of files: deleted at the end, changed meanwhile, and new ones.

use super::*;
use std::os::unix::fs::PermissionsExt;

const DELETED: i32 = NEW | MPI_MODE_DELETE_ON_CLOSE;

/// Another file that has the name by now is none of ours.
#[test]
fn only_the_file_that_was_opened_is_deleted() {
    let folder = Folder::new("own-name");
    let other = folder.0.join("other");
    run(1, |world, fake| {
        let file = open(world, &folder.file(), DELETED, fake).unwrap();
        std::fs::rename(folder.file(), &other).unwrap();
        std::fs::write(folder.file(), b"another").unwrap();
        assert_eq!(class(file.close(fake)), MPI_ERR_NO_SUCH_FILE, "it has another name");
        assert_eq!(class(file.close(fake)), MPI_SUCCESS, "that is tried once");
        assert!(other.exists());
        assert_eq!(std::fs::read(folder.file()).unwrap(), b"another");
        // Deleted by the program, and a new one in its place.
        let file = open(world, &folder.file(), DELETED, fake).unwrap();
        std::fs::remove_file(folder.file()).unwrap();
        std::fs::write(folder.file(), b"new").unwrap();
        file.close(fake).unwrap();
        assert!(folder.file().exists());
        // Renamed, and nothing in its place.
        let file = open(world, &folder.file(), DELETED, fake).unwrap();
        std::fs::rename(folder.file(), &other).unwrap();
        assert_eq!(class(file.close(fake)), MPI_ERR_NO_SUCH_FILE);
        file.close(fake).unwrap();
        assert!(other.exists());
    });
}

/// Tests run in one process, which must not change its folder: the path is what is kept.
#[test]
fn a_relative_path_is_that_of_the_folder_where_the_file_was_opened() {
    run(1, |world, fake| {
        let file = open(world, Path::new("Cargo.toml"), MPI_MODE_RDONLY, fake).unwrap();
        assert_eq!(file.path, std::env::current_dir().unwrap().join("Cargo.toml"));
    });
}

#[test]
fn a_new_file_goes_again_if_another_process_cannot_open_it() {
    let folder = Folder::new("new-goes");
    run(2, |world, fake| {
        let path = if world.rank() == 1 { folder.0.join("missing") } else { folder.file() };
        assert_eq!(class(open(world, &path, NEW | MPI_MODE_EXCL, fake)), MPI_ERR_NO_SUCH_FILE);
        fake.allgather(world, &[]).unwrap();
        assert!(!folder.file().exists());
    });
}

#[test]
fn a_new_file_has_the_permissions_of_the_hint() {
    let folder = Folder::new("permissions");
    run(1, |world, fake| {
        let given = Info::new();
        given.set(b"file_perm", b"0600").unwrap();
        let file = open_with(world, &folder.file(), NEW, Some(&given), fake).unwrap();
        let mode = std::fs::metadata(folder.file()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(file.hints().unwrap().get(b"file_perm").unwrap().unwrap(), b"0600");
    });
}
