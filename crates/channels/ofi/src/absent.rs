//! The channel where libfabric is not open: it reaches nobody, and says why.

use verbena_channel::packet::Header;
use verbena_channel::{Channel, Payload, Peer, Reach, Report, SendError, Sink};
use verbena_fault::Fault;

/// The channel's stand-in, with nothing but the reason.
#[derive(Debug)]
pub struct Absent {
    reason: Vec<String>,
    fault: Fault,
}

impl Absent {
    /// Absent because libfabric could not be used.
    pub fn because(fault: &Fault) -> Absent {
        let reason = fault.to_string().lines().map(|line| line.trim().to_owned()).collect();
        Absent { reason, fault: fault.clone() }
    }

    /// Absent because nobody needs it.
    pub fn unneeded() -> Absent {
        let fault = Fault::new(
            "libfabric is not needed",
            "this process",
            "the other channels reach every process",
            "VERBENA_OFI=always opens it",
        );
        Absent { reason: vec![format!("not opened: {} ({})", fault.cause, fault.remedy)], fault }
    }
}

impl Channel for Absent {
    fn name(&self) -> &'static str {
        "ofi"
    }

    fn reach(&mut self, _peer: Peer) -> Option<Reach> {
        None
    }

    fn send(&mut self, _peer: Peer, _header: &Header, _payload: Payload<'_>) -> Result<(), SendError> {
        Err(SendError::Broken(self.fault.clone()))
    }

    fn poll(&mut self, _sink: &mut dyn Sink) -> usize {
        0
    }

    fn report(&self) -> Report {
        Report { absence: Some(self.fault.clone()), findings: self.reason.clone() }
    }
}
