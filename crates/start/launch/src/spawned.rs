//! What an `mpiexec` that was started for a program tells its starter, and how it leaves it. See
//! [`verbena_boot::spawn`] for the words.

use crate::cli::Stop;
use crate::sys;
use std::ffi::OsString;
use std::os::fd::RawFd;
use verbena_boot::spawn::{DETACHED, OPTION, REFUSED, STARTED};

/// The arguments that stand before those of the command line.
const ARGUMENTS: usize = 4;

/// The program that an `mpiexec` was started for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Starter {
    /// The descriptor by which it learns how it went.
    status: RawFd,
    /// The port at which the new processes find it.
    pub port: String,
}

/// Takes the words about a starter off the arguments. If the starter is not to have us as a child,
/// a new process goes on, and this one ends.
pub fn take(arguments: &mut Vec<OsString>) -> Option<Starter> {
    let [option, status, port, way, ..] = &arguments[..] else { return None };
    if option != OPTION {
        return None;
    }
    let status = status.to_str().and_then(|number| number.parse().ok())?;
    let (port, detached) = (port.to_string_lossy().into_owned(), way == DETACHED);
    arguments.drain(..ARGUMENTS);
    sys::close_on_exec(status);
    if detached {
        sys::leave_parent();
    }
    Some(Starter { status, port })
}

impl Starter {
    /// Says that all processes run.
    pub fn say_started(&self) {
        self.say(&format!("{STARTED}\n"));
    }

    /// Says that these could not be started, and why.
    pub fn say_refused(&self, ranks: &[u32], why: &str) {
        let ranks: String = ranks.iter().map(|rank| format!(" {rank}")).collect();
        self.say(&format!("{REFUSED}{ranks}\n{why}\n"));
    }

    /// Says that the command line is wrong.
    pub fn say_stop(&self, stop: &Stop) {
        self.say_refused(&[], stop.text());
    }

    /// A starter that has gone needs to know nothing.
    fn say(&self, text: &str) {
        let mut bytes = text.as_bytes();
        while let Ok(count @ 1..) = sys::write(self.status, bytes) {
            bytes = &bytes[count..];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_words_about_a_starter_are_taken() {
        let words = |line: &str| -> Vec<OsString> { line.split(' ').map(OsString::from).collect() };
        let mut arguments = words("-n 2 x");
        assert_eq!(take(&mut arguments), None);
        assert_eq!(arguments, words("-n 2 x"));
        let mut arguments = words("--spawned 999999 port attached -n 2 x");
        assert_eq!(take(&mut arguments), Some(Starter { status: 999_999, port: "port".into() }));
        assert_eq!(arguments, words("-n 2 x"));
        assert_eq!(take(&mut words("--spawned x port attached")), None);
    }
}
