//! Archives whose bytes depend on their contents alone: zip files, and tar files by the system's
//! `tar`.

use super::command::said;
use anyhow::{Context, Result, ensure};
use flate2::Compression;
use flate2::write::DeflateEncoder;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use time::OffsetDateTime;

/// The version of the format that is needed to unpack (2.0: compression by deflate).
const VERSION: u16 = 20;
/// The maker's system, in the upper byte: Unix, so that the modes of files are read.
const UNIX: u16 = 3 << 8;
/// The flag for names in UTF-8.
const UTF8: u16 = 1 << 11;
/// Compression by deflate.
const DEFLATE: u16 = 8;
/// The type of a regular file in its mode.
const REGULAR: u32 = 0o100_000;

/// A zip file that is being written (PKWARE's APPNOTE 6.3, without its extensions for large files).
pub(super) struct Zip {
    bytes: Vec<u8>,
    directory: Vec<u8>,
    count: u16,
    date: u16,
    time: u16,
}

impl Zip {
    /// An empty one, whose files all have this date, in seconds since 1970.
    ///
    /// # Errors
    /// The date is before 1980, or far in the future.
    pub(super) fn new(epoch: u64) -> Result<Zip> {
        let when = OffsetDateTime::from_unix_timestamp(i64::try_from(epoch)?)?;
        let years = u16::try_from(when.year() - 1980).context("a zip file has no dates before 1980")?;
        let date = years << 9 | u16::from(u8::from(when.month())) << 5 | u16::from(when.day());
        let time =
            u16::from(when.hour()) << 11 | u16::from(when.minute()) << 5 | u16::from(when.second() / 2);
        Ok(Zip { bytes: Vec::new(), directory: Vec::new(), count: 0, date, time })
    }

    /// Adds a file.
    ///
    /// # Errors
    /// The file, or all of them together, are too large for this form.
    pub(super) fn add(&mut self, name: &str, contents: &[u8], is_program: bool) -> Result<()> {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(contents)?;
        let packed = encoder.finish()?;
        let mut crc = flate2::Crc::new();
        crc.update(contents);
        let place = u32::try_from(self.bytes.len())?;
        let mode = REGULAR | if is_program { 0o755 } else { 0o644 };
        // What stands in both headers.
        let mut common = Vec::new();
        for word in [VERSION, UTF8, DEFLATE, self.time, self.date] {
            common.extend(word.to_le_bytes());
        }
        for long in [crc.sum(), u32::try_from(packed.len())?, u32::try_from(contents.len())?] {
            common.extend(long.to_le_bytes());
        }
        common.extend(u16::try_from(name.len())?.to_le_bytes());
        common.extend(0u16.to_le_bytes()); // no extra field
        self.bytes.extend(b"PK\x03\x04");
        self.bytes.extend(&common);
        self.bytes.extend(name.as_bytes());
        self.bytes.extend(packed);
        self.directory.extend(b"PK\x01\x02");
        self.directory.extend((UNIX | VERSION).to_le_bytes());
        self.directory.extend(common);
        self.directory.extend([0; 6]); // no comment, the first disk, no attributes
        self.directory.extend((mode << 16).to_le_bytes());
        self.directory.extend(place.to_le_bytes());
        self.directory.extend(name.as_bytes());
        self.count = self.count.checked_add(1).context("a zip file of this form has at most 65535 files")?;
        Ok(())
    }

    /// The whole file.
    ///
    /// # Errors
    /// It is too large for this form.
    pub(super) fn finish(mut self) -> Result<Vec<u8>> {
        let (place, length) = (u32::try_from(self.bytes.len())?, u32::try_from(self.directory.len())?);
        self.bytes.extend(self.directory);
        self.bytes.extend(b"PK\x05\x06\0\0\0\0");
        self.bytes.extend(self.count.to_le_bytes());
        self.bytes.extend(self.count.to_le_bytes());
        self.bytes.extend(length.to_le_bytes());
        self.bytes.extend(place.to_le_bytes());
        self.bytes.extend(0u16.to_le_bytes());
        Ok(self.bytes)
    }
}

/// Packs the folder `name` of `folder` into a `.tar.gz`, in the order of the names, with one date
/// and no owner.
///
/// # Errors
/// `tar` fails.
pub(super) fn tar(folder: &Path, name: &str, file: &Path, epoch: u64) -> Result<()> {
    ensure!(file.extension().is_some_and(|ending| ending == "gz"), "{} is no .gz", file.display());
    let mut tar = Command::new("tar");
    tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--use-compress-program=gzip -9n"]);
    tar.arg(format!("--mtime=@{epoch}")).arg("-C").arg(folder).arg("-cf").arg(file).arg(name);
    said(&mut tar)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Python is what reads wheels.
    #[test]
    fn python_reads_the_zip_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut zip = Zip::new(1_700_000_000).expect("a date");
        let text = "a line\n".repeat(1000);
        zip.add("some/file.txt", text.as_bytes(), false).expect("added");
        zip.add("some/program", b"", true).expect("added");
        let file = folder.path().join("file.zip");
        std::fs::write(&file, zip.finish().expect("finished")).expect("own folder");
        let script = "import sys, zipfile\nz = zipfile.ZipFile(sys.argv[1])\nassert z.testzip() is None\n\
                      assert z.read('some/file.txt') == b'a line\\n' * 1000\n\
                      for i in z.infolist(): print(i.filename, oct(i.external_attr >> 16), i.date_time)\n";
        let said = said(Command::new("python3").args(["-c", script]).arg(&file)).expect("Python reads it");
        let first = "some/file.txt 0o100644 (2023, 11, 14, 22, 13, 20)\n";
        assert_eq!(said, format!("{first}some/program 0o100755 (2023, 11, 14, 22, 13, 20)\n"));
        assert!(Zip::new(0).is_err(), "1970");
    }

    #[test]
    fn a_tar_file_is_the_same_whenever_it_is_made() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("top")).expect("own folder");
        std::fs::write(folder.path().join("top/file"), "text").expect("own folder");
        let made = |name: &str| {
            let file = folder.path().join(name);
            tar(folder.path(), "top", &file, 1_700_000_000).expect("packed");
            std::fs::read(file).expect("packed")
        };
        let first = made("a.tar.gz");
        std::fs::write(folder.path().join("top/file"), "text").expect("own folder");
        assert_eq!(first, made("b.tar.gz"));
    }
}
