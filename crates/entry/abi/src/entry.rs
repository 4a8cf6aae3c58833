//! The shapes of C entry points. Each is exported twice: as `PMPI_X`, and as `MPI_X` for tools to
//! replace.

/// An entry point that checks its arguments, calls a body and returns an error code. If it has a
/// fast path ([`crate::fast_path`]), the general way is a function of its own, which costs the fast
/// path no register.
macro_rules! entry {
    (ladder $rungs:tt $arguments:tt; $mpi:ident $pmpi:ident($($name:ident: $type:ty),*) $owner:expr => { $($body:tt)* }) => {
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $pmpi($($name: $type),*) -> std::ffi::c_int {
            general! { $mpi($($name: $type),*) $owner => { $($body)* } }
            ladder! { $crate::fast_path::standard::Standard; $rungs $arguments; general($($name: $type),*) }
        }

        twin! { $mpi $pmpi($($name: $type),*) -> std::ffi::c_int }
    };
    ($mpi:ident $pmpi:ident($($name:ident: $type:ty),*) $owner:expr => { $($body:tt)* }) => {
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $pmpi($($name: $type),*) -> std::ffi::c_int {
            watched! { $mpi $pmpi($($name: $type),*) }
            checked! { $mpi($($name: $type),*) $owner => { $($body)* } }
        }

        twin! { $mpi $pmpi($($name: $type),*) -> std::ffi::c_int }
    };
}

/// The rungs of a fast path on one face, tried in order; the function `general` takes the calls
/// that none of them takes. Each but the first is in a function of its own.
macro_rules! ladder {
    ($face:ty; [$rung:ident] $arguments:tt; $general:ident($($name:ident: $type:ty),*)) => {
        // SAFETY: the program passes what the MPI standard says.
        unsafe { $crate::fast_path::Rungs::<$face>::$rung $arguments.unwrap_or_else(|| $general($($name),*)) }
    };
    ($face:ty; [$rung:ident, $($more:ident),+] $arguments:tt; $general:ident($($name:ident: $type:ty),*)) => {{
        #[inline(never)]
        unsafe extern "C" fn rest($($name: $type),*) -> std::ffi::c_int {
            ladder! { $face; [$($more),+] $arguments; $general($($name: $type),*) }
        }
        ladder! { $face; [$rung] $arguments; rest($($name: $type),*) }
    }};
}

/// A call of the MPICH face with a fast path: the other library jumps here, and is called if no
/// rung takes the call.
macro_rules! jump {
    ($call:ident($($name:ident: $type:ty),*) ladder $rungs:tt $arguments:tt) => {
        pub unsafe extern "C" fn $call($($name: $type),*) -> std::ffi::c_int {
            #[inline(always)]
            unsafe fn general($($name: $type),*) -> std::ffi::c_int {
                // SAFETY: the program passes what the MPI standard says.
                unsafe { ($crate::fast_path::mpich::fallbacks().calls.$call)($($name),*) }
            }
            ladder! { $crate::fast_path::mpich::Mpich; $rungs $arguments; general($($name: $type),*) }
        }
    };
}

/// Makes the call under the eyes of those who watch it, if anybody does. Other calls pay one
/// branch, off the fast paths.
macro_rules! watched {
    ($mpi:ident $function:ident($($name:ident: $type:ty),*)) => {
        if $crate::state::is_watched() {
            match $crate::watched::call(
                stringify!($mpi),
                &[$((stringify!($name), stringify!($type))),*],
                &[$($crate::arguments::Shown::shown(&$name)),*],
            ) {
                Ok(None) => (),
                Ok(Some(call)) => {
                    // SAFETY: the program's own call.
                    let code = unsafe { $function($($name),*) };
                    call.end(code);
                    return code;
                }
                Err(code) => return code,
            }
        }
    };
}

/// The general way of an entry point that has a fast path.
macro_rules! general {
    ($mpi:ident($($name:ident: $type:ty),*) $owner:expr => { $($body:tt)* }) => {
        #[cold]
        #[inline(never)]
        unsafe extern "C" fn general($($name: $type),*) -> std::ffi::c_int {
            watched! { $mpi general($($name: $type),*) }
            verbena_channel::trace::enter();
            let code = checked! { $mpi($($name: $type),*) $owner => { $($body)* } };
            verbena_channel::trace::leave(stringify!($mpi));
            code
        }
    };
}

/// The work of an entry point: calls the body and reports its failure.
macro_rules! checked {
    ($mpi:ident($($name:ident: $type:ty),*) $owner:expr => { $($body:tt)* }) => {{
        let call = move || -> Result<(), $crate::report::Failed> {
            // SAFETY: the program passes what the MPI standard says: pointers are null where that
            // is allowed, or lead to memory of the right size that is the call's until it returns.
            #[allow(unused_unsafe)]
            unsafe { $($body)* };
            Ok(())
        };
        match call() {
            Ok(()) => verbena_mpi::generated::constants::MPI_SUCCESS,
            Err(failed) => $crate::report::raise(
                stringify!($mpi),
                &[$((stringify!($name), stringify!($type), $crate::arguments::Shown::shown(&$name))),*],
                // SAFETY: as above, if the owner's handle lies behind a pointer.
                #[allow(unused_unsafe)]
                unsafe { $owner },
                failed,
            ),
        }
    }};
}

/// An entry point that returns a value of its own.
macro_rules! valued {
    ($mpi:ident $pmpi:ident($($name:ident: $type:ty),*) -> $result:ty => $body:block) => {
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $pmpi($($name: $type),*) -> $result $body

        twin! { $mpi $pmpi($($name: $type),*) -> $result }
    };
}

/// The `MPI_` name of a `PMPI_` entry point.
macro_rules! twin {
    ($mpi:ident $pmpi:ident($($name:ident: $type:ty),*) -> $result:ty) => {
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $mpi($($name: $type),*) -> $result {
            // SAFETY: the same function under another name.
            unsafe { $pmpi($($name),*) }
        }
    };
}
