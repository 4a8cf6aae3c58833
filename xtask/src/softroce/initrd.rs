//! The initramfs: busybox, `guest/init.sh`, and the modules that reach the host's files.

use super::kernel::Kernel;
use super::tools;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::Path;
use std::process::Command;

/// The modules that the root needs; their own needs come from `modules.dep`.
const MODULES: [&str; 4] = ["virtio_pci", "9pnet_virtio", "9p", "overlay"];

const FOLDERS: [&str; 9] = ["bin", "modules", "dev", "proc", "sys", "host", "changes", "new", "run"];

/// Writes the archive.
///
/// # Errors
/// A module or busybox is missing, or the file cannot be written.
pub(super) fn write(kernel: &Kernel, file: &Path) -> Result<()> {
    let mut archive = Archive::default();
    for folder in FOLDERS {
        archive.add(folder, 0o040_755, &[]);
    }
    let busybox = tools::find("busybox").context("busybox is missing")?;
    archive.add("bin/busybox", 0o100_755, &fs::read(busybox)?);
    archive.add("init", 0o100_755, include_bytes!("guest/init.sh"));
    let dependencies = fs::read_to_string(kernel.modules.join("modules.dep"))?;
    let mut order = String::new();
    for path in in_order(&dependencies, &MODULES)? {
        let name =
            Path::new(path).file_stem().and_then(|name| name.to_str()).context("a module has a name")?;
        let name = format!("{}.ko", name.trim_end_matches(".ko"));
        archive.add(&format!("modules/{name}"), 0o100_644, &plain(&kernel.modules.join(path))?);
        order += &format!("{name}\n");
    }
    archive.add("modules/order", 0o100_644, order.as_bytes());
    Ok(fs::write(file, archive.finish())?)
}

/// Returns the files of the modules and of all that they need, each after those it needs.
fn in_order<'a>(dependencies: &'a str, names: &[&str]) -> Result<Vec<&'a str>> {
    let mut order = Vec::new();
    for name in names {
        let line = dependencies.lines().find(|line| is_module(line.split(':').next().unwrap_or(""), name));
        let (file, needs) = line
            .and_then(|line| line.split_once(':'))
            .with_context(|| format!("the kernel has no {name}"))?;
        // The line names first the file that must be loaded last.
        for file in needs.split_whitespace().rev().chain([file]) {
            if !order.contains(&file) {
                order.push(file);
            }
        }
    }
    Ok(order)
}

fn is_module(path: &str, name: &str) -> bool {
    let file = path.rsplit('/').next().unwrap_or(path);
    file.split(".ko").next().is_some_and(|stem| stem.replace('-', "_") == name)
}

/// A module's bytes, decompressed where the distribution compresses them.
fn plain(path: &Path) -> Result<Vec<u8>> {
    if path.extension().is_none_or(|ending| ending == "ko") {
        return Ok(fs::read(path)?);
    }
    let output = Command::new("xz").arg("-dc").arg(path).output()?;
    if output.status.success() { Ok(output.stdout) } else { bail!("xz failed on {}", path.display()) }
}

/// A cpio archive of the sort `newc` (Linux: `early-userspace/buffer-format`).
#[derive(Default)]
struct Archive {
    bytes: Vec<u8>,
    entries: u32,
}

impl Archive {
    fn add(&mut self, name: &str, mode: u32, content: &[u8]) {
        self.entries += 1;
        let size = u32::try_from(content.len()).expect("below 4 GiB");
        let name_size = u32::try_from(name.len()).expect("short") + 1;
        // inode, mode, owner, group, links, time, size, device (2), special device (2), length of
        // the name, checksum
        let fields = [self.entries, mode, 0, 0, 1, 0, size, 0, 0, 0, 0, name_size, 0];
        self.bytes.extend(b"070701");
        self.bytes.extend(fields.iter().flat_map(|field| format!("{field:08x}").into_bytes()));
        self.bytes.extend(name.bytes().chain([0]));
        self.pad();
        self.bytes.extend(content);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    fn finish(mut self) -> Vec<u8> {
        self.add("TRAILER!!!", 0, &[]);
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_come_after_what_they_need() {
        let dependencies =
            "fs/9p/9p.ko: net/9p/9pnet.ko fs/netfs.ko\nnet/9p/9pnet-virtio.ko.xz: net/9p/9pnet.ko\n";
        let order = in_order(dependencies, &["9pnet_virtio", "9p"]).unwrap();
        assert_eq!(order, ["net/9p/9pnet.ko", "net/9p/9pnet-virtio.ko.xz", "fs/netfs.ko", "fs/9p/9p.ko"]);
        assert!(in_order(dependencies, &["overlay"]).is_err());
    }

    #[test]
    fn entries_begin_at_words() {
        let mut archive = Archive::default();
        archive.add("a", 0o100_644, b"x");
        assert_eq!(archive.bytes.len(), (110 + 2) + 4);
        assert_eq!(&archive.bytes[110..114], b"a\0x\0");
        assert_eq!(archive.finish().len() % 4, 0);
    }
}
