//! Tests of the files of published names.

use super::*;
use std::time::{Duration, Instant};
use verbena_machine::node;
use verbena_testing::files::Folder;

/// A folder, and a place in it.
fn folder(name: &str) -> (Folder, std::path::PathBuf) {
    let folder = Folder::new(name, &[(".keep", "")]);
    let file = folder.0.join("a");
    (folder, file)
}

fn entry(port: &str) -> Entry {
    Entry::of_this_process(b"a", port.as_bytes())
}

/// An entry of a process that has ended.
fn ended() -> Entry {
    let text = entry("old").text().replace(&format!(" {} ", std::process::id()), " 4194400 ");
    let ended = Entry::parse(&text).unwrap();
    assert!(ended.owner_is_dead());
    ended
}

fn port_at(file: &Path) -> Option<Vec<u8>> {
    Some(Found::at(file).unwrap()?.entry?.port)
}

/// Returns whether somebody waits for the lock of a file.
fn is_waited_for(found: &Found) -> bool {
    let inode = format!(":{} ", found.file.metadata().unwrap().ino());
    let locks = std::fs::read_to_string("/proc/locks").unwrap_or_default();
    locks.lines().any(|line| line.contains("-> ") && line.contains(&inode))
}

#[test]
fn a_file_of_the_living_stays_and_one_of_the_dead_is_replaced() {
    let (folder, file) = folder("names-replaced");
    write(&folder.0, &file, &ended()).unwrap();
    write(&folder.0, &file, &entry("new")).unwrap();
    let error = write(&folder.0, &file, &entry("newer")).unwrap_err();
    assert_eq!((error.kind(), port_at(&file).as_deref()), (ErrorKind::AlreadyExists, Some(&b"new"[..])));
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 2, "no draft is left");
}

#[test]
fn the_longest_service_and_port_can_be_read() {
    let (folder, file) = folder("names-long");
    let entry = Entry::of_this_process(&[1; 1024], &[0xff; 1023]);
    write(&folder.0, &file, &entry).unwrap();
    assert!(Found::at(&file).unwrap().unwrap().entry == Some(entry));
}

#[test]
fn two_that_replace_a_file_do_not_both_succeed() {
    let (folder, file) = folder("names-race");
    write(&folder.0, &file, &ended()).unwrap();
    // This one is the first: it has locked the file, and not yet replaced it.
    let old = Found::at(&file).unwrap().unwrap();
    old.lock().unwrap();
    let second = {
        let (folder, file) = (folder.0.clone(), file.clone());
        std::thread::spawn(move || write(&folder, &file, &entry("second")))
    };
    let until = Instant::now() + Duration::from_secs(20);
    while !second.is_finished() && !is_waited_for(&old) && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(1));
    }
    std::fs::remove_file(&file).unwrap();
    write(&folder.0, &file, &entry("first")).unwrap();
    old.file.unlock().unwrap();
    assert_eq!(second.join().unwrap().unwrap_err().kind(), ErrorKind::AlreadyExists);
    assert_eq!(port_at(&file).as_deref(), Some(&b"first"[..]));
}

#[test]
fn one_that_found_an_old_file_does_not_remove_the_new_one() {
    let (folder, file) = folder("names-late");
    write(&folder.0, &file, &ended()).unwrap();
    let old = Found::at(&file).unwrap().unwrap();
    write(&folder.0, &file, &entry("new")).unwrap();
    for lock in [Lock::Needed, Lock::Tried] {
        old.remove(&file, lock).unwrap();
        assert_eq!(port_at(&file).as_deref(), Some(&b"new"[..]));
    }
    std::fs::remove_file(&file).unwrap();
    old.remove(&file, Lock::Needed).unwrap();
}

#[test]
fn a_file_of_another_process_is_not_taken_back() {
    let (folder, file) = folder("names-others");
    // The process is of another machine, so that it may live.
    let (machine, other) = (node::machine(), node::machine() ^ 1);
    let text = entry("other").text().replace(&format!("owner {machine} "), &format!("owner {other} "));
    write(&folder.0, &file, &Entry::parse(&text).unwrap()).unwrap();
    take_back(&file);
    assert_eq!(port_at(&file).as_deref(), Some(&b"other"[..]));
    std::fs::remove_file(&file).unwrap();
    write(&folder.0, &file, &entry("own")).unwrap();
    take_back(&file);
    assert_eq!(port_at(&file), None);
}

#[test]
fn something_else_than_a_file_is_an_error_and_no_wait() {
    let (folder, file) = folder("names-pipe");
    nix::unistd::mkfifo(&file, nix::sys::stat::Mode::S_IRWXU).unwrap();
    assert_eq!(Found::at(&file).unwrap_err().kind(), ErrorKind::InvalidInput);
    assert!(Found::at(&folder.0).is_err());
    assert!(write(&folder.0, &file, &entry("x")).is_err());
}
