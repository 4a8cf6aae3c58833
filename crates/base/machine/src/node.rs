//! The node of a process: the part of its surroundings that must agree for memory to be shared.

use std::os::unix::fs::MetadataExt;
use std::sync::OnceLock;

/// The node of this process, as a number that is equal exactly on processes that may share memory:
/// same boot of the same kernel, same host name (so that a node may be simulated by a namespace of
/// its own), same network namespace (the descriptor travels over an abstract socket, and those
/// belong to it).
pub fn identity() -> u64 {
    hash(format!("{}\n{}\n{}", boot_id(), host_name(), namespace("net")).as_bytes())
}

/// The machine of this process, as a number that is equal exactly on processes of one boot of one
/// kernel; 0 if `/proc` does not say.
pub fn machine() -> u64 {
    if boot_id().is_empty() { 0 } else { hash(boot_id().as_bytes()) }
}

/// The kernel's name for this boot, which is read once.
fn boot_id() -> &'static str {
    static BOOT_ID: OnceLock<String> = OnceLock::new();
    let read = || std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    BOOT_ID.get_or_init(read).trim()
}

/// The network of this process, as a number that is equal exactly on processes that see the same
/// interfaces.
pub fn network_identity() -> u64 {
    hash(format!("{}\n{}", boot_id(), namespace("net")).as_bytes())
}

/// The inode of one of this process's namespaces; 0 if `/proc` does not say.
pub fn namespace(kind: &str) -> u64 {
    std::fs::metadata(format!("/proc/self/ns/{kind}")).map_or(0, |m| m.ino())
}

/// The host's name as the kernel has it.
pub fn host_name() -> String {
    let mut name = [0u8; 256];
    // SAFETY: the call writes at most 255 bytes to our array, which stays terminated.
    let known = unsafe { libc::gethostname(name.as_mut_ptr().cast(), 255) } == 0;
    let end = name.iter().position(|&b| b == 0).unwrap_or(0);
    if known { String::from_utf8_lossy(&name[..end]).into_owned() } else { String::new() }
}

/// FNV-1a, 64 bits: stable between builds, which a card needs.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |h, &b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_identity_does_not_change() {
        assert_eq!(identity(), identity());
    }
}
