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
    /// True if each machine sees at once what another one wrote, or no other one sees its files.
    /// Elsewhere a machine may keep what it has read, and the size, for a while.
    pub is_coherent: bool,
    /// True if a file may lie on several devices, a stripe on each in turn.
    pub is_striped: bool,
    /// True if a machine that changes a part of a page may write the whole page as it knows it, and
    /// so undo what another machine has written beside that part.
    pub writes_whole_pages: bool,
}

impl FileSystem {
    /// A file system that is not known.
    pub const UNKNOWN: FileSystem =
        FileSystem { is_coherent: false, ..FileSystem::local("an unknown file system") };

    /// Returns whether stores to mapped pages of a file and calls on it see each other at once,
    /// also those of other processes.
    pub fn has_coherent_pages(&self) -> bool {
        matches!(self.name, "ext4" | "xfs" | "btrfs" | "tmpfs" | "ramfs" | "overlay" | "f2fs")
    }

    /// A file system of one machine.
    pub const fn local(name: &'static str) -> FileSystem {
        FileSystem { name, is_shared: false, is_coherent: true, is_striped: false, writes_whole_pages: false }
    }

    /// A file system of several machines. Each may keep what it has read for a while.
    pub const fn shared(name: &'static str) -> FileSystem {
        FileSystem { is_shared: true, is_coherent: false, ..FileSystem::local(name) }
    }

    /// A file system whose machines see each other's writes at once, over several devices.
    pub const fn parallel(name: &'static str) -> FileSystem {
        FileSystem { is_coherent: true, is_striped: true, ..FileSystem::shared(name) }
    }
}

/// The numbers of `statfs(2)`.
const KNOWN: [(i64, FileSystem); 23] = [
    (0xef53, FileSystem::local("ext4")),
    (0x5846_5342, FileSystem::local("xfs")),
    (0x9123_683e, FileSystem::local("btrfs")),
    (0x0102_1994, FileSystem::local("tmpfs")),
    (0x794c_7630, FileSystem::local("overlay")),
    (0x2fc1_2fc1, FileSystem::local("zfs")),
    (0xf2f5_2010, FileSystem::local("f2fs")),
    (0x1373, FileSystem::local("devfs")),
    (0x8584_58f6, FileSystem::local("ramfs")),
    (0xca45_1a4e, FileSystem::local("bcachefs")),
    (0x2011_bab0, FileSystem::local("exfat")),
    (0x4d44, FileSystem::local("vfat")),
    // Linux' client widens a write to the whole page where it has read that page before
    // (`nfs_can_extend_write`).
    (0x6969, FileSystem { writes_whole_pages: true, ..FileSystem::shared("nfs") }),
    (0x0bd0_0bd0, FileSystem::parallel("lustre")),
    (0x4750_4653, FileSystem::parallel("gpfs")),
    // Its clients may read ahead and write behind.
    (0x1983_0326, FileSystem { is_coherent: false, ..FileSystem::parallel("beegfs") }),
    (0x00c3_6400, FileSystem::parallel("ceph")),
    (0x6573_5546, FileSystem::shared("fuse")),
    (0xff53_4d42, FileSystem::shared("cifs")),
    (0xfe53_4d42, FileSystem::shared("smb")),
    (0x0102_1997, FileSystem::shared("9p")),
    (0x0116_1970, FileSystem { is_striped: false, ..FileSystem::parallel("gfs2") }),
    (0x7461_636f, FileSystem { is_striped: false, ..FileSystem::parallel("ocfs2") }),
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
