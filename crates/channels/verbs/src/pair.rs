//! Queue pairs and their states: reset, initialised, ready to receive, ready to send (InfiniBand
//! specification, 10.3).

use crate::domain::{Path, ProtectionDomain};
use crate::explain::{check, errno, fault};
use crate::queues::{CompletionQueue, ReceiveBuffer, SharedReceiveQueue};
use crate::raw::{self, ibv_qp, ibv_qp_attr, ibv_qp_init_attr, ibv_send_wr};
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;
use verbena_fault::Fault;

/// The service that a queue pair offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// Reliable Connection.
    ReliableConnection,
    /// Unreliable Datagram.
    Datagram,
}

/// The plan of a new queue pair.
#[derive(Clone)]
pub struct Plan {
    /// The service.
    pub service: Service,
    /// The queue to which the ends of its work and of its receives go.
    pub completions: Arc<CompletionQueue>,
    /// The queue from which it takes receive buffers; `None` for one of its own.
    pub shared: Option<Arc<SharedReceiveQueue>>,
    /// The most work under way.
    pub work_max: u32,
    /// The most receive buffers posted; 0 with a shared queue.
    pub receives_max: u32,
    /// Bytes that a post may copy inline.
    pub inline_bytes_max: u32,
    /// The most segments of memory from which one piece of work takes its bytes, or into which a
    /// read puts them.
    pub segments_max: u32,
}

/// A queue pair.
pub struct QueuePair {
    domain: Arc<ProtectionDomain>,
    raw: NonNull<ibv_qp>,
    /// The objects that it was made with, which must outlive it.
    plan: Plan,
}

// SAFETY: libibverbs may be called from any thread, and several at once.
unsafe impl Send for QueuePair {}
// SAFETY: as above.
unsafe impl Sync for QueuePair {}

/// The terms of a connection on which both ends agree, and how patient this one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connection {
    /// The way to the other end.
    pub path: Path,
    /// The other end's queue pair.
    pub remote_pair: u32,
    /// The largest payload of a packet, by its number.
    pub mtu: u8,
    /// The first packet's number here, 24 bits.
    pub local_psn: u32,
    /// The first packet's number there.
    pub remote_psn: u32,
    /// RDMA reads that this end may have under way.
    pub reads_max: u8,
    /// RDMA reads of the other end that this one answers at once.
    pub answers_max: u8,
    /// The time after which a missing acknowledgement makes it send again: 4.096 us times two to
    /// this power; 0: never.
    pub ack_timeout: u8,
    /// The number of times that it sends again before giving up, 0 to 7.
    pub retries: u8,
    /// The number of times that it tries again while the peer has no receive buffer, 0 to 6; 7: for
    /// ever.
    pub receiver_retries: u8,
    /// Code of the time that a peer shall wait before it tries again when there is no buffer here,
    /// 0 to 31.
    pub receiver_timer: u8,
}

impl Connection {
    /// Returns the attributes of a queue pair that is to receive over this connection.
    fn receiving(&self) -> ibv_qp_attr {
        let mut attributes = ibv_qp_attr::zeroed();
        attributes.qp_state = raw::IBV_QPS_RTR;
        attributes.ah_attr = self.path.attributes();
        attributes.path_mtu = u32::from(self.mtu);
        attributes.dest_qp_num = self.remote_pair;
        attributes.rq_psn = self.remote_psn;
        attributes.max_dest_rd_atomic = self.answers_max;
        attributes.min_rnr_timer = self.receiver_timer;
        attributes
    }
}

impl QueuePair {
    /// Makes a new one, in the state reset.
    ///
    /// # Errors
    /// The error number: `EINVAL` or `ENOMEM` if the device cannot do what the plan says.
    pub fn new(domain: &Arc<ProtectionDomain>, plan: &Plan) -> Result<QueuePair, i32> {
        let mut wanted = ibv_qp_init_attr::zeroed();
        wanted.send_cq = plan.completions.raw();
        wanted.recv_cq = plan.completions.raw();
        wanted.srq = plan.shared.as_ref().map_or(null_mut(), |queue| queue.raw());
        wanted.cap.max_send_wr = plan.work_max;
        wanted.cap.max_recv_wr = plan.receives_max;
        wanted.cap.max_send_sge = plan.segments_max;
        wanted.cap.max_recv_sge = 1;
        wanted.cap.max_inline_data = plan.inline_bytes_max;
        wanted.qp_type = match plan.service {
            Service::ReliableConnection => raw::IBV_QPT_RC,
            Service::Datagram => raw::IBV_QPT_UD,
        };
        // SAFETY: domain and queues live, and the structure is filled in.
        let raw = unsafe { (domain.context().functions().ibv_create_qp)(domain.raw(), &mut wanted) };
        let raw = NonNull::new(raw).ok_or_else(errno)?;
        Ok(QueuePair { domain: Arc::clone(domain), raw, plan: plan.clone() })
    }

    /// Describes the failure to make one.
    pub fn refusal(domain: &ProtectionDomain, plan: &Plan, number: i32) -> Fault {
        let on = format!(
            "{}: {} pieces of work of {} segments, {} receive buffers, {} bytes inline",
            domain.context().name(),
            plan.work_max,
            plan.segments_max,
            plan.receives_max,
            plan.inline_bytes_max
        );
        fault("a queue pair cannot be made", on, number)
    }

    /// Returns its number on the device.
    #[inline]
    pub fn number(&self) -> u32 {
        // SAFETY: the queue pair lives.
        unsafe { self.raw.as_ref().qp_num }
    }

    fn modify(&self, attributes: &mut ibv_qp_attr, mask: u32, to: &str) -> Result<(), Fault> {
        let functions = self.domain.context().functions();
        // SAFETY: the queue pair lives, and the mask names the fields that are filled in.
        let code = unsafe { (functions.ibv_modify_qp)(self.raw.as_ptr(), attributes, mask as i32) };
        check(code, &format!("a queue pair cannot be made {to}"), || {
            format!("{}, queue pair {}", self.domain.context().name(), self.number())
        })
    }

    /// Initialises one of the Reliable Connection service: it takes receive buffers from now on,
    /// and peers may read and write registered memory through it once it is connected, and change
    /// it atomically if the device can.
    ///
    /// # Errors
    /// No such port or partition key.
    pub fn initialise(&self, port: u8, partition: u16) -> Result<(), Fault> {
        let mut attributes = ibv_qp_attr::zeroed();
        attributes.qp_state = raw::IBV_QPS_INIT;
        attributes.port_num = port;
        attributes.pkey_index = partition;
        attributes.qp_access_flags =
            raw::IBV_ACCESS_LOCAL_WRITE | raw::IBV_ACCESS_REMOTE_WRITE | raw::IBV_ACCESS_REMOTE_READ;
        if self.domain.context().has_atomics() {
            attributes.qp_access_flags |= raw::IBV_ACCESS_REMOTE_ATOMIC;
        }
        let mask = raw::IBV_QP_STATE | raw::IBV_QP_PKEY_INDEX | raw::IBV_QP_PORT | raw::IBV_QP_ACCESS_FLAGS;
        self.modify(&mut attributes, mask, "take receive buffers")
    }

    /// Connects one of the Reliable Connection service that is initialised: ready to receive and to
    /// send.
    ///
    /// # Errors
    /// The path leads nowhere, or a value is not the device's.
    pub fn connect(&self, to: &Connection) -> Result<(), Fault> {
        self.ready_to_receive(to)?;
        self.ready_to_send(to)
    }

    fn ready_to_receive(&self, to: &Connection) -> Result<(), Fault> {
        let mut attributes = to.receiving();
        let mask = raw::IBV_QP_STATE
            | raw::IBV_QP_AV
            | raw::IBV_QP_PATH_MTU
            | raw::IBV_QP_DEST_QPN
            | raw::IBV_QP_RQ_PSN
            | raw::IBV_QP_MAX_DEST_RD_ATOMIC
            | raw::IBV_QP_MIN_RNR_TIMER;
        let words = format!("ready to receive from {}, queue pair {}", to.path.far_end(), to.remote_pair);
        self.modify(&mut attributes, mask, &words)
    }

    fn ready_to_send(&self, to: &Connection) -> Result<(), Fault> {
        let mut attributes = ibv_qp_attr::zeroed();
        attributes.qp_state = raw::IBV_QPS_RTS;
        attributes.sq_psn = to.local_psn;
        attributes.max_rd_atomic = to.reads_max;
        attributes.timeout = to.ack_timeout;
        attributes.retry_cnt = to.retries;
        attributes.rnr_retry = to.receiver_retries;
        let mask = raw::IBV_QP_STATE
            | raw::IBV_QP_SQ_PSN
            | raw::IBV_QP_MAX_QP_RD_ATOMIC
            | raw::IBV_QP_TIMEOUT
            | raw::IBV_QP_RETRY_CNT
            | raw::IBV_QP_RNR_RETRY;
        self.modify(&mut attributes, mask, "ready to send")
    }

    /// Makes one of the datagram service ready to receive and to send.
    ///
    /// # Errors
    /// No such port or partition key.
    pub fn start_datagrams(&self, port: u8, partition: u16, q_key: u32, psn: u32) -> Result<(), Fault> {
        let mut attributes = ibv_qp_attr::zeroed();
        attributes.qp_state = raw::IBV_QPS_INIT;
        attributes.port_num = port;
        attributes.pkey_index = partition;
        attributes.qkey = q_key;
        let mask = raw::IBV_QP_STATE | raw::IBV_QP_PKEY_INDEX | raw::IBV_QP_PORT | raw::IBV_QP_QKEY;
        self.modify(&mut attributes, mask, "take datagrams")?;
        attributes.qp_state = raw::IBV_QPS_RTR;
        self.modify(&mut attributes, raw::IBV_QP_STATE, "ready to receive datagrams")?;
        attributes.qp_state = raw::IBV_QPS_RTS;
        attributes.sq_psn = psn;
        self.modify(&mut attributes, raw::IBV_QP_STATE | raw::IBV_QP_SQ_PSN, "ready to send datagrams")
    }

    /// Puts it into error: what is under way is flushed.
    ///
    /// # Errors
    /// The device is gone.
    pub fn break_off(&self) -> Result<(), Fault> {
        let mut attributes = ibv_qp_attr::zeroed();
        attributes.qp_state = raw::IBV_QPS_ERR;
        self.modify(&mut attributes, raw::IBV_QP_STATE, "stop")
    }

    /// Posts work.
    ///
    /// # Errors
    /// The error number: `ENOMEM` if the queue is full.
    ///
    /// # Safety
    /// The work's segments lie in memory that stays readable (writable, if it is read into) until
    /// the work is complete, or, if it is inline, until this returns; its lists are well formed.
    #[inline]
    pub unsafe fn post(&self, work: &mut ibv_send_wr) -> Result<(), i32> {
        // SAFETY: the caller's promise.
        unsafe { self.post_list(work) }.map_err(|(_, code)| code)
    }

    /// Posts a list of work, and tells the device once of all.
    ///
    /// # Errors
    /// The first work that was not taken, and the error number as for [`QueuePair::post`].
    ///
    /// # Safety
    /// The promise of [`QueuePair::post`], for the work pointed to and all that it links to, to the
    /// end of the list.
    #[inline]
    pub(crate) unsafe fn post_list(&self, first: *mut ibv_send_wr) -> Result<(), (*mut ibv_send_wr, i32)> {
        let mut refused = first;
        // SAFETY: the queue pair lives and every driver has the verb; the work is the caller's
        // promise.
        let code = unsafe {
            let post = self.raw.as_ref().context.as_ref().and_then(|context| context.ops.post_send);
            post.unwrap_unchecked()(self.raw.as_ptr(), first, &mut refused)
        };
        if code == 0 { Ok(()) } else { Err((refused, code)) }
    }

    /// Posts a receive buffer to the queue pair's own receive queue.
    ///
    /// # Errors
    /// The error number: `ENOMEM` if the queue is full, `EINVAL` if it has none.
    ///
    /// # Safety
    /// The device writes the buffer at any moment until its completion is taken.
    #[inline]
    pub unsafe fn post_receive(&self, buffer: &ReceiveBuffer) -> Result<(), i32> {
        if self.plan.shared.is_some() {
            return Err(libc::EINVAL);
        }
        // SAFETY: the queue pair lives and every driver has the verb.
        buffer.as_work(|work| unsafe {
            let post = self.raw.as_ref().context.as_ref().and_then(|context| context.ops.post_recv);
            post.unwrap_unchecked()(self.raw.as_ptr(), work, &mut null_mut())
        })
    }
}

impl Drop for QueuePair {
    fn drop(&mut self) {
        // SAFETY: made once, ended once. An error leaves nothing to be done.
        unsafe { (self.domain.context().functions().ibv_destroy_qp)(self.raw.as_ptr()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Gid;

    /// Paper 1, section 8: the quality of service is the path's, and the queue pair's through it.
    #[test]
    fn service_level_and_traffic_class_are_the_queue_pairs() {
        let path = |service_level, traffic_class| Path {
            port: 1,
            lid: 7,
            gid: Some((Gid([9; 16]), 3)),
            service_level,
            traffic_class,
        };
        let connection = |path| Connection {
            path,
            remote_pair: 5,
            mtu: 3,
            local_psn: 1,
            remote_psn: 2,
            answers_max: 1,
            reads_max: 1,
            receiver_timer: 1,
            ack_timeout: 14,
            retries: 7,
            receiver_retries: 7,
        };
        let of = |path| {
            let address = connection(path).receiving().ah_attr;
            (address.sl, address.grh.traffic_class)
        };
        assert_eq!([of(path(0, 0)), of(path(5, 96))], [(0, 0), (5, 96)]);
    }
}
