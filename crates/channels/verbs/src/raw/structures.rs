//! The structures. `whole` ones are declared to their end, since the library fills them or is
//! handed them. Of a `begin` only the first fields are declared, and it is never made or moved
//! here.

#![allow(non_camel_case_types, missing_docs)]

use super::Layout;
use std::ffi::{c_char, c_int, c_void};
use std::mem::{offset_of, size_of};

macro_rules! structures {
    ($($(#[$attribute:meta])* $extent:ident $name:ident = $c_type:literal { $($field:ident: $type:ty,)* })*) => {
        $(
            $(#[$attribute])*
            #[repr(C)]
            #[derive(Clone, Copy)]
            pub struct $name { $(pub $field: $type,)* }

            impl $name {
                /// Returns all bytes zero, which is a value of each of these structures.
                pub fn zeroed() -> $name {
                    // SAFETY: integers, nullable pointers and optional functions: zero is valid for
                    // each.
                    unsafe { std::mem::zeroed() }
                }
            }
        )*

        /// The layouts of the declared structures.
        pub const LAYOUTS: &[Layout] = &[$(Layout {
            c_type: $c_type,
            size: extent!($extent $name),
            alignment: align_of::<$name>(),
            fields: &[$((stringify!($field), offset_of!($name, $field), size_of::<$type>()),)*],
        },)*];
    };
}

macro_rules! extent {
    (whole $name:ident) => {
        Some(size_of::<$name>())
    };
    (begin $name:ident) => {
        None
    };
}

structures! {
    /// The union has 64-bit members.
    #[repr(align(8))]
    whole ibv_gid = "union ibv_gid" {
        raw: [u8; 16],
    }

    whole ibv_device_attr = "struct ibv_device_attr" {
        fw_ver: [c_char; 64],
        node_guid: u64,
        sys_image_guid: u64,
        max_mr_size: u64,
        page_size_cap: u64,
        vendor_id: u32,
        vendor_part_id: u32,
        hw_ver: u32,
        max_qp: c_int,
        max_qp_wr: c_int,
        device_cap_flags: u32,
        max_sge: c_int,
        max_sge_rd: c_int,
        max_cq: c_int,
        max_cqe: c_int,
        max_mr: c_int,
        max_pd: c_int,
        max_qp_rd_atom: c_int,
        max_ee_rd_atom: c_int,
        max_res_rd_atom: c_int,
        max_qp_init_rd_atom: c_int,
        max_ee_init_rd_atom: c_int,
        atomic_cap: u32,
        max_ee: c_int,
        max_rdd: c_int,
        max_mw: c_int,
        max_raw_ipv6_qp: c_int,
        max_raw_ethy_qp: c_int,
        max_mcast_grp: c_int,
        max_mcast_qp_attach: c_int,
        max_total_mcast_qp_attach: c_int,
        max_ah: c_int,
        max_fmr: c_int,
        max_map_per_fmr: c_int,
        max_srq: c_int,
        max_srq_wr: c_int,
        max_srq_sge: c_int,
        max_pkeys: u16,
        local_ca_ack_delay: u8,
        phys_port_cnt: u8,
    }

    whole ibv_port_attr = "struct ibv_port_attr" {
        state: u32,
        max_mtu: u32,
        active_mtu: u32,
        gid_tbl_len: c_int,
        port_cap_flags: u32,
        max_msg_sz: u32,
        bad_pkey_cntr: u32,
        qkey_viol_cntr: u32,
        pkey_tbl_len: u16,
        lid: u16,
        sm_lid: u16,
        lmc: u8,
        max_vl_num: u8,
        sm_sl: u8,
        subnet_timeout: u8,
        init_type_reply: u8,
        active_width: u8,
        active_speed: u8,
        phys_state: u8,
        link_layer: u8,
        flags: u8,
        port_cap_flags2: u16,
    }

    /// `element` is a pointer to what the event is about, or the port's number, by `event_type`.
    whole ibv_async_event = "struct ibv_async_event" {
        element: *mut c_void,
        event_type: u32,
    }

    whole ibv_wc = "struct ibv_wc" {
        wr_id: u64,
        status: u32,
        opcode: u32,
        vendor_err: u32,
        byte_len: u32,
        imm_data: u32,
        qp_num: u32,
        src_qp: u32,
        wc_flags: u32,
        pkey_index: u16,
        slid: u16,
        sl: u8,
        dlid_path_bits: u8,
    }

    whole ibv_global_route = "struct ibv_global_route" {
        dgid: ibv_gid,
        flow_label: u32,
        sgid_index: u8,
        hop_limit: u8,
        traffic_class: u8,
    }

    whole ibv_ah_attr = "struct ibv_ah_attr" {
        grh: ibv_global_route,
        dlid: u16,
        sl: u8,
        src_path_bits: u8,
        static_rate: u8,
        is_global: u8,
        port_num: u8,
    }

    whole ibv_srq_attr = "struct ibv_srq_attr" {
        max_wr: u32,
        max_sge: u32,
        srq_limit: u32,
    }

    whole ibv_srq_init_attr = "struct ibv_srq_init_attr" {
        srq_context: *mut c_void,
        attr: ibv_srq_attr,
    }

    whole ibv_qp_cap = "struct ibv_qp_cap" {
        max_send_wr: u32,
        max_recv_wr: u32,
        max_send_sge: u32,
        max_recv_sge: u32,
        max_inline_data: u32,
    }

    whole ibv_qp_init_attr = "struct ibv_qp_init_attr" {
        qp_context: *mut c_void,
        send_cq: *mut ibv_cq,
        recv_cq: *mut ibv_cq,
        srq: *mut ibv_srq,
        cap: ibv_qp_cap,
        qp_type: u32,
        sq_sig_all: c_int,
    }

    whole ibv_qp_attr = "struct ibv_qp_attr" {
        qp_state: u32,
        cur_qp_state: u32,
        path_mtu: u32,
        path_mig_state: u32,
        qkey: u32,
        rq_psn: u32,
        sq_psn: u32,
        dest_qp_num: u32,
        qp_access_flags: u32,
        cap: ibv_qp_cap,
        ah_attr: ibv_ah_attr,
        alt_ah_attr: ibv_ah_attr,
        pkey_index: u16,
        alt_pkey_index: u16,
        en_sqd_async_notify: u8,
        sq_draining: u8,
        max_rd_atomic: u8,
        max_dest_rd_atomic: u8,
        min_rnr_timer: u8,
        port_num: u8,
        timeout: u8,
        retry_cnt: u8,
        rnr_retry: u8,
        alt_port_num: u8,
        alt_timeout: u8,
        rate_limit: u32,
    }

    whole ibv_sge = "struct ibv_sge" {
        addr: u64,
        length: u32,
        lkey: u32,
    }

    /// The destination of an RDMA operation.
    whole ibv_rdma_target = "__typeof__(((struct ibv_send_wr *)0)->wr.rdma)" {
        remote_addr: u64,
        rkey: u32,
    }

    /// The destination and the operands of an atomic operation.
    whole ibv_atomic_target = "__typeof__(((struct ibv_send_wr *)0)->wr.atomic)" {
        remote_addr: u64,
        compare_add: u64,
        swap: u64,
        rkey: u32,
    }

    /// The destination of a datagram.
    whole ibv_datagram_target = "__typeof__(((struct ibv_send_wr *)0)->wr.ud)" {
        ah: *mut ibv_ah,
        remote_qpn: u32,
        remote_qkey: u32,
    }

    whole ibv_send_wr = "struct ibv_send_wr" {
        wr_id: u64,
        next: *mut ibv_send_wr,
        sg_list: *mut ibv_sge,
        num_sge: c_int,
        opcode: u32,
        send_flags: u32,
        imm_data: u32,
        wr: ibv_target,
        _rest: [u64; 7],
    }

    whole ibv_recv_wr = "struct ibv_recv_wr" {
        wr_id: u64,
        next: *mut ibv_recv_wr,
        sg_list: *mut ibv_sge,
        num_sge: c_int,
    }

    begin ibv_mr = "struct ibv_mr" {
        context: *mut ibv_context,
        pd: *mut ibv_pd,
        addr: *mut c_void,
        length: usize,
        handle: u32,
        lkey: u32,
        rkey: u32,
    }

    begin ibv_pd = "struct ibv_pd" {
        context: *mut ibv_context,
    }

    begin ibv_ah = "struct ibv_ah" {
        context: *mut ibv_context,
    }

    begin ibv_srq = "struct ibv_srq" {
        context: *mut ibv_context,
    }

    begin ibv_cq = "struct ibv_cq" {
        context: *mut ibv_context,
        channel: *mut c_void,
        cq_context: *mut c_void,
        handle: u32,
        cqe: c_int,
    }

    begin ibv_qp = "struct ibv_qp" {
        context: *mut ibv_context,
        qp_context: *mut c_void,
        pd: *mut ibv_pd,
        send_cq: *mut ibv_cq,
        recv_cq: *mut ibv_cq,
        srq: *mut ibv_srq,
        handle: u32,
        qp_num: u32,
        state: u32,
        qp_type: u32,
    }

    /// The verbs that `verbs.h` defines inline call these.
    whole ibv_context_ops = "struct ibv_context_ops" {
        _before_poll_cq: [*mut c_void; 11],
        poll_cq: Option<unsafe extern "C" fn(*mut ibv_cq, c_int, *mut ibv_wc) -> c_int>,
        req_notify_cq: Option<unsafe extern "C" fn(*mut ibv_cq, c_int) -> c_int>,
        _before_post_srq_recv: [*mut c_void; 7],
        post_srq_recv: Option<unsafe extern "C" fn(*mut ibv_srq, *mut ibv_recv_wr, *mut *mut ibv_recv_wr) -> c_int>,
        _before_post_send: [*mut c_void; 4],
        post_send: Option<unsafe extern "C" fn(*mut ibv_qp, *mut ibv_send_wr, *mut *mut ibv_send_wr) -> c_int>,
        post_recv: Option<unsafe extern "C" fn(*mut ibv_qp, *mut ibv_recv_wr, *mut *mut ibv_recv_wr) -> c_int>,
        _after_post_recv: [*mut c_void; 5],
    }

    begin ibv_context = "struct ibv_context" {
        device: *mut ibv_device,
        ops: ibv_context_ops,
        cmd_fd: c_int,
        async_fd: c_int,
    }

    begin ibv_comp_channel = "struct ibv_comp_channel" {
        context: *mut ibv_context,
        fd: c_int,
        refcnt: c_int,
    }

    begin ibv_device = "struct ibv_device" {
        _ops: [*mut c_void; 2],
        node_type: c_int,
        transport_type: c_int,
    }
}

/// The destination of the work of a send queue, by its operation.
#[repr(C)]
#[derive(Clone, Copy)]
pub union ibv_target {
    pub rdma: ibv_rdma_target,
    pub atomic: ibv_atomic_target,
    pub ud: ibv_datagram_target,
    _all: [u64; 4],
}
