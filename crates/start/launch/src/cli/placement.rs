//! The hosts of the ranks: from the options, or from the allocation of a batch system if no option
//! names any.

use crate::cli::hostname;
use crate::hosts::{self, Entry};
use crate::launcher::Launcher;
use crate::layout::{HostRanks, Wish, lay_out};
use clap::ArgMatches;
use std::path::PathBuf;
use verbena_fault::Fault;

/// Looks up an environment variable.
type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The hosts of each program of the command line, and how agents on them are started.
#[derive(Debug)]
pub(super) struct Placement {
    pub(super) launcher: Launcher,
    /// The list that all parts without their own share.
    common: Vec<Entry>,
    /// The parts' own lists.
    own: Vec<Option<Vec<Entry>>>,
}

impl Placement {
    /// Reads the lists. The first part with a list gives the common one; later lists are their
    /// part's own.
    pub(super) fn read(parts: &[&ArgMatches], get: Lookup<'_>) -> Result<Placement, Fault> {
        let mut own = parts.iter().map(|part| named(part)).collect::<Result<Vec<_>, Fault>>()?;
        let (common, batch) = match own.iter_mut().find(|list| list.is_some()).and_then(Option::take) {
            Some(common) => (common, None),
            None => allocated(get)?,
        };
        let ppn = parts.iter().find_map(|part| part.get_one::<u32>("ppn").copied());
        let launcher = launcher(parts, get, batch)?;
        let own = own.into_iter().map(|list| list.map(|list| with_slots(list, ppn))).collect();
        Ok(Placement { launcher, common: with_slots(common, ppn), own })
    }

    /// The number of ranks of a part that gives no number: all slots of its hosts.
    pub(super) fn default_count(&self, part: usize) -> u32 {
        let list = self.own[part].as_ref().unwrap_or(&self.common);
        list.iter().map(|entry| entry.slots).fold(0, u32::saturating_add).max(1)
    }

    /// The ranks of each host, given the number of ranks of each part.
    pub(super) fn lay_out(&self, counts: &[u32]) -> Vec<HostRanks> {
        let wishes: Vec<Wish<'_>> =
            counts.iter().zip(&self.own).map(|(&count, own)| Wish { count, own: own.as_deref() }).collect();
        let (here, fork) = (hostname(), self.launcher == Launcher::Fork);
        // With fork every name is another host, except the names that always mean this one.
        lay_out(&wishes, &self.common, |name| hosts::is_here(name, if fork { "localhost" } else { &here }))
    }
}

/// The hosts that a part names.
fn named(part: &ArgMatches) -> Result<Option<Vec<Entry>>, Fault> {
    match (part.get_one::<String>("host"), part.get_one::<PathBuf>("hostfile")) {
        (Some(list), _) => hosts::read_list(list).map(Some),
        (None, Some(file)) => read_file(file).map(Some),
        (None, None) => Ok(None),
    }
}

fn read_file(file: &PathBuf) -> Result<Vec<Entry>, Fault> {
    let unreadable = |error| {
        let on = format!("{}: {error}", file.display());
        let advice = "check the name; a host file has a host on each line, as name, name:2 or name slots=2";
        Fault::new(
            "The host file cannot be read.",
            on,
            "it is not there, or not a text, or not ours to read",
            advice,
        )
    };
    hosts::read_file(&std::fs::read_to_string(file).map_err(unreadable)?, &file.display().to_string())
}

/// The hosts that a batch system has given us, and how it starts agents there. Empty inside a job
/// step, whose ranks are laid out already.
fn allocated(get: Lookup<'_>) -> Result<(Vec<Entry>, Option<Launcher>), Fault> {
    if let Some(nodes) = get("SLURM_JOB_NODELIST").filter(|nodes| !nodes.is_empty()) {
        let tasks = get("SLURM_TASKS_PER_NODE").unwrap_or_default();
        return Ok((hosts::read_slurm(&nodes, &tasks)?, Some(Launcher::Srun)));
    }
    match get("PBS_NODEFILE").filter(|file| !file.is_empty()) {
        Some(file) => Ok((read_file(&file.into())?, None)),
        None => Ok((Vec::new(), None)),
    }
}

fn launcher(parts: &[&ArgMatches], get: Lookup<'_>, batch: Option<Launcher>) -> Result<Launcher, Fault> {
    let option = parts.iter().find_map(|part| part.get_one::<String>("launcher").cloned());
    let named = option.or_else(|| get(verbena_settings::LAUNCHER.about.name).filter(|text| !text.is_empty()));
    named.map_or(Ok(batch.unwrap_or(Launcher::Ssh)), |text| Launcher::named(&text))
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
        Placement::read(&[&matches], &|name| find(name).map(|(_, value)| (*value).to_owned()))
    }

    const SLURM: [(&str, &str); 2] = [("SLURM_JOB_NODELIST", "n[1-2]"), ("SLURM_TASKS_PER_NODE", "2(x2)")];

    #[test]
    fn a_slurm_allocation_gives_hosts_and_launcher() {
        let found = placement(&[], &SLURM).unwrap();
        assert_eq!((found.default_count(0), &found.launcher), (4, &Launcher::Srun));
        let named = placement(&["--host", "a"], &SLURM).unwrap();
        assert_eq!((named.default_count(0), &named.launcher), (1, &Launcher::Ssh));
    }

    #[test]
    fn a_pbs_allocation_is_a_file() {
        let file = std::env::temp_dir().join(format!("launch-pbs-{}", std::process::id()));
        std::fs::write(&file, "n1\nn1\nn2\n").unwrap();
        let name = file.to_str().unwrap();
        let found = placement(&[], &[("PBS_NODEFILE", name)]).unwrap();
        assert_eq!((found.default_count(0), &found.launcher), (3, &Launcher::Ssh));
        assert_eq!(placement(&["--ppn", "4"], &[("PBS_NODEFILE", name)]).unwrap().default_count(0), 8);
        std::fs::remove_file(&file).unwrap();
        assert!(placement(&[], &[("PBS_NODEFILE", name)]).unwrap_err().on.contains(name));
    }

    #[test]
    fn the_option_goes_before_the_variable() {
        let variables = [("VERBENA_LAUNCHER", "rsh -x")];
        let words = |text: &str| Launcher::Command(text.split(' ').map(str::to_owned).collect());
        assert_eq!(placement(&[], &variables).unwrap().launcher, words("rsh -x"));
        assert_eq!(placement(&["--launcher", "fork"], &variables).unwrap().launcher, Launcher::Fork);
        assert_eq!(placement(&[], &[]).unwrap().default_count(0), 1);
    }
}
