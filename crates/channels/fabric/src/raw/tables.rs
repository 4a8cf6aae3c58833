//! Objects, and the tables of calls that they lead to. The library makes them all. A call that a
//! provider lacks may be missing (a null pointer), and is `None` here.

#![allow(non_camel_case_types, missing_docs)]

use super::Layout;
use super::structures::*;
use std::ffi::{c_char, c_int, c_void};
use std::mem::{offset_of, size_of};

/// A call that returns 0 or a negative error number.
type Call<A> = Option<A>;
/// A place of a table whose call is not used.
type Unused = *const c_void;

structures! { TABLES:
    begin fi_ops {
        size: usize,
        close: Call<unsafe extern "C" fn(*mut fid) -> c_int>,
        bind: Call<unsafe extern "C" fn(*mut fid, *mut fid, u64) -> c_int>,
        control: Call<unsafe extern "C" fn(*mut fid, c_int, *mut c_void) -> c_int>,
    }

    whole fid {
        fclass: usize,
        context: *mut c_void,
        ops: *mut fi_ops,
    }

    begin fi_ops_fabric {
        size: usize,
        domain: Call<unsafe extern "C" fn(*mut fid_fabric, *mut fi_info, *mut *mut fid_domain, *mut c_void) -> c_int>,
        passive_ep: Unused,
        eq_open: Unused,
        wait_open: Unused,
        trywait: Call<unsafe extern "C" fn(*mut fid_fabric, *mut *mut fid, c_int) -> c_int>,
    }

    begin fid_fabric {
        fid: fid,
        ops: *mut fi_ops_fabric,
        api_version: u32,
    }

    begin fi_ops_domain {
        size: usize,
        av_open: Call<unsafe extern "C" fn(*mut fid_domain, *mut fi_av_attr, *mut *mut fid_av, *mut c_void) -> c_int>,
        cq_open: Call<unsafe extern "C" fn(*mut fid_domain, *mut fi_cq_attr, *mut *mut fid_cq, *mut c_void) -> c_int>,
        endpoint: Call<unsafe extern "C" fn(*mut fid_domain, *mut fi_info, *mut *mut fid_ep, *mut c_void) -> c_int>,
    }

    begin fi_ops_mr {
        size: usize,
        reg: Call<unsafe extern "C" fn(*mut fid, *const c_void, usize, u64, u64, u64, u64, *mut *mut fid_mr, *mut c_void) -> c_int>,
    }

    begin fid_domain {
        fid: fid,
        ops: *mut fi_ops_domain,
        mr: *mut fi_ops_mr,
    }

    begin fid_mr {
        fid: fid,
        mem_desc: *mut c_void,
        key: u64,
    }

    begin fi_ops_av {
        size: usize,
        insert: Call<unsafe extern "C" fn(*mut fid_av, *const c_void, usize, *mut u64, u64, *mut c_void) -> c_int>,
    }

    begin fid_av {
        fid: fid,
        ops: *mut fi_ops_av,
    }

    begin fi_ops_cq {
        size: usize,
        read: Call<unsafe extern "C" fn(*mut fid_cq, *mut c_void, usize) -> isize>,
        readfrom: Call<unsafe extern "C" fn(*mut fid_cq, *mut c_void, usize, *mut u64) -> isize>,
        readerr: Call<unsafe extern "C" fn(*mut fid_cq, *mut fi_cq_err_entry, u64) -> isize>,
        sread: Unused,
        sreadfrom: Unused,
        signal: Unused,
        strerror: Call<unsafe extern "C" fn(*mut fid_cq, c_int, *const c_void, *mut c_char, usize) -> *const c_char>,
    }

    begin fid_cq {
        fid: fid,
        ops: *mut fi_ops_cq,
    }

    begin fi_ops_ep {
        size: usize,
        cancel: Call<unsafe extern "C" fn(*mut fid, *mut c_void) -> isize>,
        getopt: Unused,
        setopt: Call<unsafe extern "C" fn(*mut fid, c_int, c_int, *const c_void, usize) -> c_int>,
    }

    begin fi_ops_cm {
        size: usize,
        setname: Unused,
        getname: Call<unsafe extern "C" fn(*mut fid, *mut c_void, *mut usize) -> c_int>,
    }

    begin fi_ops_msg {
        size: usize,
        recv: Call<unsafe extern "C" fn(*mut fid_ep, *mut c_void, usize, *mut c_void, u64, *mut c_void) -> isize>,
        recvv: Unused,
        recvmsg: Call<unsafe extern "C" fn(*mut fid_ep, *const fi_msg, u64) -> isize>,
        send: Call<unsafe extern "C" fn(*mut fid_ep, *const c_void, usize, *mut c_void, u64, *mut c_void) -> isize>,
        sendv: Unused,
        sendmsg: Unused,
        inject: Call<unsafe extern "C" fn(*mut fid_ep, *const c_void, usize, u64) -> isize>,
    }

    begin fi_ops_rma {
        size: usize,
        read: Unused,
        readv: Unused,
        readmsg: Call<unsafe extern "C" fn(*mut fid_ep, *const fi_msg_rma, u64) -> isize>,
        write: Unused,
        writev: Unused,
        writemsg: Call<unsafe extern "C" fn(*mut fid_ep, *const fi_msg_rma, u64) -> isize>,
    }

    begin fid_ep {
        fid: fid,
        ops: *mut fi_ops_ep,
        cm: *mut fi_ops_cm,
        msg: *mut fi_ops_msg,
        rma: *mut fi_ops_rma,
    }
}
