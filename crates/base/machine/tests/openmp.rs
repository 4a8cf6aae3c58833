//! GNU OpenMP, loaded as a program that is linked to it does.

use verbena_machine::{cores, openmp};
use verbena_testing::{Lack, skip};

/// The only test of this process, whose environment it changes.
#[test]
fn places_tell_the_cores_that_openmp_takes_from_the_thread_that_loads_it() {
    let before = cores::affinity();
    // SAFETY: no other thread of this process reads the environment now; the library is the C
    // compiler's own.
    let library = unsafe {
        std::env::set_var("OMP_PROC_BIND", "true");
        libc::dlopen(c"libgomp.so.1".as_ptr(), libc::RTLD_NOW)
    };
    if library.is_null() {
        return skip(Lack::Installed, "GNU OpenMP is not here (libgomp1)");
    }
    let bound = cores::affinity();
    assert_eq!(cores::count_union([&*bound].into_iter()), 1, "the thread is bound to one core");
    assert_eq!(openmp::place_cores(), before);
    assert_eq!(cores::union(&bound, &openmp::place_cores()), before);
}
