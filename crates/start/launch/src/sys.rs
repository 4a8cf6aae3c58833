//! System calls behind safe functions.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

/// Turns a system call's -1 into the error from `errno`.
fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// The signals that `mpiexec` reads from a descriptor, instead of running handlers.
const SIGNALS: [libc::c_int; 9] = [
    libc::SIGINT,
    libc::SIGTERM,
    libc::SIGHUP,
    libc::SIGQUIT,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGTSTP,
    libc::SIGCONT,
    libc::SIGCHLD,
];

/// A descriptor that yields signals.
#[derive(Debug)]
pub struct Signals {
    fd: OwnedFd,
    before: libc::sigset_t,
}

impl Signals {
    /// Blocks the signals and yields them from now on. A signal that was ignored when this process
    /// started (`nohup`) stays ignored, but for `SIGCHLD`: ignored, it would never come, and no end
    /// of a child would be seen. A read of the terminal from the background fails instead of
    /// stopping us.
    ///
    /// # Errors
    /// No descriptor is free.
    pub fn take() -> io::Result<Signals> {
        // SAFETY: the default action runs no code of ours.
        unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
        let mut set = empty_set();
        for signal in SIGNALS.into_iter().filter(|&signal| signal == libc::SIGCHLD || !is_ignored(signal)) {
            // SAFETY: `set` is an initialised signal set and the number is a valid signal.
            unsafe { libc::sigaddset(&raw mut set, signal) };
        }
        let mut blocked = set;
        // SAFETY: as above.
        unsafe { libc::sigaddset(&raw mut blocked, libc::SIGTTIN) };
        let mut before = empty_set();
        // SAFETY: all sets are initialised and live.
        check(unsafe { libc::sigprocmask(libc::SIG_BLOCK, &raw const blocked, &raw mut before) })?;
        // SAFETY: `set` is an initialised signal set.
        let fd =
            check(unsafe { libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) })?;
        // SAFETY: the descriptor is new and nobody else's.
        Ok(Signals { fd: unsafe { OwnedFd::from_raw_fd(fd) }, before })
    }

    /// Takes the next signal that has come, if any.
    pub fn next(&self) -> Option<libc::c_int> {
        let mut info = MaybeUninit::<libc::signalfd_siginfo>::uninit();
        let size = size_of::<libc::signalfd_siginfo>();
        // SAFETY: the pointer leads to `size` writable bytes.
        let count = unsafe { libc::read(self.fd.as_raw_fd(), info.as_mut_ptr().cast(), size) };
        // SAFETY: a read of this size fills the structure.
        (count == size as isize).then(|| unsafe { info.assume_init() }.ssi_signo as libc::c_int)
    }

    /// The descriptor, to poll.
    pub fn fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }

    /// The signals that were blocked before.
    pub fn before(&self) -> SignalMask {
        SignalMask(self.before)
    }
}

/// A set of blocked signals.
#[derive(Clone, Copy)]
pub struct SignalMask(libc::sigset_t);

impl std::fmt::Debug for SignalMask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SignalMask")
    }
}

impl SignalMask {
    /// Blocks these signals and no others. Async-signal-safe.
    pub fn set(&self) {
        // SAFETY: the set is initialised and live.
        unsafe { libc::sigprocmask(libc::SIG_SETMASK, &raw const self.0, std::ptr::null_mut()) };
    }
}

/// The settings that we changed for ourselves and that programs we start get back.
#[derive(Debug, Clone, Copy)]
pub struct Inherited {
    /// The limits on open descriptors that we were started with.
    pub descriptors: libc::rlimit,
    /// The blocked signals that we were started with.
    pub signals: SignalMask,
}

impl Inherited {
    /// Restores them in a new child before exec. Async-signal-safe.
    pub fn restore(&self) {
        set_descriptor_limit(&self.descriptors);
        self.signals.set();
    }
}

fn empty_set() -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: sigemptyset initialises the set that the pointer leads to.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        set.assume_init()
    }
}

fn is_ignored(signal: libc::c_int) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: with a null new action this only reads the present one into live memory.
    let read = unsafe { libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) };
    // SAFETY: the structure was zeroed, which is valid for it, and perhaps filled.
    read == 0 && unsafe { action.assume_init() }.sa_sigaction == libc::SIG_IGN
}

/// A set of descriptors to wait for.
#[derive(Debug, Default)]
pub struct Poll {
    entries: Vec<libc::pollfd>,
}

impl Poll {
    /// Empties the set.
    pub fn clear(&mut self) {
        self.entries.clear();
    }

    /// Adds a descriptor and returns its place. A negative one is never ready.
    pub fn add(&mut self, fd: RawFd, read: bool, write: bool) -> usize {
        let events = if read { libc::POLLIN } else { 0 } | if write { libc::POLLOUT } else { 0 };
        let fd = if events == 0 { -1 } else { fd };
        self.entries.push(libc::pollfd { fd, events, revents: 0 });
        self.entries.len() - 1
    }

    /// Waits until something is ready, a signal interrupts, or the time is up.
    pub fn wait(&mut self, timeout: Option<Duration>) {
        // Rounded up: waking before the deadline would spin.
        let milliseconds =
            timeout.map_or(-1, |time| time.as_micros().div_ceil(1000).min(60_000) as libc::c_int);
        // SAFETY: the pointer and the count are those of a live vector.
        let ready = unsafe {
            libc::poll(self.entries.as_mut_ptr(), self.entries.len() as libc::nfds_t, milliseconds)
        };
        if ready < 0 {
            self.entries.iter_mut().for_each(|entry| entry.revents = 0);
        }
    }

    /// Returns whether the descriptor at a place is ready (or has failed: reading or writing it
    /// shows that).
    pub fn is_ready(&self, place: usize) -> bool {
        self.entries[place].revents != 0
    }
}

/// A child that has ended, from [`reap`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reaped {
    /// The child's process id.
    pub pid: i32,
    /// The way the child ended.
    pub exit: crate::plan::Exit,
    /// True if the kernel wrote its memory to a core file, or gave it to a program that does.
    pub has_core: bool,
}

/// Takes one child that has ended, if there is one.
pub fn reap() -> Option<Reaped> {
    let mut status = 0;
    let (pid, exit) = loop {
        // SAFETY: the pointer leads to a live integer.
        let pid = unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) };
        match () {
            () if pid <= 0 => return None,
            () if libc::WIFSIGNALED(status) => {
                break (pid, crate::plan::Exit::Signal(libc::WTERMSIG(status)));
            }
            () if libc::WIFEXITED(status) => break (pid, crate::plan::Exit::Code(libc::WEXITSTATUS(status))),
            // A child that a thread of ours has stopped for a look.
            () => {}
        }
    };
    Some(Reaped { pid, exit, has_core: libc::WIFSIGNALED(status) && libc::WCOREDUMP(status) })
}

/// Sends a signal to a process group, if it still exists.
pub fn signal_group(group: i32, signal: libc::c_int) {
    // SAFETY: no memory is involved; group ids of our own children only.
    unsafe { libc::killpg(group, signal) };
}

/// Sends a signal to a process, if it still exists.
pub fn signal_process(pid: i32, signal: libc::c_int) {
    // SAFETY: no memory is involved.
    unsafe { libc::kill(pid, signal) };
}

/// The process group of a process; -1 if there is no such process.
pub fn process_group(pid: i32) -> i32 {
    // SAFETY: no memory is involved.
    unsafe { libc::getpgid(pid) }
}

/// Makes orphaned descendants our children, so that they can be found and ended.
pub fn adopt_orphans() {
    // SAFETY: this option takes one integer and no pointers.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) };
}

/// Raises the limit on open descriptors to the allowed maximum; returns the limits before.
pub fn raise_descriptor_limit() -> libc::rlimit {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the pointer leads to a live structure.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    set_descriptor_limit(&libc::rlimit { rlim_cur: limit.rlim_max, rlim_max: limit.rlim_max });
    limit
}

/// Sets the limits on open descriptors. Async-signal-safe.
fn set_descriptor_limit(limit: &libc::rlimit) {
    // SAFETY: the pointer leads to a live structure.
    unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, limit) };
}

/// In a new child before exec: makes it die with its parent `parent`, and keeps these descriptors
/// open across exec. Async-signal-safe.
///
/// # Errors
/// The parent is dead already.
pub fn tie_to_parent(parent: i32, keep: [Option<RawFd>; 2]) -> io::Result<()> {
    // SAFETY: this option takes one integer and no pointers; fcntl and getppid touch no memory.
    let now = unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        for fd in keep.into_iter().flatten() {
            libc::fcntl(fd, libc::F_SETFD, 0);
        }
        libc::getppid()
    };
    if now == parent { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::ESRCH)) }
}

/// Lets no program that this process starts have a descriptor.
pub fn close_on_exec(fd: RawFd) {
    // SAFETY: fcntl with this command touches no memory; a bad number is only refused.
    unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) };
}

/// Goes on in a new process, which is no child of our parent, and ends this one with 0. If there
/// may be no more processes, this one goes on.
pub fn leave_parent() {
    // SAFETY: `mpiexec` has one thread, so no lock can be held by another one in the copy. The old
    // process ends without running anything more.
    unsafe {
        if libc::fork() > 0 {
            libc::_exit(0);
        }
    }
}

/// Makes a descriptor non-blocking; nobody else may share it.
pub fn set_nonblocking(fd: RawFd) {
    // SAFETY: fcntl with these commands touches no memory.
    unsafe {
        let flags = libc::fcntl(fd, libc::F_GETFL);
        libc::fcntl(fd, libc::F_SETFL, flags | libc::O_NONBLOCK);
    }
}

/// Writes bytes to a descriptor that we do not own.
///
/// # Errors
/// Those of write(2).
pub fn write(fd: RawFd, bytes: &[u8]) -> io::Result<usize> {
    // SAFETY: the pointer and the length are those of a live slice.
    let count = unsafe { libc::write(fd, bytes.as_ptr().cast(), bytes.len()) };
    usize::try_from(count).map_err(|_| io::Error::last_os_error())
}

/// Writes a text and a newline to standard error. A failure goes unreported.
pub fn complain(text: &str) {
    let line = format!("{text}\n");
    let mut left = line.as_bytes();
    while !left.is_empty() {
        match write(2, left) {
            Ok(count) => left = &left[count..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

/// Reads bytes from a descriptor that we do not own.
///
/// # Errors
/// Those of read(2).
pub fn read(fd: RawFd, bytes: &mut [u8]) -> io::Result<usize> {
    // SAFETY: the pointer and the length are those of a live, writable slice.
    let count = unsafe { libc::read(fd, bytes.as_mut_ptr().cast(), bytes.len()) };
    usize::try_from(count).map_err(|_| io::Error::last_os_error())
}

/// Takes bytes from a socket that we do not own, without waiting.
///
/// # Errors
/// Those of recv(2).
pub fn receive(fd: RawFd, bytes: &mut [u8]) -> io::Result<usize> {
    // SAFETY: the pointer and the length are those of a live, writable slice.
    let count = unsafe { libc::recv(fd, bytes.as_mut_ptr().cast(), bytes.len(), libc::MSG_DONTWAIT) };
    usize::try_from(count).map_err(|_| io::Error::last_os_error())
}

/// Random bytes from the kernel.
///
/// # Errors
/// The kernel has none yet.
pub fn random_bytes() -> io::Result<[u8; 16]> {
    let mut bytes = [0; 16];
    // SAFETY: the call writes at most 16 bytes to our array.
    let count = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), 16, 0) };
    if count == 16 { Ok(bytes) } else { Err(io::Error::last_os_error()) }
}

/// Returns whether a write to this descriptor never makes us wait: it is a regular file.
pub fn is_file(fd: RawFd) -> bool {
    status(fd).is_some_and(|stat| stat.st_mode & libc::S_IFMT == libc::S_IFREG)
}

/// Returns whether two descriptors lead to the same file, pipe or terminal.
pub fn are_same(a: RawFd, b: RawFd) -> bool {
    match (status(a), status(b)) {
        (Some(a), Some(b)) => (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino),
        _ => false,
    }
}

/// The inode behind a descriptor; 0 if the number is not open.
pub fn inode(fd: RawFd) -> u64 {
    status(fd).map_or(0, |stat| stat.st_ino)
}

fn status(fd: RawFd) -> Option<libc::stat> {
    let mut stat = MaybeUninit::uninit();
    // SAFETY: fstat writes at most one structure where the pointer leads, and success means that it
    // did.
    unsafe { (libc::fstat(fd, stat.as_mut_ptr()) == 0).then(|| stat.assume_init()) }
}

/// Returns whether a descriptor is a terminal.
pub fn is_terminal(fd: RawFd) -> bool {
    // SAFETY: isatty touches no memory of ours.
    unsafe { libc::isatty(fd) == 1 }
}

/// Returns whether we may read this terminal: we are its foreground process group.
pub fn is_foreground(terminal: RawFd) -> bool {
    // SAFETY: neither call touches memory of ours.
    unsafe { libc::tcgetpgrp(terminal) == libc::getpgrp() }
}

/// Makes this process's group the foreground one of its terminal. Async-signal-safe.
pub fn take_terminal() {
    // SAFETY: a set of signals on the stack, and calls that touch no other memory. Without the
    // block, a process in the background would be stopped for this.
    unsafe {
        let mut set = empty_set();
        libc::sigaddset(&raw mut set, libc::SIGTTOU);
        libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
        libc::tcsetpgrp(0, libc::getpgrp());
    }
}

/// Lets every process of this user attach to this one, where the kernel restricts that (Yama).
pub fn allow_debuggers() {
    // SAFETY: this option takes one integer and no pointers.
    unsafe { libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY, 0, 0, 0) };
}

/// Returns whether a debugger is attached to this process.
pub fn is_traced() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:"));
    tracer.is_some_and(|tracer| tracer.trim() != "0")
}

/// Stops this process until another one continues it.
pub fn stop_self() {
    // SAFETY: raising a signal touches no memory of ours.
    unsafe { libc::raise(libc::SIGSTOP) };
}

/// Bytes of a page of memory.
pub fn page_bytes() -> u64 {
    // SAFETY: the call touches no memory.
    u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

/// The user of this process.
pub fn user_id() -> u32 {
    // SAFETY: the call touches no memory.
    unsafe { libc::geteuid() }
}

/// The user of the process at the other end of a socket of this host.
pub fn peer_user(socket: RawFd) -> Option<u32> {
    let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the call writes at most `length` bytes to our structure.
    let result = unsafe {
        libc::getsockopt(socket, libc::SOL_SOCKET, libc::SO_PEERCRED, (&raw mut peer).cast(), &raw mut length)
    };
    (result == 0).then_some(peer.uid)
}

/// This process's id.
pub fn process_id() -> i32 {
    std::process::id().cast_signed()
}

/// The highest number of a processor that we ask for.
const PROCESSORS_MAX: usize = 8192;

/// The processors that this process may run on, in order. Empty if the system does not say.
pub fn affinity() -> Vec<u32> {
    let mut mask = [0_u8; PROCESSORS_MAX / 8];
    // SAFETY: the kernel writes at most as many bytes as the array has.
    let count = unsafe { libc::syscall(libc::SYS_sched_getaffinity, 0, mask.len(), mask.as_mut_ptr()) };
    let known = usize::try_from(count).unwrap_or(0);
    let is_set = |number: &usize| mask[number / 8] >> (number % 8) & 1 == 1;
    (0..8 * known).filter(is_set).map(|number| number as u32).collect()
}

/// Processors as the kernel takes them, one bit each.
pub fn affinity_mask(processors: &[u32]) -> Vec<u8> {
    let mut mask = vec![0; PROCESSORS_MAX / 8];
    for &number in processors {
        if let Some(byte) = mask.get_mut(number as usize / 8) {
            *byte |= 1 << (number % 8);
        }
    }
    mask
}

/// Lets this process run on the processors of the mask only. Async-signal-safe.
///
/// # Errors
/// None of them may be used.
pub fn confine(mask: &[u8]) -> io::Result<()> {
    // SAFETY: the call reads as many bytes as the slice has.
    let result = unsafe { libc::syscall(libc::SYS_sched_setaffinity, 0, mask.len(), mask.as_ptr()) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Forks a child that runs `child` and exits with 0. Returns its process id.
///
/// # Errors
/// No more processes are allowed.
pub fn fork(child: impl FnOnce()) -> io::Result<i32> {
    // SAFETY: `mpiexec` has one thread, so no lock can be held by another one in the copy.
    match check(unsafe { libc::fork() })? {
        0 => {
            child();
            // SAFETY: ends the child without running what the parent registered for its own end.
            unsafe { libc::_exit(0) }
        }
        pid => Ok(pid),
    }
}

/// In a background child: starts a session, closes the standard streams, and sets its name.
pub fn become_background(name: &std::ffi::CStr) {
    // SAFETY: plain system calls; the name is a live C string; the standard streams are closed by
    // number on purpose, and the child uses none of them.
    unsafe {
        libc::setsid();
        libc::prctl(libc::PR_SET_NAME, name.as_ptr());
        for fd in 0..3 {
            libc::close(fd);
        }
    }
}
