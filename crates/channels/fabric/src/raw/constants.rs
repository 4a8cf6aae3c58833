//! The constants.

#![allow(missing_docs)]

macro_rules! constants {
    ($($name:ident = $value:expr;)*) => {
        $(pub const $name: u64 = $value;)*

        /// The constants, each with its name.
        pub const CONSTANTS: &[(&str, u64)] = &[$((stringify!($name), $name),)*];
    };
}

constants! {
    FI_MSG = 1 << 1;
    FI_RMA = 1 << 2;
    FI_READ = 1 << 8;
    FI_WRITE = 1 << 9;
    FI_RECV = 1 << 10;
    FI_SEND = 1 << 11;
    FI_REMOTE_READ = 1 << 12;
    FI_REMOTE_WRITE = 1 << 13;
    FI_MULTI_RECV = 1 << 16;
    FI_COMPLETION = 1 << 24;
    FI_DELIVERY_COMPLETE = 1 << 28;
    FI_SOURCE = 1 << 57;
    FI_LOCAL_COMM = 1 << 51;
    FI_REMOTE_COMM = 1 << 52;

    FI_CONTEXT = 1 << 59;
    FI_RX_CQ_DATA = 1 << 56;
    FI_CONTEXT2 = 1 << 52;

    FI_ORDER_SAS = 1 << 8;

    FI_MR_LOCAL = 1 << 2;
    FI_MR_VIRT_ADDR = 1 << 4;
    FI_MR_ALLOCATED = 1 << 5;
    FI_MR_PROV_KEY = 1 << 6;
    FI_MR_ENDPOINT = 1 << 9;

    FI_EP_RDM = 3;
    FI_AV_UNSPEC = 0;
    FI_AV_TABLE = 2;
    FI_THREAD_DOMAIN = 3;
    FI_RM_ENABLED = 2;
    FI_SOCKADDR = 1;
    FI_SOCKADDR_IN = 2;
    FI_SOCKADDR_IN6 = 3;

    FI_CQ_FORMAT_DATA = 3;
    FI_WAIT_NONE = 0;
    FI_WAIT_FD = 3;

    FI_GETWAIT = 5;
    FI_ENABLE = 6;
    FI_OPT_ENDPOINT = 0;
    FI_OPT_MIN_MULTI_RECV = 0;

    FI_ERRNO_OFFSET = 256;
    FI_EOTHER = 256;
    FI_ETOOSMALL = 257;
    FI_EOPBADSTATE = 258;
    FI_EAVAIL = 259;
    FI_EBADFLAGS = 260;
    FI_ENOEQ = 261;
    FI_EDOMAIN = 262;
    FI_ENOCQ = 263;
    FI_ECRC = 264;
    FI_ETRUNC = 265;
    FI_ENOKEY = 266;
    FI_ENOAV = 267;
    FI_EOVERRUN = 268;
    FI_ENORX = 269;
}
