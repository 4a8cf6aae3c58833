//! Child processes that are forked from a test.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Makes a child that runs `work` and exits with the code that this returns, or with 101 if it
/// panics. Returns its end as `waitpid` tells it: 0 if all is well. An alarm ends a child that
/// hangs, after two minutes.
///
/// The child begins with one thread, and other threads of the test may have held locks when it was
/// made: `work` must need none of them.
pub fn end_of_child(work: impl FnOnce() -> libc::c_int) -> libc::c_int {
    // SAFETY: the child runs what its caller answers for, and ends without returning.
    unsafe {
        let child = libc::fork();
        assert!(child >= 0, "no child: {}", std::io::Error::last_os_error());
        if child == 0 {
            libc::alarm(120);
            libc::_exit(catch_unwind(AssertUnwindSafe(work)).unwrap_or(101));
        }
        let mut status = 0;
        assert_eq!(libc::waitpid(child, &raw mut status, 0), child);
        status
    }
}
