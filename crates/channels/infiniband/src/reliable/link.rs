//! Both directions of a pair, and its next timer.

use super::{Assembly, Incoming, Outgoing, Rules};

/// The state of reliability with one peer.
#[derive(Debug)]
pub struct Link {
    /// The direction to the peer.
    pub outgoing: Outgoing,
    /// The direction from the peer.
    pub incoming: Incoming,
    /// The groups from it that are not whole.
    pub assembly: Assembly,
}

impl Link {
    /// Begins with nothing sent and nothing heard.
    pub fn new(rules: &Rules) -> Link {
        Link { outgoing: Outgoing::new(rules), incoming: Incoming::default(), assembly: Assembly::default() }
    }

    /// Begins as if `number` fragments had gone each way before.
    #[cfg(test)]
    pub fn starting_at(rules: &Rules, number: u32) -> Link {
        let outgoing = Outgoing::starting_at(rules, number);
        Link { outgoing, incoming: Incoming::starting_at(number), assembly: Assembly::default() }
    }

    /// Returns when there is something to do though nothing arrives: an acknowledgement to be sent,
    /// or one to be missed.
    #[inline]
    pub fn due_ns(&self) -> u64 {
        self.outgoing.due_ns().min(self.incoming.due_ns())
    }

    /// Notes that a group of `fragments` fragments is whole; `wanted` if its sender waits for the
    /// acknowledgement.
    pub fn completed(&mut self, rules: &Rules, fragments: u32, wanted: bool, now_ns: u64) {
        let delay_ns = self.outgoing.ack_delay_ns(rules);
        self.incoming.completed((rules.ack_every, delay_ns), fragments, wanted, now_ns);
    }

    /// Returns whether nothing is under way and nothing is to be said.
    pub fn is_quiet(&self) -> bool {
        self.outgoing.is_idle() && self.incoming.due_ns() == super::NEVER
    }
}
