//! The report of a crash: the program's places, for the launcher to turn into functions and
//! lines. Only where the program handles the signal by itself nothing is done. An error that ends
//! the process tells its places in the same way.
//!
//! The handler makes only system calls that are safe in one, and stores. It takes no memory and no
//! lock: the crash may have come with one held.

use crate::frames;
use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicPtr, AtomicU32, AtomicUsize, Ordering};
use verbena_boot::status::{self, BYTES_MAX, StatusPlace};

/// The signals of a crash.
const SIGNALS: [c_int; 5] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGABRT];
/// The most frames that are told.
const FRAMES_MAX: usize = 48;
/// Bytes of a stack for the handler, in case that the program's own is full.
const STACK_BYTES: usize = 128 << 10;
/// Bytes of the system's list of mapped files that are read at once.
const LIST_BYTES: usize = 32 << 10;
/// Bytes of a line of that list, which has a path at its end.
const LINE_BYTES_MAX: usize = 4096 + 128;

/// The place where the launcher reads, if it is ours.
static PLACE: OnceLock<&'static StatusPlace> = OnceLock::new();
/// The process that installed the handler: a forked child tells nothing.
static PID: AtomicU32 = AtomicU32::new(0);
/// Set by the first crash.
static BUSY: AtomicBool = AtomicBool::new(false);

/// The text of the error whose place is being looked for, and its length; null if none is. A stack
/// that the program has spoilt may lead the walk astray, which must not lose the error.
static ERROR_TEXT: AtomicPtr<u8> = AtomicPtr::new(std::ptr::null_mut());
static ERROR_BYTES: AtomicUsize = AtomicUsize::new(0);
/// The code of that error, and the thread that looks.
static ERROR_CODE: AtomicI32 = AtomicI32::new(0);
static ERROR_THREAD: AtomicI64 = AtomicI64::new(0);

/// Memory of the handler, which the one that sets [`BUSY`] uses alone.
struct Scratch(UnsafeCell<(List, Text)>);

// SAFETY: only the thread that has set `BUSY` touches it.
unsafe impl Sync for Scratch {}

static SCRATCH: Scratch = Scratch(UnsafeCell::new((List::new(), Text { bytes: [0; BYTES_MAX], length: 0 })));

/// Installs the handler, once, for the signals that the program leaves to the system.
pub(crate) fn explain(place: Option<&'static StatusPlace>) {
    if !verbena_settings::CRASH_REPORTS.get() || PID.swap(std::process::id(), Ordering::SeqCst) != 0 {
        return;
    }
    if let Some(place) = place {
        // Set only here, once.
        let _ = PLACE.set(place);
    }
    give_stack();
    // The unwinder sets itself up at its first use, which must not be in the handler.
    frames::walk(&mut [0; 2]);
    for signal in SIGNALS.into_iter().filter(|&signal| frames::is_default(signal)) {
        let mut action = MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: a zeroed structure is valid; the handler has the type that SA_SIGINFO asks for.
        unsafe {
            let action = action.assume_init_mut();
            action.sa_sigaction = on_crash as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigaction(signal, action, std::ptr::null_mut());
        }
    }
}

/// Gives the calling thread a stack for handlers, if it has none.
fn give_stack() {
    let mut now = MaybeUninit::<libc::stack_t>::zeroed();
    // SAFETY: the calls read and set this thread's own stack for handlers; the memory is new, and
    // stays.
    unsafe {
        if libc::sigaltstack(std::ptr::null(), now.as_mut_ptr()) != 0
            || now.assume_init().ss_flags & libc::SS_DISABLE == 0
        {
            return;
        }
        let memory = libc::mmap(
            std::ptr::null_mut(),
            STACK_BYTES,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        );
        if memory != libc::MAP_FAILED {
            let stack = libc::stack_t { ss_sp: memory, ss_flags: 0, ss_size: STACK_BYTES };
            libc::sigaltstack(&stack, std::ptr::null_mut());
        }
    }
}

/// Tells of a crash, and lets the system do what it does with such a signal.
extern "C" fn on_crash(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    if PID.load(Ordering::SeqCst) == std::process::id() && !BUSY.swap(true, Ordering::SeqCst) {
        // SAFETY: `BUSY` was not set: nobody else uses the memory, now or later.
        let (list, text) = unsafe { &mut *SCRATCH.0.get() };
        let mut found = [0; FRAMES_MAX];
        // SAFETY: the system passes such structures with SA_SIGINFO.
        let found = unsafe { frames::of_interrupted(context, missing(signal, &*info), &mut found) };
        tell(signal, found, list, text);
    } else if ERROR_THREAD.load(Ordering::SeqCst) == thread_id() {
        end_with_error();
    }
    // SAFETY: `sigaction` and `raise` are safe in a handler; the structure is zeroed, which means
    // the default; the system passes what the signal is about.
    unsafe {
        let action = MaybeUninit::<libc::sigaction>::zeroed();
        libc::sigaction(signal, action.as_ptr(), std::ptr::null_mut());
        // The instruction that crashed does so again when this returns; a signal that was sent does
        // not.
        if (*info).si_code <= 0 {
            libc::raise(signal);
        }
    }
}

/// Writes the error whose place was being looked for, and ends the process with its code, since the
/// walk has crashed. Returns if there is none.
fn end_with_error() {
    let text = ERROR_TEXT.swap(std::ptr::null_mut(), Ordering::SeqCst);
    if !text.is_null() {
        // SAFETY: `tell_error` has not returned, so its caller still lends the text.
        write_error(unsafe { std::slice::from_raw_parts(text, ERROR_BYTES.load(Ordering::SeqCst)) });
        write_error(b"\n  in the program: not known, since its stack is damaged\n");
        verbena_boot::link::exit_now(verbena_boot::exit_byte(ERROR_CODE.load(Ordering::SeqCst)));
    }
}

/// Tells the launcher, if it is ours, where in the program the call was that ends this process by
/// this error, of this code.
pub(crate) fn tell_error(code: i32, message: &str) {
    let is_own = PID.load(Ordering::SeqCst) == std::process::id();
    let Some(place) = PLACE.get().filter(|_| is_own && !BUSY.swap(true, Ordering::SeqCst)) else { return };
    // SAFETY: as in the handler.
    let (list, text) = unsafe { &mut *SCRATCH.0.get() };
    ERROR_CODE.store(code, Ordering::SeqCst);
    ERROR_THREAD.store(thread_id(), Ordering::SeqCst);
    ERROR_BYTES.store(message.len(), Ordering::SeqCst);
    ERROR_TEXT.store(message.as_ptr().cast_mut(), Ordering::SeqCst);
    write(&frames::in_program(), list, text);
    ERROR_TEXT.store(std::ptr::null_mut(), Ordering::SeqCst);
    place.crash(status::ERROR as u64, text.bytes());
}

/// The address at which a thread found no memory; `None` if it crashed for another reason.
fn missing(signal: c_int, info: &libc::siginfo_t) -> Option<usize> {
    let is_of_memory = [libc::SIGSEGV, libc::SIGBUS].contains(&signal) && info.si_code > 0;
    // SAFETY: the system fills in the address for these signals.
    is_of_memory.then(|| unsafe { info.si_addr() as usize })
}

fn tell(signal: c_int, found: &[usize], list: &mut List, text: &mut Text) {
    write(found, list, text);
    match PLACE.get() {
        Some(place) => place.crash(signal as u64, text.bytes()),
        None => {
            write_error(
                b"verbena: this process crashed; its return addresses, and the files that they lie in:\n",
            );
            write_error(text.bytes());
        }
    }
}

/// Writes return addresses, and the files that they lie in.
fn write(addresses: &[usize], list: &mut List, text: &mut Text) {
    for &address in addresses {
        text.hexadecimal(address);
        text.add(b" ");
    }
    text.add(b"\n");
    add_files(addresses, list, text);
}

/// Adds the lines of the system's list of mapped files that an address needs.
fn add_files(addresses: &[usize], list: &mut List, text: &mut Text) {
    // SAFETY: `open`, `read` and `close` are safe in a handler; the buffer is ours.
    let fd = unsafe { libc::open(c"/proc/self/maps".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
    if fd < 0 {
        return;
    }
    let mut kept = 0;
    loop {
        let room = &mut list.bytes[kept..];
        // SAFETY: as above.
        let count = unsafe { libc::read(fd, room.as_mut_ptr().cast(), room.len()) };
        if count <= 0 {
            break;
        }
        let filled = kept + count as usize;
        let mut start = 0;
        while let Some(length) = list.bytes[start..filled].iter().position(|&byte| byte == b'\n') {
            list.first.add_line(&list.bytes[start..start + length + 1], addresses, text);
            start += length + 1;
        }
        list.bytes.copy_within(start..filled, 0);
        kept = (filled - start) % LIST_BYTES;
    }
    // SAFETY: our own descriptor.
    unsafe { libc::close(fd) };
}

/// The system's list of mapped files, as far as it was read.
struct List {
    bytes: [u8; LIST_BYTES],
    first: First,
}

impl List {
    const fn new() -> List {
        List { bytes: [0; LIST_BYTES], first: First { line: [0; LINE_BYTES_MAX], length: 0 } }
    }
}

/// The last line that began a file, if it was not added yet.
struct First {
    line: [u8; LINE_BYTES_MAX],
    length: usize,
}

impl First {
    /// Adds a line `START-END PERMISSIONS OFFSET DEVICE INODE FILE` if it holds one of the
    /// addresses, with the one that began its file. The lines of other files would fill the text:
    /// a program may have loaded hundreds.
    fn add_line(&mut self, line: &[u8], addresses: &[usize], text: &mut Text) {
        let (start, rest) = number(line);
        let (end, rest) = number(rest.get(1..).unwrap_or_default());
        let (offset, _) = number(rest.get(6..).unwrap_or_default());
        let Some(name) = file(line) else { return };
        if offset == 0 {
            self.length = line.len().min(LINE_BYTES_MAX);
            self.line[..self.length].copy_from_slice(&line[..self.length]);
        }
        if !addresses.iter().any(|address| (start..end).contains(address)) {
            return;
        }
        let first = &self.line[..std::mem::take(&mut self.length)];
        if file(first) == Some(name) {
            text.add(first);
        }
        if offset != 0 {
            text.add(line);
        }
    }
}

/// The file of a line; `None` if it has none.
fn file(line: &[u8]) -> Option<&[u8]> {
    line.iter().position(|&byte| byte == b'/').map(|at| &line[at..])
}

/// The number in hexadecimal at the beginning, and the rest.
fn number(text: &[u8]) -> (usize, &[u8]) {
    let mut value = 0_usize;
    for (at, byte) in text.iter().enumerate() {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            _ => return (value, &text[at..]),
        };
        value = value.wrapping_mul(16).wrapping_add(digit.into());
    }
    (value, &[])
}

/// The system's number of the calling thread. Safe in a handler.
fn thread_id() -> i64 {
    // SAFETY: the call takes nothing.
    unsafe { libc::syscall(libc::SYS_gettid) }
}

fn write_error(bytes: &[u8]) {
    // SAFETY: `write` is safe in a handler; pointer and length are those of a slice.
    unsafe { libc::write(2, bytes.as_ptr().cast(), bytes.len()) };
}

/// A text that grows within fixed memory; what does not fit is left out.
struct Text {
    bytes: [u8; BYTES_MAX],
    length: usize,
}

impl Text {
    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    fn add(&mut self, more: &[u8]) {
        if let Some(room) = self.bytes.get_mut(self.length..self.length + more.len()) {
            room.copy_from_slice(more);
            self.length += more.len();
        }
    }

    fn hexadecimal(&mut self, number: usize) {
        let digits = (usize::BITS - number.leading_zeros()).div_ceil(4).max(1);
        for digit in (0..digits).rev() {
            let value = (number >> (4 * digit)) as u8 & 15;
            self.add(&[if value < 10 { b'0' + value } else { b'a' + value - 10 }]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_and_read_in_hexadecimal() {
        let mut text = Text { bytes: [0; BYTES_MAX], length: 0 };
        for number in [0, 0x7f, 0x10, usize::MAX] {
            text.hexadecimal(number);
            text.add(b"-");
        }
        assert_eq!(text.bytes(), b"0-7f-10-ffffffffffffffff-");
        assert_eq!(number(b"7f00-x"), (0x7f00, &b"-x"[..]));
    }

    #[test]
    fn only_lines_of_files_that_matter_are_kept() {
        let maps = [
            "400000-401000 r--p 00000000 08:01 7 /bin/prog\n",
            "401000-402000 r-xp 00001000 08:01 7 /bin/prog\n",
            "402000-403000 r-xp 00002000 08:01 7 /bin/prog\n",
            "500000-501000 r-xp 00000000 08:01 8 /lib/other.so\n",
            "501000-502000 r-xp 00001000 08:01 8 /lib/other.so\n",
            "600000-601000 r-xp 00000000 08:01 9 /lib/flat.so\n",
            "7ff000-7ff100 rw-p 00000000 00:00 0 [stack]\n",
        ];
        for (addresses, expected) in [
            (&[0x40_1500][..], &[0, 1][..]),
            (&[0x40_2000, 0x40_1fff], &[0, 1, 2]),
            (&[0x60_0001], &[5]),
            (&[0x50_1000, 0x40_1000], &[0, 1, 3, 4]),
            (&[0x7f_f000, 7], &[]),
        ] {
            let mut first = List::new().first;
            let mut text = Text { bytes: [0; BYTES_MAX], length: 0 };
            maps.iter().for_each(|line| first.add_line(line.as_bytes(), addresses, &mut text));
            let lines: String = expected.iter().map(|&line: &usize| maps[line]).collect();
            assert_eq!(String::from_utf8_lossy(text.bytes()), lines, "{addresses:x?}");
        }
    }

    #[test]
    fn a_text_that_is_full_takes_no_more() {
        let mut text = Text { bytes: [0; BYTES_MAX], length: BYTES_MAX - 1 };
        text.add(b"ab");
        assert_eq!(text.bytes().len(), BYTES_MAX - 1);
    }
}
