//! Attributes: values that the program caches on communicators, datatypes and windows (MPI-5.0,
//! 7.7).
//!
//! Callbacks may call MPI, also on the very object, so no lock is held while one runs.

use crate::error::{Error, Result};
use crate::generated::constants as mpi;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, Weak};

/// A cached value: the bits of a C pointer.
pub type Value = usize;

/// A function that copies a value when its object is duplicated. It gets the old object's handle,
/// the key and the value, and returns the value for the new object, or `None` to leave the
/// attribute out.
pub type CopyCallback = Box<dyn Fn(usize, i32, Value) -> Result<Option<Value>> + Send + Sync>;

/// A function called before a value is deleted or replaced. It gets the object's handle, the key
/// and the value.
pub type DeleteCallback = Box<dyn Fn(usize, i32, Value) -> Result<()> + Send + Sync>;

/// The treatment of a value when its object is duplicated.
pub enum CopyRule {
    /// The value stays behind (`MPI_COMM_NULL_COPY_FN` and its like).
    Never,
    /// The value is taken over as it is (`MPI_COMM_DUP_FN` and its like).
    Same,
    /// The callback decides.
    Call(CopyCallback),
}

/// A key for attributes. Attributes keep theirs alive after it was freed.
pub struct Keyval {
    id: i32,
    copy: CopyRule,
    delete: Option<DeleteCallback>,
}

/// The keys for one kind of object, as the program knows them by number. A key that is freed while
/// attributes have it works until the last of them is gone (MPI-5.0, 7.7.2).
pub struct Keyvals {
    state: Mutex<KeyvalState>,
}

struct KeyvalState {
    /// Keys that were not freed.
    held: Option<HashMap<i32, Arc<Keyval>>>,
    /// Keys that were freed: only attributes keep them.
    freed: Option<HashMap<i32, Weak<Keyval>>>,
    next: i32,
}

/// Keys of communicators.
pub static COMM_KEYVALS: Keyvals = Keyvals::starting_at(0x0100_0000);
/// Keys of datatypes.
pub static TYPE_KEYVALS: Keyvals = Keyvals::starting_at(0x0200_0000);
/// Keys of windows.
pub static WIN_KEYVALS: Keyvals = Keyvals::starting_at(0x0300_0000);

impl Keyvals {
    /// Makes an empty set of keys; the first key will have the number `first`. Kinds of objects
    /// have separate ranges, so that a key of another kind is noticed.
    pub const fn starting_at(first: i32) -> Keyvals {
        Keyvals { state: Mutex::new(KeyvalState { held: None, freed: None, next: first }) }
    }

    /// Makes a key (`MPI_Comm_create_keyval` and its like).
    pub fn create(&self, copy: CopyRule, delete: Option<DeleteCallback>) -> i32 {
        let mut state = self.lock();
        let id = state.next;
        state.next += 1;
        state.held.get_or_insert_default().insert(id, Arc::new(Keyval { id, copy, delete }));
        id
    }

    /// The key with this number. `MPI_ERR_KEYVAL` if there is none, or it was freed and no
    /// attribute has it.
    pub fn get(&self, id: i32) -> Result<Arc<Keyval>> {
        self.lock().find(id).ok_or_else(|| no_keyval(id))
    }

    /// Frees a key (`MPI_Comm_free_keyval` and its like). Attributes under it stay until they are
    /// deleted, and until then it may be freed again. `MPI_ERR_KEYVAL` as [`Keyvals::get`].
    pub fn free(&self, id: i32) -> Result<()> {
        let mut state = self.lock();
        let key = state.find(id).ok_or_else(|| no_keyval(id))?;
        let freed = state.freed.get_or_insert_default();
        freed.retain(|_, key| key.strong_count() > 0);
        freed.insert(id, Arc::downgrade(&key));
        state.held.as_mut().and_then(|held| held.remove(&id));
        // The last reference to a key goes with the lock released, since what it drops is the
        // program's.
        drop(state);
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, KeyvalState> {
        self.state.lock().expect("nothing panics while it holds the keys")
    }
}

impl KeyvalState {
    fn find(&self, id: i32) -> Option<Arc<Keyval>> {
        let held = self.held.as_ref().and_then(|held| held.get(&id).cloned());
        held.or_else(|| self.freed.as_ref()?.get(&id)?.upgrade())
    }
}

/// The attributes of one object, in the order in which they were set.
#[derive(Default)]
pub struct Attributes {
    list: Mutex<Vec<(Arc<Keyval>, Value)>>,
}

impl Attributes {
    /// The value under a key, if there is one (`MPI_Comm_get_attr` and its like).
    pub fn get(&self, keyval: i32) -> Option<Value> {
        self.lock().iter().find(|(key, _)| key.id == keyval).map(|&(_, value)| value)
    }

    /// Sets the value under a key, after deleting the old one with its callback
    /// (`MPI_Comm_set_attr` and its like). Fails as the callback does, and then changes nothing.
    pub fn set(&self, handle: usize, keyval: Arc<Keyval>, value: Value) -> Result<()> {
        self.delete(handle, keyval.id)?;
        self.lock().push((keyval, value));
        Ok(())
    }

    /// Deletes the value under a key, if there is one (`MPI_Comm_delete_attr` and its like). If the
    /// callback fails, the value stays.
    pub fn delete(&self, handle: usize, keyval: i32) -> Result<()> {
        let found = self.lock().iter().find(|(key, _)| key.id == keyval).cloned();
        found.map_or(Ok(()), |entry| self.delete_entry(handle, entry))
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// Deletes everything, the last set first (MPI-5.0, 11.2.4 asks for this order at
    /// `MPI_Finalize`). Stops at the first callback that fails.
    pub fn clear(&self, handle: usize) -> Result<()> {
        loop {
            let Some(entry) = self.lock().last().cloned() else { return Ok(()) };
            self.delete_entry(handle, entry)?;
        }
    }

    /// The attributes for a duplicate of the object with this handle, by the keys' copy rules.
    /// Fails as a callback does.
    pub fn copied(&self, handle: usize) -> Result<Attributes> {
        let mut list = Vec::new();
        for (key, value) in self.lock().clone() {
            let copy = match &key.copy {
                CopyRule::Never => None,
                CopyRule::Same => Some(value),
                CopyRule::Call(callback) => callback(handle, key.id, value)?,
            };
            list.extend(copy.map(|value| (key, value)));
        }
        Ok(Attributes { list: Mutex::new(list) })
    }

    fn delete_entry(&self, handle: usize, (key, value): (Arc<Keyval>, Value)) -> Result<()> {
        if let Some(callback) = &key.delete {
            callback(handle, key.id, value)?;
        }
        self.lock().retain(|(other, _)| !Arc::ptr_eq(other, &key));
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(Arc<Keyval>, Value)>> {
        self.list.lock().expect("nothing panics while it holds attributes")
    }
}

/// The error of a callback that returned `code` instead of `MPI_SUCCESS`: it has that code.
#[cold]
pub fn callback_failed(code: i32, sort: &str, keyval: i32) -> Error {
    Error::new(
        code,
        format!("the program's {sort} callback of an attribute failed with code {code}"),
        format!("the attribute key {keyval}"),
        "the callback returned something else than MPI_SUCCESS",
        "correct the callback, or make it return MPI_SUCCESS",
    )
}

/// The error of a key that does not exist.
#[cold]
pub fn no_keyval(id: i32) -> Error {
    let cause = match id {
        mpi::MPI_KEYVAL_INVALID => "the key was freed or never created (MPI_KEYVAL_INVALID)",
        _ => "it was freed, or belongs to another kind of object (communicator, datatype, window)",
    };
    Error::new(
        mpi::MPI_ERR_KEYVAL,
        "invalid attribute key",
        format!("the key {id}"),
        cause,
        "use a key made by the create_keyval call of the same kind of object",
    )
}

#[cfg(test)]
mod tests;
