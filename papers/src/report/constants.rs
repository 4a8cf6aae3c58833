//! The constants of the simulator's cost model, each with its origin: *taken* from a paper,
//! *fitted* so that a paper's result comes out, or *guessed*. What follows from a fitted one is no
//! finding ([`super::kinds`]).

use verbena_sim::verbs::Costs;

/// A constant.
pub(super) struct Constant {
    /// The name in the code.
    pub name: &'static str,
    /// The value with its unit.
    pub value: String,
    /// Taken, fitted or guessed.
    pub kind: &'static str,
    /// The result that it was taken from or fitted to.
    pub source: &'static str,
}

const TAKEN: &str = "taken";
const FITTED: &str = "fitted";
const GUESSED: &str = "guessed";

/// Returns the constants, in the order of the code, then those of paper 3's figures.
pub(super) fn constants() -> Vec<Constant> {
    let ns = |name, value: u64, kind, source| Constant { name, value: format!("{value} ns"), kind, source };
    let (one, two) = (Costs::PAPER_1, Costs::PAPER_2);
    vec![
        ns("post_ns", one.post_ns, FITTED, "with the latency of a write the bare 5.9 us (paper 2, 4.2.1)"),
        ns("post_receive_ns", one.post_receive_ns, GUESSED, "half of a post"),
        ns("poll_ns", one.poll_ns, GUESSED, "paper 3 states 300 ns for an empty completion queue"),
        ns("completion_ns", one.completion_ns, GUESSED, "with the latency of a send 7.5 to 8 us"),
        ns("packet_ns", one.packet_ns, FITTED, "6.8 us (paper 1, 6.2)"),
        ns("packet_ns, paper 2", two.packet_ns, FITTED, "7.4 us (paper 2, 4.3)"),
        ns("register_ns", one.register_ns, GUESSED, "no paper states it"),
        ns("register_page_ns", one.register_page_ns, GUESSED, "no paper states it"),
        ns("deregister_ns", one.deregister_ns, GUESSED, "no paper states it"),
        ns("open_pair_ns", one.open_pair_ns, GUESSED, "no paper states it"),
        ns("connect_pair_ns", one.connect_pair_ns, GUESSED, "no paper states it"),
        ns("write.latency_ns", one.write.latency_ns, FITTED, "with a post the bare 5.9 us (paper 2, 4.2.1)"),
        ns("write.issue_ns", one.write.issue_ns, FITTED, "18.6 us of the basic design (paper 2, 4.2.1)"),
        ns("send.latency_ns", one.send.latency_ns, FITTED, "24% more than a write (paper 1, 6.3.1)"),
        ns("send.receive_ns", one.send.receive_ns, FITTED, "104% (paper 1, 6.3.1)"),
        ns("read.latency_ns", one.read.latency_ns, GUESSED, "so that figure 15 of paper 2 comes out"),
        ns("read.receive_ns", one.read.receive_ns, FITTED, "figure 15 of paper 2"),
        ns("acknowledge_ns", one.acknowledge_ns, GUESSED, "no paper states it"),
        ns("datagram_ns", one.datagram_ns, GUESSED, "no paper states it"),
        Constant {
            value: format!("{} ps", one.byte_ps),
            ..ns("byte_ps", 0, TAKEN, "870 MB/s (paper 2, 4.2.1)")
        },
        Constant {
            value: format!("{} ps", one.copy_byte_ps),
            ..ns("copy_byte_ps", 0, TAKEN, "below 800 MB/s (paper 2, 4.4)")
        },
        Constant {
            value: format!("{} %", one.copy_beside_device_percent),
            ..ns("copy_beside_device_percent", 0, FITTED, "over 500 MB/s by the pipeline (paper 2, 4.4)")
        },
        ns("an empty look at the network", 300, TAKEN, "paper 3, 3.1.1"),
        ns("an empty look at shared memory", 20, GUESSED, "no paper states it"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_constant_has_a_kind_and_a_source() {
        for constant in constants() {
            assert!([TAKEN, FITTED, GUESSED].contains(&constant.kind), "{}", constant.name);
            assert!(!constant.source.is_empty() && !constant.value.is_empty(), "{}", constant.name);
        }
    }
}
