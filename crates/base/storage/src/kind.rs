//! The file systems that are told apart: by what they cost, and to name them to a person.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A file system, by the number that the kernel gives its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileSystem {
    /// The name, as `mount` says it.
    pub name: &'static str,
    /// True if several machines may use its files at once, and a call may go over a network.
    pub is_shared: bool,
}

impl FileSystem {
    /// A file system that is not known.
    pub const UNKNOWN: FileSystem = FileSystem { name: "an unknown file system", is_shared: false };
}

impl FileSystem {
    /// Returns whether stores to mapped pages of a file and calls on it see each other at once, also
    /// those of other processes.
    pub fn has_coherent_pages(&self) -> bool {
        matches!(self.name, "ext4" | "xfs" | "btrfs" | "tmpfs" | "ramfs" | "overlay" | "f2fs")
    }
}

const fn local(number: i64, name: &'static str) -> (i64, FileSystem) {
    (number, FileSystem { name, is_shared: false })
}

const fn shared(number: i64, name: &'static str) -> (i64, FileSystem) {
    (number, FileSystem { name, is_shared: true })
}

/// The numbers of `statfs(2)`.
const KNOWN: [(i64, FileSystem); 19] = [
    local(0xef53, "ext4"),
    local(0x5846_5342, "xfs"),
    local(0x9123_683e, "btrfs"),
    local(0x0102_1994, "tmpfs"),
    local(0x794c_7630, "overlay"),
    local(0x2fc1_2fc1, "zfs"),
    local(0xf2f5_2010, "f2fs"),
    local(0x1373, "devfs"),
    local(0x8584_58f6, "ramfs"),
    shared(0x6969, "nfs"),
    shared(0x0bd0_0bd0, "lustre"),
    shared(0x4750_4653, "gpfs"),
    shared(0x1983_0326, "beegfs"),
    shared(0x00c3_6400, "ceph"),
    shared(0x6573_5546, "fuse"),
    shared(0xff53_4d42, "cifs"),
    shared(0xfe53_4d42, "smb"),
    shared(0x0102_1997, "9p"),
    shared(0x7461_636f, "ocfs2"),
];

/// The file system with this number.
pub(crate) fn numbered(number: i64) -> FileSystem {
    KNOWN.iter().find(|known| known.0 == number).map_or(FileSystem::UNKNOWN, |known| known.1)
}

/// The file system of a path, or of the folder that it would be in.
pub fn file_system(path: &Path) -> FileSystem {
    let of = |path: &Path| {
        let name = CString::new(path.as_os_str().as_bytes()).ok()?;
        let mut about = std::mem::MaybeUninit::<libc::statfs>::uninit();
        // SAFETY: a string with its end, and memory for the answer.
        let found = unsafe { libc::statfs(name.as_ptr(), about.as_mut_ptr()) } == 0;
        // SAFETY: the call has filled it.
        found.then(|| numbered(unsafe { about.assume_init() }.f_type))
    };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    of(path).or_else(|| of(folder)).unwrap_or(FileSystem::UNKNOWN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_is_not_there_yet_has_the_file_system_of_its_folder() {
        assert_eq!(file_system(Path::new("/dev/shm")).name, "tmpfs");
        assert_eq!(file_system(Path::new("/dev/shm/not-there")).name, "tmpfs");
        assert_eq!(file_system(Path::new("/not/there/at/all")), FileSystem::UNKNOWN);
    }

    #[test]
    fn every_kind_has_a_number_of_its_own() {
        for (i, known) in KNOWN.iter().enumerate() {
            assert!(KNOWN[..i].iter().all(|other| other.0 != known.0 && other.1.name != known.1.name));
            assert_eq!(numbered(known.0), known.1);
        }
    }
}
