//! The shapes of C entry points. Each is exported twice: as `PMPI_X`, and as `MPI_X`, which tools
//! replace.

/// An entry point: its two names, its signature and its body.
macro_rules! face {
    ($mpi:ident $pmpi:ident($($name:ident: $type:ty),*) -> $result:ty { $($body:tt)* }) => {
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $pmpi($($name: $type),*) -> $result {
            // SAFETY: the program passes what the MPI standard says: pointers are null where that
            // is allowed, or lead to memory of the right size that belongs to the call until it
            // returns.
            #[allow(unused_unsafe)]
            unsafe { $($body)* }
        }

        twin! { $mpi $pmpi($($name: $type),*) -> $result }
    };
    // A call with a fast path in the standard face: handles are translated, and the rest is done
    // there in this face's form. The body handles what that declines. The first rung may be our
    // own. Rare handles are translated in a function of their own.
    ($mpi:ident $pmpi:ident($($name:ident: $type:ty),*) -> $result:ty$(; first $first:expr)?;
        jump $call:ident($($native:ident: $native_type:ty),*) translates[$($handle:ident: $kind:ty),*] { $($body:tt)* }) => {
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $pmpi($($name: $type),*) -> $result {
            #[inline(never)]
            unsafe extern "C" fn rare($($name: $type),*) -> $result {
                $(let $handle = <$kind>::native($handle);)*
                // SAFETY: as below.
                unsafe { ($crate::table::entries().calls.$call)($($name),*) }
            }
            $(
                // SAFETY: as below.
                if let Some(code) = unsafe { $first } {
                    return code;
                }
            )?
            if 0 $(| <$kind>::guess($handle).0)* == 0 {
                $(let $handle = <$kind>::guess($handle).1;)*
                // SAFETY: the program passes what the MPI standard says: pointers are null where
                // that is allowed, or lead to memory of the right size that belongs to the call
                // until it returns.
                return unsafe { ($crate::table::entries().calls.$call)($($name),*) };
            }
            // SAFETY: as above.
            unsafe { rare($($name),*) }
        }

        /// Handles the calls that the fast path declines. Communicator and datatype are translated.
        pub unsafe extern "C" fn $call($($native: $native_type),*) -> $result {
            // SAFETY: as above.
            #[allow(unused_unsafe)]
            unsafe { $($body)* }
        }

        twin! { $mpi $pmpi($($name: $type),*) -> $result }
    };
    // A call with usual values of handles. Rare ones are in a function of their own, so that the
    // usual call saves no registers for them.
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
                // SAFETY: the program passes what the MPI standard says: pointers are null where
                // that is allowed, or lead to memory of the right size that belongs to the call
                // until it returns.
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
        ($crate::table::entries().functions.$name)($($argument),*)
    };
}
