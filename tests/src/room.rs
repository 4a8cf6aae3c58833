//! A room of its own for a job: fresh namespaces of processes, mounts, networks and System V
//! memory. What a job leaves behind stands out there, because nothing else is in it, and `/dev/shm`
//! can be made as wished.

use crate::{Ended, build_dir, shell};
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// The shell function that lists the new things in the room, one word each: files, sockets, memory,
/// processes. The shell and its own helpers are no leftovers.
const LEFTOVERS: &str = r#"
leftovers() {
  find . /dev/shm ${tmp:-} -mindepth 1
  grep -o '@.*' /proc/net/unix
  tail -n +2 /proc/sysvipc/shm
  for process in /proc/[0-9]*; do
    read -r name <$process/comm && case $name in sh|find|grep|tail) ;; *) echo process $name ;; esac
  done 2>/dev/null
}
look() {
  for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    left=$(leftovers)
    [ -z "$left" ] && break
    sleep 0.1
  done
  echo "LEFT: $left"
}"#;

/// The start of every script: its own `/tmp` (unless the programs under test lie there) and
/// `/dev/shm`.
const SET_UP: &str = r#"
mount -t tmpfs tmpfs /dev/shm
case $0 in /tmp/*) ;; *) tmp=/tmp; mount -t tmpfs tmpfs /tmp ;; esac
mkdir "$0.d" && cd "$0.d"
"#;

/// Runs shell commands in a new room, which has a working directory, `/tmp` and `/dev/shm` of its
/// own.
///
/// # Panics
/// If the script fails. The kernel must allow namespaces: run as root, or where users may make
/// their own.
#[track_caller]
pub fn room(script: &str) -> Ended {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let file = format!("room.{}.{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let file = build_dir().join(file);
    let text = format!("{SET_UP}{LEFTOVERS}\n{script}\n");
    std::fs::write(&file, text).expect("writable");
    // The shell is the room's first process: a process that loses its parent becomes the shell's,
    // which reaps it.
    let mut unshare = Command::new("timeout");
    unshare.args([
        "-k",
        "5",
        "120",
        "unshare",
        "-m",
        "-n",
        "-i",
        "-p",
        "--fork",
        "--mount-proc",
        "--kill-child",
    ]);
    // SAFETY: a system call that cannot fail and touches no memory.
    if unsafe { libc::geteuid() } != 0 {
        unshare.arg("-r");
    }
    let ended = shell(unshare.arg("sh").arg(&file));
    let _ = std::fs::remove_dir_all(folder(&file));
    let _ = std::fs::remove_file(&file);
    ended
}

fn folder(script: &std::path::Path) -> PathBuf {
    PathBuf::from(format!("{}.d", script.display()))
}

/// Returns what the script's call of `look` found.
///
/// # Panics
/// If it did not call it.
pub fn left(ended: &Ended) -> &str {
    let (_, left) = ended.stdout.split_once("LEFT:").expect("the script calls `look`");
    left.trim()
}
