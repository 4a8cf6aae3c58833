//! The last errors of each thread in words: what `MPI_Error_string` gives for the code that a call
//! returned. So a program whose error handler returns reads the same as one that is ended.

use std::cell::RefCell;
use std::collections::VecDeque;
use verbena_fault::Fault;
use verbena_mpi::Class;
use verbena_mpi::codes::{STRING_BYTES_MAX, class_text};

/// The most errors that a thread keeps, one of each class.
const KEPT_MAX: usize = 8;

thread_local! {
    static LAST: RefCell<VecDeque<(Class, String)>> = const { RefCell::new(VecDeque::new()) };
}

/// Keeps the words for an error of `call`, with its arguments. A code of the program has words of
/// its own (`MPI_Add_error_string`).
#[cold]
pub(crate) fn keep(class: Class, call: &str, fault: &Fault) {
    let Some(name) = class_text(class).and_then(|text| text.split(':').next()) else { return };
    let text = text(name, call, fault);
    // A thread that is ending keeps nothing.
    let _ = LAST.try_with(|last| {
        let mut last = last.borrow_mut();
        last.retain(|(known, _)| *known != class);
        last.push_front((class, text));
        last.truncate(KEPT_MAX);
    });
}

/// The words for this thread's last error of a class.
pub(crate) fn of(class: Class) -> Option<String> {
    let find = |last: &RefCell<VecDeque<(Class, String)>>| {
        last.borrow().iter().find(|(known, _)| *known == class).map(|(_, text)| text.clone())
    };
    LAST.try_with(find).ok().flatten()
}

/// The parts in one line that fits where an error string goes.
fn text(name: &str, call: &str, fault: &Fault) -> String {
    let mut text = format!("{name}: {call} failed: {}", fault.what);
    let rest = [("on", &fault.on), ("likely cause", &fault.cause), ("what to do", &fault.remedy)];
    for (label, part) in rest.into_iter().filter(|(_, part)| !part.is_empty()) {
        text += &format!("; {label}: {}", part.replace('\n', " "));
    }
    while text.len() >= STRING_BYTES_MAX {
        text.pop();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use verbena_mpi::generated::constants as mpi;

    #[test]
    fn the_last_error_of_each_class_is_kept() {
        let fault = |what: &str| Fault::new(what, "rank 3", "a reason", "mend it");
        assert_eq!(of(mpi::MPI_ERR_TRUNCATE), None);
        keep(mpi::MPI_ERR_TRUNCATE, "MPI_Recv(count=1)", &fault("cut"));
        keep(mpi::MPI_ERR_RANK, "MPI_Send", &fault("no such rank"));
        keep(mpi::MPI_ERR_TRUNCATE, "MPI_Recv(count=2)", &fault("cut"));
        let text = "MPI_ERR_TRUNCATE: MPI_Recv(count=2) failed: cut; on: rank 3; likely cause: a reason; \
                    what to do: mend it";
        assert_eq!(of(mpi::MPI_ERR_TRUNCATE).as_deref(), Some(text));
        assert!(of(mpi::MPI_ERR_RANK).is_some());
    }

    #[test]
    fn a_code_of_the_program_keeps_its_own_words() {
        let code = mpi::MPI_ERR_LASTCODE + 2;
        keep(code, "MPI_Comm_dup", &Fault::new("the callback failed", "", "", ""));
        assert_eq!(of(code), None);
    }

    #[test]
    fn a_long_text_is_cut_between_letters() {
        let fault = Fault::new("ü".repeat(600), "", "", "");
        assert!(text("MPI_ERR_OTHER", "MPI_Send", &fault).len() < STRING_BYTES_MAX);
    }

    #[test]
    fn other_threads_have_their_own() {
        keep(mpi::MPI_ERR_TAG, "MPI_Send", &Fault::new("a", "b", "c", "d"));
        let other = std::thread::spawn(|| of(mpi::MPI_ERR_TAG)).join().expect("no panic");
        assert_eq!(other, None);
    }
}
