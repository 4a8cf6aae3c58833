//! The table, its checks, and where values come from. Values are global, so each test has settings
//! of its own.

use super::*;
use std::collections::BTreeSet;
use std::path::Path;

fn variables(pairs: &[(&str, &str)]) -> impl Iterator<Item = (String, String)> {
    pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect::<Vec<_>>().into_iter()
}

fn load_pairs(pairs: &[(&str, &str)]) -> Loaded {
    load_from(variables(pairs), |path| panic!("nothing names a file, yet {path} is read"))
}

#[test]
fn a_value_out_of_range_is_refused_with_the_range() {
    for wrong in ["0", "-1", "x", "1e3", "99999999999999", "+5", "5 K"] {
        let loaded = load_pairs(&[("VERBENA_CMA_BYTES_MIN", wrong)]);
        let [fault] = &loaded.wrong[..] else { panic!("{wrong} was taken") };
        assert!(fault.what.contains(wrong) && fault.cause.contains("from 1 to 1099511627776"), "{fault}");
        assert!(fault.remedy.contains(&CMA_BYTES_MIN.default().to_string()), "{fault}");
    }
    assert_eq!(CMA_BYTES_MIN.get(), CMA_BYTES_MIN.default());
}

#[test]
fn values_of_every_kind_are_taken() {
    let loaded = load_pairs(&[
        ("VERBENA_COLL_ALLTOALL_WIDE_WINDOW", " 2k "),
        ("VERBENA_WAIT_SPINS", "7"),
        ("VERBENA_CMA", "off"),
        ("VERBENA_PMI", "2"),
        ("VERBENA_CHANNELS", "shm, loopback"),
        ("VERBENA_CC", "ccache gcc"),
        ("VERBENA_WAIT_YIELDS", ""),
        ("HOME", "/"),
    ]);
    assert!(loaded.wrong.is_empty() && loaded.unknown.is_empty(), "{loaded:?}");
    assert_eq!((COLL_ALLTOALL_WIDE_WINDOW.get(), WAIT_SPINS.get(), WAIT_YIELDS.get()), (2048, Some(7), None));
    assert_eq!((CMA.get(), PMI.get(), PMI.value_text().as_str()), (false, 2, "2"));
    assert_eq!(CHANNELS.get().as_deref(), Some("shm, loopback"));
    assert_eq!((CC.get().as_deref(), CXX.get()), (Some("ccache gcc"), None));
    assert_eq!((WAIT_SPINS.origin(), WAIT_YIELDS.origin()), (Origin::Environment, Origin::Default));
    WAIT_SPINS.set_text("auto", Origin::Tool).unwrap();
    assert_eq!(WAIT_SPINS.get(), None);
}

#[test]
fn an_unknown_name_leads_to_the_nearest() {
    let loaded = load_pairs(&[("VERBENA_CHANELS", "shm"), ("VERBENA_JOB", "j"), ("VERBENA_QQQ", "1")]);
    let [near, far] = &loaded.unknown[..] else { panic!("{loaded:?}") };
    assert!(near.remedy.contains("did you mean VERBENA_CHANNELS?"), "{near}");
    assert!(!far.remedy.contains("did you mean"), "{far}");
}

#[test]
fn a_setting_of_the_compiler_wrappers_is_no_line_of_the_file() {
    let loaded = load_from(variables(&[("VERBENA_SETTINGS", "/the/file")]), |_| Ok("fc = \"ifx\"\n".into()));
    let [fault] = &loaded.unknown[..] else { panic!("{loaded:?}") };
    assert!(loaded.wrong.is_empty() && fault.remedy.contains("set the variable VERBENA_FC"), "{fault}");
    assert_eq!(FC.get(), None);
}

#[test]
fn the_environment_goes_before_the_file() {
    let text = "copy_by_both = false\nclaim_bytes = \"64k\"\nwait_yield_evry = 3\nreduce = true\n";
    let pairs = [("VERBENA_SETTINGS", "/the/file"), ("VERBENA_CLAIM_BYTES", "8192")];
    let loaded = load_from(variables(&pairs), |path| {
        assert_eq!(path, "/the/file");
        Ok(text.into())
    });
    assert_eq!((COPY_BY_BOTH.get(), CLAIM_BYTES.get()), (false, 8192));
    assert_eq!((COPY_BY_BOTH.origin(), CLAIM_BYTES.origin()), (Origin::File, Origin::Environment));
    assert!(loaded.wrong.is_empty() && loaded.unknown.len() == 2, "{loaded:?}");
    assert!(loaded.unknown.iter().any(|fault| fault.remedy.contains("VERBENA_WAIT_YIELD_EVERY")));
}

#[test]
fn a_file_that_cannot_be_read_is_refused() {
    let pairs = [("VERBENA_SETTINGS", "/none")];
    let absent = load_from(variables(&pairs), |_| Err(std::io::ErrorKind::NotFound.into()));
    let garbled = load_from(variables(&pairs), |_| Ok("what is this".into()));
    for loaded in [absent, garbled] {
        assert!(loaded.wrong.len() == 1 && loaded.wrong[0].on.contains("/none"), "{loaded:?}");
    }
}

#[test]
fn ranks_whose_collectives_would_differ_are_told() {
    COLL_BCAST_CHAIN_RANKS_MAX.set_word(5, Origin::Tool).unwrap();
    let own = card();
    assert!(unlike(3, &own).is_none());
    let fault = unlike(3, b"").expect("refused");
    assert!(fault.on.contains("VERBENA_COLL_BCAST_CHAIN_RANKS_MAX=5; at rank 3 all by default"), "{fault}");
}

#[test]
fn the_table_is_in_order() {
    let mut names = BTreeSet::new();
    for setting in all() {
        let about = &setting.about;
        assert!(names.insert(about.name), "{} stands twice", about.name);
        assert!(!about.help.is_empty() && !about.help.ends_with('.'), "{}: {}", about.name, about.help);
        let of_one = |s: &&Setting| s.about.category == about.category;
        let together = all().skip_while(|s| !of_one(s)).take_while(of_one).count();
        assert_eq!(together, all().filter(of_one).count(), "{}: its category lies in pieces", about.name);
    }
}

/// The names `VERBENA_...` in the sources of the crates. Those in `codegen` are macros of `mpi.h`.
fn names_in(folder: &Path, found: &mut BTreeSet<String>) {
    for path in std::fs::read_dir(folder).expect("sources").map(|entry| entry.expect("entry").path()) {
        if path.is_dir() && !["codegen", "settings", "tests"].iter().any(|skipped| path.ends_with(skipped)) {
            names_in(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let text = std::fs::read_to_string(&path).expect("source");
            for (at, start) in text.match_indices("VERBENA_") {
                let rest = &text[at + start.len()..];
                let end = rest.find(|c: char| !c.is_ascii_uppercase() && c != '_').unwrap_or(rest.len());
                // `VERBENA_WAIT_...` means several.
                if end > 0 && !rest[..end].ends_with('_') {
                    found.insert(format!("{start}{}", &rest[..end]));
                }
            }
        }
    }
}

#[test]
fn every_name_in_the_sources_is_known() {
    let mut found = BTreeSet::new();
    names_in(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."), &mut found);
    let known = |name: &&String| all().any(|s| s.about.name == *name) || OTHERS.contains(&name.as_str());
    let unknown: Vec<&String> = found.iter().filter(|name| !known(name)).collect();
    assert!(unknown.is_empty(), "named in the sources, but not in the table: {unknown:?}");
}
