//! The kinds of memory that calls take (MPI-5.0, 12.4.3): all that the system and MPI give. A
//! program that asks for a part of these by name finds it named in the answer.

use std::sync::{Mutex, MutexGuard, PoisonError};
use verbena_settings::MEMORY_KINDS;

/// The info key.
pub(crate) const KEY: &[u8] = b"mpi_memory_alloc_kinds";
/// The kinds that are always there.
const KINDS: &str = "mpi,system";
/// The parts of the kind `mpi`, which are all there with it.
const RESTRICTORS: [&str; 3] = ["alloc_mem", "win_allocate", "win_allocate_shared"];

/// The lists of kinds for which sessions of this process have asked, each once.
static ASKED: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn asked() -> MutexGuard<'static, Vec<String>> {
    ASKED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The kinds that the library takes, if these lists are asked for.
fn supported<'a>(asked: impl Iterator<Item = &'a str>) -> String {
    let mut kinds: Vec<&str> = KINDS.split(',').collect();
    for kind in asked.flat_map(|list| list.split(',')).map(str::trim) {
        let mut words = kind.split(':');
        let is_there = words.next() == Some("mpi") && words.all(|word| RESTRICTORS.contains(&word));
        if is_there && !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    kinds.join(",")
}

/// The kinds of the World Model, for which the program was started.
pub(crate) fn of_world() -> String {
    let asked = MEMORY_KINDS.get();
    supported(asked.iter().map(String::as_str))
}

/// The kinds of a new session: those that its hint asks for, or else the start of the program.
pub(crate) fn of_session(hint: Option<&[u8]>) -> String {
    let Some(hint) = hint else { return of_world() };
    let hint = String::from_utf8_lossy(hint).into_owned();
    let kinds = supported(std::iter::once(hint.as_str()));
    let mut asked = asked();
    if !asked.contains(&hint) {
        asked.push(hint);
    }
    kinds
}

/// The kinds of a communicator, a window or a file: those for which the program, or one of its
/// sessions, has asked.
pub(crate) fn of_object() -> String {
    let world = MEMORY_KINDS.get();
    supported(asked().iter().chain(&world).map(String::as_str))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_is_named_if_it_is_there() {
        for (asked, kinds) in [
            (&[][..], "mpi,system"),
            (&["", "system"], "mpi,system"),
            (&["mpi:alloc_mem"], "mpi,system,mpi:alloc_mem"),
            (
                &["cuda,mpi:win_allocate:alloc_mem ,x", "mpi:alloc_mem:x,mpi:win_allocate:alloc_mem"],
                "mpi,system,mpi:win_allocate:alloc_mem",
            ),
            (&["cuda:device", "system:x"], "mpi,system"),
        ] {
            assert_eq!(supported(asked.iter().copied()), kinds, "{asked:?}");
        }
    }

    /// A program may begin sessions for ever.
    #[test]
    fn sessions_that_ask_for_the_same_are_kept_once() {
        let before = asked().len();
        for _ in 0..3 {
            assert_eq!(of_session(Some(b"mpi:alloc_mem,here")), "mpi,system,mpi:alloc_mem");
        }
        assert_eq!(asked().len(), before + 1);
    }
}
