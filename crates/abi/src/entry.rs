//! The shapes of C entry points. Each is exported twice: as `PMPI_X`, and as `MPI_X` for tools to replace.

/// An entry point that checks its arguments, calls a body and returns an error code. If there is a quick way
/// ([`crate::calls::quick`]), that comes first and the rest stands apart, so that it costs the quick way no register.
macro_rules! entry {
    (quick $quick:expr; next $next:expr; last $last:expr; $mpi:ident $pmpi:ident($($name:ident: $type:ty),*) $owner:expr => { $($body:tt)* }) => {
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $pmpi($($name: $type),*) -> std::ffi::c_int {
            general! { $mpi($($name: $type),*) $owner => { $($body)* } }
            step! { last $last; general($($name: $type),*) }
            step! { next $next; last($($name: $type),*) }
            // SAFETY: the program passes what the MPI standard says.
            unsafe { $quick.unwrap_or_else(|| next($($name),*)) }
        }

        twin! { $mpi $pmpi($($name: $type),*) -> std::ffi::c_int }
    };
    (quick $quick:expr; next $next:expr; $mpi:ident $pmpi:ident($($name:ident: $type:ty),*) $owner:expr => { $($body:tt)* }) => {
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $pmpi($($name: $type),*) -> std::ffi::c_int {
            general! { $mpi($($name: $type),*) $owner => { $($body)* } }
            step! { next $next; general($($name: $type),*) }
            // SAFETY: the program passes what the MPI standard says.
            unsafe { $quick.unwrap_or_else(|| next($($name),*)) }
        }

        twin! { $mpi $pmpi($($name: $type),*) -> std::ffi::c_int }
    };
    (quick $quick:expr; $mpi:ident $pmpi:ident($($name:ident: $type:ty),*) $owner:expr => { $($body:tt)* }) => {
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $pmpi($($name: $type),*) -> std::ffi::c_int {
            general! { $mpi($($name: $type),*) $owner => { $($body)* } }
            // SAFETY: the program passes what the MPI standard says.
            unsafe { $quick.unwrap_or_else(|| general($($name),*)) }
        }

        twin! { $mpi $pmpi($($name: $type),*) -> std::ffi::c_int }
    };
    ($mpi:ident $pmpi:ident($($name:ident: $type:ty),*) $owner:expr => { $($body:tt)* }) => {
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $pmpi($($name: $type),*) -> std::ffi::c_int {
            checked! { $mpi $owner => { $($body)* } }
        }

        twin! { $mpi $pmpi($($name: $type),*) -> std::ffi::c_int }
    };
}

/// A further step of the quick way, in a function of its own; after it comes `then`.
macro_rules! step {
    ($step:ident $does:expr; $then:ident($($name:ident: $type:ty),*)) => {
        #[inline(never)]
        unsafe extern "C" fn $step($($name: $type),*) -> std::ffi::c_int {
            // SAFETY: the program passes what the MPI standard says.
            unsafe { $does.unwrap_or_else(|| $then($($name),*)) }
        }
    };
}

/// The general way of an entry point that has a quick one.
macro_rules! general {
    ($mpi:ident($($name:ident: $type:ty),*) $owner:expr => { $($body:tt)* }) => {
        #[cold]
        #[inline(never)]
        unsafe extern "C" fn general($($name: $type),*) -> std::ffi::c_int {
            verbena_channel::trace::enter();
            let code = checked! { $mpi $owner => { $($body)* } };
            verbena_channel::trace::leave(stringify!($mpi));
            code
        }
    };
}

/// What an entry point does: the body, and what its failure leads to.
macro_rules! checked {
    ($mpi:ident $owner:expr => { $($body:tt)* }) => {{
        let call = move || -> Result<(), $crate::report::Failed> {
            // SAFETY: the program passes what the MPI standard says: pointers are null where that is
            // allowed, or lead to memory of the right size that is the call's until it returns.
            #[allow(unused_unsafe)]
            unsafe { $($body)* };
            Ok(())
        };
        match call() {
            Ok(()) => verbena_mpi::generated::constants::MPI_SUCCESS,
            // SAFETY: as above, if the owner's handle lies behind a pointer.
            Err(failed) => $crate::report::raise(stringify!($mpi), #[allow(unused_unsafe)] unsafe { $owner }, failed),
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

/// An entry point whose body is not written yet. It fails as any other call does.
macro_rules! missing {
    ($mpi:ident $pmpi:ident($($name:ident: $type:ty),*) $owner:expr) => {
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $pmpi($($name: $type),*) -> std::ffi::c_int {
            $(let _ = $name;)*
            // SAFETY: the program passes what the MPI standard says, if the owner's handle lies behind a pointer.
            $crate::report::unsupported(stringify!($mpi), #[allow(unused_unsafe)] unsafe { $owner })
        }

        twin! { $mpi $pmpi($($name: $type),*) -> std::ffi::c_int }
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
