//! Looks at what has come or ended, without changing it (but a probe may take a message out of
//! matching).

use crate::counters::{ChannelCounters, Counters};
use crate::matching::MatchKey;
use crate::request::{State, sent};
use crate::{ANY_SOURCE, Completion, Engine, Envelope, MessageId, RequestId};
use verbena_channel::Counts;
use verbena_channel::mark::Mark;

impl Engine {
    /// The first unexpected message that a receive with these arguments would match. Does not poll.
    pub fn probe(&mut self, context: u64, source: i32, tag: i32) -> Option<Envelope> {
        self.look(context, source, tag).map(|(_, envelope)| envelope)
    }

    /// The number of messages so far that came before their receive. While it stays the same, a
    /// probe that found nothing finds nothing.
    #[inline]
    pub fn held_messages(&self) -> u64 {
        self.state.held
    }

    /// The number of times that a peer was lost, told dead, or found alive after all, or a
    /// communicator revoked. While it stays the same there is no other [`Engine::loss`].
    #[inline]
    pub fn losses(&self) -> u64 {
        self.state.losses
    }

    /// Finds the first unexpected message with this context and tag, from any rank, whose mark is
    /// wanted. If there is none, nor any with another mark, this takes no longer than
    /// [`Engine::probe`], else as long as there are messages.
    pub fn find_marked(
        &mut self,
        context: u64,
        tag: i32,
        is_wanted: impl Fn(Mark) -> bool,
    ) -> Option<(Envelope, Mark)> {
        let asked = MatchKey { context, source: ANY_SOURCE, tag };
        self.state.unexpected.find(&asked)?;
        let mut all = self.state.unexpected.iter();
        let (key, arrived) = all.find(|(key, arrived)| asked.accepts(key) && is_wanted(arrived.mark))?;
        Some((Envelope { source: key.source, tag: key.tag, bytes: arrived.bytes }, arrived.mark))
    }

    /// Returns whether a message with such a mark is among those that no receive has asked for, in
    /// whatever context.
    #[cold]
    pub fn has_marked(&self, is_wanted: impl Fn(Mark) -> bool) -> bool {
        self.state.unexpected.iter().any(|(_, arrived)| is_wanted(arrived.mark))
    }

    /// Like [`probe`](Engine::probe), but takes the message out of matching (`MPI_Mprobe`).
    pub fn match_probe(&mut self, context: u64, source: i32, tag: i32) -> Option<(MessageId, Envelope)> {
        let (node, envelope) = self.look(context, source, tag)?;
        Some((self.take_out(node), envelope))
    }

    /// Like [`Engine::probe`]; if it finds nothing, once more after a round of progress.
    #[inline(always)]
    pub fn probe_or_progress(&mut self, context: u64, source: i32, tag: i32) -> Option<Envelope> {
        if self.state.unexpected.is_empty() {
            self.progress();
        }
        match self.state.unexpected.is_empty() {
            true => None,
            false => self.probe_again(context, source, tag),
        }
    }

    #[inline(never)]
    fn probe_again(&mut self, context: u64, source: i32, tag: i32) -> Option<Envelope> {
        if let Some(found) = self.probe(context, source, tag) {
            return Some(found);
        }
        self.progress();
        self.probe(context, source, tag)
    }

    pub(crate) fn look(&mut self, context: u64, source: i32, tag: i32) -> Option<(u32, Envelope)> {
        let node = self.state.unexpected.find(&MatchKey { context, source, tag })?;
        let key = self.state.unexpected.key(node);
        let bytes = self.state.unexpected.get(node).bytes;
        Some((node, Envelope { source: key.source, tag: key.tag, bytes }))
    }

    pub(crate) fn take_out(&mut self, node: u32) -> MessageId {
        let key = self.state.unexpected.key(node);
        let arrived = self.state.unexpected.remove(node);
        self.state.messages.insert((key, arrived)).into()
    }

    /// The generation of the request at this place of the table, if there is one.
    #[inline(always)]
    pub fn generation(&self, index: u32) -> Option<u32> {
        self.state.requests.generation(index)
    }

    /// Returns whether this request was made and its completion not taken yet.
    #[inline]
    pub fn contains(&self, request: RequestId) -> bool {
        self.state.requests.get(request.into()).is_some()
    }

    /// Returns whether nothing is under way, no receive waits, and no command left anything to do.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.state.under_way == 0 && !self.state.requests.has_posted() && self.state.work.is_empty()
    }

    /// Returns whether the request exists, has not ended, and is not in doubt.
    #[inline]
    pub fn is_pending(&self, request: RequestId) -> bool {
        let is_under_way = self.state.requests.get(request.into()).is_some_and(|request| !request.is_over());
        is_under_way && !(self.state.any_broken && self.is_in_doubt(request))
    }

    /// Returns whether this is a receive that may wait for ever ([`crate::Failure::InDoubt`]).
    #[cold]
    #[inline(never)]
    pub fn is_in_doubt(&self, request: RequestId) -> bool {
        self.state.doubt(request.into()).is_some()
    }

    /// The context of a message that was taken out of matching; `None` if there is none, or it was
    /// received.
    pub fn context_of_message(&self, message: MessageId) -> Option<u64> {
        self.state.messages.get(message.into()).map(|(key, _)| key.context)
    }

    /// The completion, left where it is; `None` while the request is under way and not in doubt.
    pub fn peek(&self, request: RequestId) -> Option<Completion> {
        let id = request.into();
        let request = self.state.requests.get(id)?;
        match &request.state {
            State::Received(bytes) => Some(sent(request.source, request.tag, *bytes)),
            State::Complete(completion) => Some(completion.clone()),
            _ => self.state.doubt(id),
        }
    }

    /// The matching context of a request.
    #[inline]
    pub fn context(&self, request: RequestId) -> Option<u64> {
        self.state.requests.get(request.into()).map(|request| request.context)
    }

    /// Returns counts of what the engine did so far, and the lengths of its queues.
    pub fn counters(&self) -> Counters {
        let state = &self.state;
        Counters {
            channels: self.channel_counters(),
            posted: state.requests.posted_len(),
            unexpected: state.unexpected.len(),
            requests: state.requests.len(),
            matching_steps: state.requests.steps() + state.unexpected.steps(),
            polling_updates: self.schedule.updates(),
            polling_calculations: self.schedule.calculations(),
            ..state.counts.clone()
        }
        .derived()
    }

    /// Returns the number of posted receives, of unexpected messages, and of the bytes that these
    /// hold.
    pub fn queues(&self) -> [usize; 3] {
        let state = &self.state;
        [state.requests.posted_len(), state.unexpected.len(), state.counts.unexpected_bytes]
    }

    /// Returns how often the update rate of the polling scheme had passed, and how often the
    /// periods were calculated anew then: two of [`Engine::counters`], without the others.
    pub fn polling_work(&self) -> [u64; 2] {
        [self.schedule.updates(), self.schedule.calculations()]
    }

    fn channel_counters(&self) -> Vec<ChannelCounters> {
        let mut counters = self.state.channel_counters();
        for (at, (counters, channel)) in counters.iter_mut().zip(&self.channels).enumerate() {
            (counters.looks, counters.look_ns) = (self.schedule.looks(at), self.schedule.look_ns(at));
            let Counts {
                registrations,
                strange_messages,
                polling_set,
                receives,
                datagrams,
                completions,
                cells,
            } = channel.counts();
            counters.completions = completions;
            counters.cells = cells;
            (counters.registrations, counters.strange_messages) = (registrations, strange_messages);
            (counters.polling_set, counters.receives, counters.datagrams) =
                (polling_set, receives, datagrams);
        }
        counters
    }

    /// Returns the highest marks of the unexpected messages, in messages and bytes, and restarts
    /// them from what is held now.
    pub fn take_peaks(&mut self) -> (usize, usize) {
        let counts = &mut self.state.counts;
        let peaks = (counts.unexpected_high, counts.unexpected_bytes_high);
        (counts.unexpected_high, counts.unexpected_bytes_high) =
            (self.state.unexpected.len(), counts.unexpected_bytes);
        peaks
    }

    /// Returns a line of text for each operation that is not complete and each message that nobody
    /// asked for.
    pub fn describe(&self) -> Vec<String> {
        self.state.describe()
    }
}
