//! The lines of a program in Python that led to a call, as the interpreter in this process knows
//! them. Its functions are looked for by name: most programs have none.

use std::ffi::{CStr, c_int, c_void};
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use verbena_hang::traceback;

/// `PyGILState_GetThisThreadState`: the interpreter's state of the calling thread, or null.
type ThisThread = unsafe extern "C" fn() -> *mut c_void;
/// `_Py_DumpTraceback`: writes the lines of a thread to a descriptor. It takes no lock and no
/// memory, since `faulthandler` calls it in signal handlers.
type Dump = unsafe extern "C" fn(c_int, *mut c_void);

/// The functions of the interpreter in this process.
#[derive(Clone, Copy)]
pub(crate) struct Interpreter {
    this_thread: ThisThread,
    dump: Dump,
}

impl Interpreter {
    /// Finds the functions; `None` if this process runs no Python, or an interpreter that does not
    /// tell.
    pub(crate) fn find() -> Option<Interpreter> {
        let (this_thread, dump) = (find(c"PyGILState_GetThisThreadState")?, find(c"_Py_DumpTraceback")?);
        // SAFETY: functions of CPython with these types since version 3.7 (`Include/pystate.h`,
        // `Include/internal/pycore_traceback.h`).
        unsafe {
            Some(Interpreter {
                this_thread: std::mem::transmute::<*mut c_void, ThisThread>(this_thread),
                dump: std::mem::transmute::<*mut c_void, Dump>(dump),
            })
        }
    }

    /// Writes the traceback of the calling thread, which may have been interrupted anywhere, to a
    /// descriptor. Nothing is written by a thread that runs no Python.
    pub(crate) fn dump(self, to: c_int) {
        // SAFETY: the function may be called at any time, also without the interpreter's lock.
        let thread = unsafe { (self.this_thread)() };
        if !thread.is_null() {
            // SAFETY: the thread is this one, which stands still in our call.
            unsafe { (self.dump)(to, thread) };
        }
    }
}

/// The lines of the calling thread, the innermost first; none if it runs no Python, or an
/// interpreter that does not tell.
pub(crate) fn lines() -> Vec<String> {
    let Some(interpreter) = Interpreter::find() else { return Vec::new() };
    let Some((mut reader, writer)) = pipe() else { return Vec::new() };
    interpreter.dump(writer.as_raw_fd());
    drop(writer);
    let mut text = String::new();
    // What was written before an error counts.
    let _ = reader.read_to_string(&mut text);
    traceback::lines(&text)
}

fn find(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: the name is a C string; the call looks in what is loaded.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!found.is_null()).then_some(found)
}

/// A pipe whose writer never waits: a traceback that does not fit is cut.
pub(crate) fn pipe() -> Option<(File, OwnedFd)> {
    let mut ends = [0; 2];
    // SAFETY: the call fills our array.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC | libc::O_NONBLOCK) } != 0 {
        return None;
    }
    // SAFETY: both descriptors are new and ours.
    unsafe { Some((File::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1]))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_without_python_has_no_lines() {
        assert_eq!(lines(), [""; 0]);
    }
}
