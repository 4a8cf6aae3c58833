//! The texts that users write: host files, command lines, settings.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use verbena_launch::{cli, hosts};
use verbena_settings::{Kind, load_from, table};

/// The most ranks that a job may have, and hosts that a list may name.
const MOST: usize = 65_536;

/// Lists and files of hosts: entries are within bounds, and a list of plain names comes back when
/// written as a file.
pub fn hosts(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (nodes, tasks) = text.split_once('\n').unwrap_or((&text, ""));
    let read = [
        hosts::read_list(&text),
        hosts::read_file(&text, "hosts"),
        hosts::read_slurm(nodes, tasks),
        hosts::read_lsf(&text),
    ];
    for entries in read.into_iter().flatten() {
        assert!((1..=MOST).contains(&entries.len()), "{} hosts", entries.len());
        assert!(entries.iter().all(|entry| (1..=MOST).contains(&(entry.slots as usize))));
        let is_plain = |entry: &hosts::Entry| {
            entry.name.starts_with(|c: char| c.is_ascii_alphanumeric())
                && entry.name.chars().all(|c| c.is_ascii_alphanumeric())
        };
        if entries.iter().all(is_plain) {
            let lines: String =
                entries.iter().map(|entry| format!("{}:{}\n", entry.name, entry.slots)).collect();
            assert_eq!(hosts::read_file(&lines, "again").ok(), Some(entries));
        }
    }
}

/// Tests the command line of `mpiexec`, a word on each line: what it starts is within bounds.
pub fn command_line(data: &[u8]) {
    // Files that never end are no matter of the command line.
    if ["/dev", "/proc", "/sys"].iter().any(|place| data.windows(place.len()).any(|w| w == place.as_bytes()))
    {
        return;
    }
    let words = data.split(|&byte| byte == b'\n').filter(|word| !word.is_empty());
    let words: Vec<OsString> = words.map(|word| OsString::from_vec(word.to_vec())).collect();
    let Ok(order) = cli::read(words) else { return };
    assert!((1..=MOST).contains(&(order.size() as usize)), "{} ranks", order.size());
    let mut ranks: Vec<u32> = order
        .hosts
        .iter()
        .flat_map(|host| host.assignments.iter().map(|assignment| assignment.rank))
        .collect();
    ranks.sort_unstable();
    assert!(ranks.into_iter().eq(0..order.size()), "every rank has one host");
}

/// Tests settings by variables (lines before an empty one) and by a file (the rest). Each stays
/// within its range, and the value that it reports can be set again.
pub fn settings(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (variables, file) = text.split_once("\n\n").unwrap_or((&text, ""));
    let pairs = variables.lines().filter_map(|line| line.split_once('='));
    let pairs = pairs.map(|(name, value)| (format!("VERBENA_{name}"), value.to_string()));
    let _ = load_from(pairs, |_| Ok(file.to_string()));
    for setting in table::all() {
        let word = setting.word();
        match &setting.kind {
            Kind::Number { range, automatic } => {
                assert!(range.contains(&word) || automatic.is_some() && word == verbena_settings::AUTOMATIC)
            }
            Kind::Flag => assert!(word == 0 || word == 1),
            Kind::Choice(among) => assert!((word as usize) < among.len()),
            Kind::Names(among, _) => {
                let names = setting.string();
                assert!(names.split(',').map(str::trim).all(|name| name.is_empty() || among.contains(&name)))
            }
            Kind::Text(_) => {}
        }
        let (origin, text) = (setting.origin(), setting.value_text());
        if matches!(setting.kind, Kind::Flag | Kind::Choice(_)) {
            setting.set_text(&text, origin).expect("its own value");
            assert_eq!(setting.word(), word);
        }
    }
}
