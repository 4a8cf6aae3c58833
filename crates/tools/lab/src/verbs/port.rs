//! The port of this rank: the one that the channel `rc` would use, opened without it.

use serde::{Deserialize, Serialize};
use std::sync::Arc;
use verbena_fault::Fault;
use verbena_infiniband::device::options::Options;
use verbena_infiniband::device::survey::{Found, Survey, Verdict};
use verbena_infiniband::rc::verbs::Verbs;
use verbena_verbs::domain::Path;
use verbena_verbs::pair::Connection;
use verbena_verbs::{Gid, GidEntry, Library, Port, ProtectionDomain};

/// The most RDMA reads under way on one queue pair.
const READS_MAX: u8 = 16;

/// An open port.
pub(super) struct OpenPort {
    /// The protection domain, and through it the device.
    pub domain: Arc<ProtectionDomain>,
    /// Device, port and address in words.
    pub place: String,
    /// The RDMA reads that may be under way on one queue pair.
    pub reads_max: u8,
    port: Port,
    entry: GidEntry,
    options: Options,
}

/// The way to a port, as its rank tells the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Site {
    gid: [u8; 16],
    lid: u16,
    mtu: u8,
}

impl OpenPort {
    /// Opens the best port that the user's settings allow (`VERBENA_RC_DEVICE` and others).
    ///
    /// # Errors
    /// There is none, or it cannot be opened.
    pub(super) fn open() -> Result<OpenPort, Fault> {
        let options = Options::current();
        // The channel's own adapter tries the port, and is closed again.
        let survey = Verbs::survey(&options).0;
        let found = survey.ports.iter().find(|found| matches!(found.verdict, Verdict::Chosen(_)));
        match found {
            Some(found) => OpenPort::of(found, options, &survey),
            None => Err(survey.refusal(&options)),
        }
    }

    fn of(found: &Found, options: Options, survey: &Survey) -> Result<OpenPort, Fault> {
        let candidate = &found.candidate;
        let named = |device: &verbena_verbs::Device| device.name() == candidate.device;
        let device = Library::get()?.devices()?.into_iter().find(named);
        let entry = candidate.fit(&options).ok().and_then(|all| all.into_iter().next());
        let (Some(device), Some(entry)) = (device, entry) else { return Err(survey.refusal(&options)) };
        let reads = u8::try_from(found.device.reads.max(1)).unwrap_or(u8::MAX);
        Ok(OpenPort {
            domain: ProtectionDomain::new(&device.open()?)?,
            place: format!("{}:{}, GID {}", candidate.device, candidate.port.number, entry.gid),
            reads_max: reads.min(READS_MAX),
            port: candidate.port.clone(),
            entry,
            options,
        })
    }

    /// Returns the way to this port.
    pub(super) fn site(&self) -> Site {
        Site { gid: self.entry.gid.0, lid: self.port.lid, mtu: self.port.mtu }
    }

    /// Makes a queue pair of this port take receive buffers.
    ///
    /// # Errors
    /// The refusal of the device.
    pub(super) fn initialise(&self, pair: &verbena_verbs::QueuePair) -> Result<(), Fault> {
        pair.initialise(self.port.number, self.options.partition)
    }

    /// Returns the terms of a connection to a queue pair there. Each end's packets are numbered
    /// from the number of its own pair.
    pub(super) fn connection(&self, own_pair: u32, to: &Site, remote_pair: u32) -> Connection {
        let gid = Gid(to.gid);
        let global = self.port.ethernet || gid.subnet() != self.entry.gid.subnet();
        Connection {
            path: Path {
                port: self.port.number,
                lid: to.lid,
                gid: global.then_some((gid, self.entry.index)),
                service_level: self.options.service_level,
                traffic_class: self.options.traffic_class,
            },
            remote_pair,
            mtu: self.port.mtu.min(to.mtu),
            local_psn: own_pair & 0x00ff_ffff,
            remote_psn: remote_pair & 0x00ff_ffff,
            reads_max: self.reads_max,
            answers_max: self.reads_max,
            ack_timeout: self.options.ack_timeout,
            retries: self.options.retries,
            receiver_retries: self.options.receiver_retries,
            receiver_timer: self.options.receiver_timer,
        }
    }
}
