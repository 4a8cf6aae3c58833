//! Published names (MPI-5.0, 11.9.4): the launcher keeps them for its job, and a directory for all
//! programs that see it (`VERBENA_NAMES`).
//!
//! Each name is a file, which is there as a whole or not at all. Whoever looks a name up, or
//! publishes it anew, removes the file of a process that has died.

mod entry;

use crate::error::{Error, Result};
use crate::generated::constants as mpi;
use crate::startup::Launch;
use entry::Entry;
use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The longest service name, in bytes.
const SERVICE_BYTES_MAX: usize = 1024;
/// The longest file that is read, in bytes.
const FILE_BYTES_MAX: u64 = 8192;

/// The files that this process has written.
static OWN: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn own() -> MutexGuard<'static, Vec<PathBuf>> {
    OWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Publishes the port of a service (`MPI_Publish_name`). `MPI_ERR_SERVICE` if the name is published
/// already.
pub fn publish(launch: Option<&Launch>, service: &str, port: &str) -> Result<()> {
    check(service)?;
    let folder = folder().map_err(|error| no_folder(&error))?;
    let file = folder.join(entry::file_name(service));
    write(&folder, &file, &Entry::of_this_process(service, port)).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => published(service),
        _ => not_written(&file, &error),
    })?;
    own().push(file);
    launch.map_or(Ok(false), |launch| launch.publish(service, port)).map(drop)
}

/// Takes a name back (`MPI_Unpublish_name`). `MPI_ERR_SERVICE` if it is not published with this
/// port.
pub fn unpublish(launch: Option<&Launch>, service: &str, port: &str) -> Result<()> {
    check(service)?;
    let file = folder().map_err(|error| no_folder(&error))?.join(entry::file_name(service));
    let found = read(&file).filter(|entry| entry.service == service && entry.port == port);
    let told = launch.map_or(Ok(None), |launch| launch.lookup(service))?;
    let is_at_launcher = told.as_deref() == Some(port);
    if found.is_none() && !is_at_launcher {
        return Err(not_published(mpi::MPI_ERR_SERVICE, service));
    }
    if found.is_some() {
        remove(&file);
        own().retain(|own| *own != file);
    }
    if let Some(launch) = launch.filter(|_| is_at_launcher) {
        launch.unpublish(service)?;
    }
    Ok(())
}

/// The port of a service (`MPI_Lookup_name`). `MPI_ERR_NAME` if the name is not published.
pub fn lookup(launch: Option<&Launch>, service: &str) -> Result<String> {
    check(service)?;
    if let Some(port) = launch.map_or(Ok(None), |launch| launch.lookup(service))? {
        return Ok(port);
    }
    let file = folder().map_err(|error| no_folder(&error))?.join(entry::file_name(service));
    match read(&file).filter(|entry| entry.service == service) {
        Some(entry) if entry.owner_is_dead() => {
            remove(&file);
            Err(not_published(mpi::MPI_ERR_NAME, service))
        }
        Some(entry) => Ok(entry.port),
        None => Err(not_published(mpi::MPI_ERR_NAME, service)),
    }
}

/// Removes the files that this process has written and not taken back: it leaves MPI.
pub fn withdraw() {
    std::mem::take(&mut *own()).iter().for_each(|file| remove(file));
}

/// A file that is gone already is no failure.
fn remove(file: &Path) {
    let _ = fs::remove_file(file);
}

/// The directory: as set, or the user's own, which is made now if need be.
fn folder() -> io::Result<PathBuf> {
    if let Some(set) = verbena_settings::NAMES.get() {
        DirBuilder::new().recursive(true).create(&set)?;
        return Ok(set.into());
    }
    let user = fs::metadata("/proc/self")?.uid();
    let session = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|folder| folder.is_dir());
    let folder = match session {
        Some(session) => session.join("verbena-names"),
        None => PathBuf::from(format!("/tmp/verbena-names-{user}")),
    };
    match DirBuilder::new().mode(0o700).create(&folder) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    // Anybody may make such a directory in /tmp, and tell what ports he likes.
    let found = fs::symlink_metadata(&folder)?;
    match found.is_dir() && found.uid() == user && found.mode() & 0o022 == 0 {
        true => Ok(folder),
        false => {
            Err(io::Error::new(ErrorKind::PermissionDenied, format!("{} is not ours", folder.display())))
        }
    }
}

/// Writes a whole file, unless there is one of a process that lives.
fn write(folder: &Path, file: &Path, entry: &Entry) -> io::Result<()> {
    let draft = folder.join(format!(".{}-{}", std::process::id(), entry::file_name(&entry.service)));
    let mut out = File::create(&draft)?;
    let written = out.write_all(entry.text().as_bytes()).and_then(|()| out.sync_data());
    let linked = written.and_then(|()| match fs::hard_link(&draft, file) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists && is_abandoned(file) => {
            // Two that do this at once: the second finds the first one's file.
            remove(file);
            fs::hard_link(&draft, file)
        }
        outcome => outcome,
    });
    remove(&draft);
    linked
}

fn is_abandoned(file: &Path) -> bool {
    read(file).is_none_or(|entry| entry.owner_is_dead())
}

/// The entry of a file; `None` if there is none, or it says nothing sensible.
fn read(file: &Path) -> Option<Entry> {
    let found = fs::metadata(file).ok().filter(|found| found.len() <= FILE_BYTES_MAX)?;
    let text = if found.is_file() { fs::read_to_string(file).ok()? } else { return None };
    Entry::parse(&text)
}

fn check(service: &str) -> Result<()> {
    match service.len() {
        1..=SERVICE_BYTES_MAX => Ok(()),
        bytes => Err(Error::new(
            mpi::MPI_ERR_SERVICE,
            "a service cannot have that name",
            format!("a name of {bytes} bytes; it can have 1 to {SERVICE_BYTES_MAX}"),
            "the string was not filled in, or does not end with a zero",
            "pass a short name",
        )),
    }
}

#[cold]
fn published(service: &str) -> Error {
    Error::new(
        mpi::MPI_ERR_SERVICE,
        "the name is published already",
        format!("the service \"{service}\""),
        "another process, which lives, has published it, or this one did before",
        "unpublish it first, or choose another name",
    )
}

#[cold]
fn not_published(class: i32, service: &str) -> Error {
    Error::new(
        class,
        "the name is not published",
        format!("the service \"{service}\""),
        "nobody has published it, it was taken back, its process has ended, or the port is another",
        "publish it first; on several hosts let VERBENA_NAMES name a directory that all share",
    )
}

#[cold]
fn no_folder(error: &io::Error) -> Error {
    Error::new(
        mpi::MPI_ERR_SERVICE,
        "the directory of published names cannot be used",
        error.to_string(),
        "it cannot be made, or another user could write there",
        "let VERBENA_NAMES name a directory of your own",
    )
}

#[cold]
fn not_written(file: &Path, error: &io::Error) -> Error {
    Error::new(
        mpi::MPI_ERR_SERVICE,
        format!("a name could not be published: {error}"),
        format!("the file {}", file.display()),
        "the directory is not writable, its file system is full, or knows no links",
        "let VERBENA_NAMES name a directory on a local file system",
    )
}
