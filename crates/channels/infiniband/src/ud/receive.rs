//! Receiving: the static pool of posted buffers (paper 4, 4.1), and what comes in them.

use super::UdChannel;
use super::adapter::{Datagrams, Ended, GLOBAL_BYTES, Memory};
use super::farewell::Farewell;
use super::frame::{Frame, Kind, PREFIX_BYTES, read_bits};
use super::header::EncodedHeader;
use crate::device::{Failed, Refused};
use crate::reliable::assembly::Spot;
use crate::reliable::incoming::WORDS;
use crate::reliable::{Ack, SPAN, Turn};
use verbena_channel::{Peer, Sink};
use verbena_fault::Fault;
use verbena_memory::LINE_BYTES;

/// Returns the bytes from one receive buffer to the next.
#[inline]
fn receive_stride(datagram_bytes_max: usize) -> usize {
    (GLOBAL_BYTES + datagram_bytes_max).next_multiple_of(LINE_BYTES)
}

/// The most completions handled per poll.
const COMPLETIONS_MAX: usize = 64;
/// The groups of a peer that are kept though fragments are missing, without reliability.
const PARTIALS_MAX: usize = SPAN as usize - 1;

impl<A: Datagrams> UdChannel<A> {
    /// Posts the whole pool.
    pub(super) fn post_pool(&mut self) -> Result<(), Fault> {
        for id in 0..self.receives as u32 {
            match self.post_receive(id) {
                Ok(()) => {}
                Err(Refused::Full) => break,
                Err(Refused::Broken(fault)) => return Err(fault),
            }
        }
        Ok(())
    }

    /// Allocates memory for a pool of `receives` buffers. The datagram of each begins a line of the
    /// processor's cache, since the device wrote it on another core, and each line has to be
    /// fetched from there.
    pub(super) fn allocate_pool(adapter: &mut A, receives: usize) -> Result<Memory, Fault> {
        let stride = receive_stride(adapter.limits().datagram_bytes_max);
        let memory = adapter.allocate(receives * stride + LINE_BYTES)?;
        let first = memory.region.address() as usize + GLOBAL_BYTES;
        let offset = first.next_multiple_of(LINE_BYTES) - first;
        Ok(Memory { region: memory.region.part(offset, receives * stride), ..memory })
    }

    #[inline]
    pub(super) fn receive_buffer(&self, id: u32) -> Memory {
        let datagram = self.limits.datagram_bytes_max;
        let at = id as usize * receive_stride(datagram);
        Memory { region: self.pool.region.part(at, GLOBAL_BYTES + datagram), ..self.pool }
    }

    fn post_receive(&mut self, id: u32) -> Result<(), Refused> {
        let into = self.receive_buffer(id);
        self.adapter.post_receive(id, into)
    }

    /// Takes completions: datagrams that arrived, and work that was done or failed.
    pub(super) fn poll_completions(&mut self, sink: &mut dyn Sink) -> usize {
        let mut now_ns = None;
        for handled in 0..COMPLETIONS_MAX {
            let ended = self.waiting.take().or_else(|| self.adapter.poll());
            let Some(ended) = ended else { return handled };
            let now_ns = *now_ns.get_or_insert_with(|| self.adapter.now_ns());
            match ended {
                Ended::Received(id, bytes) => {
                    self.received(id, bytes as usize, now_ns, sink);
                    self.emptied(id);
                }
                Ended::Sent(queue) => {
                    self.queues.completed(queue, now_ns, &mut self.done);
                    self.done.drain(..).for_each(|buffer| self.buffers.done(buffer));
                }
                Ended::SendFailed(queue, failed) => {
                    let fault = self.work_failed(failed);
                    self.queue_failed(queue, fault);
                }
                Ended::ReceiveFailed(_, failed) => {
                    let fault = self.work_failed(failed);
                    self.break_all(fault);
                }
            }
        }
        COMPLETIONS_MAX
    }

    /// Notes that a receive buffer is empty again.
    #[inline]
    pub(super) fn emptied(&mut self, id: u32) {
        self.emptied.push(id);
        // Senders count on half of the pool.
        if self.emptied.len() >= self.receives / 4 {
            self.repost();
        }
    }

    /// Posts emptied buffers anew. Places are free for all of them, so only a broken queue refuses.
    pub(super) fn repost(&mut self) {
        while let Some(id) = self.emptied.pop() {
            if let Err(Refused::Broken(fault)) = self.post_receive(id) {
                self.break_all(fault);
            }
        }
    }

    #[cold]
    fn work_failed(&self, failed: Failed) -> Fault {
        Fault::new(
            format!("a queue pair for datagrams failed: {failed:?}"),
            self.adapter.place(),
            "the device or the kernel driver put it into error; the kernel's log may say why",
            "look at dmesg and rdma link; choose another device with VERBENA_RC_DEVICE",
        )
    }

    /// Takes in the datagram in this buffer. One that is not of this job, or garbled, counts as
    /// lost.
    fn received(&mut self, id: u32, bytes: usize, now_ns: u64, sink: &mut dyn Sink) {
        let region = self.receive_buffer(id).region;
        let Some(len) = bytes.checked_sub(GLOBAL_BYTES) else { return };
        let datagram = region.part(GLOBAL_BYTES, len);
        // SAFETY: the device wrote it and is done with the buffer, until it is posted again below.
        let datagram = unsafe { datagram.bytes() };
        let Some(frame) = Frame::parse(datagram, self.settings.checksum) else {
            self.counts.garbled += 1;
            return;
        };
        if !frame.is_for(self.me) || frame.from == self.me {
            return;
        }
        let most = self.limits.datagram_bytes_max;
        let Some(partner) = self.peers.meet(frame.from, most, &self.settings.rules) else { return };
        if partner.broken.is_some() {
            return;
        }
        let body = &datagram[PREFIX_BYTES..];
        if self.settings.reliable && frame.kind == Kind::Fragment {
            // Packets that came are handed on first: the program may wait for them.
            partner.put_by(&frame, now_ns, &mut self.unread);
            return self.fragment(&frame, body, now_ns, sink);
        }
        if self.settings.reliable {
            let bits = if frame.kind == Kind::Ack { read_bits(body) } else { [0; WORDS] };
            let ack = Ack { next: frame.next, bits, delay_ns: frame.delay.ns() };
            self.hear(frame.from, &ack, now_ns);
        }
        match frame.kind {
            Kind::Fragment => self.fragment(&frame, body, now_ns, sink),
            Kind::Bare => self.bare(&frame, body, sink),
            Kind::Bye => self.bye(frame.from, frame.answer, now_ns),
            Kind::Ack => {}
        }
        self.arm(frame.from);
    }

    /// Looks at the acknowledgements that came with fragments, and does what these call for.
    pub(super) fn read_acks(&mut self) {
        while let Some(peer) = self.unread.pop() {
            let Some(partner) = self.peers.get(peer) else { continue };
            let Some(unread) = partner.unread.take().filter(|_| partner.broken.is_none()) else { continue };
            let ack = Ack { next: unread.next, bits: [0; WORDS], delay_ns: unread.delay.ns() };
            self.hear(peer, &ack, unread.at_ns);
            self.arm(peer);
        }
    }

    /// Takes in an acknowledgement that came at that time.
    fn hear(&mut self, peer: Peer, ack: &Ack, at_ns: u64) {
        let Some(partner) = self.peers.get(peer) else { return };
        let outgoing = &mut partner.link.outgoing;
        outgoing.heard(at_ns);
        if outgoing.is_idle() {
            return;
        }
        outgoing.acknowledged(&self.settings.rules, ack, at_ns, &mut self.done);
        let more = outgoing.is_due();
        self.done.drain(..).for_each(|buffer| self.buffers.arrived(buffer));
        if more {
            let now_ns = self.adapter.now_ns();
            self.pump(peer, now_ns);
        }
    }

    /// Takes in a fragment with a number: delivered once, whatever the order.
    fn fragment(&mut self, frame: &Frame, body: &[u8], now_ns: u64, sink: &mut dyn Sink) {
        let Some(partner) = self.peers.get(frame.from) else { return };
        if partner.farewell == Farewell::Gone || frame.index >= frame.count {
            return;
        }
        if partner.link.incoming.take(frame.number, now_ns) != Turn::Fresh {
            self.counts.doubles += 1;
            return;
        }
        if frame.count == 1 {
            partner.link.completed(&self.settings.rules, 1, frame.wanted, now_ns);
            return self.deliver(frame.from, body, sink);
        }
        let spot = spot(frame, partner.fragment_bytes);
        let whole = partner.link.assembly.put(spot, body);
        if whole.is_some() || frame.wanted {
            let count = if whole.is_some() { spot.count } else { 0 };
            partner.link.completed(&self.settings.rules, count, frame.wanted, now_ns);
        }
        if let Some(whole) = whole {
            self.deliver(frame.from, &whole, sink);
        }
    }

    /// Takes in a fragment that nobody acknowledges.
    fn bare(&mut self, frame: &Frame, body: &[u8], sink: &mut dyn Sink) {
        if frame.count == 1 {
            return self.deliver(frame.from, body, sink);
        }
        let Some(partner) = self.peers.get(frame.from) else { return };
        let spot = spot(frame, partner.fragment_bytes);
        let whole = partner.link.assembly.put(spot, body);
        partner.link.assembly.keep_newest(PARTIALS_MAX);
        if let Some(whole) = whole {
            self.deliver(frame.from, &whole, sink);
        }
    }

    /// Hands a packet to the engine.
    fn deliver(&mut self, peer: Peer, bytes: &[u8], sink: &mut dyn Sink) {
        match EncodedHeader::parse(bytes) {
            Ok((header, payload)) => sink.packet(peer, &header, payload),
            Err(what) => self.break_nonsense(peer, what),
        }
    }

    #[cold]
    fn break_nonsense(&mut self, peer: Peer, what: &str) {
        let fault = self.nonsense(peer, what);
        self.break_off(peer, fault);
    }
}

fn spot(frame: &Frame, fragment_bytes: u16) -> Spot {
    let (index, count) = (u32::from(frame.index), u32::from(frame.count));
    let first = frame.number.wrapping_sub(index);
    Spot { first, index, count, fragment_bytes: usize::from(fragment_bytes) }
}
