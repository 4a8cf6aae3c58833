//! The last errors of each thread in words: what `MPI_Error_string` gives for the code that a call
//! returned. So a program whose error handler returns reads the same as one that is ended.

use crate::arguments::{LEFT_OUT, Words};
use std::borrow::Cow;
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
pub(crate) fn keep(class: Class, call: &str, arguments: &Words, fault: &Fault) {
    let Some(name) = class_text(class).and_then(|text| text.split(':').next()) else { return };
    let text = text(name, call, arguments, fault);
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

/// The parts in one line that fits where an error string goes. Of the arguments only those stand
/// there that fit beside all parts; where the parts alone are too long, the longest are cut.
fn text(name: &str, call: &str, arguments: &Words, fault: &Fault) -> String {
    const MOST: usize = STRING_BYTES_MAX - 1;
    let head = format!("{name}: {call}");
    let parts = |longest: usize| {
        let mut text = format!(" failed: {}", cut(&fault.what, longest));
        let rest = [("on", &fault.on), ("likely cause", &fault.cause), ("what to do", &fault.remedy)];
        for (label, part) in rest.into_iter().filter(|(_, part)| !part.is_empty()) {
            text += &format!("; {label}: {}", cut(part, longest));
        }
        text.replace('\n', " ")
    };
    let least = head.len() + arguments.within(0).len();
    let parts = std::iter::once(usize::MAX).chain((0..=MOST).rev()).map(parts);
    let mut fitting = parts.skip_while(|parts| least + parts.len() > MOST);
    let parts = fitting.next().expect("names and labels alone are not that long");
    format!("{head}{}{parts}", arguments.within(MOST - head.len() - parts.len()))
}

/// A text of at most so many bytes, cut between words if there are any.
fn cut(text: &str, bytes: usize) -> Cow<'_, str> {
    if text.len() <= bytes {
        return text.into();
    }
    let kept = &text[..text.floor_char_boundary(bytes.saturating_sub(LEFT_OUT.len()))];
    // Half of a text with one long word, such as a path, is better than nothing of it.
    let end = kept.rfind(' ').filter(|end| *end > kept.len() / 2).unwrap_or(kept.len());
    format!("{}{LEFT_OUT}", &kept[..end]).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::Shown;
    use verbena_mpi::generated::constants as mpi;

    #[test]
    fn the_last_error_of_each_class_is_kept() {
        let fault = |what: &str| Fault::new(what, "rank 3", "a reason", "mend it");
        assert_eq!(of(mpi::MPI_ERR_TRUNCATE), None);
        let count = |count: i32| Words::of(&[("count", "c_int", count.shown())]);
        keep(mpi::MPI_ERR_TRUNCATE, "MPI_Recv", &count(1), &fault("cut"));
        keep(mpi::MPI_ERR_RANK, "MPI_Send", &Words::of(&[]), &fault("no such rank"));
        keep(mpi::MPI_ERR_TRUNCATE, "MPI_Recv", &count(2), &fault("cut"));
        let text = "MPI_ERR_TRUNCATE: MPI_Recv(count=2) failed: cut; on: rank 3; likely cause: a reason; \
                    what to do: mend it";
        assert_eq!(of(mpi::MPI_ERR_TRUNCATE).as_deref(), Some(text));
        assert!(of(mpi::MPI_ERR_RANK).is_some());
    }

    #[test]
    fn a_code_of_the_program_keeps_its_own_words() {
        let code = mpi::MPI_ERR_LASTCODE + 2;
        keep(code, "MPI_Comm_dup", &Words::of(&[]), &Fault::new("the callback failed", "", "", ""));
        assert_eq!(of(code), None);
    }

    /// A receive with an address and the other arguments.
    fn receive() -> Words {
        let (buffer, status) = (0x7fff_1234_5678 as *const u8, 0x7fff_8765_4321 as *mut u8);
        Words::of(&[
            ("buf", "*mut c_void", buffer.shown()),
            ("count", "c_int", 5_i32.shown()),
            ("datatype", "MPI_Datatype", mpi::MPI_INT.shown()),
            ("comm", "MPI_Comm", mpi::MPI_COMM_WORLD.shown()),
            ("status", "*mut MPI_Status", status.shown()),
        ])
    }

    #[test]
    fn arguments_give_way_to_the_four_parts() {
        let ends = "; on: rank 3; likely cause: a reason; what to do: mend it";
        let long = |letters: usize| {
            let fault = Fault::new("x".repeat(letters), "rank 3", "a reason", "mend it");
            let text = text("MPI_ERR_TRUNCATE", "MPI_Recv", &receive(), &fault);
            assert!(text.len() < STRING_BYTES_MAX && text.ends_with(ends), "{text}");
            text
        };
        assert!(long(20).contains("MPI_Recv(buf=0x7fff12345678, count=5"));
        let without = "MPI_Recv(..., count=5, datatype=MPI_INT, comm=MPI_COMM_WORLD, ...) failed: ";
        assert!(long(340).contains(without), "{}", long(340));
        assert!(long(390).contains("MPI_Recv(..., count=5, ...) failed: "), "{}", long(390));
        assert!(long(410).contains("MPI_Recv(...) failed: x"), "{}", long(410));
    }

    #[test]
    fn parts_that_are_too_long_are_cut_and_all_stay() {
        let fault = Fault::new("ü".repeat(600), "one host ".repeat(100), "a reason", "mend it");
        let text = text("MPI_ERR_OTHER", "MPI_Send", &receive(), &fault);
        assert!(text.len() < STRING_BYTES_MAX && text.len() > STRING_BYTES_MAX - 32, "{text}");
        assert!(text.contains("MPI_Send(...) failed: üü") && text.contains("ü...; on: one host"), "{text}");
        assert!(text.ends_with(" host...; likely cause: a reason; what to do: mend it"), "{text}");
    }

    #[test]
    fn other_threads_have_their_own() {
        keep(mpi::MPI_ERR_TAG, "MPI_Send", &Words::of(&[]), &Fault::new("a", "b", "c", "d"));
        let other = std::thread::spawn(|| of(mpi::MPI_ERR_TAG)).join().expect("no panic");
        assert_eq!(other, None);
    }
}
