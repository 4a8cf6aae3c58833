//! Procedures of MPICH's modules for Fortran that are compiled into its library, under the names
//! that gfortran gives them: comparisons of handles, sizes of variables, copies of statuses, and
//! what programs pass for the attributes of `mpi_f08`; and what its tools call without IERROR.

use crate::calls::{keyval, no_conversion, values};
use crate::descriptor::Descriptor;
use crate::generated::constants::MPI_SUCCESS;
use crate::status::Status;
use std::ffi::{c_int, c_void};

macro_rules! comparisons {
    ($($symbol:literal $name:ident: $operator:tt;)*) => {
        $(
            /// Compares two handles, or a handle and an INTEGER.
            ///
            /// # Safety
            /// Both are handles.
            #[unsafe(export_name = $symbol)]
            pub unsafe extern "C" fn $name(first: *const c_int, second: *const c_int) -> c_int {
                // SAFETY: the program's variables.
                unsafe { c_int::from(*first $operator *second) }
            }
        )*
    };
}

// MPICH 3 says `ne` where MPICH 4 says `neq`.
comparisons! {
    "__mpi_f08_types_MOD_mpi_comm_eq" comm_eq: ==;
    "__mpi_f08_types_MOD_mpi_comm_neq" comm_neq: !=;
    "__mpi_f08_types_MOD_mpi_comm_f08_eq_f" comm_f08_eq_f: ==;
    "__mpi_f08_types_MOD_mpi_comm_f08_neq_f" comm_f08_neq_f: !=;
    "__mpi_f08_types_MOD_mpi_comm_f08_ne_f" comm_f08_ne_f: !=;
    "__mpi_f08_types_MOD_mpi_comm_f_eq_f08" comm_f_eq_f08: ==;
    "__mpi_f08_types_MOD_mpi_comm_f_neq_f08" comm_f_neq_f08: !=;
    "__mpi_f08_types_MOD_mpi_comm_f_ne_f08" comm_f_ne_f08: !=;
    "__mpi_constants_MOD_commeq" commeq: ==;
    "__mpi_constants_MOD_commneq" commneq: !=;
    "__mpi_f08_types_MOD_mpi_datatype_eq" datatype_eq: ==;
    "__mpi_f08_types_MOD_mpi_datatype_neq" datatype_neq: !=;
    "__mpi_f08_types_MOD_mpi_datatype_f08_eq_f" datatype_f08_eq_f: ==;
    "__mpi_f08_types_MOD_mpi_datatype_f08_neq_f" datatype_f08_neq_f: !=;
    "__mpi_f08_types_MOD_mpi_datatype_f08_ne_f" datatype_f08_ne_f: !=;
    "__mpi_f08_types_MOD_mpi_datatype_f_eq_f08" datatype_f_eq_f08: ==;
    "__mpi_f08_types_MOD_mpi_datatype_f_neq_f08" datatype_f_neq_f08: !=;
    "__mpi_f08_types_MOD_mpi_datatype_f_ne_f08" datatype_f_ne_f08: !=;
    "__mpi_constants_MOD_datatypeeq" datatypeeq: ==;
    "__mpi_constants_MOD_datatypeneq" datatypeneq: !=;
    "__mpi_f08_types_MOD_mpi_errhandler_eq" errhandler_eq: ==;
    "__mpi_f08_types_MOD_mpi_errhandler_neq" errhandler_neq: !=;
    "__mpi_f08_types_MOD_mpi_errhandler_f08_eq_f" errhandler_f08_eq_f: ==;
    "__mpi_f08_types_MOD_mpi_errhandler_f08_neq_f" errhandler_f08_neq_f: !=;
    "__mpi_f08_types_MOD_mpi_errhandler_f08_ne_f" errhandler_f08_ne_f: !=;
    "__mpi_f08_types_MOD_mpi_errhandler_f_eq_f08" errhandler_f_eq_f08: ==;
    "__mpi_f08_types_MOD_mpi_errhandler_f_neq_f08" errhandler_f_neq_f08: !=;
    "__mpi_f08_types_MOD_mpi_errhandler_f_ne_f08" errhandler_f_ne_f08: !=;
    "__mpi_constants_MOD_errhandlereq" errhandlereq: ==;
    "__mpi_constants_MOD_errhandlerneq" errhandlerneq: !=;
    "__mpi_f08_types_MOD_mpi_file_eq" file_eq: ==;
    "__mpi_f08_types_MOD_mpi_file_neq" file_neq: !=;
    "__mpi_f08_types_MOD_mpi_file_f08_eq_f" file_f08_eq_f: ==;
    "__mpi_f08_types_MOD_mpi_file_f08_neq_f" file_f08_neq_f: !=;
    "__mpi_f08_types_MOD_mpi_file_f08_ne_f" file_f08_ne_f: !=;
    "__mpi_f08_types_MOD_mpi_file_f_eq_f08" file_f_eq_f08: ==;
    "__mpi_f08_types_MOD_mpi_file_f_neq_f08" file_f_neq_f08: !=;
    "__mpi_f08_types_MOD_mpi_file_f_ne_f08" file_f_ne_f08: !=;
    "__mpi_constants_MOD_fileeq" fileeq: ==;
    "__mpi_constants_MOD_fileneq" fileneq: !=;
    "__mpi_f08_types_MOD_mpi_group_eq" group_eq: ==;
    "__mpi_f08_types_MOD_mpi_group_neq" group_neq: !=;
    "__mpi_f08_types_MOD_mpi_group_f08_eq_f" group_f08_eq_f: ==;
    "__mpi_f08_types_MOD_mpi_group_f08_neq_f" group_f08_neq_f: !=;
    "__mpi_f08_types_MOD_mpi_group_f08_ne_f" group_f08_ne_f: !=;
    "__mpi_f08_types_MOD_mpi_group_f_eq_f08" group_f_eq_f08: ==;
    "__mpi_f08_types_MOD_mpi_group_f_neq_f08" group_f_neq_f08: !=;
    "__mpi_f08_types_MOD_mpi_group_f_ne_f08" group_f_ne_f08: !=;
    "__mpi_constants_MOD_groupeq" groupeq: ==;
    "__mpi_constants_MOD_groupneq" groupneq: !=;
    "__mpi_f08_types_MOD_mpi_info_eq" info_eq: ==;
    "__mpi_f08_types_MOD_mpi_info_neq" info_neq: !=;
    "__mpi_f08_types_MOD_mpi_info_f08_eq_f" info_f08_eq_f: ==;
    "__mpi_f08_types_MOD_mpi_info_f08_neq_f" info_f08_neq_f: !=;
    "__mpi_f08_types_MOD_mpi_info_f08_ne_f" info_f08_ne_f: !=;
    "__mpi_f08_types_MOD_mpi_info_f_eq_f08" info_f_eq_f08: ==;
    "__mpi_f08_types_MOD_mpi_info_f_neq_f08" info_f_neq_f08: !=;
    "__mpi_f08_types_MOD_mpi_info_f_ne_f08" info_f_ne_f08: !=;
    "__mpi_constants_MOD_infoeq" infoeq: ==;
    "__mpi_constants_MOD_infoneq" infoneq: !=;
    "__mpi_f08_types_MOD_mpi_op_eq" op_eq: ==;
    "__mpi_f08_types_MOD_mpi_op_neq" op_neq: !=;
    "__mpi_f08_types_MOD_mpi_op_f08_eq_f" op_f08_eq_f: ==;
    "__mpi_f08_types_MOD_mpi_op_f08_neq_f" op_f08_neq_f: !=;
    "__mpi_f08_types_MOD_mpi_op_f08_ne_f" op_f08_ne_f: !=;
    "__mpi_f08_types_MOD_mpi_op_f_eq_f08" op_f_eq_f08: ==;
    "__mpi_f08_types_MOD_mpi_op_f_neq_f08" op_f_neq_f08: !=;
    "__mpi_f08_types_MOD_mpi_op_f_ne_f08" op_f_ne_f08: !=;
    "__mpi_constants_MOD_opeq" opeq: ==;
    "__mpi_constants_MOD_opneq" opneq: !=;
    "__mpi_f08_types_MOD_mpi_request_eq" request_eq: ==;
    "__mpi_f08_types_MOD_mpi_request_neq" request_neq: !=;
    "__mpi_f08_types_MOD_mpi_request_f08_eq_f" request_f08_eq_f: ==;
    "__mpi_f08_types_MOD_mpi_request_f08_neq_f" request_f08_neq_f: !=;
    "__mpi_f08_types_MOD_mpi_request_f08_ne_f" request_f08_ne_f: !=;
    "__mpi_f08_types_MOD_mpi_request_f_eq_f08" request_f_eq_f08: ==;
    "__mpi_f08_types_MOD_mpi_request_f_neq_f08" request_f_neq_f08: !=;
    "__mpi_f08_types_MOD_mpi_request_f_ne_f08" request_f_ne_f08: !=;
    "__mpi_constants_MOD_requesteq" requesteq: ==;
    "__mpi_constants_MOD_requestneq" requestneq: !=;
    "__mpi_f08_types_MOD_mpi_win_eq" win_eq: ==;
    "__mpi_f08_types_MOD_mpi_win_neq" win_neq: !=;
    "__mpi_f08_types_MOD_mpi_win_f08_eq_f" win_f08_eq_f: ==;
    "__mpi_f08_types_MOD_mpi_win_f08_neq_f" win_f08_neq_f: !=;
    "__mpi_f08_types_MOD_mpi_win_f08_ne_f" win_f08_ne_f: !=;
    "__mpi_f08_types_MOD_mpi_win_f_eq_f08" win_f_eq_f08: ==;
    "__mpi_f08_types_MOD_mpi_win_f_neq_f08" win_f_neq_f08: !=;
    "__mpi_f08_types_MOD_mpi_win_f_ne_f08" win_f_ne_f08: !=;
    "__mpi_constants_MOD_wineq" wineq: ==;
    "__mpi_constants_MOD_winneq" winneq: !=;
    "__mpi_f08_types_MOD_mpi_message_eq" message_eq: ==;
    "__mpi_f08_types_MOD_mpi_message_neq" message_neq: !=;
    "__mpi_f08_types_MOD_mpi_message_f08_eq_f" message_f08_eq_f: ==;
    "__mpi_f08_types_MOD_mpi_message_f08_neq_f" message_f08_neq_f: !=;
    "__mpi_f08_types_MOD_mpi_message_f08_ne_f" message_f08_ne_f: !=;
    "__mpi_f08_types_MOD_mpi_message_f_eq_f08" message_f_eq_f08: ==;
    "__mpi_f08_types_MOD_mpi_message_f_neq_f08" message_f_neq_f08: !=;
    "__mpi_f08_types_MOD_mpi_message_f_ne_f08" message_f_ne_f08: !=;
    "__mpi_constants_MOD_messageeq" messageeq: ==;
    "__mpi_constants_MOD_messageneq" messageneq: !=;
    "__mpi_f08_types_MOD_mpi_session_eq" session_eq: ==;
    "__mpi_f08_types_MOD_mpi_session_neq" session_neq: !=;
    "__mpi_f08_types_MOD_mpi_session_f08_eq_f" session_f08_eq_f: ==;
    "__mpi_f08_types_MOD_mpi_session_f08_neq_f" session_f08_neq_f: !=;
    "__mpi_f08_types_MOD_mpi_session_f08_ne_f" session_f08_ne_f: !=;
    "__mpi_f08_types_MOD_mpi_session_f_eq_f08" session_f_eq_f08: ==;
    "__mpi_f08_types_MOD_mpi_session_f_neq_f08" session_f_neq_f08: !=;
    "__mpi_f08_types_MOD_mpi_session_f_ne_f08" session_f_ne_f08: !=;
    "__mpi_constants_MOD_sessioneq" sessioneq: ==;
    "__mpi_constants_MOD_sessionneq" sessionneq: !=;
}

macro_rules! sizes {
    ($($symbol:literal $name:ident)*) => {
        $(
            /// `MPI_Sizeof` of `mpi_f08`: bytes of an element (MPI-5.0, 19.1.9).
            ///
            /// # Safety
            /// The arguments are a descriptor and two INTEGERs; IERROR may be left out.
            #[unsafe(export_name = $symbol)]
            pub unsafe extern "C" fn $name(x: *const Descriptor, size: *mut c_int, ierror: *mut c_int) {
                // SAFETY: the caller's promise.
                unsafe {
                    *size = (*x).element_bytes() as c_int;
                    done(ierror);
                }
            }
        )*
    };
}

sizes! {
    "__mpi_f08_types_MOD_mpi_sizeof_character" sizeof_character
    "__mpi_f08_types_MOD_mpi_sizeof_logical" sizeof_logical
    "__mpi_f08_types_MOD_mpi_sizeof_xint8" sizeof_xint8
    "__mpi_f08_types_MOD_mpi_sizeof_xint16" sizeof_xint16
    "__mpi_f08_types_MOD_mpi_sizeof_xint32" sizeof_xint32
    "__mpi_f08_types_MOD_mpi_sizeof_xint64" sizeof_xint64
    "__mpi_f08_types_MOD_mpi_sizeof_xreal32" sizeof_xreal32
    "__mpi_f08_types_MOD_mpi_sizeof_xreal64" sizeof_xreal64
    "__mpi_f08_types_MOD_mpi_sizeof_xreal128" sizeof_xreal128
    "__mpi_f08_types_MOD_mpi_sizeof_xcomplex32" sizeof_xcomplex32
    "__mpi_f08_types_MOD_mpi_sizeof_xcomplex64" sizeof_xcomplex64
    "__mpi_f08_types_MOD_mpi_sizeof_xcomplex128" sizeof_xcomplex128
}

macro_rules! known_sizes {
    ($($symbol:literal $name:ident $bytes:literal)*) => {
        $(
            /// `MPI_Sizeof` of the module `mpi`, for a type of so many bytes.
            ///
            /// # Safety
            /// The arguments are a variable and two INTEGERs.
            #[unsafe(export_name = $symbol)]
            pub unsafe extern "C" fn $name(_: *const u8, size: *mut c_int, ierror: *mut c_int) {
                // SAFETY: the caller's promise.
                unsafe {
                    *size = $bytes;
                    done(ierror);
                }
            }
        )*
    };
}

// A name that ends with `v` is for arrays. The types are CHARACTER, COMPLEX, DOUBLE PRECISION,
// INTEGER of 1, 2, 8 and the default of 4 bytes, LOGICAL, REAL.
known_sizes! {
    "__mpi_sizeofs_MOD_mpi_sizeof_ch" sizeof_ch_by_address 1
    "__mpi_sizeofs_MOD_mpi_sizeof_chv" sizeof_chv_by_address 1
    "__mpi_sizeofs_MOD_mpi_sizeof_cx" sizeof_cx_by_address 8
    "__mpi_sizeofs_MOD_mpi_sizeof_cxv" sizeof_cxv_by_address 8
    "__mpi_sizeofs_MOD_mpi_sizeof_d" sizeof_d_by_address 8
    "__mpi_sizeofs_MOD_mpi_sizeof_dv" sizeof_dv_by_address 8
    "__mpi_sizeofs_MOD_mpi_sizeof_i1" sizeof_i1_by_address 1
    "__mpi_sizeofs_MOD_mpi_sizeof_i1v" sizeof_i1v_by_address 1
    "__mpi_sizeofs_MOD_mpi_sizeof_i2" sizeof_i2_by_address 2
    "__mpi_sizeofs_MOD_mpi_sizeof_i2v" sizeof_i2v_by_address 2
    "__mpi_sizeofs_MOD_mpi_sizeof_i8" sizeof_i8_by_address 8
    "__mpi_sizeofs_MOD_mpi_sizeof_i8v" sizeof_i8v_by_address 8
    "__mpi_sizeofs_MOD_mpi_sizeof_i" sizeof_i_by_address 4
    "__mpi_sizeofs_MOD_mpi_sizeof_iv" sizeof_iv_by_address 4
    "__mpi_sizeofs_MOD_mpi_sizeof_l" sizeof_l_by_address 4
    "__mpi_sizeofs_MOD_mpi_sizeof_lv" sizeof_lv_by_address 4
    "__mpi_sizeofs_MOD_mpi_sizeof_r" sizeof_r_by_address 4
    "__mpi_sizeofs_MOD_mpi_sizeof_rv" sizeof_rv_by_address 4
}

macro_rules! copies {
    ($($symbol:literal $name:ident)*) => {
        $(
            /// Copies a status into the other form: both have the same layout (MPI-5.0, 19.3.5).
            ///
            /// # Safety
            /// Two statuses and an INTEGER; IERROR may be left out.
            #[unsafe(export_name = $symbol)]
            pub unsafe extern "C" fn $name(from: *const Status, to: *mut Status, ierror: *mut c_int) {
                // SAFETY: the caller's promise.
                unsafe {
                    *to = *from;
                    done(ierror);
                }
            }
        )*
    };
}

copies! {
    "__mpi_f08_types_MOD_mpi_status_f2f08" status_f2f08
    "__mpi_f08_types_MOD_mpi_status_f082f" status_f082f
    "__mpi_f08_types_MOD_pmpi_status_f2f08" pmpi_status_f2f08
    "__mpi_f08_types_MOD_pmpi_status_f082f" pmpi_status_f082f
}

macro_rules! copy_functions {
    ($($symbol:literal $name:ident $function:ident;)*) => {
        $(
            /// Says whether an attribute is copied with its object.
            ///
            /// # Safety
            /// The arguments are MPI's variables.
            #[unsafe(export_name = $symbol)]
            pub unsafe extern "C" fn $name(
                object: *const c_int,
                key: *const c_int,
                extra: *const i64,
                value: *const i64,
                copy: *mut i64,
                flag: *mut c_int,
                ierror: *mut c_int,
            ) {
                // SAFETY: the caller's promise.
                unsafe { keyval::$function(object, key, extra, value, copy, flag, ierror) }
            }
        )*
    };
}

copy_functions! {
    "__mpi_f08_callbacks_MOD_mpi_comm_null_copy_fn" comm_null_copy mpi_comm_null_copy_fn_;
    "__mpi_f08_callbacks_MOD_mpi_type_null_copy_fn" type_null_copy mpi_type_null_copy_fn_;
    "__mpi_f08_callbacks_MOD_mpi_win_null_copy_fn" win_null_copy mpi_win_null_copy_fn_;
    "__mpi_f08_callbacks_MOD_mpi_comm_dup_fn" comm_dup mpi_comm_dup_fn_;
    "__mpi_f08_callbacks_MOD_mpi_type_dup_fn" type_dup mpi_type_dup_fn_;
    "__mpi_f08_callbacks_MOD_mpi_win_dup_fn" win_dup mpi_win_dup_fn_;
}

macro_rules! delete_functions {
    ($($symbol:literal $name:ident $function:ident;)*) => {
        $(
            /// Lets an attribute be deleted.
            ///
            /// # Safety
            /// The arguments are MPI's variables.
            #[unsafe(export_name = $symbol)]
            pub unsafe extern "C" fn $name(
                object: *const c_int,
                key: *const c_int,
                value: *const i64,
                extra: *const i64,
                ierror: *mut c_int,
            ) {
                // SAFETY: the caller's promise.
                unsafe { keyval::$function(object, key, value, extra, ierror) }
            }
        )*
    };
}

delete_functions! {
    "__mpi_f08_callbacks_MOD_mpi_comm_null_delete_fn" comm_null_delete mpi_comm_null_delete_fn_;
    "__mpi_f08_callbacks_MOD_mpi_type_null_delete_fn" type_null_delete mpi_type_null_delete_fn_;
    "__mpi_f08_callbacks_MOD_mpi_win_null_delete_fn" win_null_delete mpi_win_null_delete_fn_;
}

macro_rules! conversions {
    ($($symbol:literal $name:ident $count:ty: $function:ident;)*) => {
        $(
            /// Stands for no conversion; nobody calls it.
            ///
            /// # Safety
            /// IERROR is an INTEGER.
            #[unsafe(export_name = $symbol)]
            pub unsafe extern "C" fn $name(
                user: *mut c_void,
                datatype: *const c_int,
                count: *const $count,
                file: *mut c_void,
                position: *const i64,
                extra: *const i64,
                ierror: *mut c_int,
            ) {
                // SAFETY: the caller's promise.
                unsafe { no_conversion::$function(user, datatype, count, file, position, extra, ierror) }
            }
        )*
    };
}

conversions! {
    "__mpi_f08_callbacks_MOD_mpi_conversion_fn_null" conversion_null c_int: mpi_conversion_fn_null_;
    "__mpi_f08_callbacks_MOD_mpi_conversion_fn_null_c" conversion_null_c i64: mpi_conversion_fn_null_c_;
}

macro_rules! of_tools {
    ($($symbol:ident($($name:ident: $type:ty),*) $(-> $result:ty)?: $function:ident;)*) => {
        $(
            /// The function that a tool calls in `mpi_f08`.
            ///
            /// # Safety
            /// The arguments are the program's variables.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $symbol($($name: $type),*) $(-> $result)? {
                // SAFETY: the caller's promise.
                unsafe { values::$function($($name),*) }
            }
        )*
    };
}

of_tools! {
    pmpir_wtime_f08_() -> f64: pmpi_wtime_f08_;
    pmpir_wtick_f08_() -> f64: pmpi_wtick_f08_;
    pmpir_aint_add_f08_(base: *const i64, disp: *const i64) -> i64: pmpi_aint_add_f08_;
    pmpir_aint_diff_f08_(first: *const i64, second: *const i64) -> i64: pmpi_aint_diff_f08_;
    pmpir_pcontrol_f08_(level: *const c_int): pmpi_pcontrol_f08_;
}

/// `PMPI_F_sync_reg` of `mpi_f08`: only a call that the compiler cannot see through.
#[unsafe(no_mangle)]
pub extern "C" fn pmpir_f_sync_reg_f08ts_(_buffer: *const Descriptor) {}

/// # Safety
/// IERROR is an INTEGER, or null where it was left out.
unsafe fn done(ierror: *mut c_int) {
    // SAFETY: the caller's promise.
    if let Some(ierror) = unsafe { ierror.as_mut() } {
        *ierror = MPI_SUCCESS;
    }
}
