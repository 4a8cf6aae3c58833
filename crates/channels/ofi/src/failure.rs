//! The channel's faults: they name both ends, with provider, interface and address.

use super::OfiChannel;
use std::time::Duration;
use verbena_channel::Peer;
use verbena_fabric::explain;
use verbena_fault::Fault;

impl OfiChannel {
    /// Both ends of the way to a peer, in words.
    pub(super) fn ends(&self, peer: Peer) -> String {
        let other = self.links.contact(peer).map_or("unknown", |contact| &contact.place);
        let provider = self.net.offer().provider();
        format!("the way from rank {} ({}) to rank {peer} ({other}) over {provider}", self.me, self.place)
    }

    /// The fault of an operation for the peer that failed with this number of libfabric; `said` is
    /// the provider's addition.
    pub(super) fn failed(&self, peer: Peer, number: i32, said: &str) -> Fault {
        let what = format!("rank {peer} cannot be reached any more over libfabric");
        let mut fault = explain::fault(what, self.ends(peer), number);
        if !said.is_empty() {
            fault.cause = format!("{}; the provider says: {said}", fault.cause);
        }
        fault
    }

    /// The fault if no connection could be made in time.
    pub(super) fn no_answer(&self, peer: Peer, after: Duration) -> Fault {
        Fault::new(
            format!("rank {peer} cannot be connected to for {} s", after.as_secs()),
            self.ends(peer),
            "a firewall between the nodes, or interfaces that do not lead to each other; or that process ended",
            "allow TCP between the addresses shown, or choose other interfaces with VERBENA_OFI_INTERFACE; VERBENA_OFI_CONNECT_SECONDS_MAX is the limit",
        )
    }

    /// The fault if a connection that existed is gone.
    pub(super) fn cut(&self, peer: Peer) -> Fault {
        Fault::new(
            format!("the connection to rank {peer} was cut"),
            self.ends(peer),
            "the process of that rank ended, its node went down, or a firewall or router dropped the connection",
            "look for the end of that rank in the job's output; check the network between the addresses shown",
        )
    }

    /// The fault if the peer says that it has given this process up.
    pub(super) fn given_up(&self, peer: Peer) -> Fault {
        Fault::new(
            format!("rank {peer} has given the connection up"),
            self.ends(peer),
            "a firewall or router dropped the connection, or its packets made no sense there",
            "look for what that rank says in the job's output; check the network between the addresses shown",
        )
    }

    /// The fault of a message that makes no sense: nothing that follows can be trusted.
    pub(super) fn nonsense(&self, peer: Peer) -> Fault {
        Fault::new(
            format!("rank {peer} sent a packet that makes no sense"),
            self.ends(peer),
            "memory of either process was overwritten, or a defect of Verbena",
            "check the program for writes out of bounds; if there are none, please report it",
        )
    }

    /// The fault of a transfer that the engine may not ask for.
    pub(super) fn out_of_range(&self, peer: Peer) -> Fault {
        Fault::new(
            "a transfer goes beyond the memory that was exposed for it, or its peer is given up",
            self.ends(peer),
            "the peer was lost meanwhile, or a defect of Verbena",
            "if no rank ended, please report it",
        )
    }
}
