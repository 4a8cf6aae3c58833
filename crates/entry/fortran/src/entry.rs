//! The shape of the entry points: several symbols share one body, which gets the C function to
//! call.

/// `Name: symbol C_function, ...; (parameters; lengths of strings) call => { body, error code }`.
macro_rules! entry {
    ($type:ident: $($symbol:ident $c:ident),*; $parameters:tt $call:ident => $body:tt) => {
        const _: () = {
            body! { $type $parameters $call $body }
            $(symbol! { $symbol $c $parameters })*
        };
    };
}

macro_rules! body {
    ($type:ident ($($name:ident: $kind:ty),*; $($length:ident: $size:ty),*) $call:ident { $($body:tt)* }) => {
        #[inline]
        unsafe fn body($call: c::$type, $($name: $kind,)* $($length: $size),*) -> std::ffi::c_int {
            // SAFETY: the program passes what the MPI standard says: variables and arrays of the
            // right size, which belong to the call until it returns.
            #[allow(unused_unsafe)]
            unsafe { $($body)* }
        }
    };
}

macro_rules! symbol {
    ($symbol:ident $c:ident ($($name:ident: $kind:ty),*; $($length:ident: $size:ty),*)) => {
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $symbol($($name: $kind,)* ierror: *mut std::ffi::c_int, $($length: $size),*) {
            // SAFETY: as in the body.
            let code = unsafe { body(c::$c, $($name,)* $($length),*) };
            // SAFETY: null where the program left IERROR out, else its variable.
            if let Some(ierror) = unsafe { ierror.as_mut() } {
                *ierror = code;
            }
        }
    };
}

/// Gives the value, or ends the call with the error code.
macro_rules! tried {
    ($result:expr) => {
        match $result {
            Ok(value) => value,
            Err(code) => return code,
        }
    };
}
