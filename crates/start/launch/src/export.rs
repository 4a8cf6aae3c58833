//! The parts of our surroundings that programs on other hosts get: variables, working directory.

use crate::plan::{Exports, Part};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Variables that describe this host and this session, and would be wrong elsewhere.
const LOCAL: [&str; 15] = [
    "_",
    "DBUS_SESSION_BUS_ADDRESS",
    "DISPLAY",
    "HOSTNAME",
    "OLDPWD",
    "PWD",
    "SHLVL",
    "SSH_AUTH_SOCK",
    "SSH_CLIENT",
    "SSH_CONNECTION",
    "SSH_TTY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "XDG_RUNTIME_DIR",
    "XDG_SESSION_ID",
];

/// Goes along like our own: without it a program that needs it runs on the MPI library that it was
/// linked to, if that is there, without a word. Hydra does the same, and PRRTE sets it by its
/// prefix.
const LIBRARIES: &str = "LD_LIBRARY_PATH";

/// The variables of `all` that go to other hosts.
pub fn variables(
    exports: &Exports,
    all: impl Iterator<Item = (OsString, OsString)>,
) -> Vec<(OsString, OsString)> {
    let goes = |name: &OsStr, value: &OsStr| {
        // An empty one would only take away what the other host has.
        let ours = name.as_bytes().starts_with(b"VERBENA_") || name == LIBRARIES && !value.is_empty();
        ours || exports.names.iter().any(|named| named == name)
            || exports.all && !LOCAL.iter().any(|local| name == *local)
    };
    all.filter(|(name, value)| goes(name, value)).collect()
}

/// The parts with absolute directories: our own, if a part has no `-wdir`.
pub fn with_directories(parts: &[Part]) -> Vec<Part> {
    let here = working_directory();
    let absolute = |part: &Part| {
        let directory = part.directory.as_ref().map_or(here.clone(), |directory| here.join(directory));
        Part { directory: Some(directory.into_os_string()), ..part.clone() }
    };
    parts.iter().map(absolute).collect()
}

/// The working directory under the name that the shell uses: the path behind symbolic links may not
/// exist elsewhere.
fn working_directory() -> PathBuf {
    let real = std::env::current_dir().unwrap_or_default();
    let inode = |path: &Path| path.metadata().map(|found| (found.dev(), found.ino())).ok();
    let named = std::env::var_os("PWD").map(PathBuf::from).filter(|named| named.is_absolute());
    named.filter(|named| inode(named).is_some() && inode(named) == inode(&real)).unwrap_or(real)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exported(all: bool, names: &[&str]) -> Vec<String> {
        let exports = Exports { all, names: names.iter().map(OsString::from).collect() };
        let have = ["VERBENA_CMA", "PATH", LIBRARIES, "MANPATH", "PWD", "VERBEN"];
        let have = have.iter().map(|name| (OsString::from(name), OsString::from("x")));
        variables(&exports, have).into_iter().map(|(name, _)| name.into_string().unwrap()).collect()
    }

    #[test]
    fn settings_and_libraries_always_go_and_others_when_asked() {
        assert_eq!(exported(false, &[]), ["VERBENA_CMA", LIBRARIES]);
        assert_eq!(exported(false, &["MANPATH", "NONE"]), ["VERBENA_CMA", LIBRARIES, "MANPATH"]);
        assert_eq!(exported(true, &[]), ["VERBENA_CMA", "PATH", LIBRARIES, "MANPATH", "VERBEN"]);
    }

    #[test]
    fn directories_are_absolute() {
        let part = |directory: Option<&str>| Part {
            count: 1,
            program: "x".into(),
            arguments: vec![],
            environment: vec![],
            directory: directory.map(OsString::from),
            path: None,
        };
        let all = with_directories(&[part(None), part(Some("sub")), part(Some("/usr"))]);
        let here = working_directory();
        let expected = [here.clone(), here.join("sub"), "/usr".into()];
        let found: Vec<PathBuf> = all.into_iter().map(|part| part.directory.unwrap().into()).collect();
        assert_eq!(found, expected);
    }
}
