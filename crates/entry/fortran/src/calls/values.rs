//! Functions that return a value, and procedures without IERROR or without a C function.

use crate::generated::c;
use std::ffi::c_int;

macro_rules! functions {
    ($($of_c:ident $parameters:tt -> $result:ty: $($symbol:ident)*;)*) => {
        $($(function! { $symbol $of_c $parameters $result })*)*
    };
}

macro_rules! function {
    ($symbol:ident $of_c:ident ($($name:ident: $type:ty),*) $result:ty) => {
        /// C's function of this name.
        ///
        /// # Safety
        /// The arguments are the program's variables.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $symbol($($name: *const $type),*) -> $result {
            // SAFETY: the caller's promise.
            unsafe { c::$of_c($(*$name),*) }
        }
    };
}

functions! {
    MPI_Wtime() -> f64: mpi_wtime_ mpi_wtime_f08_;
    PMPI_Wtime() -> f64: pmpi_wtime_ pmpi_wtime_f08_;
    MPI_Wtick() -> f64: mpi_wtick_ mpi_wtick_f08_;
    PMPI_Wtick() -> f64: pmpi_wtick_ pmpi_wtick_f08_;
    MPI_Aint_add(base: i64, disp: i64) -> i64: mpi_aint_add_ mpi_aint_add_f08_;
    PMPI_Aint_add(base: i64, disp: i64) -> i64: pmpi_aint_add_ pmpi_aint_add_f08_;
    MPI_Aint_diff(addr1: i64, addr2: i64) -> i64: mpi_aint_diff_ mpi_aint_diff_f08_;
    PMPI_Aint_diff(addr1: i64, addr2: i64) -> i64: pmpi_aint_diff_ pmpi_aint_diff_f08_;
}

macro_rules! pcontrol {
    ($($of_c:ident: $($symbol:ident)*;)*) => {
        $($(
            /// `MPI_Pcontrol`, which has no IERROR.
            ///
            /// # Safety
            /// The argument is an INTEGER.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $symbol(level: *const c_int) {
                // SAFETY: the caller's promise.
                unsafe { c::$of_c(*level) };
            }
        )*)*
    };
}

pcontrol! {
    MPI_Pcontrol: mpi_pcontrol_ mpi_pcontrol_f08_;
    PMPI_Pcontrol: pmpi_pcontrol_ pmpi_pcontrol_f08_;
}

macro_rules! nothing {
    ($($symbol:ident)*) => {
        $(
            /// `MPI_F_sync_reg`: only a call that the compiler cannot see through (MPI-5.0,
            /// 19.1.17).
            #[unsafe(no_mangle)]
            pub extern "C" fn $symbol(_buffer: usize) {}
        )*
    };
}

nothing! {
    mpi_f_sync_reg_ pmpi_f_sync_reg_ mpi_f_sync_reg_f08ts_ pmpi_f_sync_reg_f08ts_
}
