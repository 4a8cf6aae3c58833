//! The report of a crash: the program's places, for the launcher to turn into functions and
//! lines. Only where the program handles the signal by itself nothing is done.
//!
//! The handler makes only system calls that are safe in one, and stores. It takes no memory and no
//! lock: the crash may have come with one held.

use crate::frames;
use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use verbena_boot::status::{BYTES_MAX, StatusPlace};

/// The signals of a crash.
const SIGNALS: [c_int; 5] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGABRT];
/// The most frames that are told.
const FRAMES_MAX: usize = 48;
/// Bytes of a stack for the handler, in case that the program's own is full.
const STACK_BYTES: usize = 128 << 10;
/// Bytes of the system's list of mapped files that are read at once.
const LIST_BYTES: usize = 32 << 10;

/// The place where the launcher reads, if it is ours.
static PLACE: OnceLock<&'static StatusPlace> = OnceLock::new();
/// The process that installed the handler: a forked child tells nothing.
static PID: AtomicU32 = AtomicU32::new(0);
/// Set by the first crash.
static BUSY: AtomicBool = AtomicBool::new(false);

/// Memory of the handler, which the one that sets [`BUSY`] uses alone.
struct Scratch(UnsafeCell<([u8; LIST_BYTES], Text)>);

// SAFETY: only the thread that has set `BUSY` touches it.
unsafe impl Sync for Scratch {}

static SCRATCH: Scratch =
    Scratch(UnsafeCell::new(([0; LIST_BYTES], Text { bytes: [0; BYTES_MAX], length: 0 })));

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
        // SAFETY: the system passes such a structure with SA_SIGINFO.
        tell(signal, unsafe { frames::interrupted_at(context) }, list, text);
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

fn tell(signal: c_int, at: usize, list: &mut [u8; LIST_BYTES], text: &mut Text) {
    let mut found = [0; FRAMES_MAX];
    let count = frames::walk(&mut found);
    let crashed = frames::from_interrupted(&mut found[..count], at);
    for &address in crashed {
        text.hexadecimal(address);
        text.add(b" ");
    }
    text.add(b"\n");
    add_files(crashed, list, text);
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

/// Adds the lines of the system's list of mapped files that an address needs: those that begin a
/// file, and those that hold the address.
fn add_files(addresses: &[usize], list: &mut [u8; LIST_BYTES], text: &mut Text) {
    // SAFETY: `open`, `read` and `close` are safe in a handler; the buffer is ours.
    let fd = unsafe { libc::open(c"/proc/self/maps".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
    if fd < 0 {
        return;
    }
    let mut kept = 0;
    loop {
        let room = &mut list[kept..];
        // SAFETY: as above.
        let count = unsafe { libc::read(fd, room.as_mut_ptr().cast(), room.len()) };
        if count <= 0 {
            break;
        }
        let filled = kept + count as usize;
        let mut start = 0;
        while let Some(length) = list[start..filled].iter().position(|&byte| byte == b'\n') {
            let line = &list[start..start + length + 1];
            if is_needed(line, addresses) {
                text.add(line);
            }
            start += length + 1;
        }
        list.copy_within(start..filled, 0);
        kept = (filled - start) % LIST_BYTES;
    }
    // SAFETY: our own descriptor.
    unsafe { libc::close(fd) };
}

/// Returns whether a line `START-END PERMISSIONS OFFSET DEVICE INODE FILE` begins a file, or holds
/// one of the addresses.
fn is_needed(line: &[u8], addresses: &[usize]) -> bool {
    let (start, rest) = number(line);
    let (end, rest) = number(rest.get(1..).unwrap_or_default());
    let (offset, _) = number(rest.get(6..).unwrap_or_default());
    let has_file = line.contains(&b'/');
    has_file && (offset == 0 || addresses.iter().any(|address| (start..end).contains(address)))
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
        let line = |text: &str, address| is_needed(text.as_bytes(), &[address]);
        let code = "401000-402000 r-xp 00001000 08:01 7 /bin/prog\n";
        assert!(line(code, 0x40_1500) && !line(code, 0x40_2000));
        assert!(line("400000-401000 r--p 00000000 08:01 7 /bin/prog\n", 0));
        assert!(!line("7ff000-7ff100 rw-p 00000000 00:00 0 [stack]\n", 0x7f_f000));
    }

    #[test]
    fn a_text_that_is_full_takes_no_more() {
        let mut text = Text { bytes: [0; BYTES_MAX], length: BYTES_MAX - 1 };
        text.add(b"ab");
        assert_eq!(text.bytes().len(), BYTES_MAX - 1);
    }
}
