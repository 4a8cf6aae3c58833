//! The meaning of libfabric's error numbers, and what to do about them.

use crate::library::Library;
use crate::raw;
use verbena_fault::Fault;

/// Turns a code of 0 or a negative error number into a result.
pub(crate) fn check(code: i32, what: &str, on: impl FnOnce() -> String) -> Result<(), Fault> {
    if code >= 0 { Ok(()) } else { Err(fault(what, on(), -code)) }
}

/// Describes a failed call as a fault; `number` is positive.
pub fn fault(what: impl Into<String>, on: impl Into<String>, number: i32) -> Fault {
    let (cause, remedy) = explain(number);
    Fault::new(what, on, format!("{cause} ({})", words(number)), remedy)
}

/// Returns an error number in words.
pub fn words(number: i32) -> String {
    Library::get().map_or_else(|_| format!("error {number}"), |library| library.words(number))
}

/// Returns the likely cause and the remedy.
pub fn explain(number: i32) -> (&'static str, &'static str) {
    match number {
        libc::ECONNREFUSED | libc::ECONNRESET | libc::EPIPE | libc::ENOTCONN | libc::ESHUTDOWN => (
            "the other process ended, or a firewall refuses the connection",
            "look for the end of that rank in the job's output; allow TCP between the nodes, or choose another interface with VERBENA_OFI_INTERFACE",
        ),
        libc::ECONNABORTED | libc::ETIMEDOUT | libc::EHOSTUNREACH | libc::ENETUNREACH | libc::EHOSTDOWN => (
            "the other end's address cannot be reached from this interface, or its node went down",
            "check that a ping passes between the addresses shown; choose another interface with VERBENA_OFI_INTERFACE",
        ),
        libc::ENOMEM => (
            "no memory, or the limit on locked memory",
            "raise the limit (ulimit -l unlimited), or lower VERBENA_OFI_SEND_BUFFERS_MAX",
        ),
        libc::EMFILE | libc::ENFILE => {
            ("too many files are open", "raise the limit on open files (ulimit -n)")
        }
        libc::EACCES | libc::EPERM => (
            "this process may not use the network device",
            "give it access, or choose another provider with VERBENA_OFI_PROVIDER",
        ),
        libc::ENODEV | libc::ENODATA | libc::ENXIO => (
            "the network device is gone or has no address",
            "look at \"fi_info\" and \"ip address\" on the node",
        ),
        number if number >= raw::FI_ERRNO_OFFSET as i32 => (
            "the provider refused or failed",
            "choose another provider with VERBENA_OFI_PROVIDER; FI_LOG_LEVEL=warn makes libfabric say more",
        ),
        _ => (
            "the provider or the kernel refused the call",
            "FI_LOG_LEVEL=warn makes libfabric say more; VERBENA_OFI_PROVIDER chooses another provider",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_has_all_parts() {
        for number in (0..134).chain(256..270) {
            let fault = fault("it failed", "eth0", number);
            assert!(!fault.cause.is_empty() && !fault.remedy.is_empty(), "{number}");
        }
    }

    #[test]
    fn a_negative_number_is_a_failure() {
        assert!(check(0, "x", String::new).is_ok());
        let fault = check(-libc::ECONNREFUSED, "x", || "eth0".into()).expect_err("refused");
        assert!(fault.cause.contains("ended") && fault.on == "eth0", "{fault}");
    }
}
