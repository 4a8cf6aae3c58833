//! What the tests of all crates share: the word of a test that cannot run here, system calls that
//! fail ([`refusal`]), and files ([`files`]).
//!
//! A test that lacks something says so by [`skip`] and returns. `make test` sets
//! `VERBENA_NO_SKIP=1`: then a skip is a failure, unless the machine itself lacks what no
//! installation can give ([`Lack::is_excused`]).

pub mod files;
pub mod refusal;

use std::io::Write;

/// The variable that makes a skip a failure.
const NO_SKIP: &str = "VERBENA_NO_SKIP";

/// What a test lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lack {
    /// What `make test` installs: Debian's packages of `packaging/debian-packages.txt`, and the
    /// peers.
    Installed,
    /// What is not among those packages, as Slurm.
    Optional,
    /// Rights: only root may do it, or only where the container lets root do it.
    Rights,
    /// A part of the kernel that not every kernel has, as `userfaultfd`.
    Kernel,
    /// Other hardware: more processors, or none of the devices that this machine has.
    Hardware,
}

impl Lack {
    /// Whether `make test` lets a test be skipped for want of this.
    pub const fn is_excused(self) -> bool {
        !matches!(self, Lack::Installed)
    }
}

/// Says on standard error that the test of this thread is not done, and why.
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
    // Straight to the descriptor: the test harness hides what a passing test prints.
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

    /// The harness must not hide it: it is there when a passing test's own output is not.
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

    /// Does nothing but be skipped, where the test above asks for it.
    #[test]
    fn one_that_is_skipped() {
        if std::env::var_os("TESTING_SKIPS").is_some() {
            skip(Lack::Installed, "it is told to be");
        }
    }
}
