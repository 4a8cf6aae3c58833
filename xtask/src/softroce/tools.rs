//! The programs that `cargo xtask softroce` needs, of the packages in
//! `packaging/debian-packages.txt`.

use anyhow::Result;
use std::path::{Path, PathBuf};
use std::process::Command;
use verbena_fault::Fault;

/// The programs used here and in the guest, which sees the files of this machine.
const PROGRAMS: [&str; 13] = [
    "qemu-system-x86_64",
    "busybox",
    "depmod",
    "ip",
    "tc",
    "rdma",
    "nsenter",
    "setpriv",
    "ssh-keygen",
    "sshd",
    "xz",
    "ibv_devinfo",
    "ib_write_lat",
];

/// The folders of programs; a user's `PATH` often lacks the system's own.
const FOLDERS: [&str; 6] = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// Installs what is missing.
///
/// # Errors
/// A program is missing afterwards too.
pub(super) fn provide() -> Result<()> {
    if missing().is_empty() {
        return Ok(());
    }
    let installer = super::top().join("packaging/install-deps");
    let outcome = Command::new(&installer).arg("test").status();
    match missing() {
        left if left.is_empty() => Ok(()),
        left => Err(lacking(&left, &installer, &format!("{outcome:?}")).into()),
    }
}

fn missing() -> Vec<&'static str> {
    PROGRAMS.into_iter().filter(|name| find(name).is_none()).collect()
}

/// A program's path.
pub(super) fn find(name: &str) -> Option<PathBuf> {
    FOLDERS.iter().map(|folder| Path::new(folder).join(name)).find(|path| path.exists())
}

fn lacking(names: &[&str], installer: &Path, outcome: &str) -> Fault {
    Fault::new(
        "Programs that Soft-RoCE needs are missing and could not be installed.",
        names.join(", "),
        format!("{} ended with {outcome}: no network, no package archive, or not root", installer.display()),
        "run `make deps` as root on a machine with Debian's packages, and read what it says",
    )
}
