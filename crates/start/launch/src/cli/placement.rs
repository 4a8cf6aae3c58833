//! The hosts of the ranks: from the options, or from the surroundings if no option names any.

use super::allocation::{self, Lookup, read_file};
use super::binding::Orders;
use crate::cli::hostname;
use crate::hosts::{self, Entry};
use crate::launcher::Launcher;
use crate::layout::{HostRanks, Turns, Wish, lay_out};
use crate::sys;
use crate::topology::{self, Topology};
use clap::ArgMatches;
use std::path::{Path, PathBuf};
use verbena_fault::Fault;

/// The hosts of each program of the command line, and how agents on them are started.
#[derive(Debug)]
pub(super) struct Placement {
    pub(super) launcher: Launcher,
    /// The list that all parts without their own share.
    common: Vec<Entry>,
    /// The parts' own lists.
    own: Vec<Option<Vec<Entry>>>,
    turns: Turns,
    /// The number of ranks of a host, if the user gives one.
    ppn: Option<u32>,
}

impl Placement {
    /// Reads the lists. The first part with a list gives the common one; later lists are their
    /// part's own.
    ///
    /// # Errors
    /// The message for the user.
    pub(super) fn read(parts: &[&ArgMatches], orders: Orders, get: Lookup<'_>) -> Result<Placement, Fault> {
        let mut own = parts.iter().map(|part| named(part)).collect::<Result<Vec<_>, Fault>>()?;
        let (common, batch) = match own.iter_mut().find(|list| list.is_some()).and_then(Option::take) {
            Some(common) => (common, None),
            None => allocation::read(get)?,
        };
        let ppn = parts.iter().find_map(|part| part.get_one::<u32>("ppn").copied());
        let ppn = ppn.or_else(|| on_each_host(orders));
        let launcher = launcher(parts, get, batch)?;
        let own = own.into_iter().map(|list| list.map(|list| with_slots(list, ppn))).collect();
        Ok(Placement { launcher, common: with_slots(common, ppn), own, turns: orders.turns, ppn })
    }

    /// The number of ranks of a part that gives no number: all slots of its hosts. `None` if nobody
    /// says how many there are.
    pub(super) fn count(&self, part: usize) -> Option<u32> {
        let list = self.own[part].as_ref().unwrap_or(&self.common);
        if list.is_empty() {
            return self.ppn;
        }
        Some(list.iter().map(|entry| entry.slots).fold(0, u32::saturating_add).max(1))
    }

    /// All slots of the hosts that are named; `None` if none is, or each has the one slot of a name
    /// that stands alone.
    pub(super) fn slots(&self) -> Option<u32> {
        let lists = std::iter::once(&self.common).chain(self.own.iter().flatten());
        let entries: Vec<&Entry> = lists.flatten().collect();
        let says = entries.iter().any(|entry| entry.slots > 1);
        says.then(|| entries.iter().map(|entry| entry.slots).fold(0, u32::saturating_add))
    }

    /// The ranks of each host, given the number of ranks of each part.
    pub(super) fn lay_out(&self, counts: &[u32]) -> Vec<HostRanks> {
        let wishes: Vec<Wish<'_>> =
            counts.iter().zip(&self.own).map(|(&count, own)| Wish { count, own: own.as_deref() }).collect();
        let (here, fork) = (hostname(), self.launcher == Launcher::Fork);
        // With fork every name is another host, except the names that always mean this one.
        let here = if fork { "localhost" } else { &here };
        lay_out(&wishes, &self.common, self.turns, |name| hosts::is_here(name, here))
    }
}

/// The hosts that a part names.
///
/// # Errors
/// The list, or the file, makes no sense.
pub(super) fn named(part: &ArgMatches) -> Result<Option<Vec<Entry>>, Fault> {
    match (part.get_one::<String>("host"), part.get_one::<PathBuf>("hostfile")) {
        (Some(list), _) => hosts::read_list(list).map(Some),
        (None, Some(file)) => read_file(file).map(Some),
        (None, None) => Ok(None),
    }
}

/// The number of ranks of a host that `--map-by ppr` gives; all hosts are taken to be like this.
fn on_each_host(orders: Orders) -> Option<u32> {
    let (each, object) = orders.on_each?;
    let here = || Topology::read(Path::new(topology::ROOT), &sys::affinity());
    // An object that this host does not tell of is complained of when ranks are bound.
    let objects = object.map_or(1, |object| here().groups(object).map_or(1, |groups| groups.len()));
    Some(each.saturating_mul(objects as u32))
}

/// Variables of MPICH and Intel MPI that name the launcher. They may hold for a whole site, so what
/// Verbena does not have is no error of a job.
const LAUNCHERS: [&str; 3] = ["HYDRA_LAUNCHER", "HYDRA_BOOTSTRAP", "I_MPI_HYDRA_BOOTSTRAP"];
/// Variables of theirs that name the command in the launcher's place.
const COMMANDS: [&str; 3] = ["HYDRA_LAUNCHER_EXEC", "HYDRA_BOOTSTRAP_EXEC", "I_MPI_HYDRA_BOOTSTRAP_EXEC"];

fn launcher(parts: &[&ArgMatches], get: Lookup<'_>, batch: Option<Launcher>) -> Result<Launcher, Fault> {
    let option = |name: &str| parts.iter().find_map(|part| part.get_one::<String>(name).cloned());
    let variable = |names: &[&str]| names.iter().find_map(|name| get(name).filter(|text| !text.is_empty()));
    let own = option("launcher").or_else(|| variable(&["VERBENA_LAUNCHER"]));
    let theirs = variable(&LAUNCHERS).and_then(|text| Launcher::named(&text).ok());
    // A command of theirs is one for their choice, or for ssh where nobody has chosen.
    let counts = own.is_none() && (theirs.is_some() || batch.is_none());
    let launcher = match own {
        Some(text) => Launcher::named(&text)?,
        None => theirs.or(batch).unwrap_or(Launcher::Ssh),
    };
    let command = || variable(&COMMANDS).filter(|_| counts && launcher.calls_a_command());
    match option("launcher-exec").or_else(command) {
        Some(command) => launcher.called_by(&command),
        None => Ok(launcher),
    }
}

fn with_slots(mut list: Vec<Entry>, ppn: Option<u32>) -> Vec<Entry> {
    if let Some(slots) = ppn {
        list.dedup_by(|later, first| later.name == first.name);
        list.iter_mut().for_each(|entry| entry.slots = slots);
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::options::command;

    fn placement(words: &[&str], variables: &[(&str, &str)]) -> Result<Placement, Fault> {
        let matches = command().try_get_matches_from([&["mpiexec"], words].concat()).unwrap();
        let find = |name: &str| variables.iter().find(|(key, _)| *key == name);
        let orders = super::super::binding::read(&[&matches]).unwrap();
        Placement::read(&[&matches], orders, &|name| find(name).map(|(_, value)| (*value).to_owned()))
    }

    const SLURM: [(&str, &str); 2] = [("SLURM_JOB_NODELIST", "n[1-2]"), ("SLURM_TASKS_PER_NODE", "2(x2)")];

    #[test]
    fn a_slurm_allocation_gives_hosts_and_launcher() {
        let found = placement(&[], &SLURM).unwrap();
        assert_eq!((found.count(0), &found.launcher), (Some(4), &Launcher::Srun));
        let named = placement(&["--host", "a"], &SLURM).unwrap();
        assert_eq!((named.count(0), &named.launcher), (Some(1), &Launcher::Ssh));
    }

    #[test]
    fn slots_count_where_somebody_says_more_than_a_name() {
        let slots = |words: &[&str], variables: &[_]| placement(words, variables).unwrap().slots();
        assert_eq!(slots(&["-H", "localhost:8"], &[]), Some(8));
        assert_eq!(slots(&["--host", "a:3,b"], &[]), Some(4));
        assert_eq!(slots(&[], &SLURM), Some(4));
        assert_eq!((slots(&["--host", "a,b"], &[]), slots(&[], &[])), (None, None));
    }

    #[test]
    fn ranks_on_each_host_go_before_its_slots() {
        for words in [["--ppn", "4"], ["-N", "4"], ["--npernode", "4"], ["--map-by", "ppr:4:node"]] {
            assert_eq!(placement(&words, &SLURM).unwrap().count(0), Some(8), "{words:?}");
            assert_eq!(placement(&words, &[]).unwrap().count(0), Some(4), "{words:?}");
        }
        assert!(placement(&["--map-by", "ppr:1:hwthread"], &[]).unwrap().count(0) >= Some(1));
    }

    #[test]
    fn the_option_goes_before_the_variable() {
        let variables = [("VERBENA_LAUNCHER", "rsh -x")];
        let words = |text: &str| Launcher::Command(text.split(' ').map(str::to_owned).collect());
        assert_eq!(placement(&[], &variables).unwrap().launcher, words("rsh -x"));
        assert_eq!(placement(&["--launcher", "fork"], &variables).unwrap().launcher, Launcher::Fork);
        let theirs = |name, value| placement(&[], &[(name, value)]).unwrap().launcher;
        assert_eq!(theirs("HYDRA_LAUNCHER", "fork"), Launcher::Fork);
        assert_eq!(theirs("I_MPI_HYDRA_BOOTSTRAP", "slurm"), Launcher::Srun);
        assert_eq!(theirs("HYDRA_LAUNCHER_EXEC", "/my/ssh"), words("/my/ssh"));
        let both = [("HYDRA_LAUNCHER", "srun"), variables[0]];
        assert_eq!(placement(&[], &both).unwrap().launcher, words("rsh -x"));
        // A site's variable for another library replaces nothing that was chosen here.
        let site = |variable| [("HYDRA_LAUNCHER_EXEC", "/my/ssh"), variable];
        assert_eq!(placement(&[], &site(variables[0])).unwrap().launcher, words("rsh -x"));
        assert_eq!(placement(&["--launcher", "srun"], &site(("", ""))).unwrap().launcher, Launcher::Srun);
        assert_eq!(placement(&[], &site(("HYDRA_LAUNCHER", "rsh"))).unwrap().launcher, words("/my/ssh"));
        assert_eq!(
            placement(&[], &[site(SLURM[0])[0], SLURM[0], SLURM[1]]).unwrap().launcher,
            Launcher::Srun
        );
        assert_eq!(theirs("I_MPI_HYDRA_BOOTSTRAP", "pbsdsh"), Launcher::Ssh);
        let exec = placement(&["--launcher", "rsh -x", "--launcher-exec", "my rsh"], &[]).unwrap();
        assert_eq!(exec.launcher, words("my rsh -x"));
        assert!(placement(&["--launcher", "fork", "--launcher-exec", "x"], &[]).is_err());
        assert_eq!(placement(&[], &[]).unwrap().count(0), None);
    }
}
