//! The doctor's look at other hosts: whether `mpiexec` can start there without a password,
//! whether it is the same version, and whether the clocks agree.

use super::finding::Finding;
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Clocks that are further apart make files and traces of several hosts hard to compare.
const APART_MAX: Duration = Duration::from_secs(1);

/// The way to other hosts.
pub(super) struct Way<'a> {
    /// The command that is called as COMMAND HOST COMMAND-LINE.
    pub launcher: &'a [String],
    /// The `mpiexec` that is to be there.
    pub mpiexec: &'a str,
    /// The version of ours.
    pub version: &'a str,
}

/// The answer of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Answer {
    /// The first line of `mpiexec --version` there.
    version: String,
    /// The host's time in nanoseconds since 1970.
    at_ns: u128,
}

/// Looks at a host.
pub(super) fn findings(way: &Way<'_>, host: &str) -> Vec<Finding> {
    let before = now_ns();
    let script = format!("'{}' --version && date +%s%N", way.mpiexec);
    let mut command = Command::new(&way.launcher[0]);
    let output = command.args(&way.launcher[1..]).arg(host).arg(script).output();
    let after = now_ns();
    match output {
        Ok(output) if output.status.success() => match answer(&String::from_utf8_lossy(&output.stdout)) {
            Some(answer) => judge(way, host, &answer, [before, after]),
            None => vec![unreachable_host(
                host,
                "it does not answer as it should: does its shell print something?",
            )],
        },
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            let last = said.trim().lines().last().unwrap_or("nothing was said").to_owned();
            vec![match output.status.code() {
                Some(126 | 127) => no_mpiexec(way, host, &last),
                _ => unreachable_host(host, &last),
            }]
        }
        Err(error) => vec![unreachable_host(host, &format!("{}: {error}", way.launcher[0]))],
    }
}

fn now_ns() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos())
}

/// Reads what a host said; what its shell printed before does not count.
fn answer(said: &str) -> Option<Answer> {
    let mut lines = said.trim().lines().rev();
    let at_ns = lines.next()?.trim().parse().ok()?;
    Some(Answer { version: lines.next()?.trim().to_owned(), at_ns })
}

fn judge(way: &Way<'_>, host: &str, answer: &Answer, [before, after]: [u128; 2]) -> Vec<Finding> {
    let subject = format!("host {host}");
    let version = match answer.version.contains(way.version) {
        true => Finding::fine(&subject, format!("mpiexec starts there, {}", answer.version)),
        false => Finding::bad(
            &subject,
            format!("{} there, {} here", answer.version, way.version),
            [
                "agents of another version do not talk to this mpiexec",
                "install the same version on all hosts, or name its place with mpiexec --prefix DIR",
            ],
        ),
    };
    // The host read its clock somewhere between these.
    let apart = answer.at_ns.saturating_sub(after).max(before.saturating_sub(answer.at_ns));
    let clock = format!("clock of {host}");
    let apart = Duration::from_nanos(u64::try_from(apart).unwrap_or(u64::MAX));
    let clock = match apart > APART_MAX {
        true => Finding::note(
            &clock,
            format!("at least {:.1} s from the one here", apart.as_secs_f64()),
            [
                "times of files, logs and traces of several hosts do not fit together",
                "let chrony or ntpd keep the clocks of all hosts",
            ],
        ),
        false => Finding::fine(&clock, "agrees with the one here"),
    };
    vec![version, clock]
}

fn unreachable_host(host: &str, said: &str) -> Finding {
    let remedy = format!("make this work without a password: ssh -o BatchMode=yes {host} true");
    Finding::bad(&format!("host {host}"), said, ["mpiexec cannot start ranks there", &remedy])
}

fn no_mpiexec(way: &Way<'_>, host: &str, said: &str) -> Finding {
    Finding::bad(
        &format!("host {host}"),
        format!("no {} there: {said}", way.mpiexec),
        [
            "mpiexec cannot start ranks there",
            "install Verbena at the same place on all hosts, or name its place with mpiexec --prefix DIR",
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::super::finding::Verdict::{Bad, Fine, Note};
    use super::*;

    /// The verdicts about a host that this script stands for.
    fn verdicts(script: &str) -> Vec<super::super::finding::Verdict> {
        let launcher = ["sh", "-c", script].map(String::from);
        let way = Way { launcher: &launcher, mpiexec: "/p/bin/mpiexec", version: "0.1.0" };
        findings(&way, "there").into_iter().map(|finding| finding.verdict).collect()
    }

    #[test]
    fn a_host_with_the_same_version_and_time_is_fine() {
        assert_eq!(verdicts("echo motd; echo 'mpiexec (Verbena) 0.1.0'; date +%s%N"), [Fine, Fine]);
    }

    #[test]
    fn another_version_and_another_time_are_told() {
        assert_eq!(verdicts("echo 'mpiexec (Verbena) 9.0.0'; date +%s%N"), [Bad, Fine]);
        assert_eq!(verdicts("echo 'mpiexec (Verbena) 0.1.0'; echo 1700000000000000000"), [Fine, Note]);
    }

    #[test]
    fn a_host_that_lets_nobody_in_is_to_be_mended() {
        assert_eq!(verdicts("echo 'Permission denied (publickey).' >&2; exit 255"), [Bad]);
        assert_eq!(verdicts("exit 127"), [Bad]);
        assert_eq!(verdicts("echo nonsense"), [Bad]);
        let launcher = ["/nowhere/ssh".to_owned()];
        let way = Way { launcher: &launcher, mpiexec: "m", version: "0.1.0" };
        assert_eq!(findings(&way, "there")[0].verdict, Bad);
    }
}
