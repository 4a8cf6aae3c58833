//! The cores of GNU OpenMP's places.
//!
//! Under `OMP_PROC_BIND`, GNU OpenMP keeps the program's first thread on the first of its places
//! before `main` begins, so that thread's own mask tells nothing of the others. The places do: they
//! are made of the cores that the process had when it began, whoever started it. LLVM's OpenMP
//! binds threads at the first parallel region only, and to ask it would begin its work: it is not
//! asked.

use std::ffi::{CStr, c_int, c_void};

type Count = unsafe extern "C" fn() -> c_int;
type CountOf = unsafe extern "C" fn(c_int) -> c_int;
type Fill = unsafe extern "C" fn(c_int, *mut c_int);

/// The library, which the program has loaded.
struct Library(*mut c_void);

impl Library {
    /// Finds the library; `None` if the program has none.
    fn loaded() -> Option<Library> {
        // SAFETY: the name is a C string; nothing is loaded that is not there yet.
        let library = unsafe { libc::dlopen(c"libgomp.so.1".as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
        let library = (!library.is_null()).then(|| Library(library))?;
        // LLVM's library may stand in under this name.
        library.find(c"__kmpc_fork_call").is_none().then_some(library)
    }

    fn find(&self, name: &CStr) -> Option<*mut c_void> {
        // SAFETY: a library that is loaded, and a C string.
        let found = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        (!found.is_null()).then_some(found)
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        // SAFETY: ours; the program's own hold on the library stays.
        unsafe { libc::dlclose(self.0) };
    }
}

/// The cores of all places, one bit each, lowest first; none if the program has no GNU OpenMP, or
/// lets it bind nothing.
pub fn place_cores() -> Vec<u8> {
    Library::loaded().as_ref().and_then(cores).unwrap_or_default()
}

fn cores(library: &Library) -> Option<Vec<u8>> {
    let count = library.find(c"omp_get_num_places")?;
    let count_of = library.find(c"omp_get_place_num_procs")?;
    let fill = library.find(c"omp_get_place_proc_ids")?;
    // SAFETY: functions of OpenMP 4.5, 3.2.23 to 3.2.25, with their types.
    let (count, count_of, fill) = unsafe {
        (
            std::mem::transmute::<*mut c_void, Count>(count),
            std::mem::transmute::<*mut c_void, CountOf>(count_of),
            std::mem::transmute::<*mut c_void, Fill>(fill),
        )
    };
    let mut mask = Vec::new();
    // SAFETY: the numbers are those of places that there are, and each list has room for all.
    unsafe {
        for place in 0..count() {
            let mut ids = vec![-1; usize::try_from(count_of(place)).unwrap_or(0)];
            fill(place, ids.as_mut_ptr());
            ids.iter().filter_map(|&id| usize::try_from(id).ok()).for_each(|id| add(&mut mask, id));
        }
    }
    Some(mask)
}

fn add(mask: &mut Vec<u8>, core: usize) {
    mask.resize(mask.len().max(core / 8 + 1), 0);
    mask[core / 8] |= 1 << (core % 8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_without_openmp_has_no_places() {
        assert_eq!(place_cores(), []);
    }

    #[test]
    fn a_core_is_a_bit() {
        let mut mask = Vec::new();
        [9, 0, 1].into_iter().for_each(|core| add(&mut mask, core));
        assert_eq!(mask, [0b11, 0b10]);
    }
}
