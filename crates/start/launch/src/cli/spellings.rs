//! Options of other launchers that are ours under another name, and old ones that are two words of
//! ours.

use std::ffi::OsString;

/// Names that stand for one of ours, with the same values.
const RENAMED: [(&str, &str); 10] = [
    ("app", "configfile"),
    ("binding", "bind-to"),
    ("check_mpi", "check-mpi"),
    ("g", "gpus-per-proc"),
    ("hostlist", "host"),
    ("machine", "host"),
    ("machinelist", "host"),
    ("machines", "host"),
    ("s", "stdin"),
    ("v", "verbose"),
];
/// Names that stand for two words; `{}` in them is the option's value.
const SPELLED: [(&str, [&str; 2]); 10] = [
    ("pernode", ["--ppn", "1"]),
    ("bynode", ["--map-by", "node"]),
    ("byslot", ["--map-by", "slot"]),
    ("bind-to-core", ["--bind-to", "core"]),
    ("bind-to-socket", ["--bind-to", "package"]),
    ("bind-to-none", ["--bind-to", "none"]),
    ("cpus-per-proc", ["--map-by", "slot:PE={}"]),
    ("cpus-per-rank", ["--map-by", "slot:PE={}"]),
    ("npersocket", ["--map-by", "ppr:{}:package"]),
    ("nperpackage", ["--map-by", "ppr:{}:package"]),
];

/// The option with our name for it.
pub(super) fn renamed(option: &str) -> String {
    let end = option.find('=').unwrap_or(option.len());
    let (name, value) = option.split_at(end);
    let ours = RENAMED.iter().find(|(theirs, _)| *theirs == name).map_or(name, |(_, ours)| ours);
    format!("{ours}{value}")
}

/// The two words that an option stands for, and the words behind it and its value. `None` for every
/// other option, and where the value lacks.
pub(super) fn spelled<'a>(option: &str, after: &'a [OsString]) -> Option<([OsString; 2], &'a [OsString])> {
    let (name, behind) = option.split_once('=').map_or((option, None), |(name, value)| (name, Some(value)));
    let (_, [ours, value]) = SPELLED.iter().find(|(theirs, _)| *theirs == name)?;
    if !value.contains("{}") {
        return behind.is_none().then(|| ([OsString::from(ours), value.into()], after));
    }
    let (number, after) = match behind {
        Some(behind) => (behind, after),
        None => after.split_first().and_then(|(first, after)| Some((first.to_str()?, after)))?,
    };
    Some(([ours.into(), value.replace("{}", number).into()], after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_replaced_and_its_value_stays() {
        assert_eq!(renamed("app=a=b"), "configfile=a=b");
        assert_eq!(renamed("machines"), "host");
        assert_eq!(renamed("s"), "stdin");
        assert_eq!(renamed("n"), "n");
    }

    #[test]
    fn a_value_finds_its_place() {
        let after = ["4", "x"].map(OsString::from);
        let words = |option| spelled(option, &after).map(|(words, rest)| (words, rest.len()));
        assert_eq!(words("pernode"), Some((["--ppn".into(), "1".into()], 2)));
        assert_eq!(words("npersocket"), Some((["--map-by".into(), "ppr:4:package".into()], 1)));
        assert_eq!(words("cpus-per-proc=2"), Some((["--map-by".into(), "slot:PE=2".into()], 2)));
        assert_eq!(words("pernode=3"), None);
        assert_eq!(words("bind-to"), None);
        assert_eq!(spelled("npersocket", &[]), None);
    }
}
