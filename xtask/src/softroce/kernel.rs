//! The guest's kernel: the distribution's own package, which has `rdma_rxe`; the package for clouds
//! has not.

use super::{file_fault, top};
use anyhow::{Result, bail};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use verbena_fault::Fault;

/// Depends on the newest kernel of the distribution.
const NEWEST: &str = "linux-image-amd64";

/// An unpacked kernel package.
pub(super) struct Kernel {
    /// The release, as `uname -r` has it.
    pub(super) release: String,
    /// The uncompressed kernel, which QEMU starts by the PVH protocol in half the time.
    pub(super) image: PathBuf,
    /// The folder with the modules and `modules.dep`.
    pub(super) modules: PathBuf,
}

/// The kernel in `target/softroce`, fetched there by the first call.
///
/// # Errors
/// The package cannot be found, fetched or unpacked, or another processor's kernel would be needed.
pub(super) fn provide() -> Result<Kernel> {
    let cache = top().join("target/softroce");
    fs::create_dir_all(&cache).map_err(|error| file_fault("A folder cannot be made.", &cache, &error))?;
    // Two runs at once would unpack over each other.
    let lock = File::create(cache.join("lock"))?;
    lock.lock()?;
    let package = cache.join("kernel");
    if !package.join("complete").exists() {
        fetch(&package)?;
        complete(&package)?;
    }
    open(&package)
}

/// Unpacks the package into the folder.
fn fetch(folder: &Path) -> Result<()> {
    if std::env::consts::ARCH != "x86_64" {
        bail!(unfit());
    }
    // Where the lists are missing or too old for the archive, the first try fails.
    let fetched = newest().is_some_and(|name| unpack(&name, folder)) || {
        let _ = Command::new("apt-get").args(["-qq", "update"]).status();
        newest().is_some_and(|name| unpack(&name, folder))
    };
    if fetched { Ok(()) } else { bail!(unreachable_package()) }
}

/// The name of the newest kernel package, as apt knows it.
fn newest() -> Option<String> {
    let told = Command::new("apt-cache").args(["depends", NEWEST]).output().ok()?;
    let text = String::from_utf8_lossy(&told.stdout).into_owned();
    text.lines().find_map(|line| line.trim().strip_prefix("Depends: ")).map(str::to_owned)
}

fn unpack(name: &str, folder: &Path) -> bool {
    let unpacker = top().join("packaging/debian-binary");
    Command::new(unpacker).arg(name).arg(folder).status().is_ok_and(|status| status.success())
}

/// Makes the files that installing the package would have made, and says so in a file.
fn complete(folder: &Path) -> Result<()> {
    let kernel = open(folder)?;
    let depmod = super::tools::find("depmod").unwrap_or("depmod".into());
    let status = Command::new(depmod).arg("-b").arg(folder).arg(&kernel.release).status()?;
    if !status.success() {
        bail!("depmod failed on {}: {status}", folder.display());
    }
    let compressed = folder.join(format!("boot/vmlinuz-{}", kernel.release));
    fs::write(&kernel.image, decompress(payload(&fs::read(&compressed)?)?)?)?;
    fs::write(folder.join("complete"), "")?;
    Ok(())
}

fn open(folder: &Path) -> Result<Kernel> {
    let all = folder.join("lib/modules");
    let first = fs::read_dir(&all)?.flatten().next().ok_or_else(unreachable_package)?;
    Ok(Kernel {
        release: first.file_name().to_string_lossy().into_owned(),
        image: folder.join("boot/vmlinux"),
        modules: first.path(),
    })
}

/// The compressed kernel proper inside a bootable image (Linux x86 boot protocol 2.08:
/// `setup_sects` at 0x1f1, `payload_offset` and `payload_length` at 0x248).
fn payload(image: &[u8]) -> Result<&[u8]> {
    let word = |at: usize| {
        image.get(at..at + 4).map(|bytes| u32::from_le_bytes(bytes.try_into().expect("four")) as usize)
    };
    let (Some(b"HdrS"), Some(offset), Some(length)) = (image.get(0x202..0x206), word(0x248), word(0x24c))
    else {
        bail!("the kernel package holds no bootable x86 image");
    };
    let start = (usize::from(image[0x1f1]) + 1) * 512 + offset;
    // The last four bytes are the length of the decompressed data.
    image.get(start..start + length - 4).ok_or_else(|| anyhow::anyhow!("the kernel's image is cut short"))
}

/// Decompresses with the program that the first bytes ask for.
fn decompress(bytes: &[u8]) -> Result<Vec<u8>> {
    let program = match bytes {
        [0xfd, b'7', b'z', ..] => "xz",
        [0x28, 0xb5, 0x2f, 0xfd, ..] => "zstd",
        [0x1f, 0x8b, ..] => "gzip",
        _ => bail!("the kernel is compressed in a way unknown here"),
    };
    let mut child = Command::new(program).arg("-dc").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut input = child.stdin.take().expect("piped");
    let output = std::thread::scope(|scope| {
        let writer = scope.spawn(move || input.write_all(bytes));
        let output = child.wait_with_output();
        writer.join().expect("the writer does not panic").and(output)
    })?;
    if output.status.success() { Ok(output.stdout) } else { bail!("{program} failed on the kernel") }
}

fn unfit() -> Fault {
    Fault::new(
        "Soft-RoCE nodes cannot be booted here.",
        format!("a {} machine", std::env::consts::ARCH),
        "the guest runs this machine's own files, and only the x86-64 guest is made",
        "use an x86-64 machine",
    )
}

fn unreachable_package() -> Fault {
    Fault::new(
        "The kernel for Soft-RoCE nodes cannot be had.",
        format!("the package that {NEWEST} depends on"),
        "no network, or an archive that is not Debian's",
        "see that `apt-get update && apt-get download linux-image-amd64` works, as root, and run again",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_payload_is_found_where_the_header_says() {
        let mut image = vec![0_u8; 0x400 + 30];
        image[0x1f1] = 1;
        image[0x202..0x206].copy_from_slice(b"HdrS");
        image[0x248..0x24c].copy_from_slice(&10_u32.to_le_bytes());
        image[0x24c..0x250].copy_from_slice(&9_u32.to_le_bytes());
        image[0x40a..0x40f].copy_from_slice(b"Linux");
        assert_eq!(payload(&image).unwrap(), b"Linux");
        image.truncate(0x40e);
        assert!(payload(&image).is_err() && payload(&[0; 2000]).is_err() && payload(&[]).is_err());
    }

    #[test]
    fn what_is_not_compressed_is_refused() {
        assert!(decompress(b"plain").is_err());
    }
}
