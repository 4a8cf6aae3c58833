//! Names of hosts that have no address yet: a Kubernetes job starts before the names of its workers
//! are known. `mpiexec --await-name NAME COMMAND` waits until NAME has an address, and then becomes
//! the command, which is ssh. It is a process of its own, so that the job's event loop goes on: a
//! signal or `--timeout` ends the wait.

use crate::sys;
use std::ffi::{OsStr, OsString};
use std::net::ToSocketAddrs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use verbena_fault::Fault;

/// The option that makes `mpiexec` wait for a name.
pub const OPTION: &str = "--await-name";
/// The beginning of the line that says that it waits.
pub const SAID: &str = "mpiexec: Waiting for the address of host ";

/// The first pause between two looks.
const PAUSE_FIRST: Duration = Duration::from_millis(100);
/// The longest pause between two looks.
const PAUSE_MAX: Duration = Duration::from_secs(1);
/// The time to wait for a name.
const TIME_MAX: Duration = Duration::from_secs(10);
/// The time to wait for the name of a worker of Kubernetes' mpi-operator.
const TIME_MAX_OPERATOR: Duration = Duration::from_secs(120);
/// The variable that the mpi-operator sets.
const OPERATOR: &str = "K_MPI_JOB_ROLE";

/// The words that start the launcher of a host once the host has an address.
pub fn patiently(own: &Path, host: &str, launcher: Vec<OsString>) -> Vec<OsString> {
    [own.into(), OPTION.into(), host.into()].into_iter().chain(launcher).collect()
}

/// Returns whether a program of this name is in a directory of `PATH`.
pub fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// Waits for the name, and becomes the command. Returns the exit code if that fails.
pub fn run(words: &[OsString]) -> i32 {
    let [host, command @ ..] = words else { return by_hand() };
    let Some((program, arguments)) = command.split_first() else { return by_hand() };
    let host = host.to_string_lossy();
    verbena_settings::load();
    let operator = std::env::var_os(OPERATOR).is_some();
    let limit = verbena_settings::RESOLVE_SECONDS
        .get()
        .map_or(if operator { TIME_MAX_OPERATOR } else { TIME_MAX }, |seconds| {
            Duration::from_secs(seconds as u64)
        });
    wait(&host, program, limit);
    let mut launcher = Command::new(program);
    if operator && program == "ssh" {
        // A worker has an address before its server answers.
        launcher.args(["-o", "ConnectionAttempts=10"]);
    }
    let error = launcher.args(arguments).exec();
    sys::complain(&format!("{}: {error}", program.display()));
    127
}

/// Waits until the host has an address, up to `limit`. If it has none then, the launcher says so.
fn wait(host: &str, program: &OsStr, limit: Duration) {
    let name = host.rsplit('@').next().unwrap_or(host);
    if has_address(name) {
        return;
    }
    let name = match alias(host, program) {
        Alias::Reached => return,
        Alias::Name(name) => name,
        Alias::None => name.to_owned(),
    };
    let start = Instant::now();
    for (number, pause) in pauses().enumerate() {
        let left = limit.saturating_sub(start.elapsed());
        if left.is_zero() || has_address(&name) {
            return;
        }
        if number == 0 {
            sys::complain(&format!("{SAID}{name}, for up to {} s", limit.as_secs()));
        }
        std::thread::sleep(pause.min(left));
    }
}

/// The pauses between looks: each twice as long as the one before, up to the longest.
fn pauses() -> impl Iterator<Item = Duration> {
    std::iter::successors(Some(PAUSE_FIRST), |pause| Some((*pause * 2).min(PAUSE_MAX)))
}

fn has_address(name: &str) -> bool {
    let name = name.trim_start_matches('[').trim_end_matches(']');
    (name, 22).to_socket_addrs().is_ok_and(|mut addresses| addresses.next().is_some())
}

/// The answer of ssh's configuration about a name.
#[derive(Debug, PartialEq, Eq)]
enum Alias {
    /// Nothing.
    None,
    /// Another name.
    Name(String),
    /// A way through another host, where the name may be known.
    Reached,
}

fn alias(host: &str, program: &OsStr) -> Alias {
    if program != "ssh" {
        return Alias::None;
    }
    let asked = Command::new(program).args(["-G", host]).stdin(Stdio::null()).stderr(Stdio::null()).output();
    asked.map_or(Alias::None, |told| read_alias(&String::from_utf8_lossy(&told.stdout)))
}

fn read_alias(text: &str) -> Alias {
    let value = |key: &str| {
        let words = text.lines().filter_map(|line| line.split_once(' '));
        words.filter(|(name, _)| name.eq_ignore_ascii_case(key)).map(|(_, value)| value.trim()).next()
    };
    let way = ["proxyjump", "proxycommand"].iter().filter_map(|key| value(key)).any(|way| way != "none");
    match value("hostname") {
        _ if way => Alias::Reached,
        Some(name) => Alias::Name(name.to_owned()),
        None => Alias::None,
    }
}

fn by_hand() -> i32 {
    let fault = Fault::new(
        "There is no command to run.",
        format!("mpiexec {OPTION}"),
        "it was started by hand; mpiexec uses this option for itself",
        "write for example: mpiexec -host a,b ./program",
    );
    sys::complain(&format!("mpiexec: {fault}"));
    2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_a_limit() {
        let millis: Vec<u128> = pauses().take(7).map(|pause| pause.as_millis()).collect();
        assert_eq!(millis, [100, 200, 400, 800, 1000, 1000, 1000]);
    }

    #[test]
    fn numbers_are_addresses() {
        for name in ["127.0.0.1", "::1", "[::1]"] {
            assert!(has_address(name), "{name}");
        }
        assert!(!has_address(""));
    }

    #[test]
    fn the_configuration_of_ssh_may_know_another_name_or_a_way() {
        assert_eq!(
            read_alias("user a\nhostname node7.cluster\nport 22\n"),
            Alias::Name("node7.cluster".into())
        );
        assert_eq!(read_alias("hostname n\nproxyjump gate\n"), Alias::Reached);
        assert_eq!(read_alias("hostname n\nproxycommand none\n"), Alias::Name("n".into()));
        assert_eq!(read_alias("usage: ssh\n"), Alias::None);
    }

    #[test]
    fn the_wait_is_bounded() {
        let start = Instant::now();
        wait("", OsStr::new("true"), Duration::from_millis(250));
        let took = start.elapsed();
        assert!(took >= Duration::from_millis(250) && took < Duration::from_secs(5), "{took:?}");
    }
}
