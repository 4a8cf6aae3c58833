//! The core file of a rank that crashed: where the kernel was told to put it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The kernel's pattern of the names of core files (core(5)).
const PATTERN: &str = "/proc/sys/kernel/core_pattern";
/// Nothing older than this is the core file of a rank that has died just now.
const AGE_MAX: Duration = Duration::from_secs(120);

/// Says where the core file of a process is, and how to open it, in words for the user; `None` if
/// the kernel wrote none that can be found. `directory` is where the process was started.
pub fn describe(pid: i32, program: &OsStr, directory: &Path) -> Option<String> {
    let pattern = std::fs::read_to_string(PATTERN).ok()?;
    let uses_pid =
        std::fs::read_to_string("/proc/sys/kernel/core_uses_pid").is_ok_and(|text| text.trim() == "1");
    if let Some(handler) = pattern.trim().strip_prefix('|') {
        return Some(handed_over(handler, pid));
    }
    let file = find(pattern.trim(), uses_pid, pid, directory)?;
    Some(format!("core file {0}: gdb {1} {0} shows where it was", file.display(), program.display()))
}

/// The words for a core file that the kernel gave to a program.
fn handed_over(handler: &str, pid: i32) -> String {
    let name = handler.split_whitespace().next().unwrap_or_default();
    match name.rsplit('/').next() {
        Some("systemd-coredump") => {
            format!("systemd has its core file: coredumpctl gdb {pid} shows where it was")
        }
        _ => format!("the kernel gave its core file to {name}, by {PATTERN}"),
    }
}

/// Finds the newest file that the pattern fits, with the process's own number where it has one.
fn find(pattern: &str, uses_pid: bool, pid: i32, directory: &Path) -> Option<PathBuf> {
    let path = directory.join(pattern);
    let (folder, name) = (path.parent()?, path.file_name()?.to_str()?);
    let mut pieces = pieces(name, pid);
    if uses_pid && !name.contains("%p") {
        pieces.push(Piece::Text(format!(".{pid}")));
    }
    let files = std::fs::read_dir(folder).ok()?.flatten();
    let recent = |file: &std::fs::DirEntry| {
        let changed = file.metadata().ok()?.modified().ok()?;
        let age = SystemTime::now().duration_since(changed).unwrap_or_default();
        (age < AGE_MAX).then_some(changed)
    };
    files
        .filter(|file| file.file_name().to_str().is_some_and(|name| fits(name, &pieces)))
        .filter_map(|file| Some((recent(&file)?, file.path())))
        .max()
        .map(|(_, path)| path)
}

/// A part of a name.
#[derive(Debug, PartialEq)]
enum Piece {
    Text(String),
    Anything,
}

/// The parts of a pattern's name: what is known of the process stands in it, the rest may be
/// anything.
fn pieces(name: &str, pid: i32) -> Vec<Piece> {
    let (mut pieces, mut characters) = (Vec::new(), name.chars());
    while let Some(character) = characters.next() {
        match (character, if character == '%' { characters.next() } else { None }) {
            ('%', Some('p')) => pieces.push(Piece::Text(pid.to_string())),
            ('%', Some('%')) => pieces.push(Piece::Text("%".into())),
            ('%', Some(_)) => pieces.push(Piece::Anything),
            ('%', None) => {}
            (character, _) => pieces.push(Piece::Text(character.into())),
        }
    }
    pieces
}

fn fits(name: &str, pieces: &[Piece]) -> bool {
    match pieces.split_first() {
        None => name.is_empty(),
        Some((Piece::Text(text), rest)) => {
            name.strip_prefix(text.as_str()).is_some_and(|name| fits(name, rest))
        }
        Some((Piece::Anything, rest)) => {
            let ends = (0..=name.len()).filter(|&end| name.is_char_boundary(end));
            ends.into_iter().any(|end| fits(&name[end..], rest))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_fits_the_names_that_the_kernel_makes_of_it() {
        let fits = |name: &str, pattern: &str| super::fits(name, &pieces(pattern, 42));
        assert!(fits("core.42", "core.%p") && !fits("core.43", "core.%p"));
        assert!(fits("core-prog-1700000000-42", "core-%e-%t-%p"));
        assert!(fits("100%-x", "100%%-%e") && !fits("core", "core.%e"));
    }

    #[test]
    fn the_core_file_of_the_process_is_found_and_no_other() {
        let folder = std::env::temp_dir().join(format!("verbena-core-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        for name in ["core.41", "core.42", "core.prog.42"] {
            std::fs::write(folder.join(name), "").unwrap();
        }
        let found = |pattern: &str, uses_pid| find(pattern, uses_pid, 42, &folder);
        assert_eq!(found("core", true), Some(folder.join("core.42")));
        assert_eq!(found("core.%e.%p", false), Some(folder.join("core.prog.42")));
        assert_eq!(found("core", false), None);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_core_file_that_a_program_took_is_named_by_that() {
        let systemd = handed_over("/usr/lib/systemd/systemd-coredump %P %u", 42);
        assert!(systemd.contains("coredumpctl gdb 42"), "{systemd}");
        assert!(handed_over("/usr/share/apport/apport -p%p", 42).contains("/usr/share/apport/apport"));
    }
}
