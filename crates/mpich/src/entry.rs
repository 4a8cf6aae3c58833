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

        twin! { $mpi $pmpi($($name: $type),*) -> $result }
    };
    // With a quick way of its own, tried first: the rest stands apart.
    ($mpi:ident $pmpi:ident($($name:ident: $type:ty),*) -> $result:ty; first $first:expr;
        quick[$($handle:ident: $kind:ty),*] { $($body:tt)* }) => {
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $pmpi($($name: $type),*) -> $result {
            #[inline(never)]
            unsafe extern "C" fn rare($($name: $type),*) -> $result {
                $(let $handle = <$kind>::native($handle);)*
                // SAFETY: as below.
                #[allow(unused_unsafe)]
                unsafe { $($body)* }
            }
            // SAFETY: the program passes what the MPI standard says: pointers are null where that is
            // allowed, or lead to memory of the right size that is the call's until it returns.
            unsafe { $first.unwrap_or_else(|| rare($($name),*)) }
        }

        twin! { $mpi $pmpi($($name: $type),*) -> $result }
    };
    // With handles that have a quick way: what is rare is in a function of its own, so that the usual call saves no registers for
    // it.
    ($mpi:ident $pmpi:ident($($name:ident: $type:ty),*) -> $result:ty;
        quick[$($handle:ident: $kind:ty),*] { $($body:tt)* }) => {
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $pmpi($($name: $type),*) -> $result {
            #[inline(never)]
            unsafe extern "C" fn rare($($name: $type),*) -> $result {
                $(let $handle = <$kind>::native($handle);)*
                // SAFETY: as below.
                #[allow(unused_unsafe)]
                unsafe { $($body)* }
            }
            if $(let Some($handle) = <$kind>::quick($handle))&&* {
                // SAFETY: the program passes what the MPI standard says: pointers are null where that is
                // allowed, or lead to memory of the right size that is the call's until it returns.
                #[allow(unused_unsafe)]
                return unsafe { $($body)* };
            }
            // SAFETY: as above.
            unsafe { rare($($name),*) }
        }

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

/// Calls a function of the standard ABI.
macro_rules! native {
    ($name:ident($($argument:expr),* $(,)?)) => {
        ($crate::library::entries().$name)($($argument),*)
    };
}
