//! Asynchronous events as the channel hears of them.

use super::port::OpenPort;
use crate::device::{QueuePair, Trouble};
use verbena_fault::Fault;
use verbena_verbs::Event;
use verbena_verbs::explain::fault;

impl OpenPort {
    /// Returns what broke here, if that was not told yet; else what the device says by itself,
    /// oldest first.
    pub(crate) fn trouble(&self, broken: &mut Option<Fault>) -> Option<Trouble> {
        broken.take().map(Trouble::Device).or_else(|| next(self))
    }
}

/// Returns the oldest trouble that nobody has heard of; other events are skipped.
fn next(port: &OpenPort) -> Option<Trouble> {
    loop {
        match port.domain.context().next_event() {
            Ok(None) => return None,
            Ok(Some(event)) => {
                let trouble = of(event, port);
                if trouble.is_some() {
                    return trouble;
                }
            }
            Err(number) => {
                return Some(Trouble::Device(fault(
                    "the device gives no events any more",
                    port.place(),
                    number,
                )));
            }
        }
    }
}

fn of(event: Event, port: &OpenPort) -> Option<Trouble> {
    match event {
        Event::DeviceFatal => Some(Trouble::Device(device(port, "it reports a fatal error"))),
        Event::CompletionQueue => {
            Some(Trouble::Device(device(port, "a completion queue overflowed or failed")))
        }
        Event::SharedReceiveQueue => Some(Trouble::Device(device(port, "the shared receive queue failed"))),
        Event::FewReceives => Some(Trouble::FewReceives),
        Event::Pair(pair, how) => Some(Trouble::Pair(QueuePair(pair), broken_pair(port, pair, how))),
        Event::PortDown(number) if number == port.number => Some(Trouble::Port(down(port))),
        Event::Addresses(number) if number == port.number && !is_as_before(port) => {
            Some(Trouble::Port(moved(port)))
        }
        _ => None,
    }
}

/// Returns whether the port still has the addresses by which its peers know it.
fn is_as_before(port: &OpenPort) -> bool {
    let context = port.domain.context();
    let Ok(now) = context.port(port.number) else { return false };
    let gid = context.gid(&now, port.entry.index).map(|entry| entry.gid);
    now.lid == port.site.lid && gid == Some(port.site.gid)
}

fn device(port: &OpenPort, how: &str) -> Fault {
    Fault::new(
        "the verbs device failed",
        port.place(),
        format!("{how}: the device or its driver broke, or it was reset or removed"),
        "look at the kernel's log (dmesg); restart the job, if need be with another VERBENA_RC_DEVICE",
    )
}

fn broken_pair(port: &OpenPort, pair: u32, how: &str) -> Fault {
    Fault::new(
        "a connection broke",
        format!("{}, queue pair {pair}", port.place()),
        how,
        "if the peer did not end, this is a defect of Verbena or of the device's driver: please report it",
    )
}

fn down(port: &OpenPort) -> Fault {
    Fault::new(
        "the port went down",
        port.place(),
        "a cable, a switch, or someone who switched the interface off",
        "look at \"ibv_devinfo\" and \"ip link\"; connections break unless it comes back within the retry time",
    )
}

fn moved(port: &OpenPort) -> Fault {
    Fault::new(
        "the port changed its address",
        port.place(),
        "its network interface lost an address, or the subnet manager gave another LID",
        "keep the addresses as they are while a job runs, and restart the job",
    )
}
