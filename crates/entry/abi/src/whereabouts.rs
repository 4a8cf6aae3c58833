//! The place of a rank that computes: when its launcher asks by a signal, it notes its return
//! addresses, and its lines in Python.
//!
//! The signal is SIGURG, which the system ignores where nobody handles it. The launcher sends it
//! only to a process that runs, in no call that a handler would end (where the kernel lets the
//! launcher look), or that sleeps in the interpreter of Python, which goes on with its sleep (PEP
//! 475), so that it cuts no sleep short; and only when a job has stood still for long, or
//! `verbena top` asks. A process that polls also says for what, in its next call.

use crate::frames;
use crate::python::{self, Interpreter};
use crate::state;
use std::ffi::{c_int, c_void};
use std::fs::File;
use std::io::Read;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::OnceLock;
use verbena_boot::status::{FRAMES_MAX, PYTHON_BYTES_MAX, StatusPlace};

/// The means to answer.
struct Answering {
    /// The place where the launcher reads.
    place: &'static StatusPlace,
    python: Option<Python>,
}

/// The interpreter in this process, and a pipe for its words: it writes to a descriptor only.
struct Python {
    interpreter: Interpreter,
    reader: File,
    writer: OwnedFd,
}

static ANSWERING: OnceLock<Answering> = OnceLock::new();

/// Answers the launcher from now on, unless the program handles the signal by itself.
pub(crate) fn answer(place: Option<&'static StatusPlace>) {
    let Some(place) = place.filter(|_| frames::is_default(libc::SIGURG)) else { return };
    let with_pipe = |interpreter| {
        let (reader, writer) = python::pipe()?;
        Some(Python { interpreter, reader, writer })
    };
    let python = Interpreter::find().and_then(with_pipe);
    if ANSWERING.set(Answering { place, python }).is_err() {
        return;
    }
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: a zeroed structure is valid; the handler has the type that SA_SIGINFO asks for.
    let installed = unsafe {
        let action = action.assume_init_mut();
        action.sa_sigaction = on_question as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_ONSTACK;
        libc::sigaction(libc::SIGURG, action, std::ptr::null_mut()) == 0
    };
    if installed {
        place.offer_frames();
    }
}

/// Notes the place of the code that was interrupted. It takes no memory and no lock.
extern "C" fn on_question(_signal: c_int, _info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the address is that of this thread's variable, which the interrupted code may be
    // about to read.
    let errno = unsafe { *libc::__errno_location() };
    let mut found = [0; FRAMES_MAX];
    // SAFETY: the system passes such a structure with SA_SIGINFO.
    let interrupted = unsafe { frames::of_interrupted(context, None, &mut found) };
    if let Some(process) = state::try_process() {
        process.note_question();
    }
    if let Some(Answering { place, python }) = ANSWERING.get() {
        let mut text = [0; PYTHON_BYTES_MAX];
        let length = python.as_ref().map_or(0, |python| python.read(&mut text));
        place.write_frames(&text[..length], interrupted);
    }
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}

impl Python {
    /// Reads the traceback of the calling thread as far as it fits; returns its length.
    fn read(&self, text: &mut [u8]) -> usize {
        self.interpreter.dump(self.writer.as_raw_fd());
        let length = (&self.reader).read(text).unwrap_or(0);
        // What does not fit is not left for the next question. The pipe is never waited for.
        let mut rest = [0; 512];
        while (&self.reader).read(&mut rest).is_ok_and(|more| more > 0) {}
        length
    }
}
