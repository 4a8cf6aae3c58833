//! Info objects: ordered keys with values (MPI-5.0, chapter 10).
//!
//! Keys and values are byte strings: MPI gives them no character set. They work before `MPI_Init`
//! and after `MPI_Finalize`.

use crate::error::{Error, Result};
use crate::generated::constants as mpi;
use std::sync::Mutex;

/// Bytes of the longest key, with C's final zero (`MPI_MAX_INFO_KEY`).
pub const KEY_BYTES_MAX: usize = 256;
/// Bytes of the longest value, with C's final zero (`MPI_MAX_INFO_VAL`).
pub const VALUE_BYTES_MAX: usize = 1024;

/// A key and its value.
pub type Entry = (Vec<u8>, Vec<u8>);

/// An info object. Keys keep the order in which they were first set.
#[derive(Debug, Default)]
pub struct Info {
    entries: Mutex<Vec<Entry>>,
    /// The function that makes the entries of an object which the program may not change.
    source: Option<fn() -> Vec<Entry>>,
}

impl Clone for Info {
    /// Copies it (`MPI_Info_dup`); the copy may be changed even if the original may not.
    fn clone(&self) -> Info {
        Info { entries: Mutex::new(self.entries()), source: None }
    }
}

impl Info {
    /// An info object without keys.
    pub fn new() -> Info {
        Info::default()
    }

    /// Makes an info object that nobody may change and that always has the entries that `source`
    /// makes (`MPI_INFO_ENV`, which has more entries once MPI runs).
    pub fn constant(source: fn() -> Vec<Entry>) -> Info {
        Info { entries: Mutex::default(), source: Some(source) }
    }

    /// All keys and values, in order.
    pub fn entries(&self) -> Vec<Entry> {
        self.lock().clone()
    }

    /// Sets a value (`MPI_Info_set`). `MPI_ERR_INFO_KEY` or `MPI_ERR_INFO_VALUE` if one is empty
    /// (keys) or too long, `MPI_ERR_INFO` if the object may not be changed.
    pub fn set(&self, key: &[u8], value: &[u8]) -> Result<()> {
        let key = valid_key(key)?;
        if value.len() >= VALUE_BYTES_MAX {
            return Err(long_value(key, value.len()));
        }
        self.may_change()?;
        let mut entries = self.lock();
        match entries.iter_mut().find(|(k, _)| k == key) {
            Some((_, old)) => *old = value.to_vec(),
            None => entries.push((key.to_vec(), value.to_vec())),
        }
        Ok(())
    }

    /// The value of a key, `None` if it is not set (`MPI_Info_get_string`). `MPI_ERR_INFO_KEY` for
    /// an invalid key.
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let key = valid_key(key)?;
        Ok(self.lock().iter().find(|(k, _)| k == key).map(|(_, value)| value.clone()))
    }

    /// Takes a key away (`MPI_Info_delete`). `MPI_ERR_INFO_NOKEY` if it is not set.
    pub fn delete(&self, key: &[u8]) -> Result<()> {
        let key = valid_key(key)?;
        self.may_change()?;
        let mut entries = self.lock();
        let at = entries.iter().position(|(k, _)| k == key).ok_or_else(|| no_key(key))?;
        entries.remove(at);
        Ok(())
    }

    /// Number of keys.
    pub fn len(&self) -> usize {
        self.lock().len()
    }

    /// Returns whether no key is set.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The key with this number in order (`MPI_Info_get_nthkey`). `MPI_ERR_ARG` if there is none.
    pub fn nth_key(&self, n: i32) -> Result<Vec<u8>> {
        let entries = self.lock();
        let entry = usize::try_from(n).ok().and_then(|n| entries.get(n));
        entry.map(|(key, _)| key.clone()).ok_or_else(|| no_nth(n, entries.len()))
    }

    /// Takes over the entries of `other`: if both have a key, `other`'s value counts (hints of an
    /// object).
    pub fn merge(&self, other: &Info) -> Result<()> {
        other.entries().iter().try_for_each(|(key, value)| self.set(key, value))
    }

    fn may_change(&self) -> Result<()> {
        if self.source.is_some() { Err(constant_info()) } else { Ok(()) }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Entry>> {
        let fresh = self.source.map(|source| source());
        let mut entries = self.entries.lock().expect("nothing panics while it holds an info object");
        if let Some(fresh) = fresh {
            *entries = fresh;
        }
        entries
    }
}

/// Checks a key. Spaces around it count in C; Fortran's bindings strip them (MPI-5.0, chapter 10).
fn valid_key(key: &[u8]) -> Result<&[u8]> {
    if key.is_empty() || key.len() >= KEY_BYTES_MAX { Err(bad_key(key)) } else { Ok(key) }
}

fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cold]
fn bad_key(key: &[u8]) -> Error {
    let (what, cause) = match key.len() {
        0 => ("an info key is empty".to_string(), "the key was not set"),
        n => (format!("an info key of {n} bytes is too long"), "the text is a value, or was not terminated"),
    };
    let on = format!("the key \"{}\"", shown(&key[..key.len().min(64)]));
    let remedy = format!("give a key of 1 to {} bytes (MPI_MAX_INFO_KEY)", KEY_BYTES_MAX - 1);
    Error::new(mpi::MPI_ERR_INFO_KEY, what, on, cause, remedy)
}

#[cold]
fn long_value(key: &[u8], bytes: usize) -> Error {
    Error::new(
        mpi::MPI_ERR_INFO_VALUE,
        format!("an info value of {bytes} bytes is too long"),
        format!("the key \"{}\"", shown(key)),
        "the value holds more than a hint, or was not terminated",
        format!("give a value of at most {} bytes (MPI_MAX_INFO_VAL)", VALUE_BYTES_MAX - 1),
    )
}

#[cold]
fn no_key(key: &[u8]) -> Error {
    Error::new(
        mpi::MPI_ERR_INFO_NOKEY,
        "an info key cannot be deleted because it is not set",
        format!("the key \"{}\"", shown(key)),
        "it was deleted already, or is spelt differently (case matters)",
        "ask MPI_Info_get_string first whether it is set",
    )
}

#[cold]
fn no_nth(n: i32, len: usize) -> Error {
    Error::new(
        mpi::MPI_ERR_ARG,
        format!("there is no info key number {n}"),
        format!("an info object with {len} keys, numbered from 0"),
        "keys were deleted while they were being counted through",
        "give numbers below what MPI_Info_get_nkeys returns",
    )
}

#[cold]
fn constant_info() -> Error {
    Error::new(
        mpi::MPI_ERR_INFO,
        "this info object cannot be changed",
        "MPI_INFO_ENV",
        "predefined info objects belong to the library",
        "change a copy made by MPI_Info_dup",
    )
}

#[cfg(test)]
mod tests;
