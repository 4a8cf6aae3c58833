//! MPIR: the symbols by which debuggers of parallel programs (DDT, TotalView, STAT, gdb4hpc) learn
//! from `mpiexec` which processes a job has ("The MPIR Process Acquisition Interface", version
//! 1.1).
//!
//! A debugger that starts `mpiexec` sets `MPIR_being_debugged` and a breakpoint at
//! `MPIR_Breakpoint`; there it finds the table of all ranks. Until `mpiexec` goes on, no rank gets
//! an answer to its `MPI_Init`, so each can be attached to before it has passed that. A debugger
//! that comes later reads the same table.
//!
//! The symbols are made by the assembler, since the linker drops from a program what Rust exports;
//! `build.rs` has them kept for those who look.

use std::ffi::{CString, c_char, c_int};
use std::os::unix::ffi::OsStringExt;

/// A rank, as debuggers read it.
#[repr(C)]
#[derive(Debug)]
struct Process {
    host_name: *const c_char,
    executable_name: *const c_char,
    pid: c_int,
}

/// `MPIR_debug_state`: the table of processes is there.
const SPAWNED: c_int = 1;
/// `MPIR_debug_state`: the job is being ended; `MPIR_debug_abort_string` says why.
const ABORTING: c_int = 2;

std::arch::global_asm!(
    ".pushsection .data.MPIR, \"aw\", @progbits",
    ".balign 8",
    ".globl MPIR_proctable",
    ".type MPIR_proctable, @object",
    ".size MPIR_proctable, 8",
    "MPIR_proctable: .8byte 0",
    ".globl MPIR_debug_abort_string",
    ".type MPIR_debug_abort_string, @object",
    ".size MPIR_debug_abort_string, 8",
    "MPIR_debug_abort_string: .8byte 0",
    ".globl MPIR_proctable_size",
    ".type MPIR_proctable_size, @object",
    ".size MPIR_proctable_size, 4",
    "MPIR_proctable_size: .4byte 0",
    ".globl MPIR_debug_state",
    ".type MPIR_debug_state, @object",
    ".size MPIR_debug_state, 4",
    "MPIR_debug_state: .4byte 0",
    ".globl MPIR_being_debugged",
    ".type MPIR_being_debugged, @object",
    ".size MPIR_being_debugged, 4",
    "MPIR_being_debugged: .4byte 0",
    // Their presence says that this process starts others, and that not all must be attached to.
    ".globl MPIR_i_am_starter",
    ".type MPIR_i_am_starter, @object",
    ".size MPIR_i_am_starter, 4",
    "MPIR_i_am_starter: .4byte 1",
    ".globl MPIR_partial_attach_ok",
    ".type MPIR_partial_attach_ok, @object",
    ".size MPIR_partial_attach_ok, 4",
    "MPIR_partial_attach_ok: .4byte 1",
    ".popsection",
    ".pushsection .text.MPIR, \"ax\", @progbits",
    ".globl MPIR_Breakpoint",
    ".type MPIR_Breakpoint, @function",
    "MPIR_Breakpoint:",
    "nop",
    "ret",
    ".size MPIR_Breakpoint, . - MPIR_Breakpoint",
    ".popsection",
);

#[allow(non_upper_case_globals)]
unsafe extern "C" {
    static mut MPIR_proctable: *mut Process;
    static mut MPIR_proctable_size: c_int;
    static mut MPIR_debug_state: c_int;
    static mut MPIR_debug_abort_string: *const c_char;
    static mut MPIR_being_debugged: c_int;
    fn MPIR_Breakpoint();
}

/// A rank of the job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The rank's host.
    pub host: String,
    /// The rank's program.
    pub program: std::ffi::OsString,
    /// The rank's process id on its host.
    pub pid: i32,
}

/// Shows all ranks, in order, to a debugger, and lets it act before anything else happens.
pub fn show(rows: &[Row]) {
    // The debugger may read them for as long as this process runs.
    let text = |bytes: Vec<u8>| CString::new(bytes).unwrap_or_default().into_raw().cast_const();
    let process = |row: &Row| Process {
        host_name: text(row.host.clone().into_bytes()),
        executable_name: text(row.program.clone().into_vec()),
        pid: row.pid,
    };
    let table: Vec<Process> = rows.iter().map(process).collect();
    let table = Box::leak(table.into_boxed_slice());
    // SAFETY: the words are ours, and this process has one thread. The debugger reads them, and
    // sets a breakpoint at a function that does nothing.
    unsafe {
        MPIR_proctable = table.as_mut_ptr();
        MPIR_proctable_size = table.len() as c_int;
        MPIR_debug_state = SPAWNED;
        MPIR_Breakpoint();
    }
}

/// Tells a debugger that the job is being ended, and why.
pub fn abort(why: &str) {
    let why = CString::new(why.replace('\0', " ")).unwrap_or_default();
    // SAFETY: as in `show`.
    unsafe {
        MPIR_debug_abort_string = why.into_raw().cast_const();
        MPIR_debug_state = ABORTING;
        MPIR_Breakpoint();
    }
}

/// Returns whether a debugger has said that it is there.
pub fn is_debugged() -> bool {
    // SAFETY: the word is ours; the debugger changes it while this process stands still.
    unsafe { (&raw const MPIR_being_debugged).read_volatile() != 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CStr;

    #[test]
    fn the_table_has_every_rank_as_debuggers_read_it() {
        let row = |pid| Row { host: format!("host{pid}"), program: "prog".into(), pid };
        show(&[row(7), row(8)]);
        abort("it is over");
        // SAFETY: the only test that writes these words; the texts live for ever.
        unsafe {
            assert_eq!((MPIR_proctable_size, MPIR_debug_state), (2, ABORTING));
            let second = &*MPIR_proctable.add(1);
            assert_eq!(CStr::from_ptr(second.host_name), c"host8");
            assert_eq!(CStr::from_ptr(second.executable_name), c"prog");
            assert_eq!(second.pid, 8);
            assert_eq!(CStr::from_ptr(MPIR_debug_abort_string), c"it is over");
        }
        assert_eq!(std::mem::size_of::<Process>(), 24);
        assert!(!is_debugged());
    }
}
