//! The start of this process, as the code that a rank uses sees it.

use serde::Serialize;
use verbena_boot::environment::{Lookup, Plan, Surroundings, plan};

/// The launch that the environment describes.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Launcher {
    /// The way an MPI program would start from here.
    pub start: String,
    /// The warning or error that it would give.
    pub complaint: Option<String>,
    /// The launchers' variables that are set: name and value.
    pub variables: Vec<(String, String)>,
}

/// The variables of launchers that are worth showing.
const VARIABLES: [&str; 12] = [
    "PMI_FD",
    "PMI_PORT",
    "PMI_ID",
    "PMI_RANK",
    "PMI_SIZE",
    "PMIX_RANK",
    "PMIX_NAMESPACE",
    "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_SIZE",
    "SLURM_JOB_ID",
    "SLURM_STEP_NUM_TASKS",
    "SLURM_PROCID",
];

/// Reads the environment.
pub(super) fn describe(get: Lookup<'_>) -> Launcher {
    let (start, complaint) = match plan(&Surroundings::of_this_process(get)) {
        Ok(Plan::Singleton { warning }) => ("alone, as a world of one process".to_string(), warning),
        Ok(Plan::Launched(launched)) => (format!("with a launcher: {:?}", launched.line), None),
        Ok(Plan::Pmix(_)) => ("with a server of PMIx".to_string(), None),
        Err(error) => ("not at all".to_string(), Some(error.to_string())),
    };
    let variables = VARIABLES.iter().filter_map(|name| Some(((*name).to_string(), get(name)?))).collect();
    Launcher { start, complaint, variables }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_environment_is_a_world_of_one() {
        let launcher = describe(&|_| None);
        assert!(launcher.start.starts_with("alone") && launcher.variables.is_empty(), "{launcher:?}");
    }

    #[test]
    fn a_foreign_launcher_is_shown_with_its_warning() {
        let get = |name: &str| match name {
            "PMI_RANK" => Some("9".to_string()),
            "PMI_SIZE" | "PMI_FD" => Some("2".to_string()),
            _ => None,
        };
        let launcher = describe(&get);
        assert!(launcher.complaint.is_some() && launcher.variables.len() == 3, "{launcher:?}");
    }
}
