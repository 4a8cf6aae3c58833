//! File names with the type of a file system before them, as in `ufs:/scratch/data`. MPI-5.0
//! (14.2.1) leaves that to the library; the types are those of ROMIO, which programs know.

use crate::error::{Error, Result};
use crate::generated::constants as mpi;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The types of file systems that are mounted: calls of the system reach their files.
const MOUNTED: [&str; 7] = ["ufs", "nfs", "xfs", "pvfs2", "gpfs", "panfs", "lustre"];

/// The types whose files only a library of their own reaches.
const APART: [&str; 4] = ["testfs", "ime", "quobyte", "daos"];

/// The variable that names a type for all files whose names hold none, as ROMIO has it.
pub(super) const TYPE_VARIABLE: &str = "ROMIO_FSTYPE_FORCE";

/// The path of a file, without the type of a file system before it. A word that is no such type is
/// a part of the path. `forced` is the value of [`TYPE_VARIABLE`].
///
/// # Errors
/// `MPI_ERR_IO` for a type that calls of the system do not reach.
pub(super) fn path_of<'a>(name: &'a Path, forced: Option<&OsStr>) -> Result<&'a Path> {
    let bytes = name.as_os_str().as_bytes();
    let Some((word, path)) = split(bytes) else {
        let forced = forced.map_or(&[][..], OsStr::as_bytes);
        let word = split(forced).map_or(forced, |(word, _)| word);
        return if is_one(&APART, word) { Err(unreachable_type(word, name)) } else { Ok(name) };
    };
    match is_one(&APART, word) {
        true => Err(unreachable_type(word, name)),
        false if is_one(&MOUNTED, word) => Ok(Path::new(OsStr::from_bytes(path))),
        false => Ok(name),
    }
}

/// The word before the first colon, and what follows.
fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = bytes.iter().position(|&byte| byte == b':')?;
    Some((&bytes[..colon], &bytes[colon + 1..]))
}

fn is_one(types: &[&str], word: &[u8]) -> bool {
    types.iter().any(|known| known.as_bytes() == word)
}

#[cold]
fn unreachable_type(word: &[u8], name: &Path) -> Error {
    Error::new(
        mpi::MPI_ERR_IO,
        "a file lies in a file system that calls of the system do not reach",
        format!("the type \"{}\" for the file \"{}\"", String::from_utf8_lossy(word), name.display()),
        format!("the file's name begins with that type, or {TYPE_VARIABLE} names it"),
        "use a mounted file system, and its path without a type",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(name: &str, forced: Option<&str>) -> std::result::Result<String, i32> {
        let path = path_of(Path::new(name), forced.map(OsStr::new));
        path.map(|path| path.display().to_string()).map_err(|error| error.class)
    }

    #[test]
    fn a_type_that_is_mounted_is_no_part_of_the_path() {
        for (name, expected) in [
            ("ufs:/scratch/data", "/scratch/data"),
            ("lustre:data:2", "data:2"),
            ("/scratch/data:2", "/scratch/data:2"),
            ("nosuch:data", "nosuch:data"),
            ("UFS:data", "UFS:data"),
            ("ufs", "ufs"),
            (":data", ":data"),
        ] {
            assert_eq!(path(name, None).as_deref(), Ok(expected));
            assert_eq!(path(name, Some("nfs:")).as_deref(), Ok(expected));
        }
    }

    #[test]
    fn a_type_that_needs_a_library_of_its_own_is_refused() {
        assert_eq!(path("daos:/pool/data", None), Err(mpi::MPI_ERR_IO));
        assert_eq!(path("data", Some("daos:")), Err(mpi::MPI_ERR_IO));
        // The file's own name goes before the variable.
        assert_eq!(path("ufs:data", Some("daos:")).as_deref(), Ok("data"));
        assert_eq!(path("data", Some("daos")), Err(mpi::MPI_ERR_IO));
    }
}
