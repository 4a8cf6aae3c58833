//! The shapes of C entry points. Each is exported twice: as `PMPI_X`, and as `MPI_X` for tools to replace.

/// An entry point that checks its arguments, calls a body and returns an error code.
macro_rules! entry {
    ($mpi:ident $pmpi:ident($($name:ident: $type:ty),*) $owner:expr => { $($body:tt)* }) => {
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $pmpi($($name: $type),*) -> std::ffi::c_int {
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
        }

        twin! { $mpi $pmpi($($name: $type),*) -> std::ffi::c_int }
    };
}

/// An entry point that returns a value of its own.
macro_rules! valued {
    ($mpi:ident $pmpi:ident($($name:ident: $type:ty),*) -> $result:ty => $body:block) => {
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $pmpi($($name: $type),*) -> $result $body

        twin! { $mpi $pmpi($($name: $type),*) -> $result }
    };
}

/// An entry point whose body is not written yet.
macro_rules! missing {
    ($mpi:ident $pmpi:ident($($name:ident: $type:ty),*)) => {
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $pmpi($($name: $type),*) -> std::ffi::c_int {
            $(let _ = $name;)*
            static SAID: std::sync::Once = std::sync::Once::new();
            $crate::report::unsupported(stringify!($mpi), &SAID)
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
