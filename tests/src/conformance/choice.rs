//! The choice of the entries: those that say something about the standard, at the ranks that there
//! are.

use super::testlist::{Entry, is_cvar};
use std::collections::BTreeSet;

/// The most memory, in GB, that is asked of a machine.
const MEMORY_GB_MAX: f64 = 4.0;

/// The largest count of the generated datatype tests: larger ones take minutes and show nothing
/// new.
const POOL_COUNT_MAX: u64 = 1024;

/// The number of layouts of each generated datatype test that are run.
const POOL_LAYOUTS_MAX: u64 = 8;

/// Programs that run with these numbers of ranks only, where they ask for more than there are.
const RANKS: [(&str, &[u32]); 9] = [
    ("comm/ic2", &[33]),
    ("session/session_4x4", &[16]),
    ("group/grouptest", &[8, 16]),
    ("coll/coll2", &[1, 2, 5, 10]),
    ("coll/coll6", &[1, 2, 5, 10]),
    ("coll/coll7", &[1, 2, 5, 10]),
    ("coll/gatherv", &[1, 2, 5, 10]),
    ("coll/nbcoll2", &[1, 2, 5, 10]),
    ("coll/p_gatherv", &[1, 2, 5, 10]),
];

/// A variable of MPICH's as ours; none if it only chooses an algorithm of MPICH.
fn own_variable((name, value): (String, String)) -> Option<(String, String)> {
    match name.as_str() {
        "MPIR_CVAR_CH4_COMM_CONNECT_TIMEOUT" => Some(("VERBENA_CONNECT_SECONDS".to_owned(), value)),
        _ => (!is_cvar(&name)).then_some((name, value)),
    }
}

/// Chooses entries, one after the other: a repeat of an earlier one is not run.
#[derive(Debug)]
pub struct Choice {
    ranks_max: u32,
    seen: BTreeSet<(String, Vec<String>)>,
}

impl Choice {
    /// Creates a choice with at most this many ranks.
    pub fn new(ranks_max: u32) -> Choice {
        Choice { ranks_max, seen: BTreeSet::new() }
    }

    /// The entry as it is run.
    ///
    /// # Errors
    /// Why it is not.
    pub fn take(&mut self, entry: Entry) -> Result<Entry, String> {
        impossible(&entry)?;
        let entry = self.with_ranks(entry)?;
        let entry = if entry.pool { quick(entry)? } else { entry };
        // Entries that differ in MPICH's own variables repeat a test with another algorithm of
        // MPICH.
        let key = (entry.id(), entry.launcher_args.clone());
        if !self.seen.insert(key) {
            return Err("a repeat: other algorithms of MPICH, or the same ranks".to_owned());
        }
        let env = entry.env.into_iter().filter_map(own_variable).collect();
        Ok(Entry { env, ..entry })
    }

    fn with_ranks(&self, entry: Entry) -> Result<Entry, String> {
        if entry.ranks <= self.ranks_max {
            return Ok(entry);
        }
        let name = format!("{}/{}", entry.folder, entry.program);
        let known = RANKS.iter().find(|(known, _)| *known == name).map(|(_, ranks)| *ranks);
        let fits = |ranks: &&u32| **ranks <= self.ranks_max;
        let ranks = known.map_or(Some(self.ranks_max), |ranks| ranks.iter().filter(fits).max().copied());
        let ranks = ranks.ok_or_else(|| format!("needs {} ranks", entry.ranks))?;
        Ok(Entry { ranks, ..entry })
    }
}

fn impossible(entry: &Entry) -> Result<(), String> {
    if entry.gpu {
        return Err("needs a graphics processor".to_owned());
    }
    if entry.extension {
        return Err("an extension of MPICH, or a deleted function".to_owned());
    }
    if entry.known_failure.is_some() {
        return Err("MPICH expects it to fail".to_owned());
    }
    if entry.memory_gb > MEMORY_GB_MAX {
        return Err(format!("needs more than {MEMORY_GB_MAX} GB"));
    }
    Ok(())
}

/// A generated datatype test with small counts and few layouts.
fn quick(entry: Entry) -> Result<Entry, String> {
    let number = |name: &str| {
        let values = entry.args.iter().filter_map(|arg| arg.strip_prefix(name)?.parse::<u64>().ok());
        values.max().unwrap_or(0)
    };
    if number("-count=").max(number("-sendcnt=")) > POOL_COUNT_MAX {
        return Err("a datatype test with a large count".to_owned());
    }
    let layouts = number("-testsize=").min(POOL_LAYOUTS_MAX);
    let few = |arg: &String| match arg.starts_with("-testsize=") {
        true => format!("-testsize={layouts}"),
        false => arg.clone(),
    };
    let args = entry.args.iter().map(few).collect();
    Ok(Entry { args, ..entry })
}

#[cfg(test)]
mod tests {
    use super::super::testlist::{entry, lines};
    use super::*;

    fn chosen(ranks_max: u32, text: &str, pool: bool) -> Vec<Result<String, String>> {
        let mut choice = Choice::new(ranks_max);
        let entries = lines(text).map(|words| entry("coll", &words, pool));
        entries.map(|entry| choice.take(entry).map(|entry| entry.id())).collect()
    }

    #[test]
    fn more_ranks_than_there_are_become_fewer() {
        let found = chosen(4, "op 10\ncoll2 5\ncoll7 2\n", false);
        assert_eq!(found[0].as_deref(), Ok("coll/op 4"));
        assert_eq!(found[1].as_deref(), Ok("coll/coll2 2"));
        let mut choice = Choice::new(4);
        assert!(choice.take(entry("comm", &["ic2".into(), "33".into()], false)).is_err());
    }

    #[test]
    fn a_repeat_is_run_once() {
        let found = chosen(4, "op 4\nop 10\nop 4 env=MPIR_CVAR_X=1\nop 4 arg=1\nop 4 env=Y=1\n", false);
        let run: Vec<&str> = found.iter().flatten().map(String::as_str).collect();
        assert_eq!(run, ["coll/op 4", "coll/op 4 1", "coll/op 4 Y=1"]);
    }

    #[test]
    fn what_cannot_be_run_says_why() {
        let text = "a 1 strict=false\nb 1 mem=20.1\nc 1 xfail=ticket\nd 1 hasgpu=1\n";
        assert!(chosen(4, text, false).iter().all(Result::is_err));
    }

    #[test]
    fn generated_tests_are_made_small() {
        let text = "op 1 arg=-count=17 arg=-testsize=32\nop 1 arg=-count=65530 arg=-testsize=1\n";
        let found = chosen(4, text, true);
        assert_eq!(found[0].as_deref(), Ok("coll/op 1 -count=17 -testsize=8"));
        assert!(found[1].is_err());
    }
}
