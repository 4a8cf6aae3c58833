//! The engine's state without its channels, so that a channel can deliver packets into it while it
//! is polled.
//!
//! What needs a channel (answers, transfers of memory) is noted here and done by [`crate::Engine`]
//! after the poll.

use crate::arrived::Arrived;
use crate::control::{Control, Memory};
use crate::counters::{ChannelCounters, Counters};
use crate::event::{Event, EventKind, Listener};
use crate::homes::Homes;
use crate::matching::MatchKey;
use crate::one_sided::OneSided;
use crate::peer::{Early, Peers, Waiting};
use crate::pool::Pool;
use crate::queue::Queue;
use crate::rendezvous::{Incoming, Outgoing, TaughtWays, TransferNote};
use crate::request::{Request, State, not_done, unlike};
use crate::requests::Requests;
use crate::revoked::Revoked;
use crate::slab::{Id, Slab};
use crate::work::Work;
use crate::{Completion, Failure, Settings};
use verbena_channel::Peer;
use verbena_channel::mark::Mark;
use verbena_fault::Fault;

/// The state.
pub(crate) struct EngineState {
    pub me: Peer,
    pub size: u32,
    pub settings: Settings,
    pub peers: Peers,
    /// The channels and peers that belong together.
    pub homes: Homes,
    pub requests: Requests,
    pub unexpected: Queue<Arrived, false>,
    /// Messages that were put there so far.
    pub held: u64,
    /// Messages taken out of matching by a matched probe.
    pub messages: Slab<(MatchKey, Arrived)>,
    pub outgoing: Slab<Outgoing>,
    pub incoming: Slab<Incoming>,
    pub transfers: Slab<TransferNote>,
    pub one_sided: OneSided,
    /// The knowledge of the ways of long messages from any peer of the node.
    pub taught: TaughtWays,
    pub pool: Pool,
    pub work: Work,
    /// Requests for which [`Request::is_under_way`] holds.
    pub under_way: usize,
    /// True if any peer was given up: then a receive that names its sender is not simply posted.
    pub any_broken: bool,
    /// The number of changes that may be another loss.
    pub losses: u64,
    /// The processes that may send in each context, if the owner says.
    pub may_send: Option<crate::MaySend>,
    /// The peers that are dead, by the owner's word.
    pub dead: Vec<Peer>,
    /// Tells whether a lost peer may have left properly, if the owner says.
    pub may_have_left: Option<fn(Peer) -> bool>,
    /// Set while messages of other jobs without a receive are refused.
    pub refuses_foreign: bool,
    /// Set while the owner goes on when peers die.
    pub goes_on: bool,
    /// The peers that are lost, and may be dead: the owner has yet to say.
    pub suspects: Vec<Peer>,
    /// The communicators that were revoked.
    pub revoked: Revoked,
    pub tally: Vec<ChannelCounters>,
    pub counts: Counters,
    pub listener: Option<Box<dyn Listener>>,
}

impl EngineState {
    pub(crate) fn new(
        me: Peer,
        size: u32,
        names: impl Iterator<Item = &'static str>,
        settings: Settings,
    ) -> EngineState {
        EngineState {
            me,
            size,
            settings,
            peers: Peers::new(size),
            homes: Homes::default(),
            requests: Requests::new(),
            unexpected: Queue::new(),
            held: 0,
            messages: Slab::new(),
            outgoing: Slab::new(),
            incoming: Slab::new(),
            transfers: Slab::new(),
            one_sided: OneSided::new(),
            taught: TaughtWays::default(),
            pool: Pool::new(),
            work: Work::default(),
            under_way: 0,
            any_broken: false,
            losses: 0,
            may_send: None,
            dead: Vec::new(),
            may_have_left: None,
            refuses_foreign: false,
            goes_on: false,
            suspects: Vec::new(),
            revoked: Revoked::default(),
            tally: names.map(|name| ChannelCounters { name, ..Default::default() }).collect(),
            counts: Counters::default(),
            listener: None,
        }
    }

    /// The counters of each channel; packets are counted by peer.
    pub(crate) fn channel_counters(&self) -> Vec<ChannelCounters> {
        let mut tally = self.tally.clone();
        self.peers.iter().for_each(|state| state.count_in(&mut tally));
        tally
    }

    /// Returns whether the queues hold anything.
    #[inline(always)]
    pub(crate) fn has_entries(&self) -> bool {
        self.requests.has_posted() || !self.unexpected.is_empty()
    }

    /// Tells the listener, if there is one.
    #[inline]
    pub(crate) fn tell(&mut self, event: Event) {
        if let Some(listener) = &mut self.listener {
            listener.hear(event);
        }
    }

    /// Adds a request.
    #[inline]
    pub(crate) fn add(&mut self, request: Request) -> Id {
        self.under_way += request.is_under_way() as usize;
        self.requests.insert(request)
    }

    /// Puts the request into another state, keeping count.
    #[inline]
    pub(crate) fn set_state(&mut self, id: Id, state: State) {
        let request = self.requests.get_mut(id).expect("a request under way");
        self.under_way -= request.is_under_way() as usize;
        request.state = state;
        self.under_way += request.is_under_way() as usize;
    }

    /// Completes the request; a forgotten one vanishes.
    #[inline]
    pub(crate) fn complete(&mut self, id: Id, completion: Completion) {
        let request = self.requests.get_mut(id).expect("a request under way");
        self.under_way -= request.is_under_way() as usize;
        request.state = State::Complete(match request.unlike {
            Mark::NONE => completion,
            theirs => unlike(completion.source, completion.tag, request.mark, theirs),
        });
        if request.forgotten {
            self.requests.remove(id);
        }
    }

    /// Lets a control packet follow all that was given to the peer's outbox before.
    pub(crate) fn post(&mut self, peer: Peer, control: Control) {
        self.enqueue(peer, Waiting::Control(control));
    }

    /// Like [`EngineState::post`], with memory on further rails behind the payload.
    pub(crate) fn post_with(&mut self, peer: Peer, control: Control, rails: Vec<Memory>) {
        if rails.is_empty() {
            return self.post(peer, control);
        }
        let payload = control.payload_with(rails.into_iter());
        self.enqueue(peer, Waiting::Keyed(Box::new(Early { header: control.header, payload })));
    }

    /// Appends to the peer's outbox. What is meant for a broken peer is dropped: all its requests
    /// have failed already.
    pub(crate) fn enqueue(&mut self, peer: Peer, item: Waiting) {
        let Some(state) = self.peers.open(peer) else { return };
        if state.broken.is_some() {
            return;
        }
        state.outbox.push_back(item);
        state.update_at_once();
        self.list_outbox(peer);
    }

    /// Notes that something waits for room in this peer's channel.
    pub(crate) fn list_outbox(&mut self, peer: Peer) {
        if let Some(state) = self.peers.get(peer)
            && !std::mem::replace(&mut state.listed, true)
        {
            self.work.outboxes.push_back(peer);
        }
    }

    /// Gives the peer up: everything under way with it fails.
    #[cold]
    pub(crate) fn break_peer(&mut self, peer: Peer, fault: Fault) {
        let Some(state) = self.peers.open(peer) else { return };
        if state.broken.is_some() {
            return;
        }
        state.broken = Some(Box::new(fault));
        state.outbox.clear();
        state.lane = None;
        state.early.clear();
        state.in_turn = false;
        state.update_eager();
        self.any_broken = true;
        self.losses += 1;
        self.tell(Event { kind: EventKind::Broken, peer, source: 0, tag: 0, bytes: 0 });
        let concerned: Vec<Id> =
            self.requests.iter().filter(|(_, r)| r.peer == peer && !r.is_over()).map(|(id, _)| id).collect();
        concerned.into_iter().for_each(|id| self.fail(id));
        self.suspect(peer);
    }

    /// Fails a request of a broken peer, unless a transfer still touches its memory: then the
    /// transfer's end does.
    pub(crate) fn fail(&mut self, id: Id) {
        match self.requests.get(id).expect("listed just now").state {
            State::Offered(outgoing) => self.fail_outgoing(id, outgoing),
            State::Incoming(incoming) => self.fail_incoming(id, incoming),
            State::Posted => {
                // Nothing that it waits for comes any more.
                self.requests.unpost(id.index);
                self.complete_broken(id);
            }
            _ => self.complete_broken(id),
        }
    }

    /// Completes a request with its peer's fault.
    pub(crate) fn complete_broken(&mut self, id: Id) {
        let request = self.requests.get(id).expect("a request under way");
        let (peer, source, tag) = (request.peer, request.source, request.tag);
        self.complete(id, not_done(source, tag, Some(self.failure_of(peer))));
    }

    /// Returns why the peer is broken.
    pub(crate) fn failure_of(&self, peer: Peer) -> Failure {
        let fault = self.peers.look(peer).and_then(|state| state.broken.clone());
        let fault = fault.expect("asked only of broken peers");
        if self.dead.contains(&peer) { Failure::Dead(fault) } else { Failure::Channel(peer, fault) }
    }

    /// Returns whether the peer was given up.
    pub(crate) fn is_broken(&self, peer: Peer) -> bool {
        self.peers.look(peer).is_some_and(|state| state.broken.is_some())
    }
}
