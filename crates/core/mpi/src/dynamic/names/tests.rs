//! Tests of published names, without a launcher.

use super::*;
use verbena_testing::files::Folder;

#[test]
fn a_name_that_the_launcher_does_not_get_is_taken_back() {
    let folder = Folder::new("names-half", &[(".keep", "")]);
    let mut count = 0;
    let refused = publish_in(&folder.0, b"half", b"port", || {
        count = fs::read_dir(&folder.0).unwrap().count();
        Err(published(b"half"))
    });
    assert_eq!((refused.unwrap_err().class, count), (mpi::MPI_ERR_SERVICE, 2));
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1, "no file is left");
    let file = folder.0.join(entry::file_name(b"half"));
    assert!(!own().contains(&file));
    publish_in(&folder.0, b"half", b"port", || Ok(())).unwrap();
    assert!(own().contains(&file));
}

#[test]
fn a_port_that_no_program_has_room_for_is_refused() {
    for (bytes, class) in
        [(0, None), (1023, None), (1024, Some(mpi::MPI_ERR_PORT)), (4999, Some(mpi::MPI_ERR_PORT))]
    {
        assert_eq!(check_port(&vec![b'a'; bytes]).err().map(|error| error.class), class, "{bytes}");
    }
}
