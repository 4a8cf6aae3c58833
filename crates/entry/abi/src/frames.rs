//! The place of the calling thread: the MPI function that the program called, and the program's own
//! return addresses. The launcher turns those into functions and lines.

use crate::call_site;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::MaybeUninit;

/// The most frames that are looked at, and that are told.
const FRAMES_MAX: usize = 96;
const PROGRAM_FRAMES_MAX: usize = 16;
/// The beginnings of the names that MPI's functions have.
const PREFIXES: [&str; 6] = ["MPI_", "PMPI_", "mpi_", "pmpi_", "MPIX_", "QMPI_"];

/// The place of a thread.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Frames {
    /// The MPI function; empty if none is found.
    pub(crate) call: String,
    /// The return addresses in the program, the innermost first.
    pub(crate) program: Vec<u64>,
}

/// A frame: the return address, the name of its function if the module exports it, and whether it
/// lies in one of MPI's libraries.
struct Frame {
    address: usize,
    name: Option<String>,
    is_mpi: bool,
    /// True if the address lies in a loaded module.
    is_code: bool,
}

impl Frame {
    /// Returns whether it is that of a function of MPI, or of one that stands for it. The standard
    /// keeps these names from programs in upper case alone.
    fn is_call(&self) -> bool {
        let name = self.name.as_deref().unwrap_or_default();
        is_mpi_function(name) && (self.is_mpi || !name.starts_with(['m', 'p']))
    }
}

/// The place of the calling thread.
pub(crate) fn here() -> Frames {
    sorted(&all())
}

/// The calling thread's return addresses in the program, the innermost first.
pub(crate) fn in_program() -> Vec<usize> {
    program_of(&all()).map(|frame| frame.address).collect()
}

fn all() -> Vec<Frame> {
    addresses().into_iter().map(frame).collect()
}

/// Parts MPI's frames from the program's.
fn sorted(frames: &[Frame]) -> Frames {
    let by_frame = || frames.iter().find(|frame| frame.is_call()).and_then(|frame| frame.name.clone());
    let call = program_of(frames).next().and_then(called_there).or_else(by_frame);
    let program = program_of(frames).take(PROGRAM_FRAMES_MAX).map(|frame| frame.address as u64);
    Frames { call: call.map_or(String::new(), |name| as_in_c(&name)), program: program.collect() }
}

/// The program's frames: those behind MPI's innermost ones and behind the functions of a tool that
/// stand for MPI's. The frames of an outer call of MPI, which has called the program, are left out.
fn program_of(frames: &[Frame]) -> impl Iterator<Item = &Frame> {
    let is_own = |frame: &Frame| frame.is_mpi || frame.is_call();
    let inner = frames.iter().position(|frame| !is_own(frame)).unwrap_or(frames.len());
    let rest = &frames[inner..];
    let outer = rest.iter().position(|frame| frame.is_mpi).unwrap_or(rest.len());
    let tool = rest[..outer].iter().rposition(Frame::is_call).map_or(0, |last| last + 1);
    rest[tool..].iter().filter(|frame| !frame.is_mpi)
}

/// The MPI function that the program called at this return address.
fn called_there(program: &Frame) -> Option<String> {
    if !program.is_code {
        return None;
    }
    let function = call_site::function_called(program.address)?;
    // As a return address, behind the function's first instruction.
    frame(function + 1).name.filter(|name| is_mpi_function(name))
}

/// A function's name as C has it: `MPI_Comm_size` for `PMPI_Comm_size` and `mpi_comm_size_`.
fn as_in_c(name: &str) -> String {
    let name = name.strip_prefix(['P', 'p']).filter(|rest| rest.len() > 4).unwrap_or(name);
    let Some(rest) = name.strip_prefix("mpi_") else { return name.to_owned() };
    let rest = rest.trim_end_matches('_');
    let rest = rest.strip_suffix("_f08").or(rest.strip_suffix("_f08ts")).unwrap_or(rest);
    let mut letters = rest.chars();
    let first = letters.next().map_or(String::new(), |first| first.to_uppercase().collect());
    format!("MPI_{first}{}", letters.as_str())
}

fn is_mpi_function(name: &str) -> bool {
    PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

fn frame(address: usize) -> Frame {
    let mut info = MaybeUninit::<libc::Dl_info>::zeroed();
    // A return address may lie behind the end of its function.
    let at = address.wrapping_sub(1) as *const c_void;
    // SAFETY: the call only looks the address up, and fills our structure if it finds it.
    let found = unsafe { libc::dladdr(at, info.as_mut_ptr()) } != 0;
    if !found {
        return Frame { address, name: None, is_mpi: false, is_code: false };
    }
    // SAFETY: the call has filled the structure, which was zeroed before.
    let info = unsafe { info.assume_init() };
    let (name, module) = (text(info.dli_sname), text(info.dli_fname).unwrap_or_default());
    let module = module.rsplit('/').next().unwrap_or_default();
    Frame { address, name, is_mpi: module.starts_with("libmpi"), is_code: true }
}

fn text(name: *const c_char) -> Option<String> {
    // SAFETY: null, or a name that the loader keeps as long as the module, whose code is running.
    (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned())
}

/// The return addresses of the calling thread, the innermost first.
fn addresses() -> Vec<usize> {
    let mut found = [0; FRAMES_MAX];
    let count = walk(&mut found);
    found[..count].to_vec()
}

/// Fills in the return addresses of the calling thread, the innermost first, and returns how many
/// they are. It takes no memory.
pub(crate) fn walk(found: &mut [usize]) -> usize {
    let mut walk = Walk { found, count: 0 };
    // SAFETY: the function gets each frame of this thread and our record, which outlives the walk.
    unsafe { _Unwind_Backtrace(note, (&raw mut walk).cast()) };
    walk.count
}

/// The addresses found so far.
struct Walk<'a> {
    found: &'a mut [usize],
    count: usize,
}

/// Notes a frame. The walk ends at any answer but 0.
extern "C" fn note(context: *mut c_void, walk: *mut c_void) -> c_int {
    // SAFETY: the record that `walk` passed, which nobody else uses meanwhile.
    let walk = unsafe { &mut *walk.cast::<Walk>() };
    // SAFETY: the walk passes a frame of its own.
    let address = unsafe { _Unwind_GetIP(context) };
    match walk.found.get_mut(walk.count).filter(|_| address != 0) {
        Some(place) => *place = address,
        None => return 1,
    }
    walk.count += 1;
    0
}

/// Returns whether the program leaves a signal to the system.
pub(crate) fn is_default(signal: c_int) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: with a null new action this only reads the present one into live memory.
    let read = unsafe { libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) };
    // SAFETY: the structure was zeroed, which is valid for it, and perhaps filled.
    read == 0 && unsafe { action.assume_init() }.sa_sigaction == libc::SIG_DFL
}

/// Fills in the place of the code that a signal interrupted, as if that were a return address, and
/// the return addresses behind it. Safe in a handler. `missing`: the address at which the thread
/// found no memory. If it found no code there, after a call through a wrong pointer, they begin
/// with the caller, if that is known: the unwinder would read the code.
///
/// # Safety
/// `context` is what a handler with SA_SIGINFO gets.
pub(crate) unsafe fn of_interrupted(
    context: *mut c_void,
    missing: Option<usize>,
    found: &mut [usize],
) -> &[usize] {
    // SAFETY: the caller's promise.
    let registers = unsafe { &raw mut (*context.cast::<libc::ucontext_t>()).uc_mcontext };
    // SAFETY: as above; nobody else uses the registers.
    let before = unsafe { Position::of(&*registers) };
    let place = if missing == Some(before.at) { before.of_caller() } else { Some(before) };
    let Some(place) = place else { return &[] };
    // The unwinder takes them from there.
    // SAFETY: as above.
    unsafe { place.set(&mut *registers) };
    let count = walk(found);
    // SAFETY: as above.
    unsafe { before.set(&mut *registers) };
    from_interrupted(&mut found[..count], place.at)
}

/// The place of a thread: the rest of its frames follows from it.
#[derive(Clone, Copy)]
struct Position {
    at: usize,
    stack: usize,
    /// The register with the return address, on processors that have one.
    link: usize,
}

impl Position {
    #[cfg(target_arch = "x86_64")]
    fn of(registers: &libc::mcontext_t) -> Position {
        let of = |register: c_int| registers.gregs[register as usize] as usize;
        Position { at: of(libc::REG_RIP), stack: of(libc::REG_RSP), link: 0 }
    }

    #[cfg(target_arch = "aarch64")]
    fn of(registers: &libc::mcontext_t) -> Position {
        let link = registers.regs[30] as usize;
        Position { at: registers.pc as usize, stack: registers.sp as usize, link }
    }

    #[cfg(target_arch = "x86_64")]
    fn set(self, registers: &mut libc::mcontext_t) {
        registers.gregs[libc::REG_RIP as usize] = self.at as i64;
        registers.gregs[libc::REG_RSP as usize] = self.stack as i64;
    }

    #[cfg(target_arch = "aarch64")]
    fn set(self, registers: &mut libc::mcontext_t) {
        registers.pc = self.at as u64;
    }

    /// That in the call that has just been made; `None` if no call has led here.
    fn of_caller(self) -> Option<Position> {
        let (back, stack) = match cfg!(target_arch = "x86_64") {
            true => (call_site::word(self.stack)?, self.stack + size_of::<usize>()),
            false => (self.link, self.stack),
        };
        call_site::is_behind_call(back).then_some(Position { at: back - 1, stack, ..self })
    }
}

/// The part of a handler's frames that begins with the instruction at which it interrupted the
/// thread, as if that were a return address; none if it is not among them: the handler's own tell
/// nothing.
fn from_interrupted(found: &mut [usize], at: usize) -> &[usize] {
    let Some(first) = found.iter().position(|&address| address == at) else { return &[] };
    found[first] += 1;
    &found[first..]
}

// The unwinder of the C library of compilers, which Rust's own library is linked with.
unsafe extern "C" {
    fn _Unwind_Backtrace(
        note: extern "C" fn(*mut c_void, *mut c_void) -> c_int,
        argument: *mut c_void,
    ) -> c_int;
    fn _Unwind_GetIP(context: *mut c_void) -> usize;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(address: usize, name: &str, is_mpi: bool) -> Frame {
        Frame { address, name: (!name.is_empty()).then(|| name.into()), is_mpi, is_code: false }
    }

    #[test]
    fn the_programs_frames_begin_behind_mpis() {
        let frames = [
            frame(1, "", true),
            frame(2, "PMPI_Recv", true),
            frame(3, "mpi_recv_", true),
            frame(4, "", false),
            frame(5, "main", false),
        ];
        assert_eq!(sorted(&frames), Frames { call: "MPI_Recv".into(), program: vec![4, 5] });
    }

    #[test]
    fn a_tools_wrapper_is_no_part_of_the_program() {
        let frames = [frame(1, "PMPI_Send", true), frame(2, "MPI_Send", false), frame(3, "main", false)];
        assert_eq!(sorted(&frames), Frames { call: "MPI_Send".into(), program: vec![3] });
    }

    #[test]
    fn a_tools_helper_is_no_part_of_the_program() {
        let frames = [
            frame(1, "PMPI_Send", true),
            frame(2, "", false),
            frame(3, "MPI_Send", false),
            frame(4, "main", false),
        ];
        assert_eq!(sorted(&frames), Frames { call: "MPI_Send".into(), program: vec![4] });
    }

    #[test]
    fn a_function_of_the_program_may_be_called_as_those_of_fortran_are() {
        let frames = [frame(1, "MPI_Recv", true), frame(2, "step", false), frame(3, "mpi_run", false)];
        assert_eq!(sorted(&frames), Frames { call: "MPI_Recv".into(), program: vec![2, 3] });
    }

    #[test]
    fn a_call_of_a_callback_is_told_at_its_own_place() {
        let frames = [
            frame(1, "MPI_Send", true),
            frame(2, "copies", false),
            frame(3, "", true),
            frame(4, "MPI_Comm_dup", true),
            frame(5, "main", false),
        ];
        assert_eq!(sorted(&frames), Frames { call: "MPI_Send".into(), program: vec![2, 5] });
    }

    #[test]
    fn names_are_those_of_c() {
        for (name, in_c) in [
            ("PMPI_Comm_size", "MPI_Comm_size"),
            ("MPI_Recv_c", "MPI_Recv_c"),
            ("mpi_comm_size_", "MPI_Comm_size"),
            ("pmpi_send_f08_", "MPI_Send"),
        ] {
            assert_eq!(as_in_c(name), in_c);
        }
    }

    #[test]
    fn the_handlers_own_frames_are_left_out() {
        let mut found = [1, 2, 30, 40];
        assert_eq!(from_interrupted(&mut found, 30), [31, 40]);
        assert!(from_interrupted(&mut found, 99).is_empty());
    }

    #[test]
    fn this_thread_has_frames() {
        assert!(here().program.len() > 2, "{:?}", here());
        assert_eq!(here().call, "");
    }
}
