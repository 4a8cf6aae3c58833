//! Long jobs beside the program's computation: on another core than its first thread has.
//!
//! A program that keeps its thread on one core hands that core down to the threads that start from
//! there, those of a pool too: a long write and the computation beside it would take turns. One
//! that does so by itself before `MPI_Init` is not helped: no other core is known then. What GNU
//! OpenMP does under `OMP_PROC_BIND` is known (`verbena_machine::openmp`).

use crate::pool;
use verbena_machine::cores;
use verbena_machine::first_thread::FirstThread;

/// Runs long work that the program does not wait for. A thread of a pool may use all cores of the
/// process for it but the one of the program's first thread; one of the program's own stays where
/// it is, and so does every thread where nothing is known of the first one.
pub fn beside_program<R>(work: impl FnOnce() -> R) -> R {
    let noted = FirstThread::noted().filter(|_| pool::is_own_thread());
    let place = noted.and_then(|(first, allowed)| Some((first.core()?, allowed)));
    match place {
        Some((core, allowed)) => off_core(core, allowed, work),
        None => work(),
    }
}

/// Runs work on these cores but one, if there is another. The thread may go where it might before
/// once it is done.
fn off_core<R>(core: u32, allowed: &[u8], work: impl FnOnce() -> R) -> R {
    let before = cores::affinity();
    let is_confined = cores::confine(&cores::only(allowed, |other| other != core));
    let outcome = work();
    if is_confined {
        cores::confine(&before);
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_kept_off_a_core_and_only_meanwhile() {
        let allowed = cores::affinity();
        let core = cores::here();
        let others = cores::count_union(std::iter::once(&*cores::only(&allowed, |other| other != core)));
        let (here, within) = off_core(core, &allowed, || (cores::here(), cores::affinity()));
        if others > 0 {
            assert_ne!(here, core);
            assert_eq!(cores::count_union(std::iter::once(&*within)), others);
        }
        assert_eq!(cores::affinity(), allowed);
    }

    #[test]
    fn the_only_core_is_used() {
        let allowed = cores::affinity();
        let core = cores::here();
        let only = cores::only(&allowed, |other| other == core);
        assert_eq!(off_core(core, &only, cores::affinity), allowed);
    }

    /// A thread of the program is never moved.
    #[test]
    fn the_programs_threads_stay() {
        let allowed = cores::affinity();
        assert_eq!(beside_program(cores::affinity), allowed);
    }
}
