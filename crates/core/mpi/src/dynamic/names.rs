//! Published names (MPI-5.0, 11.9.4): the launcher keeps them for its job, and a directory for all
//! programs that see it (`VERBENA_NAMES`).
//!
//! Each name is a file. Whoever looks a name up, or publishes it anew, removes the file of a
//! process that has died.

mod entry;
mod files;

use crate::error::{Error, Result};
use crate::generated::constants as mpi;
use crate::startup::Launch;
use entry::Entry;
use files::{Found, Lock};
use std::fs::{self, DirBuilder};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The longest service name, in bytes.
const SERVICE_BYTES_MAX: usize = 1024;

/// The files that this process has written.
static OWN: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn own() -> MutexGuard<'static, Vec<PathBuf>> {
    OWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Publishes the port of a service (`MPI_Publish_name`). `MPI_ERR_SERVICE` if the name is published
/// already; `MPI_ERR_PORT` if the port is longer than any.
pub fn publish(launch: Option<&Launch>, service: &[u8], port: &[u8]) -> Result<()> {
    check(service)?;
    check_port(port)?;
    let folder = folder().map_err(|error| no_folder(&error))?;
    publish_in(&folder, service, port, || match launch {
        // One that does not take it has no names, or has this one, of a process on another host.
        Some(launch) if !launch.publish(service, port)? && launch.lookup(service)?.is_some() => {
            Err(published(service))
        }
        _ => Ok(()),
    })
}

/// Publishes a name in a directory, and then elsewhere: in both, or in none.
fn publish_in(
    folder: &Path,
    service: &[u8],
    port: &[u8],
    elsewhere: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let file = folder.join(entry::file_name(service));
    let written = files::write(folder, &file, &Entry::of_this_process(service, port));
    written.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => published(service),
        _ => not_written(&file, &error),
    })?;
    match elsewhere() {
        Ok(()) => own().push(file),
        Err(error) => {
            files::take_back(&file);
            return Err(error);
        }
    }
    Ok(())
}

/// Takes a name back (`MPI_Unpublish_name`). `MPI_ERR_SERVICE` if it is not published with this
/// port.
pub fn unpublish(launch: Option<&Launch>, service: &[u8], port: &[u8]) -> Result<()> {
    check(service)?;
    let file = folder().map_err(|error| no_folder(&error))?.join(entry::file_name(service));
    let found = entry_at(&file, service).filter(|(_, entry)| entry.port == port);
    let told = launch.map_or(Ok(None), |launch| launch.lookup(service))?;
    let is_at_launcher = told.as_deref() == Some(port);
    if found.is_none() && !is_at_launcher {
        return Err(not_published(mpi::MPI_ERR_SERVICE, service));
    }
    if let Some((found, _)) = found {
        found.remove(&file, Lock::Tried).map_err(|error| not_removed(&file, &error))?;
        own().retain(|own| *own != file);
    }
    if let Some(launch) = launch.filter(|_| is_at_launcher) {
        launch.unpublish(service)?;
    }
    Ok(())
}

/// The port of a service (`MPI_Lookup_name`). `MPI_ERR_NAME` if the name is not published.
pub fn lookup(launch: Option<&Launch>, service: &[u8]) -> Result<Vec<u8>> {
    check(service)?;
    if let Some(port) = launch.map_or(Ok(None), |launch| launch.lookup(service))? {
        return Ok(port);
    }
    let file = folder().map_err(|error| no_folder(&error))?.join(entry::file_name(service));
    match entry_at(&file, service) {
        Some((found, entry)) if entry.owner_is_dead() => {
            // What cannot be removed is passed over the next time too.
            let _ = found.remove(&file, Lock::Needed);
            Err(not_published(mpi::MPI_ERR_NAME, service))
        }
        Some((_, entry)) => Ok(entry.port),
        None => Err(not_published(mpi::MPI_ERR_NAME, service)),
    }
}

/// Removes the files that this process has written and not taken back: it leaves MPI. Another
/// process may have taken a name back, and a third one may have it now.
pub fn withdraw() {
    std::mem::take(&mut *own()).iter().for_each(|file| files::take_back(file));
}

/// The entry of a service, if the file at this place has it and can be read.
fn entry_at(file: &Path, service: &[u8]) -> Option<(Found, Entry)> {
    let mut found = Found::at(file).ok()??;
    let entry = found.entry.take().filter(|entry| entry.service == service)?;
    Some((found, entry))
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

fn check(service: &[u8]) -> Result<()> {
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

fn check_port(port: &[u8]) -> Result<()> {
    match port.len() {
        0..mpi::MPI_MAX_PORT_NAME => Ok(()),
        bytes => Err(Error::new(
            mpi::MPI_ERR_PORT,
            "a port cannot have that name",
            format!("a name of {bytes} bytes; it can have {}", mpi::MPI_MAX_PORT_NAME - 1),
            "the string does not come from MPI_Open_port, or does not end with a zero",
            "pass the name that MPI_Open_port gave",
        )),
    }
}

/// The service as it was passed, for people.
fn the_service(service: &[u8]) -> String {
    format!("the service \"{}\"", String::from_utf8_lossy(service))
}

#[cold]
fn published(service: &[u8]) -> Error {
    Error::new(
        mpi::MPI_ERR_SERVICE,
        "the name is published already",
        the_service(service),
        "another process, which lives, has published it, or this one did before",
        "unpublish it first, or choose another name",
    )
}

#[cold]
fn not_published(class: i32, service: &[u8]) -> Error {
    Error::new(
        class,
        "the name is not published",
        the_service(service),
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
        "the directory is not writable, its file system is full, or knows no links or no locks",
        "let VERBENA_NAMES name a directory on a local file system",
    )
}

#[cold]
fn not_removed(file: &Path, error: &io::Error) -> Error {
    Error::new(
        mpi::MPI_ERR_SERVICE,
        format!("a name could not be taken back: {error}"),
        format!("the file {}", file.display()),
        "another user's process has published it, or the directory is not writable",
        "let the process that published the name take it back",
    )
}

#[cfg(test)]
mod tests;
