//! Looking at every port of every device, and opening the best that works. What was found and why each port was
//! chosen or not stays, for `verbena info` and for error messages.

use super::Verbs;
use super::choose::{Candidate, order};
use super::options::Options;
use crate::Fault;
use std::sync::Arc;
use verbena_verbs::raw::ibv_device_attr;
use verbena_verbs::{Context, Device, Fork, Library};

/// What was found.
#[derive(Clone, Debug)]
pub struct Survey {
    /// Whether fork is safe; or why there is no libibverbs, or no list of devices.
    pub library: Result<Fork, Fault>,
    /// Devices that could not be opened.
    pub closed: Vec<(String, Fault)>,
    /// Every port of the others.
    pub ports: Vec<Found>,
}

/// A port, and what became of it.
#[derive(Clone, Debug)]
pub struct Found {
    /// The port.
    pub candidate: Candidate,
    /// What the device can do.
    pub device: Abilities,
    /// What became of it.
    pub verdict: Verdict,
}

/// What a device can do at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abilities {
    /// Queue pairs.
    pub pairs: i32,
    /// Work under way on one.
    pub work: i32,
    /// Completions in one queue.
    pub completions: i32,
    /// Shared receive queues.
    pub shared_queues: i32,
    /// Reads under way on one queue pair, as asker.
    pub reads: i32,
    /// Registrations.
    pub registrations: i32,
}

impl From<&ibv_device_attr> for Abilities {
    fn from(device: &ibv_device_attr) -> Abilities {
        Abilities {
            pairs: device.max_qp,
            work: device.max_qp_wr,
            completions: device.max_cqe,
            shared_queues: device.max_srq,
            reads: device.max_qp_init_rd_atom,
            registrations: device.max_mr,
        }
    }
}

/// Whether a port is used, and why not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is; the text says how ([`super::super::adapter::Adapter::place`]).
    Chosen(String),
    /// It might be, but another one comes first.
    Spare,
    /// It is of no use, for this reason.
    Unfit(String),
    /// It was tried and failed.
    Failed(Fault),
}

impl Survey {
    /// Looks, and opens the best port that works.
    pub fn take(options: &Options) -> (Survey, Option<Verbs>) {
        let mut survey = Survey { library: Ok(Fork::Kernel), closed: Vec::new(), ports: Vec::new() };
        let library = match Library::get() {
            Ok(library) => library,
            Err(fault) => {
                survey.library = Err(fault);
                return (survey, None);
            }
        };
        survey.library = Ok(library.fork().clone());
        let contexts = match library.devices() {
            Ok(devices) => survey.look(&devices),
            Err(fault) => {
                survey.library = Err(fault);
                return (survey, None);
            }
        };
        let verbs = survey.choose(&contexts, options);
        (survey, verbs)
    }

    /// Opens every device and asks its ports; returns the context of each port.
    fn look(&mut self, devices: &[Device]) -> Vec<Arc<Context>> {
        let mut contexts = Vec::new();
        for device in devices {
            let before = self.ports.len();
            if let Err(fault) = self.look_at(device, &mut contexts) {
                self.ports.truncate(before);
                contexts.truncate(before);
                self.closed.push((device.name().to_string(), fault));
            }
        }
        contexts
    }

    fn look_at(&mut self, device: &Device, contexts: &mut Vec<Arc<Context>>) -> Result<(), Fault> {
        let context = device.open()?;
        let attributes = context.attributes()?;
        for number in 1..=attributes.phys_port_cnt {
            let port = context.port(number)?;
            let candidate = Candidate {
                device: device.name().to_string(),
                infiniband_transport: device.is_infiniband_transport(),
                gids: context.gids(&port),
                port,
            };
            let device = Abilities::from(&attributes);
            self.ports.push(Found { candidate, device, verdict: Verdict::Spare });
            contexts.push(Arc::clone(&context));
        }
        Ok(())
    }

    /// Tries the ports in order until one works.
    fn choose(&mut self, contexts: &[Arc<Context>], options: &Options) -> Option<Verbs> {
        let candidates: Vec<Candidate> = self.ports.iter().map(|found| found.candidate.clone()).collect();
        let mut chosen = None;
        for at in order(&candidates, options) {
            self.ports[at].verdict = match candidates[at].fit(options) {
                Err(reason) => Verdict::Unfit(reason),
                Ok(_) if chosen.is_some() => Verdict::Spare,
                Ok(gids) => {
                    let port = &candidates[at].port;
                    // The last failure is that of the least likely address, the first of the most likely.
                    let mut failure = None;
                    for entry in &gids {
                        match Verbs::open_port(&contexts[at], port, entry, options) {
                            Ok(verbs) => {
                                chosen = Some(verbs);
                                break;
                            }
                            Err(fault) => failure = failure.or(Some(fault)),
                        }
                    }
                    match (&chosen, failure) {
                        (Some(verbs), _) => Verdict::Chosen(verbs.port.place()),
                        (None, Some(fault)) => Verdict::Failed(fault),
                        (None, None) => unreachable!("a port that fits has a GID"),
                    }
                }
            };
        }
        chosen
    }

    /// Why what the user named is not used.
    pub fn refusal(&self, options: &Options) -> Fault {
        if let Err(fault) = &self.library {
            return fault.clone();
        }
        let named: Vec<String> = options.devices.iter().map(ToString::to_string).collect();
        let means = |found: &&Found| {
            let Candidate { device, port, .. } = &found.candidate;
            options.devices.iter().any(|named| named.means(device, port.number))
        };
        let cause = match self.ports.iter().find(means).map(|found| &found.verdict) {
            Some(Verdict::Failed(fault)) => return fault.clone(),
            Some(Verdict::Unfit(reason)) => reason.clone(),
            _ => match self.closed.iter().find(|(name, _)| options.devices.iter().any(|n| n.device == *name))
            {
                Some((_, fault)) => return fault.clone(),
                None => format!("there is no such device or port; there are: {}", self.names()),
            },
        };
        Fault::new(
            "the verbs device that is asked for cannot be used",
            format!("VERBENA_RC_DEVICE={}", named.join(",")),
            cause,
            "name another, or leave the setting out; \"verbena info\" shows all ports and what is wrong with each",
        )
    }

    fn names(&self) -> String {
        let name = |found: &Found| format!("{}:{}", found.candidate.device, found.candidate.port.number);
        let names: Vec<String> = self.ports.iter().map(name).collect();
        if names.is_empty() { "none".into() } else { names.join(", ") }
    }
}
