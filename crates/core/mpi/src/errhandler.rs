//! Error handlers: what happens when a call fails (MPI-5.0, 9.3).

use crate::error::{Error, Result};
use crate::generated::constants as mpi;
use std::sync::{Arc, Mutex};

/// The kinds of objects for which the program can make an error handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Communicators.
    Comm,
    /// Windows.
    Win,
    /// Files.
    File,
    /// Sessions.
    Session,
}

/// The program's function. It gets the handle of the object and the error code, and gives the code
/// that the call returns. This may be another one: a handler that repairs the cause makes it
/// `MPI_SUCCESS`.
pub type Callback = Box<dyn Fn(usize, i32) -> i32 + Send + Sync>;

/// The action of an error handler.
pub enum Action {
    /// Ends all processes of the job (`MPI_ERRORS_ARE_FATAL`).
    AreFatal,
    /// Ends the processes of the communicator, or this one if there is no communicator
    /// (`MPI_ERRORS_ABORT`).
    Abort,
    /// Does nothing: the call returns the code (`MPI_ERRORS_RETURN`).
    Return,
    /// Calls the program's function; if that returns, the call returns the code that it leaves.
    Call(Kind, Callback),
}

/// An error handler. Objects that use it keep it alive after the program freed its handles.
pub struct Errhandler {
    action: Action,
    names: Mutex<Names>,
}

/// The program's handle of an error handler, and how often it got it.
#[derive(Default)]
struct Names {
    handle: usize,
    count: usize,
}

impl Errhandler {
    /// An error handler that the program has no handle of yet.
    pub fn new(action: Action) -> Errhandler {
        Errhandler { action, names: Mutex::default() }
    }

    /// The action of the error handler.
    pub fn action(&self) -> &Action {
        &self.action
    }

    /// Returns `MPI_ERR_ERRHANDLER` unless it may be set on an object of this kind.
    pub fn check(&self, kind: Kind) -> Result<()> {
        match &self.action {
            Action::Call(made_for, _) if *made_for != kind => Err(wrong_kind(*made_for, kind)),
            _ => Ok(()),
        }
    }

    /// Returns the handle, to be handed out once more (`MPI_Comm_get_errhandler` and its like).
    /// `insert` makes one if there is none, or it was freed as often as handed out.
    pub fn hand_out(&self, insert: impl FnOnce() -> usize) -> usize {
        let mut names = self.lock();
        if names.count == 0 {
            names.handle = insert();
        }
        names.count += 1;
        names.handle
    }

    /// Takes one hand-out back; `remove` takes the handle out of use with the last
    /// (`MPI_Errhandler_free`).
    pub fn take_back(&self, remove: impl FnOnce()) {
        let mut names = self.lock();
        names.count = names.count.saturating_sub(1);
        if names.count == 0 {
            remove();
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Names> {
        self.names.lock().expect("nothing panics while it holds the names of an error handler")
    }
}

/// The error handler that an object uses; it can be changed at any time.
pub struct Handling(Mutex<InUse>);

struct InUse {
    errhandler: Arc<Errhandler>,
    was_set: bool,
}

impl Handling {
    /// Begins with this one.
    pub fn new(errhandler: Arc<Errhandler>) -> Handling {
        Handling(Mutex::new(InUse { errhandler, was_set: false }))
    }

    /// The error handler in use.
    pub fn get(&self) -> Arc<Errhandler> {
        self.lock().errhandler.clone()
    }

    /// Uses this one from now on (`MPI_Comm_set_errhandler` and its like).
    pub fn set(&self, errhandler: Arc<Errhandler>) {
        *self.lock() = InUse { errhandler, was_set: true };
    }

    /// Returns whether it is not the one that the object began with.
    pub fn was_set(&self) -> bool {
        self.lock().was_set
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, InUse> {
        self.0.lock().expect("nothing panics while it changes an error handler")
    }
}

/// The predefined error handlers, one object each in the program.
pub mod predefined {
    use super::{Action, Arc, Errhandler};
    use std::sync::LazyLock;
    use verbena_settings::INITIAL_ERRHANDLER;

    macro_rules! predefined {
        ($name:ident, $action:ident, $doc:literal) => {
            #[doc = $doc]
            pub fn $name() -> Arc<Errhandler> {
                static ONE: LazyLock<Arc<Errhandler>> =
                    LazyLock::new(|| Arc::new(Errhandler::new(Action::$action)));
                ONE.clone()
            }
        };
    }

    predefined!(are_fatal, AreFatal, "`MPI_ERRORS_ARE_FATAL`.");
    predefined!(abort, Abort, "`MPI_ERRORS_ABORT`.");
    predefined!(returning, Return, "`MPI_ERRORS_RETURN`.");

    /// The initial error handler (MPI-5.0, 9.3): that of the predefined communicators until the
    /// program sets another, and of all calls before they are there.
    pub fn initial() -> Arc<Errhandler> {
        // Calls may come before initialisation.
        verbena_settings::load();
        match INITIAL_ERRHANDLER.value_text().as_str() {
            "mpi_errors_return" => returning(),
            "mpi_errors_abort" => abort(),
            _ => are_fatal(),
        }
    }
}

#[cold]
fn wrong_kind(made_for: Kind, kind: Kind) -> Error {
    Error::new(
        mpi::MPI_ERR_ERRHANDLER,
        "the error handler is for another kind of object",
        format!("a handler for {made_for:?} objects, set on a {kind:?}"),
        "it was made by another create_errhandler call than that of the object's kind",
        format!("make it with MPI_{kind:?}_create_errhandler"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(kind: Kind) -> Errhandler {
        Errhandler::new(Action::Call(kind, Box::new(|_, code| code)))
    }

    #[test]
    fn a_handler_fits_its_own_kind_only_and_predefined_ones_fit_all() {
        let kinds = [Kind::Comm, Kind::Win, Kind::File, Kind::Session];
        for kind in kinds {
            for other in kinds {
                let answer = user(kind).check(other).map_err(|error| error.class);
                assert_eq!(answer, if kind == other { Ok(()) } else { Err(mpi::MPI_ERR_ERRHANDLER) });
            }
            assert!(predefined::returning().check(kind).is_ok());
        }
    }

    #[test]
    fn a_handle_lives_as_long_as_it_is_handed_out() {
        let handler = user(Kind::Comm);
        assert_eq!(handler.hand_out(|| 7), 7);
        assert_eq!(handler.hand_out(|| panic!("there is one")), 7);
        handler.take_back(|| panic!("one is still out"));
        let mut removed = false;
        handler.take_back(|| removed = true);
        assert!(removed);
        assert_eq!(handler.hand_out(|| 9), 9, "an object still used it");
    }

    #[test]
    fn the_handler_of_an_object_can_be_changed() {
        let handling = Handling::new(predefined::are_fatal());
        assert!(matches!(handling.get().action(), Action::AreFatal) && !handling.was_set());
        let mine = Arc::new(user(Kind::Comm));
        handling.set(mine.clone());
        assert!(Arc::ptr_eq(&handling.get(), &mine) && handling.was_set());
        assert!(Arc::ptr_eq(&predefined::abort(), &predefined::abort()));
    }
}
