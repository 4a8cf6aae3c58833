//! The engine brings messages to their receives: matching, eager and rendezvous, ordering,
//! back-pressure, completion.
//!
//! The engine makes no system call and owns no clock: channels are handed to it, and its owner
//! calls [`Engine::progress`]. The simulator drives this very code.
//!
//! The methods of [`Engine`] are four families, used in this order. None of them waits.
//!
//! | family | methods | in |
//! | --- | --- | --- |
//! | **start** an operation: complete at once, or a [`RequestId`] | [`send`](Engine::send), [`receive`](Engine::receive), [`post`](Engine::post), [`receive_matched`](Engine::receive_matched); [`cancel`](Engine::cancel), [`forget`](Engine::forget) | `lib.rs`, `send.rs`, `receive.rs` |
//! | make **progress**: poll the channels, move protocols on | [`progress`](Engine::progress), [`progress_in_turn`](Engine::progress_in_turn); before sleep [`arm`](Engine::arm), [`disarm`](Engine::disarm); at the end [`is_quiet`](Engine::is_quiet), [`farewell`](Engine::farewell); for a lost peer [`give_up`](Engine::give_up) | `lib.rs`, `scheduler.rs` |
//! | **take** a completion, once | [`take`](Engine::take); [`take_known`](Engine::take_known) of a request that may not exist; [`take_plain`](Engine::take_plain) of one that ended as most do | `lib.rs`, `take.rs` |
//! | **look** without changing anything | [`probe`](Engine::probe), [`match_probe`](Engine::match_probe), [`is_pending`](Engine::is_pending), [`peek`](Engine::peek), [`pending_messages`](Engine::pending_messages), [`counters`](Engine::counters), [`describe`](Engine::describe) | `lib.rs`, `look.rs`, `pending.rs` |
//!
//! One-sided operations on the memory of peers (`one_sided.rs`) are started and taken alike. Beside
//! them stand the fast paths, `try_*` (`send.rs`, `direct_receive.rs`): each does a whole
//! call, or nothing.

mod arrival;
mod arrived;
mod cancel;
mod connections;
mod control;
mod counters;
mod describe;
mod direct_receive;
mod event;
mod failover;
mod fault;
mod foreign;
mod glanced;
mod homes;
mod look;
mod lost_peer;
#[cfg(doc)]
pub mod manual;
mod matching;
mod message;
mod one_sided;
mod outbox;
mod peer;
mod pending;
mod pool;
mod queue;
mod receive;
mod refusal;
mod rendezvous;
mod request;
mod requests;
mod revoke;
mod revoked;
mod routes;
mod scheduler;
mod send;
mod slab;
mod state;
mod take;
mod unexpected;
mod work;

use arrival::Arrivals;
use connections::ConnectionChoice;
pub use counters::{ChannelCounters, Counters};
pub use event::{Event, EventKind, Listener};
use glanced::Glanced;
pub use message::*;
pub use one_sided::{Motion, OneSidedId, PARTS_WAITING_MAX, Part, Refused, Shown};
use peer::PeerState;
pub use pending::{PendingMessage, PendingMessages, PendingOperation, PendingQueue};
pub use rendezvous::NodeKnowledge;
pub use revoke::LASTING_TAG;
pub use routes::RouteReport;
use scheduler::Scheduler;
pub use scheduler::{PERIOD_MAX, Polling, Scheme};
pub use send::LINE_BYTES_MAX;
use slab::Id;
use state::EngineState;
use std::time::Duration;
pub use take::{Plain, Taken};
use verbena_channel::mark::Mark;
use verbena_channel::{Access, Channel, Key, Peer};
use verbena_fault::Fault;
use verbena_memory::{Buffer, Region};
use verbena_wires::Wire;
use work::{Ended, PeerEvent};

/// Sends in motion that a call of progress moves on.
const MOVES_MAX: usize = 4;

/// The protocol engine of one process.
pub struct Engine {
    channels: Vec<Wire>,
    state: EngineState,
    schedule: Scheduler,
    /// The choice of connections; set where every peer can be reached with one and without.
    connections: Option<ConnectionChoice>,
}

impl Engine {
    /// An engine for process `me` of `size`, over these channels (in order of preference).
    pub fn new(me: Peer, size: u32, channels: Vec<Box<dyn Channel>>, settings: Settings) -> Engine {
        Engine::over(me, size, channels.into_iter().map(Wire::Other).collect(), settings)
    }

    /// Like [`Engine::new`], over channels as [`verbena_wires::registry`] opens them.
    pub fn over(me: Peer, size: u32, channels: Vec<Wire>, settings: Settings) -> Engine {
        let state = EngineState::new(me, size, channels.iter().map(|c| c.name()), settings.sound());
        let schedule = Scheduler::new(channels.iter().map(|c| (c.poll_cost(), c.shows())), settings.polling);
        let mut engine = Engine { channels, state, schedule, connections: None };
        engine.limit_connections();
        engine.note_glanced();
        engine
    }

    /// Tells the scheduler who may send over the channel that a glance shows, once it learns from
    /// messages.
    fn note_glanced(&mut self) {
        let Some(channel) = self.schedule.lacks_peers() else { return };
        let EngineState { me, size, peers, .. } = &self.state;
        let wire = &mut self.channels[channel];
        let all = wire.near().map_or_else(|| (0..*size).collect(), <[Peer]>::to_vec);
        let near = all.into_iter().filter(|peer| peer != me && wire.reach(*peer).is_some());
        let heard = |peer| peers.look(peer).map_or(0, |state| state.heard);
        self.schedule.note(Glanced::new(channel, near.map(|peer| (peer, heard(peer)))));
    }

    /// Starts a send.
    #[inline]
    pub fn send(&mut self, send: SendRequest) -> Posted {
        if self.send_now(&send) {
            return Posted::Done(request::sent(send.source, send.tag, send.buffer.len() as u64));
        }
        self.send_by_request(send)
    }

    /// Starts a receive.
    #[inline]
    pub fn receive(&mut self, receive: ReceiveRequest) -> Posted {
        self.receive_or_post(receive)
    }

    /// Polls every channel and moves protocols on, by a bounded amount. Returns whether anything
    /// happened.
    #[inline(always)]
    pub fn progress(&mut self) -> bool {
        self.round(true)
    }

    /// Like [`Engine::progress`], for a round of a wait, which is repeated at once if nothing
    /// happened: polls the channels whose turn it is (`scheduler.rs`).
    #[inline(always)]
    pub fn progress_in_turn(&mut self) -> bool {
        self.round(false)
    }

    #[inline(always)]
    fn round(&mut self, all: bool) -> bool {
        let mut events = 0;
        for index in 0..self.channels.len() {
            if !self.channels[index].is_silent() {
                events += self.poll(index, all);
            }
        }
        let moved = !self.state.work.is_empty() && self.work();
        events > 0 || moved
    }

    /// Takes in what a channel has. A channel that must be polled to know whether it has anything
    /// must have its turn, unless all are polled.
    #[inline(never)]
    fn poll(&mut self, index: usize, all: bool) -> usize {
        let shows = self.channels[index].shows();
        if !shows {
            if !self.schedule.is_due(index) && !all {
                return 0;
            }
            self.schedule.catch_up(&self.state.peers);
        }
        let mut sink = Arrivals { state: &mut self.state, channel: index };
        let events = self.channels[index].poll(&mut sink);
        if !shows {
            self.schedule.polled(index, events);
            if let Some(choice) = &mut self.connections
                && choice.is_due(events)
            {
                self.state.work.peer_events.push_back(PeerEvent::Review);
            }
        }
        events
    }

    /// Returns whether a command left something to be done by [`progress`](Engine::progress),
    /// whatever arrives.
    pub fn has_work(&self) -> bool {
        !self.state.work.is_empty()
    }

    /// Prepares for the owner's sleep: from now on whatever comes wakes it. The owner makes
    /// [`progress`](Engine::progress) once more before it sleeps. Returns for how long it may
    /// sleep.
    pub fn arm(&mut self) -> Duration {
        let polled = self.channels.iter_mut().filter(|channel| !matches!(channel, Wire::Memory(_)));
        polled.map(|channel| channel.arm()).min().unwrap_or(Duration::MAX)
    }

    /// The owner is awake again.
    pub fn disarm(&mut self) {
        self.channels.iter_mut().for_each(|channel| channel.disarm());
    }

    /// Asks to cancel. The request still completes, cancelled or not (MPI-5.0, 3.8.4).
    pub fn cancel(&mut self, request: RequestId) {
        self.cancel_request(request.into());
    }

    /// Forgets a request for which nobody will ask any more: it completes by itself
    /// (`MPI_Request_free`).
    pub fn forget(&mut self, request: RequestId) {
        let id = request.into();
        let Some(request) = self.state.requests.get_mut(id) else { return };
        request.forgotten = true;
        if request.is_over() {
            self.state.requests.remove(id);
        }
    }

    /// Receives a message that was taken out of matching (`MPI_Imrecv`); `mark` as in
    /// [`ReceiveRequest`].
    ///
    /// # Panics
    /// If the message was received already.
    pub fn receive_matched(&mut self, message: MessageId, mark: Mark, buffer: Buffer) -> Posted {
        let (key, arrived) = self.state.messages.remove(message.into()).expect("a message not yet received");
        self.consume(key, arrived, mark, buffer)
    }

    /// Returns whether nothing is left that needs `progress` on this side before the process may
    /// leave (queued packets, forgotten sends, packets that the channel knows to be on their way).
    pub fn is_quiet(&mut self) -> bool {
        let waits = |peer: &Peer| self.state.peers.look(*peer).is_some_and(|state| state.has_to_send());
        let idle = self.state.under_way == 0 && !self.state.work.outboxes.iter().any(waits);
        idle && !self.is_leaving_any() && self.channels.iter_mut().all(|channel| channel.is_quiet())
    }

    /// Leaves for good: every channel tells the others so. To be called, with progress between,
    /// until it returns `true` ([`Channel::farewell`]).
    pub fn farewell(&mut self) -> bool {
        // Each one is told, also after one that is not ready.
        self.channels.iter_mut().filter_map(|channel| (!channel.farewell()).then_some(())).count() == 0
    }

    /// Gives up a peer that the owner has learnt to be gone: everything under way with it fails
    /// with this fault, and so does every later send to it.
    pub fn give_up(&mut self, peer: Peer, fault: Fault) {
        let replaceable = |state: &PeerState| state.kept || state.losses.is_some();
        let moves = self.state.has_rendezvous(peer);
        if moves || self.state.peers.look(peer).is_some_and(replaceable) {
            // None of several channels is to wait for what the peer has to say to it, and none is
            // to move memory for ever.
            let homes = &self.state.homes;
            let its = |at: usize| homes.of_channel(at) == homes.of_peer(peer);
            let all = self.channels.iter_mut().enumerate().filter(|(at, _)| its(*at));
            all.filter_map(|(_, channel)| channel.failover())
                .for_each(|failover| failover.gone(peer, &fault));
        }
        self.state.break_peer(peer, fault);
        self.end_exposures();
    }

    /// Takes other settings, for what begins from now on. Those that decide the route to a peer
    /// apply to peers that were not met yet.
    pub fn configure(&mut self, settings: Settings) {
        self.state.settings = settings.sound();
        self.schedule.choose(settings.polling);
        self.note_glanced();
    }

    /// Sets how channels are polled where the settings leave it open ([`Scheme::Auto`]).
    pub fn poll_by_default(&mut self, scheme: Scheme) {
        self.schedule.set_default(scheme);
        self.schedule.choose(self.state.settings.polling);
        self.note_glanced();
    }

    /// Passes on the processes from which the program will receive most, in order.
    pub fn hint(&mut self, peers: &[Peer]) {
        let homes = &self.state.homes;
        for (at, channel) in self.channels.iter_mut().enumerate() {
            let its = peers.iter().filter(|peer| homes.of_peer(**peer) == homes.of_channel(at));
            channel.hint(&its.copied().collect::<Vec<Peer>>());
        }
    }

    /// The answer to a command that made this request.
    fn posted(&mut self, id: Id) -> Posted {
        match self.take(id.into()) {
            Some(completion) => Posted::Done(completion),
            None => Posted::Pending(id.into()),
        }
    }

    /// Does what arrivals asked for, by a bounded amount. Answers leave before memory is moved, so
    /// that the peer can work meanwhile.
    fn work(&mut self) -> bool {
        self.check_gaps();
        let mut moved = self.see_to_ways() | !self.state.work.begin.is_empty();
        while let Some(id) = self.state.work.begin.pop_front() {
            self.begin(id);
        }
        moved |= self.flush();
        // Receiving here comes before help for others.
        let may_help = self.state.incoming.len() == 0;
        if let Some(id) = self.state.work.pull.pop_front() {
            self.pull(id);
            moved = true;
        }
        moved |= self.push_some(may_help);
        moved |= self.flush();
        self.end_exposures();
        moved
    }

    /// Lets sends in motion move, up to a bound; those whose channel is full do not count.
    fn push_some(&mut self, may_help: bool) -> bool {
        let mut moves = 0;
        for _ in 0..self.state.work.push.len() {
            let Some(id) = self.state.work.push.pop_front() else { break };
            moves += self.push(id, may_help) as usize;
            if moves == MOVES_MAX {
                break;
            }
        }
        moves > 0
    }

    /// Shows memory to the peer on a channel; `None` if that cannot be.
    fn expose(&mut self, channel: usize, peer: Peer, region: Region, access: Access) -> Option<Key> {
        self.channels[channel].remote_memory()?.expose(peer, region, access)
    }

    /// Ends what [`expose`](Engine::expose) began.
    fn conceal(&mut self, channel: usize, peer: Peer, key: &Key) {
        self.channels[channel].remote_memory().expect("the channel that gave the key").conceal(peer, key);
    }

    fn end_exposures(&mut self) {
        while let Some((channel, peer, key)) = self.state.work.conceal.pop() {
            self.conceal(channel, peer, &key);
        }
        while let Some((channel, ended)) = self.state.work.ended.pop() {
            let made = "the channel that made it";
            match ended {
                Ended::Division(peer, division, is_settled) => {
                    let sharing = self.channels[channel].sharing().expect(made);
                    match is_settled {
                        true => sharing.forget_division(peer, division),
                        false => _ = sharing.end_division(peer, division),
                    }
                }
                Ended::Choice(choice) => {
                    self.channels[channel].remote_memory().expect(made).choice_ended(choice);
                }
            }
        }
    }

    /// A packet out of order is a fault if its channel promised order.
    fn check_gaps(&mut self) {
        while let Some(gap) = self.state.work.gaps.pop() {
            let channel = &mut self.channels[gap.channel];
            let moved = self.connections.is_some()
                || self.state.peers.look(gap.peer).is_some_and(|state| state.losses.is_some());
            // Earlier packets may still be on their way over the channel that was used until then.
            if !moved && channel.reach(gap.peer).is_none_or(|reach| reach.ordered) {
                let fault =
                    fault::out_of_order(self.state.me, gap.peer, channel.name(), gap.expected, gap.got);
                self.state.break_peer(gap.peer, fault);
            }
        }
    }
}
