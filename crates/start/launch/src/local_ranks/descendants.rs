//! Leaves nothing behind. Each of three ways catches what the one before misses:
//! - Each rank dies with `mpiexec` (`PR_SET_PDEATHSIG`, set in [`crate::sys::tie_to_parent`]).
//! - Processes that ranks started and left become our children (`PR_SET_CHILD_SUBREAPER`):
//!   [`sweep`] ends them. Children from before this process became `mpiexec` (of a shell that
//!   called `exec`) are not the job's, nor are those that they leave.
//! - When `mpiexec` itself is killed, a [`Watcher`] ends the ranks' process groups and every
//!   process with the mark of these ranks in its environment ([`MARK`]).
//!
//! One thing outlives a `kill -9` of `mpiexec`: a process that has cleared its environment and left
//! its rank's process group. Only a control group could hold it, which few users may make; batch
//! systems do.

use crate::sys;
use std::fs;
use std::io::{self, PipeReader, Read, Write};
use std::time::{Duration, Instant};

/// The variable that marks the processes of one host. It is not the job's name: if the hosts of a
/// job are this one under other names, each sees the others' processes.
pub const MARK: &str = "VERBENA_LOCAL_RANKS";

/// The longest time spent on ending leftovers. A process in an uninterruptible system call outlives
/// it.
const SWEEP_TIME_MAX: Duration = Duration::from_secs(1);
/// The pause between two looks at what is left.
const PAUSE: Duration = Duration::from_millis(2);

/// A small process that outlives a killed `mpiexec` for a moment. It reads from a pipe; if the pipe
/// ends without a word before, `mpiexec` has been killed.
#[derive(Debug)]
pub struct Watcher {
    pid: i32,
    pipe: Option<io::PipeWriter>,
}

impl Watcher {
    /// Forks the watcher. Call this before any rank is started.
    ///
    /// # Errors
    /// The system gives no process or pipe.
    pub fn start(mark: &str) -> io::Result<Watcher> {
        let (reader, writer) = io::pipe()?;
        let mut ends = Some((reader, writer));
        let pid = sys::fork(|| {
            if let Some((reader, writer)) = ends.take() {
                drop(writer);
                sys::become_background(c"mpiexec-watcher");
                watch(reader, mark);
            }
        })?;
        Ok(Watcher { pid, pipe: ends.map(|(_, writer)| writer) })
    }

    /// Tells the watcher of a process group.
    pub fn add(&mut self, group: i32) {
        self.tell(group);
    }

    /// Tells the watcher that a process group's leader has ended; its number may soon be reused.
    pub fn remove(&mut self, group: i32) {
        self.tell(-group);
    }

    /// Tells the watcher that the job is over, so that it goes.
    pub fn dismiss(&mut self) {
        self.tell(0);
        self.pipe = None;
    }

    fn tell(&mut self, number: i32) {
        // A watcher that was killed cannot help any more; the job itself goes on.
        let _ = self.pipe.as_mut().map(|pipe| pipe.write_all(&number.to_ne_bytes()));
    }
}

/// Runs the watcher.
fn watch(mut reader: PipeReader, mark: &str) {
    let mut groups = Vec::new();
    let mut number = [0; 4];
    while reader.read_exact(&mut number).is_ok() {
        match i32::from_ne_bytes(number) {
            0 => return,
            group if group > 0 => groups.push(group),
            group => groups.retain(|&known| known != -group),
        }
    }
    groups.iter().for_each(|&group| sys::signal_group(group, libc::SIGKILL));
    let mark = format!("{MARK}={mark}");
    until_none_is_left(|| marked(&mark));
}

/// Ends everything that the ranks have left behind: our children, except the watcher. If there were
/// `children_before`, their leftovers may be among ours; then only processes with `mark` or in one
/// of `groups` are ended.
pub fn sweep(watcher: &Watcher, children_before: bool, mark: &str, groups: &[i32]) {
    let mark = format!("{MARK}={mark}");
    let is_ours =
        |pid: i32| !children_before || has_mark(pid, &mark) || groups.contains(&sys::process_group(pid));
    until_none_is_left(|| {
        while sys::reap().is_some() {}
        children().into_iter().filter(|&pid| pid != watcher.pid && is_ours(pid)).collect()
    });
}

/// Waits for a dismissed watcher, so that it is not left behind either.
pub fn reap_watcher(watcher: &Watcher) {
    let start = Instant::now();
    while start.elapsed() < SWEEP_TIME_MAX && children().contains(&watcher.pid) {
        if sys::reap().is_none() {
            std::thread::sleep(PAUSE / 10);
        }
    }
}

fn until_none_is_left(find: impl Fn() -> Vec<i32>) {
    let start = Instant::now();
    while start.elapsed() < SWEEP_TIME_MAX {
        let left = find();
        if left.is_empty() {
            return;
        }
        left.into_iter().for_each(|pid| sys::signal_process(pid, libc::SIGKILL));
        std::thread::sleep(PAUSE);
    }
}

/// Returns whether this process has children.
pub fn has_children() -> bool {
    !children().is_empty()
}

/// Our children, from the kernel's list where it keeps one.
fn children() -> Vec<i32> {
    let me = sys::process_id();
    match fs::read_to_string(format!("/proc/self/task/{me}/children")) {
        Ok(list) => list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect(),
        Err(_) => processes().filter(|&pid| parent(pid) == Some(me)).collect(),
    }
}

fn processes() -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn parent(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The program's name stands in parentheses and may contain anything; state and parent follow
    // it.
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// The processes that have this mark in their environment.
fn marked(mark: &str) -> Vec<i32> {
    processes().filter(|&pid| has_mark(pid, mark)).collect()
}

/// Returns whether a process has this mark in its environment.
fn has_mark(pid: i32, mark: &str) -> bool {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|&byte| byte == 0).any(|entry| entry == mark.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn children_and_marks_are_found() {
        let mut sleeper = Command::new("sleep").arg("60").env(MARK, "mark-test-1").spawn().unwrap();
        let pid = sleeper.id().cast_signed();
        assert_eq!(parent(pid), Some(sys::process_id()));
        // The child shows its new environment only once exec has replaced this process's image.
        let start = Instant::now();
        while marked("VERBENA_LOCAL_RANKS=mark-test-1") != [pid] {
            assert!(start.elapsed() < Duration::from_secs(5));
            std::thread::sleep(PAUSE);
        }
        assert_eq!(marked("VERBENA_LOCAL_RANKS=mark-test"), [0; 0]);
        sleeper.kill().unwrap();
        sleeper.wait().unwrap();
    }

    #[test]
    fn a_process_that_does_not_exist_has_no_parent() {
        let mut gone = Command::new("true").stdout(Stdio::null()).spawn().unwrap();
        let pid = gone.id().cast_signed();
        gone.wait().unwrap();
        assert_eq!(parent(pid), None);
    }
}
