//! The sending end towards one peer: its ring, made at the first packet.

use super::control::{Control, RING_EXTRA_BYTES};
use super::division;
use super::mapped::{MappedRing, RING_LOG2_MIN};
use super::ring::{Producer, lines_for, payload_bytes_max};
use crate::packet::{HEADER_BYTES, Header};
use crate::wait::bell::Bell;
use crate::{Division, End, Fault, Payload, Peer};
use std::ptr::NonNull;
use std::sync::atomic::Ordering::*;

/// A ring towards a peer.
#[derive(Debug)]
pub(super) struct Outgoing {
    ring: MappedRing,
    producer: Producer,
    /// The peer's doorbell, in the segment that the channel keeps mapped.
    bell: NonNull<Bell>,
    /// This process is not registered for the sleepers' barrier.
    fence_always: bool,
}

// SAFETY: the doorbell is made of atomics and stays mapped as long as the channel that holds this.
unsafe impl Send for Outgoing {}

impl Outgoing {
    /// Writes one packet; false if the ring is full.
    #[inline]
    pub(super) fn send(&mut self, header: &Header, payload: Payload<'_>) -> bool {
        let payload_bytes = payload.len();
        let Some(claim) = self.producer.claim(&self.ring, lines_for(payload_bytes)) else { return false };
        // SAFETY: these lines were claimed just now.
        let record = unsafe { self.ring.record_mut(claim.line, payload_bytes) };
        let (head, body) = record.split_at_mut(HEADER_BYTES);
        head.copy_from_slice(&header.emit());
        payload.copy_to(body);
        self.producer.commit(&self.ring, claim, payload_bytes);
        // SAFETY: see the field.
        unsafe { self.bell.as_ref() }.notify(self.fence_always);
        true
    }

    /// Takes a part of a message that the peer has divided, from the back.
    pub(super) fn take_part(&self, division: Division) -> Option<u32> {
        division::take_part(&self.ring, division, End::Back)
    }

    /// Makes the ring from `me` to `to` (ranks on the node): room from the pool, pages reserved, offset
    /// published, receiver told. Where memory is short the ring is smaller, as long as a packet fits.
    pub(super) fn make(
        control: &Control,
        me: u32,
        to: u32,
        packet_bytes_max: usize,
        fence_always: bool,
    ) -> Result<Outgoing, std::io::Error> {
        let full = || std::io::Error::from_raw_os_error(libc::ENOSPC);
        let offset = control.take_ring().ok_or_else(full)?;
        let log2 = reserve_ring(control, offset, packet_bytes_max)?;
        let ring = MappedRing::at(control, offset, log2).ok_or_else(full)?;
        control.ring_word(to, me).store(offset as u64 | u64::from(log2), Release);
        let desk = control.desk(to);
        desk.announced.fetch_add(1, Release);
        Ok(Outgoing { producer: Producer::new(&ring), ring, bell: NonNull::from(&desk.bell), fence_always })
    }
}

fn reserve_ring(control: &Control, offset: usize, packet_bytes_max: usize) -> Result<u32, std::io::Error> {
    let mut log2 = control.measures().ring_log2;
    loop {
        match control.segment().reserve(offset, RING_EXTRA_BYTES + (1 << log2)) {
            Ok(()) => return Ok(log2),
            Err(_) if log2 > RING_LOG2_MIN && payload_bytes_max(1 << (log2 - 1)) >= packet_bytes_max => {
                log2 -= 1
            }
            Err(e) => return Err(e),
        }
    }
}

/// The fault for a ring that could not be made.
pub(super) fn no_ring(control: &Control, to: Peer, error: &std::io::Error) -> Fault {
    let bytes = RING_EXTRA_BYTES + (1 << control.measures().ring_log2);
    Fault {
        what: format!("no memory for a ring of {bytes} bytes, nor for a smaller one: {error}"),
        on: format!("shared memory towards process {to}"),
        cause: "the machine, or the memory limit of the cgroup (container), has no pages left".into(),
        remedy: "give the container more memory, start fewer ranks, or set VERBENA_SHM_RING_BYTES lower"
            .into(),
    }
}
