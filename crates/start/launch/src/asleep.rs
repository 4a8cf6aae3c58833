//! A look at a process whose first thread sleeps in a system call outside MPI: the call, and the
//! thread's registers and stack. A process that runs is asked by a signal instead, unless it is on
//! its way out of such a call.
//!
//! The look must not end the sleep. A signal would: `sleep` returns early after a handler has run.
//! So the thread is stopped as debuggers do it (`PTRACE_SEIZE`, `PTRACE_INTERRUPT`), and only in
//! calls that the kernel itself goes on with afterwards (signal(7)). Its registers and its stack
//! are copied, and it is let go. `mpiexec` may do that, as an ancestor of the ranks, also where the
//! kernel restricts debuggers (Yama's `ptrace_scope` 1).

use crate::unwind::StillThread;

/// The name of a call that was stopped before: the kernel does not tell which one it was.
pub const RESUMED: &str = "a call with a time limit";
/// The calls that wait for a signal.
const PAUSE: &str = "pause";
const SUSPENDED: &str = "sigsuspend";

/// A thread that sleeps in a system call.
#[derive(Debug)]
pub struct Sleeper {
    /// The call, with the file that it is about: "nanosleep", "read of /dev/pts/0".
    pub call: String,
    /// The registers and the stack; `None` if it must not be stopped in this call, or the system
    /// refuses that.
    pub thread: Option<StillThread>,
}

impl Sleeper {
    /// Returns whether a handler of a signal ends this call for good, also where an interpreter
    /// goes on with others.
    pub fn waits_for_signal(&self) -> bool {
        [PAUSE, SUSPENDED].contains(&self.call.as_str())
    }
}

/// Looks at the first thread of a process. `None` if it does not sleep in a system call, or the
/// system does not tell.
pub fn look(pid: i32) -> Option<Sleeper> {
    let line = std::fs::read_to_string(format!("/proc/{pid}/syscall")).ok()?;
    let mut words = line.split(' ');
    let number: i64 = words.next()?.parse().ok()?;
    let Some(known) = known::CALLS.iter().find(|known| known.number == number) else {
        return Some(Sleeper { call: String::new(), thread: None });
    };
    let Some(joins) = known.joins_file else {
        return Some(Sleeper { call: known.name.into(), thread: stopped::copy(pid) });
    };
    let descriptor = i64::from_str_radix(words.next()?.trim_start_matches("0x"), 16).ok()?;
    let path = std::fs::read_link(format!("/proc/{pid}/fd/{descriptor}")).ok()?;
    let path = path.to_string_lossy();
    // A stop ends reads of sockets with a time limit, and of some files that have no path. A write
    // that has written a part ends with that.
    let may_stop = known.name != "write" && (path.starts_with('/') || path.starts_with("pipe:"));
    let call = format!("{} {joins} {path}", known.name);
    Some(Sleeper { call, thread: if may_stop { stopped::copy(pid) } else { None } })
}

/// Sends a signal to the first threads of these processes, which run, where that ends no system
/// call: a thread that waits for a processor may be in one, as `poll` whose time has just passed,
/// which a handler would end with an error. Returns the call and the place of each that is in such
/// a one, and so gets no signal. One that does not come to a processor soon gets none either.
///
/// Where the system refuses to stop a process, and on aarch64, the signal is sent all the same.
pub fn signal_running(processes: &[i32], signal: i32) -> Vec<Option<Sleeper>> {
    if processes.is_empty() { Vec::new() } else { stopped::signal(processes, signal) }
}

/// A system call in which a thread may be stopped.
struct Known {
    number: i64,
    name: &'static str,
    /// The word between the call and the file that its first argument names, if it names one.
    joins_file: Option<&'static str>,
}

#[cfg(target_arch = "x86_64")]
mod known {
    use super::Known;

    const fn call(number: i64, name: &'static str) -> Known {
        Known { number, name, joins_file: None }
    }

    const fn of_file(number: i64, name: &'static str, joins: &'static str) -> Known {
        Known { number, name, joins_file: Some(joins) }
    }

    /// Those that the kernel goes on with after a stop, whatever they wait for.
    pub(super) const CALLS: [Known; 20] = [
        call(libc::SYS_nanosleep, "nanosleep"),
        call(libc::SYS_clock_nanosleep, "clock_nanosleep"),
        call(libc::SYS_restart_syscall, super::RESUMED),
        call(libc::SYS_pause, super::PAUSE),
        call(libc::SYS_rt_sigsuspend, super::SUSPENDED),
        call(libc::SYS_poll, "poll"),
        call(libc::SYS_ppoll, "ppoll"),
        call(libc::SYS_select, "select"),
        call(libc::SYS_pselect6, "pselect"),
        call(libc::SYS_futex, "futex: another thread, or a lock"),
        call(libc::SYS_wait4, "wait for a child process"),
        call(libc::SYS_waitid, "wait for a child process"),
        call(libc::SYS_open, "open"),
        call(libc::SYS_openat, "open"),
        of_file(libc::SYS_read, "read", "of"),
        of_file(libc::SYS_readv, "read", "of"),
        of_file(libc::SYS_write, "write", "to"),
        of_file(libc::SYS_writev, "write", "to"),
        of_file(libc::SYS_flock, "lock", "of"),
        of_file(libc::SYS_fcntl, "lock", "of"),
    ];
}

#[cfg(not(target_arch = "x86_64"))]
mod known {
    pub(super) const CALLS: [super::Known; 0] = [];
}

#[cfg(target_arch = "x86_64")]
mod stopped {
    use super::{RESUMED, Sleeper, known};
    use crate::sys;
    use crate::unwind::{REGISTERS, StillThread};
    use std::fs::File;
    use std::mem::MaybeUninit;
    use std::os::unix::fs::FileExt;
    use std::time::{Duration, Instant};

    /// The most bytes of a stack that are copied.
    const STACK_BYTES_MAX: usize = 256 << 10;
    /// A thread that sleeps stops at once.
    const STOP_TIME_MAX: Duration = Duration::from_millis(50);
    /// Those that run stop when they have a processor.
    const RUNNING_TIME_MAX: Duration = Duration::from_millis(200);
    /// The kernel's words for a call that a stop has interrupted, and a handler would end: it goes
    /// on otherwise, some with the rest of their time.
    const ERESTARTNOHAND: i64 = 514;
    const ERESTART_RESTARTBLOCK: i64 = 516;

    /// Stops the first thread of a process, copies its registers and its stack, and lets it go.
    pub(super) fn copy(pid: i32) -> Option<StillThread> {
        in_thread(|| stop_and_copy(pid)).flatten()
    }

    /// Does what [`super::signal_running`] says.
    pub(super) fn signal(processes: &[i32], signal: i32) -> Vec<Option<Sleeper>> {
        in_thread(|| stop_and_signal(processes, signal)).unwrap_or_default()
    }

    /// Runs this in a thread: when one ends, the kernel lets go all that it has stopped, whatever
    /// went wrong.
    fn in_thread<T: Send>(work: impl FnOnce() -> T + Send) -> Option<T> {
        std::thread::scope(|scope| {
            // The program may have used up the threads that the user may have.
            std::thread::Builder::new().spawn_scoped(scope, work).ok()?.join().ok()
        })
    }

    fn stop_and_copy(pid: i32) -> Option<StillThread> {
        interrupt(pid)?;
        let status = await_stop(pid, Instant::now() + STOP_TIME_MAX)?;
        let found = registers(pid).map(|registers| thread(pid, &registers));
        let_go(pid, status);
        found
    }

    /// All are interrupted at once, and each is let go as soon as it has stopped.
    fn stop_and_signal(processes: &[i32], signal: i32) -> Vec<Option<Sleeper>> {
        let until = Instant::now() + RUNNING_TIME_MAX;
        let mut found: Vec<Option<Sleeper>> = processes.iter().map(|_| None).collect();
        let mut awaited: Vec<usize> = (0..processes.len()).collect();
        awaited.retain(|&at| {
            let is_interrupted = interrupt(processes[at]).is_some();
            if !is_interrupted {
                sys::signal_process(processes[at], signal);
            }
            is_interrupted
        });
        while !awaited.is_empty() && Instant::now() < until {
            awaited.retain(|&at| {
                let stop = stop_of(processes[at]);
                if let Some(Some(status)) = stop {
                    found[at] = signal_stopped(processes[at], signal);
                    let_go(processes[at], status);
                }
                stop == Some(None)
            });
            std::thread::sleep(Duration::from_micros(100));
        }
        found
    }

    /// Signals a thread that stands still, unless it is in a call that a handler would end.
    fn signal_stopped(pid: i32, signal: i32) -> Option<Sleeper> {
        let own = registers(pid)?;
        let call = call_in_danger(&own);
        if call.is_none() {
            // The process's other threads could take a signal to it.
            // SAFETY: the call takes numbers only.
            unsafe { libc::syscall(libc::SYS_tgkill, pid, pid, signal) };
        }
        Some(Sleeper { call: call?, thread: Some(thread(pid, &own)) })
    }

    /// The call that a handler would end, if the thread is in one.
    fn call_in_danger(own: &libc::user_regs_struct) -> Option<String> {
        let (call, result) = (own.orig_rax as i64, own.rax as i64);
        let is_ended_by_handler = [-ERESTARTNOHAND, -ERESTART_RESTARTBLOCK].contains(&result);
        (call >= 0 && is_ended_by_handler).then(|| {
            let known = known::CALLS.iter().find(|known| known.number == call);
            known.map_or(RESUMED, |known| known.name).to_owned()
        })
    }

    fn interrupt(pid: i32) -> Option<()> {
        ask(libc::PTRACE_SEIZE, pid, 0, std::ptr::null_mut())?;
        ask(libc::PTRACE_INTERRUPT, pid, 0, std::ptr::null_mut())
    }

    fn let_go(pid: i32, status: i32) {
        // A signal may have come at the same moment: it is passed on.
        let signal = if status >> 8 == 0 { status } else { 0 };
        ask(libc::PTRACE_DETACH, pid, signal as usize, std::ptr::null_mut());
    }

    /// Waits until the thread stands still.
    fn await_stop(pid: i32, until: Instant) -> Option<i32> {
        while Instant::now() < until {
            if let Some(status) = stop_of(pid)? {
                return Some(status);
            }
            std::thread::sleep(Duration::from_micros(100));
        }
        None
    }

    /// The signal at which the thread stands still, with the kernel's own event above it; an inner
    /// `None` if it does not yet, an outer one if it never will.
    fn stop_of(pid: i32) -> Option<Option<i32>> {
        let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
        let options = libc::WSTOPPED | libc::WNOHANG | libc::__WALL;
        // SAFETY: the call fills our structure. It takes no news of the end of a process, which is
        // for others.
        let result = unsafe { libc::waitid(libc::P_PID, pid as libc::id_t, info.as_mut_ptr(), options) };
        // SAFETY: it was zeroed, which is valid for it, and perhaps filled.
        let info = unsafe { info.assume_init() };
        // SAFETY: of an event of a child, or zeros.
        let (child, status) = unsafe { (info.si_pid(), info.si_status()) };
        (result == 0).then_some((child == pid).then_some(status))
    }

    fn registers(pid: i32) -> Option<libc::user_regs_struct> {
        let mut own = MaybeUninit::<libc::user_regs_struct>::zeroed();
        ask(libc::PTRACE_GETREGS, pid, 0, own.as_mut_ptr().cast())?;
        // SAFETY: the call has filled the structure, which was zeroed before.
        Some(unsafe { own.assume_init() })
    }

    /// The thread with its registers by their numbers in the tables, and its stack.
    fn thread(pid: i32, own: &libc::user_regs_struct) -> StillThread {
        let numbered: [u64; REGISTERS] = [
            own.rax, own.rdx, own.rcx, own.rbx, own.rsi, own.rdi, own.rbp, own.rsp, own.r8, own.r9, own.r10,
            own.r11, own.r12, own.r13, own.r14, own.r15, own.rip,
        ];
        StillThread { registers: numbered.map(Some), stack: memory(pid, own.rsp) }
    }

    /// The bytes of the thread's stack from this address on.
    fn memory(pid: i32, at: u64) -> Vec<u8> {
        let mut bytes = vec![0; STACK_BYTES_MAX];
        let read = File::open(format!("/proc/{pid}/mem")).and_then(|memory| memory.read_at(&mut bytes, at));
        bytes.truncate(read.unwrap_or(0));
        bytes
    }

    /// Makes a request of the kernel; `None` if it refuses.
    fn ask(request: libc::c_uint, pid: i32, word: usize, data: *mut libc::c_void) -> Option<()> {
        let data = if data.is_null() { word as *mut libc::c_void } else { data };
        // SAFETY: the requests of this module change no memory of ours but the structure at `data`,
        // which has the size that its request fills.
        let result = unsafe { libc::ptrace(request, pid, std::ptr::null_mut::<libc::c_void>(), data) };
        (result == 0).then_some(())
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod stopped {
    pub(super) fn copy(_pid: i32) -> Option<crate::unwind::StillThread> {
        None
    }

    pub(super) fn signal(processes: &[i32], signal: i32) -> Vec<Option<super::Sleeper>> {
        processes.iter().for_each(|&pid| crate::sys::signal_process(pid, signal));
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbols::Symbols;
    use std::process::{Child, Command, Stdio};

    /// Looks until the program sleeps in such a call.
    #[track_caller]
    fn look_for(child: &Child, call: &str) -> Sleeper {
        let pid = child.id() as i32;
        for _ in 0..200 {
            if let Some(found) = look(pid).filter(|found| found.call == call) {
                return found;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        panic!("{:?}", look(pid));
    }

    #[test]
    fn a_sleep_is_told_and_not_cut_short() {
        let began = std::time::Instant::now();
        let mut child = Command::new("sleep").arg("1").spawn().expect("sleep is there");
        let found = look_for(&child, "clock_nanosleep");
        let mut symbols = Symbols::default();
        let addresses = symbols.addresses_of_sleeper(child.id() as i32, &found);
        let places = symbols.places(child.id() as i32, &addresses);
        look(child.id() as i32);
        assert!(child.wait().expect("a child").success());
        assert!(began.elapsed().as_millis() >= 1000);
        let thread = found.thread.expect("it may be looked at");
        assert!(thread.stack.len() > 64);
        assert!(places.iter().any(|place| place.function.starts_with("sleep+")), "{places:?}");
    }

    #[test]
    fn a_read_is_told_with_its_file() {
        let mut command = Command::new("cat");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("cat is there");
        let pipe = std::fs::read_link(format!("/proc/{}/fd/0", child.id())).expect("a pipe");
        look_for(&child, &format!("read of {}", pipe.display()));
        drop(child.stdin.take());
        assert!(child.wait().expect("a child").success());
    }

    /// The kernel ends a write that was stopped with what it has written.
    #[test]
    fn a_write_is_told_and_goes_on() {
        let program = "import os; os._exit(os.write(1, bytes(1 << 20)) != 1 << 20)";
        let mut command = Command::new("python3");
        let mut child =
            command.args(["-c", program]).stdout(Stdio::piped()).spawn().expect("Python is there");
        let pipe = std::fs::read_link(format!("/proc/{}/fd/1", child.id())).expect("a pipe");
        let found = look_for(&child, &format!("write to {}", pipe.display()));
        assert!(found.thread.is_none());
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut child.stdout.take().expect("piped"), &mut bytes).expect("readable");
        assert!(child.wait().expect("a child").success() && bytes.len() == 1 << 20);
    }

    /// A program in Python that has a handler for SIGURG, and has begun.
    fn python(handler: &str, program: &str) -> Child {
        let begin = format!("import ctypes, os, signal\nsignal.signal(signal.SIGURG, lambda *_: {handler})");
        let program = format!("{begin}\nos.write(1, b'-')\n{program}");
        let mut command = Command::new("python3");
        let mut child =
            command.args(["-c", &program]).stdout(Stdio::piped()).spawn().expect("Python is there");
        let out = child.stdout.as_mut().expect("piped");
        std::io::Read::read_exact(out, &mut [0]).expect("it has begun");
        child
    }

    /// Both are taken for running: a call goes on after a stop as after a wake that comes late.
    #[test]
    #[cfg(target_arch = "x86_64")]
    fn a_signal_ends_no_call_of_a_process_that_runs() {
        // It ends by itself if this test fails.
        let mut computes = python("os._exit(7)", "for _ in range(1 << 30): pass");
        let mut polls = python("0", "os._exit(-ctypes.CDLL(None).poll(None, 0, 1500))");
        look_for(&polls, "poll");
        let ask = |child: &Child| signal_running(&[child.id() as i32], libc::SIGURG).pop().flatten();
        // On a busy machine neither may come to a processor in time.
        let found = (0..100).find_map(|_| ask(&polls)).expect("it is in a call");
        // The kernel may resume it after the first look by a call of its own.
        assert!(["poll", RESUMED].contains(&found.call.as_str()), "{}", found.call);
        assert_eq!(polls.wait().expect("a child").code(), Some(0));
        while computes.try_wait().expect("a child").is_none() {
            assert!(ask(&computes).is_none(), "it is in no call");
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        assert_eq!(computes.wait().expect("a child").code(), Some(7));
        assert!(signal_running(&[], libc::SIGURG).is_empty());
    }

    #[test]
    fn a_process_that_is_not_there_is_not_looked_at() {
        assert!(look(-1).is_none());
    }
}
