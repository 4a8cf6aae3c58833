//! The work of a poll: completions, messages, answers owed, and a look at the clock now and then.

use super::OfiChannel;
use super::frame::{self, Frame, Kind};
use super::name::Name;
use super::sends::Slot;
use std::time::{Duration, Instant};
use verbena_channel::packet::{HEADER_BYTES, Header};
use verbena_channel::{Peer, Sink};
use verbena_fabric::{Completion, Failure};
use verbena_fault::Fault;
use verbena_memory::Region;

/// The most reads of the queue in one poll.
const READS_MAX: usize = 4;
/// The number of polls between two looks at the clock.
const POLLS_TO_CLOCK: u32 = 64;
/// The time between two looks at all peers.
const TEND_EVERY: Duration = Duration::from_millis(200);
/// After this long without being told what it took, a peer is asked: this shows whether it still
/// lives.
const UNTOLD_MAX: Duration = Duration::from_secs(1);
/// After this long without any message from a peer, it is asked.
const SILENT_MAX: Duration = Duration::from_secs(5);
/// The time after which a connection that is gone and was not made anew is lost. The provider makes
/// it anew by itself if the other process lives, whether or not that one is inside MPI.
const LOST_MAX: Duration = Duration::from_secs(3);

impl OfiChannel {
    pub(super) fn poll_all(&mut self, sink: &mut dyn Sink) -> usize {
        let mut events = 0;
        for _ in 0..READS_MAX {
            match self.take_completions(sink) {
                0 => break,
                taken => events += taken,
            }
        }
        self.polls = self.polls.wrapping_add(1);
        if self.polls.is_multiple_of(POLLS_TO_CLOCK) {
            self.look_at_clock();
        }
        if !self.owed.is_empty() {
            self.pay();
        }
        if self.memory.has_work() {
            self.advance_moves();
        }
        events + self.report(sink)
    }

    /// Takes some completions; returns how many there were.
    fn take_completions(&mut self, sink: &mut dyn Sink) -> usize {
        let mut batch = std::mem::take(&mut self.batch);
        batch.clear();
        let read = self.net.queue.read(&mut batch);
        batch.iter().for_each(|completion| self.complete(completion, sink));
        let taken = batch.len();
        self.batch = batch;
        match read {
            Ok(_) => taken,
            Err(failure) => {
                self.fail(&failure);
                taken + 1
            }
        }
    }

    fn complete(&mut self, completion: &Completion, sink: &mut dyn Sink) {
        match Name::of(completion.name) {
            Some(Name::Receive(at)) => {
                if let Some(message) = self.receives.message(at, completion) {
                    self.deliver(message, completion.source, sink);
                }
                if self.receives.is_back(completion.flags)
                    && let Err(fault) = self.receives.recycle(&mut self.net, at, completion.context)
                {
                    self.break_all(&fault);
                }
                return;
            }
            Some(Name::Send(slot)) => {
                self.landed(slot);
            }
            Some(Name::Move(at)) => self.piece_ended(at, None),
            None => return,
        }
        // SAFETY: taken for this operation, which is over.
        unsafe { self.net.contexts.give_back(completion.context) };
    }

    /// Notes that the provider is done with a message. Returns for whom it was.
    fn landed(&mut self, slot: Slot) -> Peer {
        let peer = self.sends.landed(slot);
        if let Some(link) = self.links.get(peer) {
            link.flying -= 1;
        }
        peer
    }

    /// The frame of a message, and the bytes behind it; `None` if it is a stranger's: it does not
    /// bear our token, which only this job's processes know, or comes from another end than that of
    /// the process that it names.
    fn open<'a>(&mut self, message: &'a [u8], from: Option<u64>) -> Option<(Frame, &'a [u8])> {
        let opened = Some(message).filter(|message| frame::bears(message, self.token)).and_then(Frame::parse);
        let known = opened.filter(|(frame, _)| {
            self.meet(frame.source).is_ok_and(|link| from.is_none_or(|from| from == link.address))
        });
        self.strangers += u64::from(known.is_none());
        known
    }

    /// Delivers a message: what it says of our packets, then the packet in it.
    fn deliver(&mut self, message: Region, from: Option<u64>, sink: &mut dyn Sink) {
        // SAFETY: the provider wrote it and is done with the buffer, until it is posted again after
        // this.
        let Some((frame, rest)) = self.open(unsafe { message.bytes() }, from) else { return };
        let peer = frame.source;
        let ack_every = (self.settings.window / 4).max(1) as u32;
        let link = self.links.get(peer).expect("met");
        if link.broken.is_some() {
            return self.deliver_late(&frame);
        }
        link.news = self.now;
        link.is_heard_of();
        let (before, now) = (link.untold.len(), self.now);
        for slot in link.take_told(frame.heard) {
            self.sends.taken(slot);
        }
        if link.untold.len() < before {
            link.gained = now;
        }
        match frame.kind {
            // It tells on its own, too, what it took.
            Kind::Ack => return self.take_answer(peer, frame.number),
            Kind::AckWanted => {
                link.questioned = frame.number;
                return self.owe(peer);
            }
            Kind::GivenUp => return self.break_link(peer, self.given_up(peer)),
            Kind::Packet => {}
        }
        if !link.hear(frame.number) && (self.is_ordered || link.has_strayed()) {
            return self.break_link(peer, self.cut(peer));
        }
        let owes = link.heard.wrapping_sub(link.told) >= ack_every;
        let header = rest.split_first_chunk::<HEADER_BYTES>();
        match header.and_then(|(header, payload)| Some((Header::parse(header)?, payload))) {
            Some((header, payload)) => sink.packet(peer, &header, payload),
            None => self.break_link(peer, self.nonsense(peer)),
        }
        if owes {
            self.owe(peer);
        }
    }

    /// Takes a message of a peer that is given up. One that asks may not know: nothing else may
    /// ever tell it, since the provider makes connections anew.
    #[cold]
    fn deliver_late(&mut self, frame: &Frame) {
        let (peer, number) = (frame.source, frame.number);
        match frame.kind {
            Kind::AckWanted => {
                self.links.get(peer).expect("met").questioned = number;
                self.say_given_up(peer);
            }
            Kind::Ack | Kind::GivenUp => self.take_answer(peer, number),
            Kind::Packet => {}
        }
    }

    /// Takes the answer of a peer to the question of this number, if it is one: it may lack packets
    /// for good, or pieces may be lost.
    fn take_answer(&mut self, peer: Peer, number: u32) {
        let link = self.links.get(peer).expect("met");
        let Some(question) = link.take_answer(number) else { return };
        if link.broken.is_none() && link.has_lost() {
            return self.break_link(peer, self.cut(peer));
        }
        let has_lost = self.memory.answered(peer, question);
        self.end_lost(peer, has_lost);
    }

    /// Gives a peer up whose pieces are lost, which ends their transfers. Over the Internet's
    /// protocols only: see [`super::memory`].
    fn end_lost(&mut self, peer: Peer, has_lost: bool) {
        if has_lost && self.net.offer().ip().is_some() {
            let fault = self.cut(peer);
            self.break_link(peer, fault.clone());
            self.memory.lose(peer, &fault);
        }
    }

    /// Asks a peer for an answer. If it cannot get one, that counts for pieces under way. A full
    /// queue of the provider, which may yet carry pieces of one that lives, does not.
    #[cold]
    fn question(&mut self, peer: Peer, is_gone: bool) {
        let is_silent = is_gone && self.memory.awaits_answer(peer);
        let is_asked = self.ask(peer, is_gone);
        if is_silent || !is_asked {
            let has_lost = self.memory.unanswered(peer);
            self.end_lost(peer, has_lost);
        }
    }

    /// Gives the peer of a failed operation up.
    #[cold]
    fn fail(&mut self, failure: &Failure) {
        match failure.name.and_then(Name::of) {
            Some(Name::Send(slot)) => {
                let peer = self.landed(slot);
                self.break_link(peer, self.failed(peer, failure.number, &failure.said));
            }
            Some(Name::Move(at)) => {
                if let Some(peer) = self.memory.peer_of(at) {
                    let fault = self.failed(peer, failure.number, &failure.said);
                    // Its bytes may land late, after they were written in another way: nothing may
                    // go there any more.
                    let lost = self.memory.is_write(at).then(|| fault.clone());
                    self.piece_ended(at, Some(fault));
                    if let Some(fault) = lost {
                        self.break_link(peer, fault);
                    }
                }
            }
            // A message that came torn, since its sender is gone: our own sends tell of that.
            Some(Name::Receive(at)) if self.receives.is_back(failure.flags) => {
                if let Err(fault) = self.receives.recycle(&mut self.net, at, failure.context) {
                    self.break_all(&fault);
                }
                return;
            }
            Some(Name::Receive(_)) | None if failure.number == libc::EAGAIN => return,
            Some(Name::Receive(_)) => return,
            None => {
                let fault = failure.fault("libfabric's completion queue failed", self.place.clone());
                return self.break_all(&fault);
            }
        }
        // SAFETY: taken for this operation, which is over.
        unsafe { self.net.contexts.give_back(failure.context) };
    }

    fn break_all(&mut self, fault: &Fault) {
        for at in 0..self.links.met() {
            let peer = self.links.met_at(at);
            let on = format!("{}; {}", self.ends(peer), fault.on);
            self.break_link(peer, Fault { on, ..fault.clone() });
        }
    }

    pub(super) fn look_at_clock(&mut self) {
        self.now = Instant::now();
        if self.now.duration_since(self.tended) < TEND_EVERY {
            return;
        }
        self.tended = self.now;
        for at in 0..self.links.met() {
            self.tend(self.links.met_at(at));
        }
        if let Err(fault) = self.receives.catch_up(&mut self.net) {
            self.break_all(&fault);
        }
    }

    /// Gives a peer up if nothing gets through to it, and asks it for an answer if it is silent, or
    /// if something is under way to it for long.
    fn tend(&mut self, peer: Peer) {
        let (now, moves) = (self.now, self.memory.is_busy_with(peer));
        let Some(link) = self.links.get(peer) else { return };
        if link.broken.is_some() {
            if moves && now.saturating_duration_since(link.asked) > UNTOLD_MAX {
                link.asked = now;
                let is_gone = link.is_gone;
                self.question(peer, is_gone);
            }
            return;
        }
        let since = |then: Instant| now.saturating_duration_since(then);
        let connect_max = if link.was_connected { LOST_MAX } else { self.settings.connect_max };
        let was_connected = link.was_connected;
        if let Some(refused) = link.refused_since.map(since).filter(|time| *time > connect_max) {
            let fault = if was_connected { self.cut(peer) } else { self.no_answer(peer, refused) };
            return self.break_link(peer, fault);
        }
        let waits = !link.untold.is_empty() && since(link.gained) > UNTOLD_MAX;
        let limit = if moves || waits { UNTOLD_MAX } else { SILENT_MAX };
        if (moves || waits || since(link.news) > limit) && since(link.asked) > limit {
            link.asked = now;
            self.question(peer, false);
        }
    }

    /// Gives the peer up; the next poll reports it. Only the first reason counts.
    #[cold]
    pub(super) fn break_link(&mut self, peer: Peer, fault: Fault) {
        let Some(link) = self.links.get(peer).filter(|link| link.broken.is_none()) else { return };
        link.broken = Some(Box::new(fault.clone()));
        for slot in std::mem::take(&mut link.untold) {
            let message = self.sends.message(slot);
            let packet = Frame::parse(&message.to_vec()).and_then(|(_, rest)| {
                let (header, payload) = rest.split_first_chunk::<HEADER_BYTES>()?;
                Some((Header::parse(header)?, payload.to_vec()))
            });
            self.links.get(peer).expect("met").undelivered.extend(packet);
            self.sends.taken(slot);
        }
        self.break_moves(peer, &fault);
        self.broken.push((peer, fault));
    }

    /// Reports the ends of transfers, and the peers that were lost.
    fn report(&mut self, sink: &mut dyn Sink) -> usize {
        let ended = self.memory.take_ended();
        let broken = std::mem::take(&mut self.broken);
        let events = ended.len() + broken.len();
        for (peer, fault) in broken {
            sink.broken(peer, fault);
        }
        for (token, outcome) in ended {
            sink.transferred(token, outcome);
        }
        events
    }
}
