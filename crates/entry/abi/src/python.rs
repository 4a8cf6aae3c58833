//! The lines of a program in Python that led to a call, as the interpreter in this process knows
//! them. Its functions are looked for by name: most programs have none.

use std::ffi::{CStr, c_int, c_void};
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// The most lines that are told.
const LINES_MAX: usize = 8;

/// `PyGILState_GetThisThreadState`: the interpreter's state of the calling thread, or null.
type ThisThread = unsafe extern "C" fn() -> *mut c_void;
/// `_Py_DumpTraceback`: writes the lines of a thread to a descriptor. It takes no lock and no
/// memory, since `faulthandler` calls it in signal handlers.
type Dump = unsafe extern "C" fn(c_int, *mut c_void);

/// The lines of the calling thread, the innermost first; none if it runs no Python, or an
/// interpreter that does not tell.
pub(crate) fn lines() -> Vec<String> {
    let (Some(this_thread), Some(dump)) =
        (find(c"PyGILState_GetThisThreadState"), find(c"_Py_DumpTraceback"))
    else {
        return Vec::new();
    };
    // SAFETY: functions of CPython with these types since version 3.7 (`Include/pystate.h`,
    // `Include/internal/pycore_traceback.h`).
    let (this_thread, dump) = unsafe {
        (
            std::mem::transmute::<*mut c_void, ThisThread>(this_thread),
            std::mem::transmute::<*mut c_void, Dump>(dump),
        )
    };
    // SAFETY: the function may be called at any time, also without the interpreter's lock.
    let thread = unsafe { this_thread() };
    if thread.is_null() {
        return Vec::new();
    }
    let Some((mut reader, writer)) = pipe() else { return Vec::new() };
    // SAFETY: the thread is this one, which stands still in our call.
    unsafe { dump(writer.as_raw_fd(), thread) };
    drop(writer);
    let mut text = String::new();
    // What was written before an error counts.
    let _ = reader.read_to_string(&mut text);
    read(&text)
}

/// The lines of a traceback.
fn read(text: &str) -> Vec<String> {
    let line = |line: &str| {
        let (file, rest) = line.trim().strip_prefix("File \"")?.split_once("\", line ")?;
        let (number, function) = rest.split_once(" in ")?;
        let name = file.rsplit('/').next().unwrap_or(file);
        Some(format!("{function} ({name}:{number})"))
    };
    text.lines().filter_map(line).take(LINES_MAX).collect()
}

fn find(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: the name is a C string; the call looks in what is loaded.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!found.is_null()).then_some(found)
}

/// A pipe whose writer never waits: a traceback that does not fit is cut.
fn pipe() -> Option<(File, OwnedFd)> {
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
    fn a_traceback_is_read() {
        let text = "Stack (most recent call first):\n  File \"/a/ring.py\", line 12 in swap\n  \
                    File \"/a/ring.py\", line 30 in <module>\n";
        assert_eq!(read(text), ["swap (ring.py:12)", "<module> (ring.py:30)"]);
        assert_eq!(read("nonsense\n"), [""; 0]);
    }

    #[test]
    fn a_program_without_python_has_no_lines() {
        assert_eq!(lines(), [""; 0]);
    }
}
