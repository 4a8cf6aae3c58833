//! Parts that the tests of all crates share: skipping a test that cannot run here, system calls
//! that fail ([`refusal`]), threads at the same time ([`meetings`]), children ([`children`]) and
//! files ([`files`]).
//!
//! A test that lacks something calls [`skip`] and returns. `make test` sets `VERBENA_NO_SKIP=1`:
//! then a skip is a failure, unless the machine lacks what `make test` does not install
//! ([`Lack::is_excused`]).

pub mod children;
pub mod files;
pub mod meetings;
pub mod refusal;

use std::io::Write;

/// The variable that makes a skip a failure.
const NO_SKIP: &str = "VERBENA_NO_SKIP";

/// The thing that a test lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lack {
    /// Something that `make test` installs: a Debian package of `packaging/debian-packages.txt`, or
    /// a peer.
    Installed,
    /// Something outside those packages, such as Slurm.
    Optional,
    /// Rights that only root has, or that a container may refuse even to root.
    Rights,
    /// A part of the kernel that not every kernel has, such as `userfaultfd`.
    Kernel,
    /// Other hardware: more processors, or none of the devices that this machine has.
    Hardware,
}

impl Lack {
    /// Returns whether `make test` lets a test be skipped for want of this.
    pub const fn is_excused(self) -> bool {
        !matches!(self, Lack::Installed)
    }
}

/// Says on standard error that this thread's test is skipped, and why.
///
/// # Panics
/// If `VERBENA_NO_SKIP` is `1` and the lack is not excused.
pub fn skip(lack: Lack, why: &str) {
    let refused = std::env::var_os(NO_SKIP).is_some_and(|value| value == "1");
    if let Err(why) = decide(lack, why, refused) {
        panic!("{why}");
    }
    let thread = std::thread::current();
    let line = format!("{}: skipped: {why}\n", thread.name().unwrap_or("a test"));
    // Written to the descriptor itself: the test harness hides the output of a passing test.
    let _ = std::io::stderr().write_all(line.as_bytes());
}

fn decide(lack: Lack, why: &str, refused: bool) -> Result<(), String> {
    if refused && !lack.is_excused() {
        return Err(format!("this test must run where {NO_SKIP}=1, and cannot: {why}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_installed_is_never_lacking_where_nothing_may_be_skipped() {
        let told = decide(Lack::Installed, "no libfabric", true).expect_err("refused");
        assert!(told.contains("no libfabric") && told.contains(NO_SKIP), "{told}");
        assert_eq!(decide(Lack::Installed, "no libfabric", false), Ok(()));
    }

    #[test]
    fn what_the_machine_lacks_is_excused() {
        for lack in [Lack::Optional, Lack::Rights, Lack::Kernel, Lack::Hardware] {
            assert_eq!(decide(lack, "not here", true), Ok(()), "{lack:?}");
        }
    }

    /// The line must appear although the harness hides a passing test's own output.
    #[test]
    fn a_skip_is_seen_though_the_test_passes() {
        let test = ["--exact", "tests::one_that_is_skipped"];
        let said = |refuse: &str| {
            let mut command = std::process::Command::new(std::env::current_exe().expect("own path"));
            let output = command.args(test).env("TESTING_SKIPS", "1").env(NO_SKIP, refuse).output();
            let output = output.expect("this binary");
            (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
        };
        let line = "tests::one_that_is_skipped: skipped: it is told to be\n";
        assert_eq!(said("0"), (true, line.to_owned()));
        assert!(!said("1").0);
    }

    /// Only skips itself, when the test above asks for it.
    #[test]
    fn one_that_is_skipped() {
        if std::env::var_os("TESTING_SKIPS").is_some() {
            skip(Lack::Installed, "it is told to be");
        }
    }
}
