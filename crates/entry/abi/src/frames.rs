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

/// The place of the calling thread.
pub(crate) fn here() -> Frames {
    sorted(&addresses().into_iter().map(frame).collect::<Vec<_>>())
}

/// Parts MPI's frames from the program's.
fn sorted(frames: &[Frame]) -> Frames {
    let is_call = |frame: &&Frame| frame.name.as_ref().is_some_and(|name| is_mpi_function(name));
    let last = frames.iter().rposition(|frame| frame.is_mpi || is_call(&frame));
    let program = &frames[last.map_or(0, |last| last + 1)..];
    let by_frame = || frames.iter().find(is_call).and_then(|frame| frame.name.clone());
    let call = program.first().and_then(called_there).or_else(by_frame);
    let program = program.iter().take(PROGRAM_FRAMES_MAX).map(|frame| frame.address as u64);
    Frames { call: call.map_or(String::new(), |name| as_in_c(&name)), program: program.collect() }
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

/// The address of the instruction at which a signal interrupted a thread. Safe in a handler.
///
/// # Safety
/// `context` is what a handler with SA_SIGINFO gets.
pub(crate) unsafe fn interrupted_at(context: *mut c_void) -> usize {
    let context = context.cast::<libc::ucontext_t>();
    // SAFETY: the caller's promise.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        return (*context).uc_mcontext.gregs[libc::REG_RIP as usize] as usize;
        #[cfg(target_arch = "aarch64")]
        return (*context).uc_mcontext.pc as usize;
    }
}

/// The part of a handler's frames that begins with the instruction at which it interrupted the
/// thread, as if that were a return address; all of them if it is not among them. Safe in a
/// handler.
pub(crate) fn from_interrupted(found: &mut [usize], at: usize) -> &[usize] {
    let Some(first) = found.iter().position(|&address| address == at) else { return found };
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
        assert_eq!(from_interrupted(&mut found, 99), [1, 2, 31, 40]);
    }

    #[test]
    fn this_thread_has_frames() {
        assert!(here().program.len() > 2, "{:?}", here());
        assert_eq!(here().call, "");
    }
}
