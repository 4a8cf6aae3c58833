//! The engine's own failures, in four parts.

use crate::work::Lost;
use verbena_channel::Peer;
use verbena_channel::packet::Header;
use verbena_fault::Fault;
use verbena_wires::Wire;

/// Reports that no channel takes packets to `peer`. A channel that should be there and is not says
/// why.
pub(crate) fn unreachable(me: Peer, peer: Peer, channels: &[Wire]) -> Fault {
    let all = channels.iter().map(|channel| (channel.name(), channel.report().absence));
    let (absent, open): (Vec<_>, Vec<_>) = all.partition(|(_, absence)| absence.is_some());
    let names: Vec<_> = open.iter().map(|(name, _)| *name).collect();
    let fault = Fault {
        what: "no channel reaches the process".into(),
        on: format!("from process {me} to process {peer}; channels open here: {}", list(&names)),
        cause:
            "the two processes are on different machines and no network channel is open, or VERBENA_CHANNELS \
                leaves out the one that joins them"
                .into(),
        remedy: "run `verbena info` on both machines to see their channels; unset VERBENA_CHANNELS".into(),
    };
    let Some((name, Some(why))) = absent.first() else { return fault };
    let cause = format!("the channel {name} is not open here: {} ({}): {}", why.what, why.on, why.cause);
    Fault { cause, remedy: why.remedy.clone(), ..fault }
}

/// The job has no process of that number.
pub(crate) fn no_such_process(me: Peer, peer: Peer, size: u32) -> Fault {
    Fault {
        what: "there is no such process in the job".into(),
        on: format!("from process {me} to process {peer} of a job of {size}"),
        cause: "a rank was translated to a process that does not exist: a defect of Verbena".into(),
        remedy: "please report it with the program that shows it".into(),
    }
}

/// A channel that promised order did not keep it, or lost a packet.
pub(crate) fn out_of_order(me: Peer, peer: Peer, channel: &str, expected: u32, got: u32) -> Fault {
    Fault {
        what: format!("the channel {channel} lost or reordered packets"),
        on: format!("from process {peer} to process {me}: packet {got} came when {expected} was due"),
        cause: "memory shared by the two processes was overwritten, or a defect of the channel".into(),
        remedy: "check the program for writes out of bounds; try other channels with VERBENA_CHANNELS".into(),
    }
}

/// Reports that more packets than allowed came before one that is missing.
pub(crate) fn gap_too_long(me: Peer, peer: Peer, expected: u32, held: usize) -> Fault {
    Fault {
        what: "a packet is missing".into(),
        on: format!(
            "from process {peer} to process {me}: packet {expected} is missing, {held} later ones came"
        ),
        cause: "the network lost it and the channel did not send it again".into(),
        remedy: "check the network; please report it if it happens again".into(),
    }
}

/// The peer refuses a message.
pub(crate) fn refused(me: Peer, peer: Peer) -> Fault {
    Fault {
        what: "a process of another job has finalised and receives nothing any more".into(),
        on: format!("from process {me} to process {peer}, as this process numbers those of other jobs"),
        cause: "it called MPI_Finalize without a receive for this message".into(),
        remedy: "receive every message before MPI_Finalize (MPI-5.0, 11.2.2)".into(),
    }
}

/// The peer says that it has given a channel up.
pub(crate) fn given_up(me: Peer, peer: Peer, channel: &str) -> Fault {
    Fault {
        what: format!("process {peer} has given the channel {channel} up"),
        on: format!("from process {me} to process {peer}"),
        cause: "its device, its port or the path failed at its end first".into(),
        remedy: "look at that process's port (ibstat, rdma link) and at the path between the nodes".into(),
    }
}

/// Reports that no channel is left: what each of them failed at.
pub(crate) fn all_lost(lost: &[Lost], channels: &[Wire]) -> Fault {
    let [first, others @ ..] = lost else { unreachable!("one at least") };
    if others.is_empty() {
        return first.fault.clone();
    }
    let name = |lost: &Lost| channels[lost.channel].name();
    let each = |part: fn(&Fault) -> &String| {
        let words = |lost: &Lost| format!("{}: {}", name(lost), part(&lost.fault));
        lost.iter().map(words).collect::<Vec<_>>().join("; then ")
    };
    Fault {
        what: format!("no channel is left: {}", each(|fault| &fault.what)),
        on: each(|fault| &fault.on),
        cause: each(|fault| &fault.cause),
        remedy: first.fault.remedy.clone(),
    }
}

/// A packet makes no sense.
pub(crate) fn malformed(me: Peer, peer: Peer, header: &Header, bytes: usize) -> Fault {
    Fault {
        what: format!("a packet of kind {:?} makes no sense", header.kind),
        on: format!(
            "from process {peer} to process {me}: {bytes} bytes of payload, length {}",
            header.length
        ),
        cause:
            "memory shared by the two processes was overwritten, or they run different versions of Verbena"
                .into(),
        remedy: "use one version of Verbena for the whole job; check the program for writes out of bounds"
            .into(),
    }
}

fn list(names: &[&str]) -> String {
    if names.is_empty() { "none".into() } else { names.join(", ") }
}
