//! Error classes and codes: their texts, and those that the program adds (MPI-5.0, 9.4 and 9.5).
//!
//! The registry belongs to the program as a whole: it works before `MPI_Init` and after
//! `MPI_Finalize`.

mod text;

pub use text::class_text;

use crate::error::{Class, Error, Result};
use crate::generated::constants as mpi;
use std::collections::BTreeMap;
use std::sync::Mutex;

/// An added class or code.
struct Added {
    /// The class of the code; a class is its own.
    class: Class,
    text: Vec<u8>,
}

/// The classes and codes that the program added.
pub struct Registry {
    state: Mutex<State>,
}

struct State {
    added: BTreeMap<i32, Added>,
    last: i32,
}

/// The registry of this program.
pub static REGISTRY: Registry = Registry::new();

/// Bytes of the longest error string, with C's final zero (`MPI_MAX_ERROR_STRING`).
pub const STRING_BYTES_MAX: usize = 512;

impl Registry {
    /// A registry without additions.
    pub const fn new() -> Registry {
        Registry { state: Mutex::new(State { added: BTreeMap::new(), last: mpi::MPI_ERR_LASTCODE }) }
    }

    /// The greatest code in use so far: the attribute `MPI_LASTUSEDCODE`. It never decreases.
    pub fn last_used(&self) -> i32 {
        self.lock().last
    }

    /// Adds a class (`MPI_Add_error_class`).
    pub fn add_class(&self) -> Class {
        let mut state = self.lock();
        let class = state.last + 1;
        state.add(class)
    }

    /// Adds a code to a class (`MPI_Add_error_code`). `MPI_ERR_ARG` if there is no such class.
    pub fn add_code(&self, class: Class) -> Result<i32> {
        let mut state = self.lock();
        if !state.is_class(class) {
            return Err(not_there("class", class));
        }
        Ok(state.add(class))
    }

    /// Gives an added class or code its text (`MPI_Add_error_string`). `MPI_ERR_ARG` for predefined
    /// and unknown ones, and for a text too long.
    pub fn add_string(&self, code: i32, text: &[u8]) -> Result<()> {
        if text.len() >= STRING_BYTES_MAX {
            return Err(long_text(code, text.len()));
        }
        self.lock().get_mut(code)?.text = text.to_vec();
        Ok(())
    }

    /// Takes the text away (`MPI_Remove_error_string`). `MPI_ERR_ARG` for predefined and unknown
    /// ones.
    pub fn remove_string(&self, code: i32) -> Result<()> {
        self.lock().get_mut(code)?.text.clear();
        Ok(())
    }

    /// Takes a code away (`MPI_Remove_error_code`). `MPI_ERR_ARG` if it is no added code, or has a
    /// text.
    pub fn remove_code(&self, code: i32) -> Result<()> {
        let mut state = self.lock();
        let added = state.get_mut(code)?;
        if added.class == code {
            return Err(not_there("code", code));
        }
        state.remove(code)
    }

    /// Takes a class away (`MPI_Remove_error_class`). `MPI_ERR_ARG` if it is no added class, or has
    /// codes or a text.
    pub fn remove_class(&self, class: Class) -> Result<()> {
        let mut state = self.lock();
        if state.get_mut(class)?.class != class {
            return Err(not_there("class", class));
        }
        if state.added.iter().any(|(&code, added)| added.class == class && code != class) {
            return Err(in_use(class, "error codes"));
        }
        state.remove(class)
    }

    /// The class of a code (`MPI_Error_class`). `MPI_ERR_ARG` if there is no such code.
    pub fn class(&self, code: i32) -> Result<Class> {
        if class_text(code).is_some() {
            return Ok(code);
        }
        Ok(self.lock().get_mut(code)?.class)
    }

    /// The text of a code or class, empty if it was added and given none (`MPI_Error_string`).
    /// `MPI_ERR_ARG` if there is no such code.
    pub fn string(&self, code: i32) -> Result<Vec<u8>> {
        if let Some(text) = class_text(code) {
            return Ok(text.as_bytes().to_vec());
        }
        Ok(self.lock().get_mut(code)?.text.clone())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().expect("nothing panics while it holds the error codes")
    }
}

impl Default for Registry {
    fn default() -> Registry {
        Registry::new()
    }
}

impl State {
    /// Adds a code of `class`, or the class itself if it is the next number.
    fn add(&mut self, class: Class) -> i32 {
        self.last += 1;
        self.added.insert(self.last, Added { class, text: Vec::new() });
        self.last
    }

    fn is_class(&self, class: Class) -> bool {
        class_text(class).is_some() || self.added.get(&class).is_some_and(|added| added.class == class)
    }

    fn get_mut(&mut self, code: i32) -> Result<&mut Added> {
        if class_text(code).is_some() {
            return Err(predefined(code));
        }
        self.added.get_mut(&code).ok_or_else(|| not_there("class or code", code))
    }

    fn remove(&mut self, code: i32) -> Result<()> {
        if !self.get_mut(code)?.text.is_empty() {
            return Err(in_use(code, "an error string"));
        }
        self.added.remove(&code);
        Ok(())
    }
}

#[cold]
fn predefined(code: i32) -> Error {
    Error::new(
        mpi::MPI_ERR_ARG,
        "a predefined error class cannot be changed or removed",
        format!("error class {code}"),
        "the number is one of the standard's classes, not one made by MPI_Add_error_class or _code",
        "add a class or code and change that",
    )
}

#[cold]
fn not_there(sort: &str, code: i32) -> Error {
    Error::new(
        mpi::MPI_ERR_ARG,
        format!("there is no such error {sort}"),
        format!("the number {code}"),
        "it was removed, or never added, or comes from another program",
        "give a number that MPI_Add_error_class, MPI_Add_error_code or an MPI call returned",
    )
}

#[cold]
fn in_use(code: i32, what: &str) -> Error {
    Error::new(
        mpi::MPI_ERR_ARG,
        format!("error class or code {code} cannot be removed: it still has {what}"),
        format!("the number {code}"),
        "strings, codes and classes must be removed in this order",
        format!("remove {what} first"),
    )
}

#[cold]
fn long_text(code: i32, bytes: usize) -> Error {
    Error::new(
        mpi::MPI_ERR_ARG,
        format!("an error string of {bytes} bytes is too long"),
        format!("error class or code {code}"),
        "the text was not terminated, or is meant for a log",
        format!("give at most {} bytes (MPI_MAX_ERROR_STRING)", STRING_BYTES_MAX - 1),
    )
}

#[cfg(test)]
mod tests;
