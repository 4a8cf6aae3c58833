//! Looking for a program in directories that are named for it (MPI-5.0, 11.8.4, the key `path`).

use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The program in the first of these directories that has a file of this name which may be run. `:`
/// or `;` stands between the directories, which are relative to the one that the program runs in. A
/// program that none has, or whose name has a `/`, is returned as it is, for `PATH` to find.
pub fn found_in(path: &OsStr, program: &OsStr, directory: Option<&OsStr>) -> OsString {
    if program.as_bytes().contains(&b'/') {
        return program.to_owned();
    }
    let start = Path::new(directory.unwrap_or_default());
    let named = path.as_bytes().split(|byte| b":;".contains(byte)).filter(|named| !named.is_empty());
    let mut places = named.map(|named| Path::new(OsStr::from_bytes(named)).join(program));
    let place = places.find(|place| is_program(&start.join(place)));
    // A name without a slash would be looked for in PATH.
    place.map_or(program.to_owned(), |place| Path::new(".").join(place).into_os_string())
}

fn is_program(path: &Path) -> bool {
    let Ok(name) = CString::new(path.as_os_str().as_bytes()) else { return false };
    // SAFETY: the name ends with a zero, and the call only looks at it.
    path.is_file() && unsafe { libc::access(name.as_ptr(), libc::X_OK) } == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_directory_with_the_program_is_taken() {
        let found = |path: &str, program: &str, directory: Option<&str>| {
            found_in(path.as_ref(), program.as_ref(), directory.map(OsStr::new)).into_string().unwrap()
        };
        assert_eq!(found("/no/such/place:/bin;/usr/bin", "sh", None), "/bin/sh");
        assert_eq!(found("/bin", "no-such-program", None), "no-such-program");
        assert_eq!(found("/bin", "./sh", None), "./sh");
        assert_eq!(found("", "sh", None), "sh");
        // A file that may not be run, and a directory.
        assert_eq!(found("/etc", "passwd", None), "passwd");
        assert_eq!(found("/", "bin", None), "bin");
        assert_eq!(found("bin", "sh", Some("/")), "./bin/sh");
        assert_eq!(found("bin", "sh", Some("/no/such/place")), "sh");
    }
}
