//! Counts of what the devices were asked to do, and of what befell them: so that runs can prove
//! that they met it.

/// Counts of what the devices did so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Sends posted.
    pub sends: u64,
    /// Sends that are packets of `rc`, by kind (as its module `frame` numbers them).
    pub packets: [u64; 9],
    /// RDMA writes posted.
    pub writes: u64,
    /// RDMA reads posted.
    pub reads: u64,
    /// Atomic operations posted.
    pub atomics: u64,
    /// Posts of any sort that ask for a completion.
    pub signalled: u64,
    /// Posts whose bytes were copied at once.
    pub inline: u64,
    /// Posts that found the queue full.
    pub full: u64,
    /// Sends that found no receive buffer.
    pub not_ready: u64,
    /// The number of times that a rank was told that its shared receive queue ran low.
    pub few_receives: u64,
    /// Writes that landed in more than one piece.
    pub torn: u64,
    /// Datagrams sent.
    pub datagrams: u64,
    /// Datagrams that were lost.
    pub lost: u64,
    /// Datagrams of `ud` that were doubled.
    pub doubled: u64,
    /// Datagrams of `ud` that were garbled.
    pub garbled: u64,
    /// Datagrams of `ud` that found no receive buffer.
    pub unposted: u64,
    /// Sending queue pairs that hung for a while.
    pub hung: u64,
    /// Queue pairs that went into error.
    pub broken: u64,
    /// The number of times a port went down.
    pub ports_down: u64,
    /// Devices that failed for ever.
    pub cut: u64,
}

impl Counts {
    /// Returns the counts since then.
    pub fn since(&self, then: &Counts) -> Counts {
        Counts {
            sends: self.sends - then.sends,
            packets: std::array::from_fn(|kind| self.packets[kind] - then.packets[kind]),
            writes: self.writes - then.writes,
            reads: self.reads - then.reads,
            atomics: self.atomics - then.atomics,
            signalled: self.signalled - then.signalled,
            inline: self.inline - then.inline,
            full: self.full - then.full,
            not_ready: self.not_ready - then.not_ready,
            few_receives: self.few_receives - then.few_receives,
            torn: self.torn - then.torn,
            datagrams: self.datagrams - then.datagrams,
            lost: self.lost - then.lost,
            doubled: self.doubled - then.doubled,
            garbled: self.garbled - then.garbled,
            unposted: self.unposted - then.unposted,
            hung: self.hung - then.hung,
            broken: self.broken - then.broken,
            ports_down: self.ports_down - then.ports_down,
            cut: self.cut - then.cut,
        }
    }
}
