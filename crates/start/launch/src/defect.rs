//! The message when `mpiexec` or its agent itself is wrong: a panic in four parts.

use crate::sys;
use std::panic::PanicHookInfo;
use verbena_fault::Fault;

/// Reports panics of this process, called `name`, in four parts from now on. A panic still ends the
/// process.
pub fn install(name: String) {
    std::panic::set_hook(Box::new(move |info| {
        let place = info.location().map_or_else(|| "an unknown place".into(), ToString::to_string);
        sys::complain(&format!("{name}: {}", explain(&place, said(info))));
    }));
}

fn said<'a>(info: &'a PanicHookInfo<'_>) -> &'a str {
    info.payload_as_str().unwrap_or("no reason given")
}

fn explain(place: &str, said: &str) -> Fault {
    Fault::new(
        "mpiexec has come upon an error of its own and ends; its ranks end with it.",
        format!("{} at {place}: {said}", env!("CARGO_PKG_VERSION")),
        "a defect of Verbena, not of the program",
        "please report it, with these lines and the command line",
    )
}
