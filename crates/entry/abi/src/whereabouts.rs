//! The place of a rank that computes: when its launcher asks by a signal, it notes its return
//! addresses.
//!
//! The signal is SIGURG, which the system ignores where nobody handles it. The launcher sends it
//! only to a process that uses a processor at that moment, so that it cuts no sleep short, and only
//! when a job has stood still for long.

use crate::frames;
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::sync::OnceLock;
use verbena_boot::status::{FRAMES_MAX, StatusPlace};

/// The place where the launcher reads.
static PLACE: OnceLock<&'static StatusPlace> = OnceLock::new();

/// Answers the launcher from now on, unless the program handles the signal by itself.
pub(crate) fn answer(place: Option<&'static StatusPlace>) {
    let Some(place) = place.filter(|_| frames::is_default(libc::SIGURG)) else { return };
    if PLACE.set(place).is_err() {
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

/// Notes the return addresses of the code that was interrupted. It takes no memory and no lock.
extern "C" fn on_question(_signal: c_int, _info: *mut libc::siginfo_t, context: *mut c_void) {
    let mut found = [0; FRAMES_MAX];
    let count = frames::walk(&mut found);
    // SAFETY: the system passes such a structure with SA_SIGINFO.
    let at = unsafe { frames::interrupted_at(context) };
    let interrupted = frames::from_interrupted(&mut found[..count], at);
    if let Some(place) = PLACE.get() {
        place.write_frames(interrupted);
    }
}
