//! The cost model as a theory: of each constant where it comes from, so that a reader can tell a
//! result of the model from what was put into it.

use super::costs::Costs;
use Kind::{Fitted, Guessed, Taken};

/// The origin of a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A paper gives the number.
    Taken,
    /// Chosen so that one result comes out: that result is no finding of the model.
    Fitted,
    /// No paper gives it, and no result was used.
    Guessed,
    /// Measured on the device that is modelled.
    Measured,
}

impl Kind {
    /// Returns the name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Taken => "taken",
            Kind::Fitted => "fitted",
            Kind::Guessed => "guessed",
            Kind::Measured => "measured",
        }
    }
}

/// A constant of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constant {
    /// The name of the cost, as in [`Costs`].
    pub name: &'static str,
    /// The value.
    pub value: u64,
    /// The unit of the value.
    pub unit: &'static str,
    /// The origin.
    pub kind: Kind,
    /// The paper and section, the result that it was fitted to, or the reason of the guess.
    pub source: &'static str,
}

/// The number of constants of a model.
pub const COUNT: usize = 27;

/// The origin of each constant, in the order of [`Costs::named`].
pub type Origins = [(Kind, &'static str); COUNT];

/// A set of costs, and the origin of each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Theory {
    /// The device and library that it describes.
    pub name: &'static str,
    /// The costs.
    pub costs: Costs,
    /// The origins.
    pub origins: Origins,
}

impl Theory {
    /// Returns every constant with its origin.
    pub fn constants(&self) -> Vec<Constant> {
        let of = |((name, unit, value), (kind, source))| Constant { name, value, unit, kind, source };
        self.costs.named().into_iter().zip(self.origins).map(of).collect()
    }

    /// Returns how many constants are of a kind.
    pub fn count(&self, kind: Kind) -> usize {
        self.origins.iter().filter(|(of, _)| *of == kind).count()
    }
}

/// The papers' device and host, with the library of paper 1.
pub const PAPER_1: Theory = Theory {
    name: "papers 1 and 2: InfiniHost MT23108, Xeon 2.4 GHz; the library of paper 1",
    costs: Costs::PAPER_1,
    origins: ORIGINS_1,
};

/// The papers' device and host, with the library of paper 2.
pub const PAPER_2: Theory = Theory {
    name: "papers 1 and 2: InfiniHost MT23108, Xeon 2.4 GHz; the library of paper 2",
    costs: Costs::PAPER_2,
    origins: {
        let mut origins = ORIGINS_1;
        origins[PACKET] = (Fitted, "7.4 us of the piggybacked design (paper 2, 4.3)");
        origins
    },
};

/// The place of the cost of a packet among the constants.
pub(super) const PACKET: usize = 6;

const NOWHERE: &str = "no paper gives it";
const FIGURE_15: &str =
    "reads behind writes at 32 to 256 KiB (paper 2, figure 15, a drawing without numbers)";

const ORIGINS_1: Origins = [
    (Guessed, "the processor's part of the 5.9 us of a bare write (paper 2, 4.2.1)"),
    (Taken, "the adapter works by itself (paper 1, section 2)"),
    (Taken, "the adapter fetches the bytes by itself (paper 1, section 2)"),
    (Guessed, NOWHERE),
    (Guessed, "paper 3, 3.1.1, says 300 ns of much the same machine, against this"),
    (Guessed, NOWHERE),
    (Fitted, "6.8 us, on top of the bare write's 5.9 (paper 1, 6.2)"),
    (Guessed, NOWHERE),
    (Guessed, NOWHERE),
    (Guessed, NOWHERE),
    (Guessed, "paper 4, figure 5, has only the sum, as a drawing"),
    (Guessed, "paper 4, figure 5, has only the sum, as a drawing"),
    (Taken, "5.9 us of a bare write, less the post (paper 2, 4.2.1)"),
    (Fitted, "18.6 us of the basic design (paper 2, 4.2.1)"),
    (Guessed, "a write needs no receive buffer (paper 1, 2.1)"),
    (Fitted, "24% less latency by RDMA (paper 1, 6.3.1)"),
    (Guessed, "that of a write"),
    (Fitted, "104% more bandwidth of small messages by RDMA (paper 1, 6.3.1)"),
    (Fitted, FIGURE_15),
    (Guessed, "that of a write"),
    (Fitted, FIGURE_15),
    (Taken, "four pairs give near-optimal bandwidth (paper 4, section 4), on another adapter"),
    (Guessed, NOWHERE),
    (Guessed, NOWHERE),
    (Taken, "870 MB/s of the bare device (paper 2, 4.2.1)"),
    (Guessed, "780 MB/s, as paper 2, 4.4, says only that it is below 800"),
    (Fitted, "over 500 MB/s of the pipeline (paper 2, 4.4)"),
];

impl Costs {
    /// Returns every constant with its name and unit. A new cost must be named here, and then in
    /// every list of origins.
    pub fn named(&self) -> [(&'static str, &'static str, u64); COUNT] {
        let Costs {
            post_ns,
            post_after_ns,
            post_byte_ps,
            post_receive_ns,
            poll_ns,
            completion_ns,
            packet_ns,
            register_ns,
            register_page_ns,
            deregister_ns,
            open_pair_ns,
            connect_pair_ns,
            write,
            send,
            read,
            pairs_at_once,
            acknowledge_ns,
            datagram_ns,
            byte_ps,
            copy_byte_ps,
            copy_beside_device_percent,
        } = *self;
        [
            ("post", "ns", post_ns),
            ("post, after the device began", "ns", post_after_ns),
            ("post, after that, each byte", "ps", post_byte_ps),
            ("post of a receive buffer", "ns", post_receive_ns),
            ("empty look at the completion queue", "ns", poll_ns),
            ("look that finds a completion", "ns", completion_ns),
            ("a packet in engine and channel, each side", "ns", packet_ns),
            ("registration", "ns", register_ns),
            ("registration, each page of 4 KiB", "ns", register_page_ns),
            ("end of a registration", "ns", deregister_ns),
            ("opening a queue pair", "ns", open_pair_ns),
            ("connecting a queue pair", "ns", connect_pair_ns),
            ("write: latency", "ns", write.latency_ns),
            ("write: to the next of the pair", "ns", write.issue_ns),
            ("write: at the receiver's device", "ns", write.receive_ns),
            ("send: latency", "ns", send.latency_ns),
            ("send: to the next of the pair", "ns", send.issue_ns),
            ("send: at the receiver's device", "ns", send.receive_ns),
            ("read: latency of request and answer", "ns", read.latency_ns),
            ("read: to the next of the pair", "ns", read.issue_ns),
            ("read: at the answering device", "ns", read.receive_ns),
            ("queue pairs side by side", "", pairs_at_once),
            ("acknowledgement", "ns", acknowledge_ns),
            ("datagram, one way", "ns", datagram_ns),
            ("a byte on the wire", "ps", byte_ps),
            ("a byte copied", "ps", copy_byte_ps),
            ("speed of a copy beside the device", "%", copy_beside_device_percent),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_constant_has_a_name_of_its_own_and_an_origin() {
        for theory in [PAPER_1, PAPER_2] {
            let constants = theory.constants();
            let names: BTreeSet<&str> = constants.iter().map(|constant| constant.name).collect();
            assert_eq!(names.len(), COUNT);
            assert!(constants.iter().all(|constant| !constant.source.is_empty()));
            assert_eq!(constants[PACKET].value, theory.costs.packet_ns);
        }
    }

    /// Sources stand beside the right constants: each names a number that its value follows from.
    #[test]
    fn taken_constants_follow_from_their_sources() {
        let value = |name: &str| {
            let constants = PAPER_2.constants();
            constants.into_iter().find(|constant| constant.name == name).expect(name)
        };
        let (post, latency) = (value("post"), value("write: latency"));
        assert!(latency.source.contains("5.9 us") && post.value + latency.value == 5_900);
        let byte = value("a byte on the wire");
        assert!(byte.source.contains("870 MB/s") && (1e6 / byte.value as f64 - 870.0).abs() < 1.0);
        assert!(
            value("queue pairs side by side").source.contains("four") && PAPER_2.costs.pairs_at_once == 4
        );
        assert!(value("write: to the next of the pair").source.contains("18.6"));
        assert!(value("send: at the receiver's device").source.contains("104%"));
        assert!(value("speed of a copy beside the device").source.contains("pipeline"));
    }

    #[test]
    fn most_constants_are_no_findings_of_a_paper() {
        assert_eq!([Taken, Fitted, Guessed, Kind::Measured].map(|kind| PAPER_1.count(kind)), [5, 7, 15, 0]);
    }
}
