//! The tool information interface, `MPI_T` (MPI-5.0, 15.3), without C: variables, events and their
//! descriptions.
//!
//! It works before `MPI_Init` and after `MPI_Finalize`; values that a process would have to give
//! are 0 without one. Failures are return codes only and go to no error handler (15.3.10), so their
//! texts are short.
//!
//! | module | job |
//! | --- | --- |
//! | [`cvar`] | control variables: the settings of `verbena_settings` |
//! | [`pvar`] | performance variables: the counters of the engine, and what a handle makes of them |
//! | [`event`] | events: what the engine's listener hears, its queue, and who is called back |
//! | [`category`], [`subject`] | which variable and event belongs where |
//! | [`enumeration`] | names of values |

pub mod category;
pub mod cvar;
pub mod enumeration;
pub mod event;
pub mod pvar;
pub mod subject;

use crate::error::{Class, Error, Result};
use crate::generated::constants as mpi;
use std::sync::{Mutex, MutexGuard};

/// The type of a value, among those that the interface allows (15.3.5, table of datatypes).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// `MPI_INT`.
    Int,
    /// `MPI_COUNT`.
    Count,
    /// `MPI_UNSIGNED_LONG_LONG`.
    UnsignedLongLong,
    /// `MPI_CHAR`.
    Char,
}

impl Type {
    /// The handle of the datatype.
    pub const fn handle(self) -> usize {
        match self {
            Type::Int => mpi::MPI_INT,
            Type::Count => mpi::MPI_COUNT,
            Type::UnsignedLongLong => mpi::MPI_UNSIGNED_LONG_LONG,
            Type::Char => mpi::MPI_CHAR,
        }
    }

    /// Bytes of one element.
    pub const fn bytes(self) -> usize {
        match self {
            Type::Int => 4,
            Type::Count | Type::UnsignedLongLong => 8,
            Type::Char => 1,
        }
    }
}

/// The number of times that the interface was initialised and not finalised (15.3.4).
static USERS: Mutex<usize> = Mutex::new(0);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Adds a use of the interface (`MPI_T_init_thread`). Reads the settings if nobody has; `MPI_Init`
/// refuses invalid ones.
pub fn enter() {
    verbena_settings::load();
    *lock(&USERS) += 1;
}

/// Ends a use of the interface (`MPI_T_finalize`). Returns whether it was the last.
pub fn leave() -> Result<bool> {
    let mut users = lock(&USERS);
    *users = users.checked_sub(1).ok_or_else(not_initialised)?;
    Ok(*users == 0)
}

/// Returns `MPI_T_ERR_NOT_INITIALIZED` unless the interface is in use.
pub fn running() -> Result<()> {
    if *lock(&USERS) > 0 { Ok(()) } else { Err(not_initialised()) }
}

fn not_initialised() -> Error {
    refusal(mpi::MPI_T_ERR_NOT_INITIALIZED, "the tool interface is not initialised")
}

/// A failure of the interface: a return code, with a text for those who debug Verbena.
pub fn refusal(class: Class, what: &str) -> Error {
    Error::new(
        class,
        what,
        "the tool information interface",
        "an argument is wrong for this call",
        "see MPI-5.0, 15.3",
    )
}

/// The item with this index; `MPI_T_ERR_INVALID_INDEX` if there is none.
pub fn at<T>(all: &[T], index: i32) -> Result<&T> {
    let found = usize::try_from(index).ok().and_then(|index| all.get(index));
    found.ok_or_else(|| refusal(mpi::MPI_T_ERR_INVALID_INDEX, "there is nothing of this index"))
}

/// The index of the first item with this property; `MPI_T_ERR_INVALID_NAME` if there is none.
pub fn index_of<T>(all: &[T], wanted: impl Fn(&T) -> bool) -> Result<i32> {
    let found = all.iter().position(wanted);
    found
        .map(|index| index as i32)
        .ok_or_else(|| refusal(mpi::MPI_T_ERR_INVALID_NAME, "nothing has this name"))
}
