//! Spawning, which takes arrays of strings (MPI-5.0, 11.8.2 and 11.8.3). All that counts at the
//! root only is looked at there only.

use crate::generated::c;
use crate::generated::constants as mpi;
use crate::{address, handle, text};
use std::ffi::{CString, c_char, c_int};

/// The most arguments of a program: a list that never ends is none.
const ARGUMENTS_MAX: usize = 1 << 16;

/// `MPI_Comm_spawn`.
pub unsafe fn comm_spawn(
    call: c::Comm_spawn,
    command: *const c_char,
    argv: *const c_char,
    maxprocs: *const c_int,
    info: *const c_int,
    root: *const c_int,
    comm: *const c_int,
    intercomm: *mut c_int,
    array_of_errcodes: *mut c_int,
    command_length: usize,
    argv_length: usize,
) -> c_int {
    // SAFETY: the program's variables; `argv` ends with a blank string (11.8.2).
    unsafe {
        let of_c = handle::comm(*comm);
        let is_root = is_root(*root, of_c);
        let (command, mut argv) = match is_root {
            true => (text::read(command, command_length), Strings::of_list(argv, argv_length, 1)),
            false => Default::default(),
        };
        let (maxprocs, info) =
            if is_root { (*maxprocs, handle::info(*info)) } else { (0, mpi::MPI_INFO_NULL) };
        let mut new = mpi::MPI_COMM_NULL;
        let codes = address::errcodes(array_of_errcodes);
        let code = call(command.as_ptr(), argv.as_mut_ptr(), maxprocs, info, *root, of_c, &mut new, codes);
        *intercomm = handle::comm_out(new);
        code
    }
}

/// `MPI_Comm_spawn_multiple`.
pub unsafe fn comm_spawn_multiple(
    call: c::Comm_spawn_multiple,
    count: *const c_int,
    array_of_commands: *const c_char,
    array_of_argv: *const c_char,
    array_of_maxprocs: *const c_int,
    array_of_info: *const c_int,
    root: *const c_int,
    comm: *const c_int,
    intercomm: *mut c_int,
    array_of_errcodes: *mut c_int,
    commands_length: usize,
    argv_length: usize,
) -> c_int {
    // SAFETY: the program's variables; the lists of arguments lie side by side, `count` of them.
    unsafe {
        let of_c = handle::comm(*comm);
        let count = if is_root(*root, of_c) { usize::try_from(*count).unwrap_or(0) } else { 0 };
        let command = |at: usize| text::read(array_of_commands.add(at * commands_length), commands_length);
        let mut commands = Strings::new((0..count).map(command).collect());
        let argv = |at: usize| match address::is_without_arguments(array_of_argv) {
            true => Strings::default(),
            false => Strings::of_list(array_of_argv.add(at * argv_length), argv_length, count),
        };
        let mut lists: Vec<Strings> = (0..count).map(argv).collect();
        let mut argvs: Vec<*mut *mut c_char> = lists.iter_mut().map(Strings::as_mut_ptr).collect();
        let infos: Vec<handle::Handle> = (0..count).map(|at| handle::info(*array_of_info.add(at))).collect();
        let mut new = mpi::MPI_COMM_NULL;
        let code = call(
            count as c_int,
            commands.as_mut_ptr(),
            argvs.as_mut_ptr(),
            array_of_maxprocs,
            infos.as_ptr(),
            *root,
            of_c,
            &mut new,
            address::errcodes(array_of_errcodes),
        );
        *intercomm = handle::comm_out(new);
        code
    }
}

fn is_root(root: c_int, comm: handle::Handle) -> bool {
    let mut rank = -1;
    // SAFETY: a handle, and a place for the answer; a wrong handle is reported by the call itself.
    unsafe { c::PMPI_Comm_rank(comm, &mut rank) == mpi::MPI_SUCCESS && rank == root }
}

/// Strings as C passes them: pointers, and a null pointer behind the last.
struct Strings {
    /// The strings that the pointers lead to.
    _texts: Vec<CString>,
    pointers: Vec<*mut c_char>,
}

impl Default for Strings {
    fn default() -> Strings {
        Strings::new(Vec::new())
    }
}

impl Strings {
    fn new(texts: Vec<CString>) -> Strings {
        let pointers = texts.iter().map(|text| text.as_ptr().cast_mut());
        let pointers = pointers.chain([std::ptr::null_mut()]).collect();
        Strings { _texts: texts, pointers }
    }

    /// The strings of an array up to a blank one: each `stride`-th of so many characters.
    ///
    /// # Safety
    /// Such an array, or a variable that says that there are none.
    unsafe fn of_list(array: *const c_char, length: usize, stride: usize) -> Strings {
        if address::is_without_arguments(array) || length == 0 {
            return Strings::default();
        }
        // SAFETY: the caller's promise; nothing behind the blank string is read.
        let texts =
            (0..ARGUMENTS_MAX).map(|at| unsafe { text::read(array.add(at * stride * length), length) });
        Strings::new(texts.take_while(|text| !text.is_empty()).collect())
    }

    fn as_mut_ptr(&mut self) -> *mut *mut c_char {
        self.pointers.as_mut_ptr()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(strings: &Strings) -> Vec<&str> {
        strings._texts.iter().map(|text| text.to_str().unwrap()).collect()
    }

    #[test]
    fn a_list_ends_at_a_blank_string() {
        let array = "ab cd ef    gh ";
        // SAFETY: five strings of three characters, the fourth blank.
        let list = unsafe { Strings::of_list(array.as_ptr().cast(), 3, 1) };
        assert_eq!(read(&list), ["ab", "cd", "ef"]);
        assert!(list.pointers.len() == 4 && list.pointers[3].is_null());
    }

    #[test]
    fn lists_lie_side_by_side() {
        let array = "a1b1a2b2  b3    ";
        // SAFETY: two lists of strings of two characters, each with a blank one.
        let lists =
            unsafe { [0, 2].map(|at| Strings::of_list(array.as_ptr().cast::<c_char>().add(at), 2, 2)) };
        assert_eq!((read(&lists[0]), read(&lists[1])), (vec!["a1", "a2"], vec!["b1", "b2", "b3"]));
    }
}
