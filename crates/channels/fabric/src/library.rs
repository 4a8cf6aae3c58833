//! Opening libfabric.

use crate::raw::Functions;
use std::ffi::CStr;
use std::fmt;
use std::mem::ManuallyDrop;
use std::sync::OnceLock;
use verbena_fault::Fault;

/// The name that programs link with; the number is the version of its binary interface.
pub const NAME: &str = "libfabric.so.1";

/// The version of the programming interface that we ask for, as libfabric encodes it. All that is
/// used here is in 1.9, and later libraries keep to it.
pub const VERSION: u32 = 1 << 16 | 9;

/// The open library. It is never closed, since providers do not take that well.
pub struct Library {
    pub(crate) functions: Functions,
}

impl fmt::Debug for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Library").field("version", &self.version()).finish()
    }
}

impl Library {
    /// Returns the library; the first call opens it.
    ///
    /// # Errors
    /// It is missing or too old; every call gets the same answer.
    pub fn get() -> Result<&'static Library, Fault> {
        static OPENED: OnceLock<Result<Library, Fault>> = OnceLock::new();
        OPENED.get_or_init(|| Library::open(NAME)).as_ref().map_err(Fault::clone)
    }

    /// Opens the library with this name or path.
    ///
    /// # Errors
    /// The errors of [`Library::get`].
    pub fn open(name: &str) -> Result<Library, Fault> {
        // SAFETY: libfabric's initialisers do no harm; a foreign library of that name would be the
        // system's fault, as for any program linked with it.
        let opened = unsafe { libloading::Library::new(name) }.map_err(|error| missing(name, &error))?;
        // Its functions are used as long as the process lives.
        let library = ManuallyDrop::new(opened);
        // SAFETY: this is libfabric, and it stays open.
        let functions = unsafe { Functions::find(&library) }.map_err(|lacks| too_old(name, lacks))?;
        let library = Library { functions };
        match library.version() >= (1, 9) {
            true => Ok(library),
            false => Err(too_old(name, "the interface of version 1.9")),
        }
    }

    /// Returns the version of its interface.
    pub fn version(&self) -> (u32, u32) {
        // SAFETY: takes and changes nothing.
        let version = unsafe { (self.functions.fi_version)() };
        (version >> 16, version & 0xffff)
    }

    /// Returns an error number in the library's words.
    pub fn words(&self, number: i32) -> String {
        // SAFETY: returns a text that lives as long as the library, for any number.
        let text = unsafe { (self.functions.fi_strerror)(number) };
        if text.is_null() {
            return format!("error {number}");
        }
        // SAFETY: not null, and terminated.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
    }
}

fn missing(name: &str, error: &libloading::Error) -> Fault {
    Fault::new(
        "libfabric cannot be used: it could not be opened",
        name,
        format!("it is not installed ({error})"),
        "install libfabric1 (Debian, Ubuntu) or libfabric (Fedora, RHEL, SUSE): without it nodes without verbs devices cannot talk",
    )
}

fn too_old(name: &str, lacks: &str) -> Fault {
    Fault::new(
        "libfabric cannot be used: it lacks something",
        format!("{name}, {lacks}"),
        "it is older than libfabric 1.9, or not libfabric",
        "install a newer libfabric: 1.17 and later are tried",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_library_is_explained_in_four_parts() {
        let fault = Library::open("libfabric-that-is-not-there.so.1").expect_err("missing");
        assert!(fault.cause.contains("not installed") && fault.remedy.contains("libfabric1"), "{fault}");
        assert_eq!(fault.on, "libfabric-that-is-not-there.so.1");
    }

    #[test]
    fn another_library_is_not_mistaken_for_it() {
        let fault = Library::open("libc.so.6").expect_err("lacks the functions");
        assert!(fault.on.contains("fi_version"), "{fault}");
    }
}
