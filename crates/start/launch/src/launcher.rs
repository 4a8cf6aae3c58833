//! The command that starts an agent on another host. No I/O.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use verbena_fault::Fault;

/// The ways to start an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Launcher {
    /// OpenSSH, without asking anything: with keys, and with host keys that are known.
    Ssh,
    /// Slurm, inside an allocation.
    Srun,
    /// A process on this host, whatever the host's name: for tests.
    Fork,
    /// A command of the user: its words, then the host, then the words of the agent's command line,
    /// quoted for a shell.
    Command(Vec<String>),
}

/// The ways to name a launcher, for messages.
const BY: &str = "--launcher or VERBENA_LAUNCHER";
/// Names of Hydra's launchers that are no commands to be called with a host.
const NOT_COMMANDS: [&str; 7] = ["ll", "manual", "persist", "pbs", "pbsdsh", "pdsh", "sge"];

impl Launcher {
    /// The launcher of this name, or the command.
    ///
    /// # Errors
    /// The message for the user.
    pub fn named(text: &str) -> Result<Launcher, Fault> {
        match text.trim() {
            "ssh" => Ok(Launcher::Ssh),
            "srun" | "slurm" => Ok(Launcher::Srun),
            "fork" => Ok(Launcher::Fork),
            // LSF's own command; Hydra has it by the name of the system.
            "lsf" => Ok(Launcher::Command(vec!["blaunch".into()])),
            other if NOT_COMMANDS.contains(&other) => Err(Fault::new(
                "There is no such launcher.",
                format!("{BY}: {other}"),
                "it is one of MPICH's or Intel MPI's, which starts its own agents only",
                "give ssh, srun, lsf, or a command that is called as COMMAND HOST COMMAND-LINE, such as rsh or \
                 'qrsh -inherit'",
            )),
            command => match shlex::split(command).filter(|words| !words.is_empty()) {
                Some(words) => Ok(Launcher::Command(words)),
                None => Err(Fault::new(
                    "The launcher is not understood.",
                    format!("{BY}: {text}"),
                    "the command is empty, or a quote is not closed",
                    "give ssh, srun, fork, or a command that is called as COMMAND HOST COMMAND-LINE",
                )),
            },
        }
    }

    /// Returns whether it calls a command that another may take the place of.
    pub fn calls_a_command(&self) -> bool {
        matches!(self, Launcher::Ssh | Launcher::Command(_))
    }

    /// This launcher with another command in the place of its own.
    ///
    /// # Errors
    /// It calls none, or the text is no command.
    pub fn called_by(self, text: &str) -> Result<Launcher, Fault> {
        let words = shlex::split(text).filter(|words| !words.is_empty());
        let behind = match (&self, &words) {
            (Launcher::Ssh, Some(_)) => Vec::new(),
            (Launcher::Command(own), Some(_)) => own[1..].to_vec(),
            _ => {
                return Err(Fault::new(
                    "The command in the launcher's place is not understood.",
                    format!("--launcher-exec {text}, with the launcher {}", self.to_text()),
                    "it is no command, or the launcher is srun or fork, which have none to replace",
                    "give only --launcher COMMAND, which is called as COMMAND HOST COMMAND-LINE",
                ));
            }
        };
        Ok(Launcher::Command(words.into_iter().flatten().chain(behind).collect()))
    }

    /// The text that names it ([`Launcher::named`]).
    pub fn to_text(&self) -> String {
        match self {
            Launcher::Ssh => "ssh".into(),
            Launcher::Srun => "srun".into(),
            Launcher::Fork => "fork".into(),
            Launcher::Command(words) => {
                shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| words.join(" "))
            }
        }
    }

    /// The words of the command that runs `agent` on `host`.
    pub fn words(&self, host: &str, agent: &[OsString]) -> Vec<OsString> {
        let fixed = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        let quoted = || agent.iter().map(|word| quote(word));
        match self {
            // -a -x -T: no forwarded agent with the user's keys, no windows, no terminal.
            // Keepalives, so that the loss of a host is noticed.
            Launcher::Ssh => {
                let alive = "ServerAliveInterval=15";
                let mut words = fixed(&["ssh", "-a", "-x", "-T", "-o", "BatchMode=yes", "-o", alive, host]);
                words.extend(quoted());
                words
            }
            Launcher::Srun => {
                let mut words =
                    fixed(&["srun", "--nodes=1", "--ntasks=1", "--overlap", "--mpi=none", "--quiet"]);
                words.extend(fixed(&["--kill-on-bad-exit=0", &format!("--nodelist={host}")]));
                words.extend_from_slice(agent);
                words
            }
            Launcher::Fork => agent.to_vec(),
            Launcher::Command(command) => {
                let command = command.iter().map(OsString::from);
                command.chain([OsString::from(host)]).chain(quoted()).collect()
            }
        }
    }
}

/// The words as a user would type them.
pub fn as_line(words: &[OsString]) -> String {
    words
        .iter()
        .map(|word| quote(word))
        .collect::<Vec<_>>()
        .join(OsStr::new(" "))
        .to_string_lossy()
        .into_owned()
}

/// Quotes a word for a shell.
fn quote(word: &OsStr) -> OsString {
    // Only a word with a zero byte cannot be quoted, and no argument has one.
    shlex::bytes::try_quote(word.as_bytes())
        .map_or_else(|_| word.to_owned(), |bytes| OsStr::from_bytes(&bytes).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(launcher: &str, agent: &[&str]) -> String {
        let agent: Vec<OsString> = agent.iter().map(OsString::from).collect();
        let words = Launcher::named(launcher).unwrap().words("node7", &agent);
        words.join(OsStr::new(" ")).into_string().unwrap()
    }

    #[test]
    fn every_launcher_gets_host_and_command_line() {
        let agent = ["/opt/a b/mpiexec", "--agent"];
        assert!(line("ssh", &agent).starts_with("ssh -a -x -T -o BatchMode=yes "));
        assert!(line("ssh", &agent).ends_with("ServerAliveInterval=15 node7 '/opt/a b/mpiexec' --agent"));
        assert!(line("srun", &agent).ends_with("--nodelist=node7 /opt/a b/mpiexec --agent"));
        assert_eq!(line("fork", &agent), "/opt/a b/mpiexec --agent");
        assert_eq!(line("my 'odd one' -p", &agent), "my odd one -p node7 '/opt/a b/mpiexec' --agent");
    }

    #[test]
    fn an_empty_or_torn_command_is_refused() {
        for text in ["", "  ", "it's"] {
            assert!(Launcher::named(text).is_err(), "{text}");
        }
    }

    #[test]
    fn names_of_hydras_launchers_are_no_commands() {
        for text in NOT_COMMANDS {
            let fault = Launcher::named(text).unwrap_err().to_string();
            assert!(fault.lines().count() == 4 && fault.contains(text), "{fault}");
        }
        assert_eq!(Launcher::named("lsf"), Ok(Launcher::Command(vec!["blaunch".into()])));
    }

    #[test]
    fn another_command_takes_the_launchers_place() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect();
        assert_eq!(Launcher::Ssh.called_by("my ssh"), Ok(Launcher::Command(words("my ssh"))));
        let rsh = Launcher::Command(words("rsh -x"));
        assert_eq!(rsh.clone().called_by("/b/rsh"), Ok(Launcher::Command(words("/b/rsh -x"))));
        assert!(rsh.called_by("it's").is_err() && Launcher::Srun.called_by("srun").is_err());
    }
}
