//! The hosts that the surroundings give where no option names any: a default host file, as
//! launchers and Kubernetes' mpi-operator name it, or the allocation of a batch system.

use crate::hosts::{self, Entry};
use crate::launcher::Launcher;
use std::path::Path;
use verbena_fault::Fault;

/// Looks up an environment variable.
pub(super) type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Variables that name a default host file: of MPICH, Intel MPI, Open MPI 4 and Open MPI 5.
const HOST_FILES: [&str; 4] = [
    "HYDRA_HOST_FILE",
    "I_MPI_HYDRA_HOST_FILE",
    "OMPI_MCA_orte_default_hostfile",
    "PRTE_MCA_prte_default_hostfile",
];

/// The hosts, and how the batch system starts agents on them. Empty without any.
///
/// # Errors
/// The message for the user.
pub(super) fn read(get: Lookup<'_>) -> Result<(Vec<Entry>, Option<Launcher>), Fault> {
    let get = |name: &str| get(name).filter(|text| !text.trim().is_empty());
    if let Some(file) = HOST_FILES.into_iter().find_map(get) {
        return Ok((read_file(Path::new(&file))?, None));
    }
    if let Some(nodes) = get("SLURM_JOB_NODELIST") {
        let tasks = get("SLURM_TASKS_PER_NODE").unwrap_or_default();
        return Ok((hosts::read_slurm(&nodes, &tasks)?, Some(Launcher::Srun)));
    }
    if let Some(file) = get("PBS_NODEFILE") {
        return Ok((merged(read_file(Path::new(&file))?), None));
    }
    let lsf = match (get("LSB_DJOB_HOSTFILE"), get("LSB_MCPU_HOSTS")) {
        (Some(file), _) => merged(read_file(Path::new(&file))?),
        (None, Some(pairs)) => hosts::read_lsf(&pairs)?,
        (None, None) => return Ok((Vec::new(), None)),
    };
    // LSF's own way to start on its hosts; without it, it is ssh as everywhere.
    let blaunch = get("PATH")
        .is_some_and(|path| path.split(':').any(|folder| Path::new(folder).join("blaunch").is_file()));
    Ok((lsf, blaunch.then(|| Launcher::Command(vec!["blaunch".into()]))))
}

/// Reads a host file.
///
/// # Errors
/// The message for the user.
pub(super) fn read_file(file: &Path) -> Result<Vec<Entry>, Fault> {
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

/// Each host of a list with a line for each slot once, in the order of their first lines: a batch
/// system may list them in turns.
fn merged(list: Vec<Entry>) -> Vec<Entry> {
    let mut merged: Vec<Entry> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for entry in list {
        match places.get(&entry.name) {
            Some(&place) => {
                let first: &mut Entry = &mut merged[place];
                first.slots = first.slots.saturating_add(entry.slots);
            }
            None => {
                places.insert(entry.name.clone(), merged.len());
                merged.push(entry);
            }
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(variables: &[(&str, &str)]) -> Result<(String, Option<Launcher>), Fault> {
        let find = |name: &str| variables.iter().find(|(key, _)| *key == name);
        let (list, launcher) = read(&|name| find(name).map(|(_, value)| (*value).to_owned()))?;
        let text = list.iter().map(|entry| format!("{}:{}", entry.name, entry.slots)).collect::<Vec<_>>();
        Ok((text.join(" "), launcher))
    }

    /// A file of this text, removed when dropped.
    struct File(std::path::PathBuf);

    impl File {
        fn new(name: &str, text: &str) -> File {
            let path = std::env::temp_dir().join(format!("launch-{name}-{}", std::process::id()));
            std::fs::write(&path, text).unwrap();
            File(path)
        }

        fn name(&self) -> &str {
            self.0.to_str().unwrap()
        }
    }

    impl Drop for File {
        fn drop(&mut self) {
            std::fs::remove_file(&self.0).unwrap();
        }
    }

    #[test]
    fn the_host_files_of_the_mpi_operator() {
        let mpich = File::new("operator-mpich", "job-worker-0.job.ns.svc:2\njob-worker-1.job.ns.svc:2\n");
        let ompi = File::new("operator-ompi", "job-worker-0.job slots=2\njob-worker-1.job slots=2\n");
        let both = "job-worker-0.job.ns.svc:2 job-worker-1.job.ns.svc:2";
        for name in ["HYDRA_HOST_FILE", "I_MPI_HYDRA_HOST_FILE"] {
            assert_eq!(found(&[(name, mpich.name())]), Ok((both.into(), None)), "{name}");
        }
        for name in ["OMPI_MCA_orte_default_hostfile", "PRTE_MCA_prte_default_hostfile"] {
            let expected = "job-worker-0.job:2 job-worker-1.job:2";
            assert_eq!(found(&[(name, ompi.name())]), Ok((expected.into(), None)), "{name}");
        }
        let slurm = [("HYDRA_HOST_FILE", mpich.name()), ("SLURM_JOB_NODELIST", "n1")];
        assert_eq!(found(&slurm), Ok((both.into(), None)), "a named file goes before an allocation");
    }

    #[test]
    fn an_allocation_of_pbs_has_a_line_for_each_slot() {
        let file = File::new("allocation-pbs", "n1\nn2\nn1\nn2\nn3\n");
        assert_eq!(found(&[("PBS_NODEFILE", file.name())]), Ok(("n1:2 n2:2 n3:1".into(), None)));
    }

    #[test]
    fn an_allocation_of_lsf_is_a_file_or_a_variable() {
        let file = File::new("allocation-lsf", "h1\nh1\nh2\n");
        let mcpu = ("LSB_MCPU_HOSTS", "h3 4 h4 2 ");
        assert_eq!(found(&[("LSB_DJOB_HOSTFILE", file.name()), mcpu]), Ok(("h1:2 h2:1".into(), None)));
        assert_eq!(found(&[mcpu]), Ok(("h3:4 h4:2".into(), None)));
        assert!(found(&[("LSB_MCPU_HOSTS", "h3 x")]).is_err());
        let folder = std::env::temp_dir().join(format!("launch-lsf-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("blaunch"), "").unwrap();
        let path = format!("/none:{}", folder.display());
        let launcher = found(&[mcpu, ("PATH", &path)]).unwrap().1;
        assert_eq!(launcher, Some(Launcher::Command(vec!["blaunch".into()])));
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn nothing_and_files_that_are_missing() {
        assert_eq!(found(&[("HYDRA_HOST_FILE", " ")]), Ok((String::new(), None)));
        assert!(
            found(&[("I_MPI_HYDRA_HOST_FILE", "/no/such/file")]).unwrap_err().on.contains("/no/such/file")
        );
    }
}
