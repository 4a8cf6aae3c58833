//! The protocol of an agreement, without messages and clocks.
//!
//! The lowest member that lives leads. All tell it what they bring; it proposes what follows from
//! that; all keep the proposal and say so; then it decides. Whoever decides tells all others before
//! it goes on, and so does everyone who hears of it.
//!
//! When the leader dies, the next one takes its place, and all tell it what they bring and which
//! proposal they keep. If the old leader has decided, then all that live keep its proposal, since
//! it waited for them: so the new leader proposes the kept proposal of the last leader again, if
//! there is one. A member that has decided and gone on has told its decision to all, which stands
//! for every other answer of it. So members that decide decide the same, also those that die
//! thereafter.
//!
//! This rests on news of deaths that are true, and that come to all in the end. Messages between
//! two members come in order.

use super::value::Value;
use std::collections::VecDeque;

/// A proposal that a member keeps, and the leader that made it.
pub type Kept = (usize, Value);

/// A message from one member to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// To the leader: what the sender brings, and the proposal that it keeps, with the leader that
    /// made it.
    State(Value, Option<Kept>),
    /// From the leader: to be kept.
    Propose(Value),
    /// To the leader: its proposal is kept.
    Kept,
    /// The decision.
    Decide(Value),
}

impl Message {
    /// The most words of a message in a group of this size.
    pub fn words_max(size: usize) -> usize {
        2 + 2 * Value::words(size)
    }

    /// The bytes of the message.
    pub fn encode(&self) -> Vec<u8> {
        let mut words = Vec::new();
        match self {
            Message::State(value, kept) => {
                words.extend([0, kept.as_ref().map_or(u64::MAX, |(leader, _)| *leader as u64)]);
                value.write(&mut words);
                if let Some((_, kept)) = kept {
                    kept.write(&mut words);
                }
            }
            Message::Propose(value) => {
                words.push(1);
                value.write(&mut words);
            }
            Message::Kept => words.push(2),
            Message::Decide(value) => {
                words.push(3);
                value.write(&mut words);
            }
        }
        words.into_iter().flat_map(u64::to_le_bytes).collect()
    }

    /// Reads a message among `size` members; `None` if it makes no sense.
    pub fn decode(bytes: &[u8], size: usize) -> Option<Message> {
        let words = bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("8 bytes")));
        let mut words = words.into_iter();
        Some(match words.next()? {
            0 => {
                let leader = words.next()?;
                let value = Value::read(&mut words, size)?;
                let kept = match usize::try_from(leader).ok().filter(|leader| *leader < size) {
                    Some(leader) => Some((leader, Value::read(&mut words, size)?)),
                    None => None,
                };
                Message::State(value, kept)
            }
            1 => Message::Propose(Value::read(&mut words, size)?),
            2 => Message::Kept,
            3 => Message::Decide(Value::read(&mut words, size)?),
            _ => return None,
        })
    }
}

/// One member's side of an agreement.
#[derive(Debug)]
pub struct Machine {
    me: usize,
    own: Value,
    failed: Vec<bool>,
    /// The leader that was told what this member brings; this member, if it leads.
    leader: Option<usize>,
    /// The proposal that this member keeps, and its leader.
    kept: Option<Kept>,
    /// The words of the others to this member as their leader, perhaps before it knew that it
    /// leads.
    states: Vec<Option<(Value, Option<Kept>)>>,
    has_proposed: bool,
    /// The members that keep this member's proposal.
    keepers: Vec<bool>,
    decision: Option<Value>,
    /// The members that have told their decision.
    decided: Vec<bool>,
    outbox: VecDeque<(usize, Message)>,
    /// For tests: decides without waiting until the others keep the proposal.
    hasty: bool,
}

impl Machine {
    /// The side of member `me` of `size`, which brings this and knows these to have failed.
    pub fn new(me: usize, size: usize, own: Value, failed: &[usize]) -> Machine {
        let mut machine = Machine {
            me,
            own,
            failed: vec![false; size],
            leader: None,
            kept: None,
            states: vec![None; size],
            has_proposed: false,
            keepers: vec![false; size],
            decision: None,
            decided: vec![false; size],
            outbox: VecDeque::new(),
            hasty: false,
        };
        failed.iter().for_each(|member| machine.failed[*member] = true);
        machine.go_on();
        machine
    }

    /// Breaks the protocol, so that a test can show that it would notice: the leader decides before
    /// the others keep its proposal.
    #[doc(hidden)]
    pub fn hasty(self) -> Machine {
        Machine { hasty: true, ..self }
    }

    /// The next message to be sent, and to whom.
    pub fn poll_message(&mut self) -> Option<(usize, Message)> {
        self.outbox.pop_front()
    }

    /// The decision, once it is made.
    pub fn decision(&self) -> Option<&Value> {
        self.decision.as_ref()
    }

    /// Returns whether nothing more comes from the others: all have decided or failed.
    pub fn is_settled(&self) -> bool {
        let is_over = |member: usize| member == self.me || self.failed[member] || self.decided[member];
        self.decision.is_some() && (0..self.failed.len()).all(is_over)
    }

    /// Returns whether this member still waits for messages of that one.
    pub fn awaits(&self, member: usize) -> bool {
        member != self.me && !self.failed[member] && !self.decided[member]
    }

    /// Handles a message.
    pub fn handle(&mut self, from: usize, message: Message) {
        if self.failed[from] {
            return;
        }
        match message {
            Message::State(value, kept) => self.states[from] = Some((value, kept)),
            Message::Propose(value) => self.keep(from, value),
            Message::Kept => self.keepers[from] = true,
            Message::Decide(value) => {
                self.decided[from] = true;
                self.decide(value);
            }
        }
        self.go_on();
    }

    /// Handles the news that a member has died.
    pub fn handle_death(&mut self, member: usize) {
        if !std::mem::replace(&mut self.failed[member], true) {
            self.go_on();
        }
    }

    fn keep(&mut self, leader: usize, value: Value) {
        if self.kept.as_ref().is_none_or(|(before, _)| *before <= leader) {
            self.kept = Some((leader, value));
        }
        self.outbox.push_back((leader, Message::Kept));
    }

    /// The members that live, without this one.
    fn others(&self) -> Vec<usize> {
        (0..self.failed.len()).filter(|member| *member != self.me && !self.failed[*member]).collect()
    }

    /// Does what follows from what is known now.
    fn go_on(&mut self) {
        if self.decision.is_some() {
            return;
        }
        let leader = self.failed.iter().position(|failed| !failed).expect("this member lives");
        if self.leader.replace(leader) != Some(leader) && leader != self.me {
            self.outbox.push_back((leader, Message::State(self.own.clone(), self.kept.clone())));
        }
        if leader == self.me {
            self.lead();
        }
    }

    fn lead(&mut self) {
        let others = self.others();
        if !self.has_proposed {
            if !others.iter().all(|member| self.states[*member].is_some()) {
                return;
            }
            let value = self.proposal(&others);
            self.has_proposed = true;
            others
                .iter()
                .for_each(|member| self.outbox.push_back((*member, Message::Propose(value.clone()))));
            self.kept = Some((self.me, value));
        }
        if self.hasty || others.iter().all(|member| self.keepers[*member]) {
            let (_, value) = self.kept.clone().expect("the own proposal");
            self.decide(value);
        }
    }

    /// The proposal that was kept last, or what follows from what all bring.
    fn proposal(&self, others: &[usize]) -> Value {
        let told = || others.iter().filter_map(|member| self.states[*member].as_ref());
        let kept = told().filter_map(|(_, kept)| kept.as_ref()).chain(&self.kept);
        if let Some((_, value)) = kept.max_by_key(|(leader, _)| *leader) {
            return value.clone();
        }
        let mut value = self.own.clone();
        told().for_each(|(theirs, _)| value.combine(theirs));
        let failed = self.failed.iter().enumerate().filter(|(_, failed)| **failed);
        failed.for_each(|(member, _)| value.failed.add(member));
        value
    }

    fn decide(&mut self, value: Value) {
        if self.decision.is_some() {
            return;
        }
        for member in self.others() {
            self.outbox.push_back((member, Message::Decide(value.clone())));
        }
        self.decision = Some(value);
    }
}
