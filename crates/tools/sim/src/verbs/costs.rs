//! The cost model: what everything takes in virtual time.

/// The cost of one sort of work of the devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stage {
    /// Time from the post to the first byte in the peer's memory, in nanoseconds.
    pub latency_ns: u64,
    /// The least time until the sender's device starts the next work of the same queue pair.
    pub issue_ns: u64,
    /// The least time that the receiver's device takes for it; for a read, the time before it
    /// answers, one at a time.
    pub receive_ns: u64,
}

/// The cost model of a device and its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Costs {
    /// Work of the CPU to post work, until the device begins it.
    pub post_ns: u64,
    /// Work of the CPU in the same call after that: a software device carries work out within it.
    pub post_after_ns: u64,
    /// Work of the CPU after that for each byte of a send or a write, in picoseconds.
    pub post_byte_ps: u64,
    /// Work of the CPU to post a receive buffer.
    pub post_receive_ns: u64,
    /// Work of the CPU to find the completion queue empty.
    pub poll_ns: u64,
    /// Work of the CPU to take a completion.
    pub completion_ns: u64,
    /// Work of the CPU for a packet on each side: matching, header, request.
    pub packet_ns: u64,
    /// Registering memory, whatever its length.
    pub register_ns: u64,
    /// Registering memory, for each page of 4 KiB.
    pub register_page_ns: u64,
    /// Ending a registration.
    pub deregister_ns: u64,
    /// Opening a queue pair.
    pub open_pair_ns: u64,
    /// Making an open one ready to send and to receive.
    pub connect_pair_ns: u64,
    /// RDMA writes.
    pub write: Stage,
    /// Sends.
    pub send: Stage,
    /// RDMA reads; the latency is that of the request and its answer.
    pub read: Stage,
    /// The queue pairs whose work a device starts side by side; work of one pair waits for that
    /// before it, and the wire carries one byte after the other.
    pub pairs_at_once: u64,
    /// Time from the last byte in the peer's memory to the completion.
    pub acknowledge_ns: u64,
    /// A datagram, one way.
    pub datagram_ns: u64,
    /// A byte on the wire, in picoseconds.
    pub byte_ps: u64,
    /// A byte copied by the CPU, in picoseconds.
    pub copy_byte_ps: u64,
    /// The percentage of their speed that copies keep while the device moves bytes of this host
    /// over the memory bus.
    pub copy_beside_device_percent: u64,
}

impl Costs {
    /// No costs but the bare latency: for runs where only the order of events counts.
    pub const PLAIN: Costs = Costs {
        post_ns: 0,
        post_after_ns: 0,
        post_byte_ps: 0,
        post_receive_ns: 0,
        poll_ns: 0,
        completion_ns: 0,
        packet_ns: 0,
        register_ns: 0,
        register_page_ns: 0,
        deregister_ns: 0,
        open_pair_ns: 0,
        connect_pair_ns: 0,
        write: Stage { latency_ns: 100, issue_ns: 0, receive_ns: 0 },
        send: Stage { latency_ns: 100, issue_ns: 0, receive_ns: 0 },
        read: Stage { latency_ns: 200, issue_ns: 0, receive_ns: 0 },
        pairs_at_once: 1,
        acknowledge_ns: 100,
        datagram_ns: 100,
        byte_ps: 0,
        copy_byte_ps: 0,
        copy_beside_device_percent: 100,
    };

    /// The device and host of papers 1 and 2 (InfiniHost MT23108 on PCI-X 133, Xeon 2.4 GHz), with
    /// the library of paper 1. [`super::theory::PAPER_1`] says of each constant whether it is taken
    /// from a paper, fitted to one of its results, or guessed.
    pub const PAPER_1: Costs = Costs {
        post_ns: 500,
        post_after_ns: 0,
        post_byte_ps: 0,
        post_receive_ns: 250,
        poll_ns: 50,
        completion_ns: 300,
        packet_ns: 450,
        register_ns: 25_000,
        register_page_ns: 700,
        deregister_ns: 15_000,
        open_pair_ns: 60_000,
        connect_pair_ns: 90_000,
        write: Stage { latency_ns: 5_400, issue_ns: 6_000, receive_ns: 0 },
        send: Stage { latency_ns: 7_000, issue_ns: 6_000, receive_ns: 12_340 },
        read: Stage { latency_ns: 10_000, issue_ns: 6_000, receive_ns: 12_000 },
        pairs_at_once: 4,
        acknowledge_ns: 3_000,
        datagram_ns: 10_000,
        byte_ps: 1_149,
        copy_byte_ps: 1_282,
        copy_beside_device_percent: 45,
    };

    /// The model of paper 1 with the library of paper 2, whose layers take more time: 7.4 us
    /// (section 4.3).
    pub const PAPER_2: Costs = Costs { packet_ns: 700, ..Costs::PAPER_1 };

    /// Time on the wire of this many bytes.
    pub fn wire_ns(&self, bytes: usize) -> u64 {
        bytes as u64 * self.byte_ps / 1000
    }

    /// Time of the CPU to copy this many bytes, with the bus to itself.
    pub fn copy_ns(&self, bytes: usize) -> u64 {
        bytes as u64 * self.copy_byte_ps / 1000
    }

    /// Time of the CPU in the call that posts once the device has begun, if the CPU moves this many
    /// bytes there.
    pub fn after_post_ns(&self, bytes: usize) -> u64 {
        self.post_after_ns + bytes as u64 * self.post_byte_ps / 1000
    }

    /// The least time between two pieces of work of different queue pairs.
    pub fn between_pairs_ns(&self, stage: Stage) -> u64 {
        stage.issue_ns / self.pairs_at_once.max(1)
    }

    /// Time of the CPU to register this many bytes.
    pub fn registration_ns(&self, bytes: usize) -> u64 {
        self.register_ns + self.register_page_ns * (bytes as u64).div_ceil(4096)
    }
}
