//! The shapes of C entry points. Each is exported twice: as `PMPI_X`, and as `MPI_X` for tools to replace.

/// An entry point: its two names, its signature and what it does.
macro_rules! face {
    ($mpi:ident $pmpi:ident($($name:ident: $type:ty),*) -> $result:ty { $($body:tt)* }) => {
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $pmpi($($name: $type),*) -> $result {
            // SAFETY: the program passes what the MPI standard says: pointers are null where that is
            // allowed, or lead to memory of the right size that is the call's until it returns.
            #[allow(unused_unsafe)]
            unsafe { $($body)* }
        }

        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $mpi($($name: $type),*) -> $result {
            // SAFETY: the same function under another name.
            unsafe { $pmpi($($name),*) }
        }
    };
}

/// Calls a function of the standard ABI.
macro_rules! native {
    ($name:ident($($argument:expr),* $(,)?)) => {
        ($crate::library::entries().$name)($($argument),*)
    };
}
