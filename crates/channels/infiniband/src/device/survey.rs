//! Looks at every port of every device, and opens the best that works. The findings, and why each
//! port was chosen or not, are kept for `verbena info` and for error messages.

use super::choose::{Candidate, order};
use super::options::Options;
use crate::device::unreadable;
use std::sync::Arc;
use verbena_fault::Fault;
use verbena_verbs::device::{file_of, known_to_kernel};
use verbena_verbs::memlock::Locked;
use verbena_verbs::raw::ibv_device_attr;
use verbena_verbs::{Context, Device, Fork, GidEntry, Library, Port};

/// The findings.
#[derive(Clone, Debug)]
pub struct Survey {
    /// The safety of fork; or why there is no libibverbs.
    pub library: Result<Fork, Fault>,
    /// The memory that may be locked, and is; or why that is not known.
    pub locked: Result<Locked, Fault>,
    /// The reason why there is no device at all.
    pub bare: Option<Fault>,
    /// Devices that could not be opened.
    pub closed: Vec<(String, Fault)>,
    /// The ports of all others.
    pub ports: Vec<Found>,
}

/// A port, and what became of it.
#[derive(Clone, Debug)]
pub struct Found {
    /// The port.
    pub candidate: Candidate,
    /// The abilities of the device.
    pub device: Abilities,
    /// The verdict on it.
    pub verdict: Verdict,
}

/// The upper limits of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abilities {
    /// The number of queue pairs.
    pub pairs: i32,
    /// The work under way on one.
    pub work: i32,
    /// The completions in one queue.
    pub completions: i32,
    /// The number of shared receive queues.
    pub shared_queues: i32,
    /// The reads under way on one queue pair, as asker.
    pub reads: i32,
    /// The number of registrations.
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

/// The decision whether a port is used, and why not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The port is used; the text says how
    /// ([`Adapter::place`](crate::rc::adapter::Adapter::place)).
    Chosen(String),
    /// The port might be used, but another one comes first.
    Spare,
    /// The port is of no use, for this reason.
    Unfit(String),
    /// The port was tried and failed.
    Failed(Fault),
}

/// Opens something over a port by a GID.
pub(crate) type OpenPort<'a, T> =
    dyn Fn(&Arc<Context>, &Port, &GidEntry, &Options) -> Result<(T, String), Fault> + 'a;

impl Survey {
    /// Makes a survey in which nothing was looked at yet.
    fn blank() -> Survey {
        let locked = Locked::read().map_err(|error| unreadable(&error));
        Survey { library: Ok(Fork::Kernel), locked, bare: None, closed: Vec::new(), ports: Vec::new() }
    }

    /// Looks, and opens every port that is to be used, the best first; `open` also tells, in words,
    /// what was opened.
    pub(crate) fn take<T>(options: &Options, open: &OpenPort<'_, T>) -> (Survey, Vec<T>) {
        let mut survey = Survey::blank();
        match Library::get() {
            Err(fault) => {
                survey.library = Err(fault);
                (survey, Vec::new())
            }
            Ok(library) => {
                survey.library = Ok(library.fork().clone());
                let contexts = survey.list(library);
                let opened = survey.choose(&contexts, options, open);
                (survey, opened)
            }
        }
    }

    /// Finds the devices, and why there are none or fewer than the kernel has.
    fn list(&mut self, library: &'static Library) -> Vec<Arc<Context>> {
        let devices = match library.devices() {
            Ok(devices) => devices,
            Err(fault) => {
                self.bare = Some(fault);
                return Vec::new();
            }
        };
        let lacks_driver = |name: &String| devices.iter().all(|device| device.name() != *name);
        let strangers = known_to_kernel().into_iter().filter(lacks_driver);
        self.closed = strangers.map(|name| (name.clone(), driverless(&name))).collect();
        let contexts = self.look(&devices);
        self.bare = (self.ports.is_empty() && self.closed.is_empty()).then(none);
        contexts
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

    /// Tries the ports in order until as many work as are to be used.
    fn choose<T>(&mut self, contexts: &[Arc<Context>], options: &Options, open: &OpenPort<'_, T>) -> Vec<T> {
        let candidates: Vec<Candidate> = self.ports.iter().map(|found| found.candidate.clone()).collect();
        let mut chosen = Vec::new();
        let mut best = None;
        for at in order(&candidates, options) {
            self.ports[at].verdict = match candidates[at].fit(options) {
                Err(reason) => Verdict::Unfit(reason),
                Ok(_) if !candidates[at].is_rail_beside(best, chosen.len(), options) => Verdict::Spare,
                Ok(gids) => match try_gids(&contexts[at], &candidates[at].port, &gids, options, open) {
                    Err(fault) => Verdict::Failed(fault),
                    Ok((opened, place)) => {
                        best = best.or(Some(&candidates[at]));
                        chosen.push(opened);
                        Verdict::Chosen(place)
                    }
                },
            };
        }
        chosen
    }

    /// Explains why no device is used: none of those that the user named, or none at all.
    pub fn refusal(&self, options: &Options) -> Fault {
        let wanted =
            |name: &str| options.devices.is_empty() || options.devices.iter().any(|n| n.device == name);
        let closed = self.closed.iter().filter(|(name, _)| wanted(name)).map(|(_, fault)| fault);
        let failed = self.ports.iter().filter_map(|found| match &found.verdict {
            Verdict::Failed(fault) => Some(fault),
            _ => None,
        });
        let faults = self.library.as_ref().err().into_iter().chain(&self.bare).chain(failed).chain(closed);
        if let Some(fault) = faults.into_iter().next() {
            return fault.clone();
        }
        let named: Vec<String> = options.devices.iter().map(ToString::to_string).collect();
        let on = if named.is_empty() {
            "this machine".into()
        } else {
            format!("VERBENA_RC_DEVICE={}", named.join(","))
        };
        Fault::new(
            "no verbs device can be used",
            on,
            self.reasons(),
            "\"verbena info\" shows all ports; VERBENA_RC_DEVICE names those that may be used",
        )
    }

    /// Lists what is wrong with each port.
    fn reasons(&self) -> String {
        let reason = |found: &Found| {
            let Candidate { device, port, .. } = &found.candidate;
            let Verdict::Unfit(why) = &found.verdict else {
                return format!("{device}:{} is there", port.number);
            };
            format!("{device}:{}: {why}", port.number)
        };
        let reasons: Vec<String> = self.ports.iter().map(reason).collect();
        if reasons.is_empty() { "there is none".into() } else { reasons.join("; ") }
    }
}

/// Opens the port by the first address that works. The failure is that of the best.
fn try_gids<T>(
    context: &Arc<Context>,
    port: &Port,
    gids: &[GidEntry],
    options: &Options,
    open: &OpenPort<'_, T>,
) -> Result<(T, String), Fault> {
    let mut failure = None;
    for entry in gids {
        match open(context, port, entry, options) {
            Ok(opened) => return Ok(opened),
            Err(fault) => failure = failure.or(Some(fault)),
        }
    }
    Err(failure.expect("a port that fits has an address"))
}

fn driverless(name: &str) -> Fault {
    let what = "libibverbs leaves out a verbs device that the kernel has";
    let file = file_of(name).filter(|file| !file.exists());
    let Some(file) = file else {
        let cause = "its driver for user space is not installed";
        let remedy =
            "install ibverbs-providers (Debian, Ubuntu), libibverbs (Fedora, RHEL) or the vendor's rdma-core";
        return Fault::new(what, name, cause, remedy);
    };
    let cause =
        format!("{} is not there, as in a container to which the device was not given", file.display());
    Fault::new(
        what,
        name,
        cause,
        "if this process shall use it, pass its file in /dev/infiniband to the container",
    )
}

fn none() -> Fault {
    Fault::new(
        "InfiniBand cannot be used: there is no verbs device",
        "this machine",
        "no InfiniBand or RoCE adapter, or its kernel driver is not loaded",
        "load the adapter's driver; any Ethernet interface serves for trials, with Soft-RoCE: modprobe rdma_rxe; rdma link add rxe0 type rxe netdev eth0",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::options::Named;
    use crate::rc::verbs::Verbs;
    use verbena_testing::{Lack, skip};

    #[test]
    fn without_a_device_nothing_is_opened_and_the_reason_is_told() {
        let (survey, verbs) = Verbs::survey(&Options::current());
        if verbs.is_some() {
            return skip(Lack::Hardware, "this machine has a verbs device that works");
        }
        let unusable = |found: &Found| matches!(found.verdict, Verdict::Unfit(_) | Verdict::Failed(_));
        assert!(survey.ports.iter().all(unusable), "{survey:?}");
        let told = survey.library.is_err() || survey.bare.is_some() || !survey.closed.is_empty();
        assert!(told || !survey.ports.is_empty(), "{survey:?}");
    }

    #[test]
    fn a_named_device_that_is_not_there_is_an_error() {
        let named = Named { device: "no-such-device".into(), port: None };
        let options = Options { devices: vec![named], ..Options::current() };
        let fault = Verbs::open(&options).err().expect("refused");
        assert!(!fault.cause.is_empty() && !fault.remedy.is_empty(), "{fault}");
    }

    #[test]
    fn the_refusal_lists_what_there_is() {
        let survey = Survey::blank();
        let named = Named { device: "mlx5_7".into(), port: Some(2) };
        let fault = survey.refusal(&Options { devices: vec![named], ..Options::current() });
        assert!(fault.on == "VERBENA_RC_DEVICE=mlx5_7:2" && fault.cause.contains("none"), "{fault}");
        let fault = survey.refusal(&Options::current());
        assert!(fault.on == "this machine" && !fault.remedy.is_empty(), "{fault}");
    }
}
