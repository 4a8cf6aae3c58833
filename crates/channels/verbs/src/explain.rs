//! Error numbers of verbs in words: the likely cause and what to do.

use crate::memlock;
use std::io;
use verbena_fault::Fault;

/// Returns the error number that the last call of the C library left.
pub(crate) fn errno() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

/// Turns a code of 0 or an error number into a result.
pub(crate) fn check(code: i32, what: &str, on: impl FnOnce() -> String) -> Result<(), Fault> {
    // Some calls return -1 and set errno instead.
    match code {
        0 => Ok(()),
        -1 => Err(fault(what, on(), errno())),
        code => Err(fault(what, on(), code)),
    }
}

/// Describes a failed call as a fault.
pub fn fault(what: &str, on: impl Into<String>, number: i32) -> Fault {
    let (cause, remedy) = explain(number);
    let said = io::Error::from_raw_os_error(number);
    Fault::new(what, on, format!("{cause} ({said})"), remedy)
}

/// Returns the likely cause and the remedy.
fn explain(number: i32) -> (String, String) {
    let (cause, remedy) = match number {
        libc::ENOMEM => return out_of_memory(),
        libc::EPERM | libc::EACCES => (
            "this process may not use the device's file in /dev/infiniband",
            "give it read and write access; in a container pass /dev/infiniband through",
        ),
        libc::ENODEV | libc::EIO | libc::ENXIO => (
            "the device is gone, failed, or being reset",
            "look at the kernel's log (dmesg) and at \"ibv_devinfo\"; restart the job on another device or node",
        ),
        libc::ENOENT => (
            "the device's file in /dev/infiniband, or its port, does not exist",
            "load the kernel module ib_uverbs; in a container pass /dev/infiniband through",
        ),
        libc::ENOSYS | libc::EOPNOTSUPP => (
            "the kernel or the device's driver does not support it",
            "load the kernel module ib_uverbs and the device's driver, or use a newer kernel",
        ),
        libc::EINVAL => (
            "the device's driver refused a value, such as a size above what the device can do",
            "compare the settings that begin with VERBENA_RC_ with the limits that \"verbena info\" shows",
        ),
        libc::EFAULT => (
            "the memory is not mapped, or not writable",
            "pass memory that the program may read and write, and keep it until the operation has ended",
        ),
        libc::EMFILE | libc::ENFILE => {
            ("too many files are open", "raise the limit on open files (ulimit -n)")
        }
        libc::ENOSPC | libc::EAGAIN => (
            "the device has no more of these, or its queue is full",
            "use fewer processes on this device, or lower VERBENA_RC_WORK_MAX and VERBENA_RC_RECEIVES_MAX",
        ),
        libc::ETIMEDOUT | libc::EHOSTUNREACH | libc::ENETUNREACH => (
            "the other end's address cannot be reached from this port",
            "check that both ports lie in one network (\"verbena info\" on both hosts shows their GIDs) and that a ping passes",
        ),
        _ => (
            "the device's driver refused the call",
            "look at the kernel's log (dmesg) and at \"ibv_devinfo\"",
        ),
    };
    (cause.into(), remedy.into())
}

/// Explains a lack of memory: mostly it is the limit on locked memory, so its figures are shown.
fn out_of_memory() -> (String, String) {
    let figures = match memlock::Locked::read() {
        Ok(locked) => locked.to_string(),
        Err(error) => format!("how much this process may lock cannot be read: {error}"),
    };
    (
        format!("the limit on locked memory, or the device has no room left; {figures}"),
        "raise the limit (ulimit -l unlimited, LimitMEMLOCK=infinity, or limits.conf), or register less"
            .into(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_memory_speaks_of_the_limit_and_its_value() {
        let fault = fault("registering failed", "1 MiB", libc::ENOMEM);
        assert!(fault.cause.contains("locked memory") && fault.cause.contains("may lock"), "{fault}");
        assert!(fault.remedy.contains("ulimit -l"), "{fault}");
    }

    #[test]
    fn both_ways_of_returning_an_error_are_read() {
        assert!(check(0, "x", String::new).is_ok());
        let fault = check(libc::EPERM, "x", || "rxe0".into()).expect_err("EPERM");
        assert!(fault.cause.contains("may not use") && fault.on == "rxe0", "{fault}");
        // SAFETY: errno of this thread.
        unsafe { *libc::__errno_location() = libc::ENODEV };
        assert!(check(-1, "x", String::new).expect_err("ENODEV").cause.contains("gone"));
    }

    #[test]
    fn every_error_has_all_parts() {
        for number in 0..134 {
            let fault = fault("it failed", "rxe0", number);
            assert!(!fault.cause.is_empty() && !fault.remedy.is_empty(), "{number}");
        }
    }
}
