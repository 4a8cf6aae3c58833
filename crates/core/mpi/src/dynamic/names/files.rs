//! The files of published names: each is there as a whole or not at all, and never changes.
//!
//! A process that removes a file locks it, and then sees whether the file still has its place:
//! another process may have removed it before, and a third one may have put its own there. So no
//! two processes have one name, on one host and on NFS. On a file system without locks the file of
//! a dead process stays, and with it the name; the file of a living one is removed without a lock.

use super::entry::{Entry, Owner};
use nix::fcntl::OFlag;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// The longest file that is read, in bytes: four for each byte of a service and a port, and more.
const FILE_BYTES_MAX: u64 = 16384;
/// The most attempts to put a file in the place of others.
const ATTEMPTS_MAX: usize = 100;

/// The number of files that this process has drafted.
static DRAFTS: AtomicU64 = AtomicU64::new(0);

/// Writes a whole file. [`ErrorKind::AlreadyExists`] if there is one of a process that lives.
pub(super) fn write(folder: &Path, file: &Path, entry: &Entry) -> io::Result<()> {
    let number = DRAFTS.fetch_add(1, Ordering::Relaxed);
    let draft = folder.join(format!(".{}-{number}", entry.owner.word()));
    let written = File::create(&draft).and_then(|mut out| {
        out.write_all(entry.text().as_bytes())?;
        out.sync_data()
    });
    let linked = written.and_then(|()| link(&draft, file));
    let _ = fs::remove_file(&draft);
    linked
}

fn link(draft: &Path, file: &Path) -> io::Result<()> {
    for _ in 0..ATTEMPTS_MAX {
        match fs::hard_link(draft, file) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            outcome => return outcome,
        }
        match Found::at(file)? {
            Some(found) if found.is_abandoned() => found.remove(file, Lock::Needed)?,
            Some(_) => break,
            None => {}
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}

/// Removes a file if this process owns it.
pub(super) fn take_back(file: &Path) {
    if let Ok(Some(found)) = Found::at(file)
        && found.entry.as_ref().is_some_and(|entry| entry.owner == Owner::this_process())
    {
        // Whoever looks the name up sees that its process has ended.
        let _ = found.remove(file, Lock::Tried);
    }
}

/// The need of a lock where the file system has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lock {
    /// Nothing is removed: many may do it at once.
    Needed,
    /// The file of a living process, which others leave alone, is removed all the same.
    Tried,
}

/// A file that was found.
#[derive(Debug)]
pub(super) struct Found {
    file: File,
    /// The words of the file, if they are sensible.
    pub entry: Option<Entry>,
}

impl Found {
    /// The file at a place; `None` if there is none.
    pub(super) fn at(place: &Path) -> io::Result<Option<Found>> {
        // On NFS only a file that is open for writing can be locked.
        let opened = open(place, true).or_else(|error| match error.kind() {
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => open(place, false),
            _ => Err(error),
        });
        let file = match opened {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        if !file.metadata()?.is_file() {
            return Err(io::Error::new(ErrorKind::InvalidInput, "it is no regular file"));
        }
        let mut bytes = Vec::new();
        (&file).take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
        let is_short = bytes.len() as u64 <= FILE_BYTES_MAX;
        let text = String::from_utf8(bytes).ok().filter(|_| is_short);
        Ok(Some(Found { file, entry: text.and_then(|text| Entry::parse(&text)) }))
    }

    /// Returns whether nobody that lives needs the file.
    pub(super) fn is_abandoned(&self) -> bool {
        self.entry.as_ref().is_none_or(Entry::owner_is_dead)
    }

    /// Removes the file, if it still has its place.
    pub(super) fn remove(&self, place: &Path, lock: Lock) -> io::Result<()> {
        match self.lock() {
            Err(error) if lock == Lock::Needed => {
                let why = format!("the file of a process that has ended cannot be locked: {error}");
                return Err(io::Error::new(error.kind(), why));
            }
            _ => {}
        }
        let removed = match self.is_at(place) {
            Ok(true) => fs::remove_file(place),
            other => other.map(drop),
        };
        // A child forked meanwhile has the file open too.
        let _ = self.file.unlock();
        match removed {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }

    fn lock(&self) -> io::Result<()> {
        loop {
            match self.file.lock() {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                outcome => return outcome,
            }
        }
    }

    /// Returns whether the file has this place. NFS asks its server where a file is opened.
    fn is_at(&self, place: &Path) -> io::Result<bool> {
        let (there, ours) = (open(place, false)?.metadata()?, self.file.metadata()?);
        Ok((there.dev(), there.ino()) == (ours.dev(), ours.ino()))
    }
}

/// Opens a file, and does not wait if it is a pipe.
fn open(place: &Path, write: bool) -> io::Result<File> {
    OpenOptions::new().read(true).write(write).custom_flags(OFlag::O_NONBLOCK.bits()).open(place)
}

#[cfg(test)]
mod tests;
