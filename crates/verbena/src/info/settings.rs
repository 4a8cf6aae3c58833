//! Every environment variable of Verbena: what it does, its default, and what it is set to now.
//!
//! The table is kept complete by a test that searches the sources for names that begin with `VERBENA_`.

use serde::Serialize;

/// A setting as documented.
struct Setting {
    name: &'static str,
    default: &'static str,
    help: &'static str,
}

/// A setting as it stands.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Value {
    /// The variable.
    pub name: &'static str,
    /// What it is set to; none if it is not.
    pub value: Option<String>,
    /// What counts where it is not set.
    pub default: &'static str,
    /// What it does.
    pub help: &'static str,
}

/// What a user may set.
const SETTINGS: &[Setting] = &[
    Setting {
        name: "VERBENA_CHANNELS",
        default: "all that work here",
        help: "the channels to use, as in loopback,shm; without cma nothing is copied between processes by system calls",
    },
    Setting {
        name: "VERBENA_CMA",
        default: "1",
        help: "0 leaves out the channel cma (process_vm_readv and process_vm_writev)",
    },
    Setting {
        name: "VERBENA_COLL_TABLE",
        default: "the built-in table",
        help: "a TOML file with thresholds for the choice of collective algorithms; the same on all ranks",
    },
    Setting {
        name: "VERBENA_BOARDS",
        default: "1",
        help: "0 makes collectives between processes of one node go by messages; what rank 0 of a communicator has counts",
    },
    Setting {
        name: "VERBENA_SHM_RING_BYTES",
        default: "by the number of ranks on the node",
        help: "bytes of each ring in shared memory; what the lowest rank of a node has counts for all of it",
    },
    Setting {
        name: "VERBENA_PMI",
        default: "what the launcher speaks",
        help: "1 or 2: speak that version of PMI with the launcher, without Verbena's extension",
    },
    Setting {
        name: "VERBENA_CC",
        default: "cc",
        help: "the C compiler that mpicc runs, with arguments if need be",
    },
    Setting { name: "VERBENA_CXX", default: "c++", help: "the C++ compiler that mpicxx runs" },
    Setting {
        name: "VERBENA_PREFIX",
        default: "the installation that mpicc lies in",
        help: "the installation that mpicc compiles and links against",
    },
];

/// What is not for users: mostly what `mpiexec` tells the ranks.
#[cfg(test)]
const INTERNAL: &[&str] = &[
    "VERBENA_LAUNCHER",
    "VERBENA_JOB",
    "VERBENA_APPNUM",
    "VERBENA_LOCAL_RANK",
    "VERBENA_LOCAL_SIZE",
    // The simulator is a tool of the tests, in a crate of its own.
    "VERBENA_SIM_SEED",
];

/// Every setting and its value.
pub fn describe(get: &dyn Fn(&str) -> Option<String>) -> Vec<Value> {
    let value = |setting: &Setting| Value {
        name: setting.name,
        value: get(setting.name),
        default: setting.default,
        help: setting.help,
    };
    SETTINGS.iter().map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::Path;

    /// The names in the sources of the other crates; a test may read what it likes.
    fn names(folder: &Path, found: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(folder).expect("sources").map(|entry| entry.expect("entry").path()) {
            if entry.is_dir() && !["crates/verbena", "tests"].iter().any(|skipped| entry.ends_with(skipped)) {
                names(&entry, found);
            } else if entry.extension().is_some_and(|ending| ending == "rs") {
                let text = std::fs::read_to_string(&entry).expect("source");
                for (at, start) in text.match_indices("VERBENA_") {
                    let rest = &text[at + start.len()..];
                    let end = rest.find(|c: char| !c.is_ascii_uppercase() && c != '_').unwrap_or(rest.len());
                    if end > 0 {
                        found.insert(format!("{start}{}", rest[..end].trim_end_matches('_')));
                    }
                }
            }
        }
    }

    #[test]
    fn the_table_is_what_the_sources_read() {
        let mut found = BTreeSet::new();
        names(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."), &mut found);
        let listed: Vec<&str> = SETTINGS.iter().map(|setting| setting.name).collect();
        let unlisted: Vec<&String> = found
            .iter()
            .filter(|n| !listed.contains(&n.as_str()) && !INTERNAL.contains(&n.as_str()))
            .collect();
        assert!(unlisted.is_empty(), "read by the sources, but not in the table of settings: {unlisted:?}");
        let invented: Vec<&&str> = listed.iter().filter(|name| !found.contains(**name)).collect();
        assert!(invented.is_empty(), "in the table of settings, but read nowhere: {invented:?}");
    }

    #[test]
    fn values_come_from_the_environment() {
        let all = describe(&|name| (name == "VERBENA_CMA").then(|| "0".to_string()));
        let set: Vec<_> = all.iter().filter(|value| value.value.is_some()).map(|value| value.name).collect();
        assert_eq!(set, ["VERBENA_CMA"]);
    }
}
