//! Costs of a device from what its bare program measured (`verbena bench verbs`), so that the
//! simulator predicts what the library does over that very device.
//!
//! The program measures neither the work of engine and channel for a packet nor what a read costs
//! the processor that answers in software. The first is fitted to one latency ([`fit_packet`]), if
//! there is one; the second is left out.

use super::costs::{Costs, Stage};
use super::theory::Kind::{Fitted, Guessed, Measured as Seen};
use super::theory::{Origins, PACKET, Theory};

/// The numbers of the bare device that the model needs, each a median.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Half a round trip of a short write into polled memory, in ns.
    pub write_ns: f64,
    /// Half a round trip of a short send, in ns.
    pub send_ns: f64,
    /// From the post of a short write to its completion, in ns.
    pub write_completed_ns: f64,
    /// From the post of a short read to its completion, in ns.
    pub read_completed_ns: f64,
    /// From one short write to the next, in a stream, in ns.
    pub write_gap_ns: f64,
    /// From one short send to the next, in ns.
    pub send_gap_ns: f64,
    /// From one short read to the next, in ns.
    pub read_gap_ns: f64,
    /// Speed of a stream of long writes, in bytes a microsecond.
    pub write_mb_s: f64,
    /// Time in the call that posts a short write, in ns.
    pub post_ns: f64,
    /// Time in the call that posts a long write, in ns.
    pub post_long_ns: f64,
    /// The bytes of that long write.
    pub post_long_bytes: f64,
    /// Posting a receive buffer, in ns.
    pub post_receive_ns: f64,
    /// An empty look at the completion queue, in ns.
    pub look_empty_ns: f64,
    /// A look that finds a completion, in ns.
    pub look_found_ns: f64,
    /// Registering a page of 4 KiB, in ns.
    pub register_page_ns: f64,
    /// Registering [`Measured::register_long_bytes`], in ns.
    pub register_long_ns: f64,
    /// The bytes of the long registration.
    pub register_long_bytes: f64,
    /// Ending a registration, in ns.
    pub deregister_ns: f64,
    /// Opening a queue pair, in ns.
    pub open_ns: f64,
    /// Connecting it, in ns.
    pub connect_ns: f64,
    /// Speed of copies, in bytes a microsecond.
    pub copy_mb_s: f64,
    /// Speed of copies while the device writes to the same host, in bytes a microsecond.
    pub copy_beside_mb_s: f64,
}

/// A page, in bytes.
const PAGE_BYTES: f64 = 4096.0;

const ORIGINS: Origins = [
    (Seen, "time in the call, short write; not more than half a round trip"),
    (Seen, "the rest of that time: the device began and arrived before the call returned"),
    (Seen, "time in the call, long write less a short one"),
    (Seen, "posting to a queue pair's own receive queue"),
    (Seen, "empty look, one connection"),
    (Seen, "look that finds something, one connection"),
    (Guessed, "0: the bare program has no engine"),
    (Seen, "registering 4 KiB, less its page"),
    (Seen, "registering a long region, less 4 KiB"),
    (Seen, "ending a registration of 4 KiB"),
    (Seen, "opening a queue pair"),
    (Seen, "connecting a queue pair"),
    (Seen, "half a round trip of a short write, less the post"),
    (Seen, "from one short write to the next"),
    (Guessed, "0: it takes no part"),
    (Seen, "half a round trip of a short send, less the post and the look"),
    (Seen, "from one short write to the next"),
    (Seen, "from one short send to the next"),
    (Seen, "from the post of a short read to its completion, less post, look, answer and acknowledgement"),
    (Seen, "from one short write to the next"),
    (Seen, "from one short read to the next"),
    (Guessed, "1: a software device has no engines"),
    (Seen, "from the post of a short write to its completion, less its latency"),
    (Guessed, "that of a send"),
    (Seen, "stream of long writes"),
    (Seen, "copies alone"),
    (Seen, "copies beside writes to copies alone"),
];

/// Returns the time left of `whole` in whole nanoseconds.
fn less(whole: f64, parts: &[f64]) -> u64 {
    (whole - parts.iter().sum::<f64>()).max(0.0).round() as u64
}

/// Makes the model of the device that was measured; `name` says which.
pub fn calibrate(name: &'static str, seen: &Measured) -> Theory {
    let register_page = (seen.register_long_ns - seen.register_page_ns).max(0.0)
        / (seen.register_long_bytes / PAGE_BYTES - 1.0).max(1.0);
    // A software device may deliver a message before the call that posts it returns.
    let post_ns = seen.post_ns.min(seen.write_ns);
    let latency_ns = less(seen.write_ns, &[post_ns]);
    let acknowledge_ns = less(seen.write_completed_ns, &[post_ns, latency_ns as f64, seen.look_found_ns]);
    let send_latency_ns = less(seen.send_ns, &[post_ns, seen.look_found_ns]);
    let issue_ns = less(seen.write_gap_ns, &[]);
    let post_bytes_ns = (seen.post_long_ns - seen.post_ns).max(0.0);
    let costs = Costs {
        post_ns: less(post_ns, &[]),
        post_after_ns: less(seen.post_ns, &[post_ns]),
        post_byte_ps: (post_bytes_ns * 1000.0 / seen.post_long_bytes).round() as u64,
        post_receive_ns: less(seen.post_receive_ns, &[]),
        poll_ns: less(seen.look_empty_ns, &[]),
        completion_ns: less(seen.look_found_ns, &[]),
        packet_ns: 0,
        register_ns: less(seen.register_page_ns, &[register_page]),
        register_page_ns: less(register_page, &[]),
        deregister_ns: less(seen.deregister_ns, &[]),
        open_pair_ns: less(seen.open_ns, &[]),
        connect_pair_ns: less(seen.connect_ns, &[]),
        write: Stage { latency_ns, issue_ns, receive_ns: 0 },
        send: Stage { latency_ns: send_latency_ns, issue_ns, receive_ns: less(seen.send_gap_ns, &[]) },
        read: Stage {
            latency_ns: less(
                seen.read_completed_ns,
                &[post_ns, seen.look_found_ns, seen.read_gap_ns, acknowledge_ns as f64],
            ),
            issue_ns,
            receive_ns: less(seen.read_gap_ns, &[]),
        },
        pairs_at_once: 1,
        acknowledge_ns,
        datagram_ns: send_latency_ns,
        byte_ps: (1e6 / seen.write_mb_s).round() as u64,
        copy_byte_ps: (1e6 / seen.copy_mb_s).round() as u64,
        copy_beside_device_percent: (100.0 * seen.copy_beside_mb_s / seen.copy_mb_s).clamp(1.0, 100.0) as u64,
    };
    Theory { name, costs, origins: ORIGINS }
}

/// Sets the work of engine and channel for a packet, which the bare program cannot know, so that
/// the model's latency of a short message becomes `latency_ns`; without it the model says
/// `bare_ns`. That latency is then no finding of the model.
pub fn fit_packet(theory: &Theory, bare_ns: f64, latency_ns: f64) -> Theory {
    let mut fitted = *theory;
    // A packet is handled at both ends.
    fitted.costs.packet_ns = less(latency_ns, &[bare_ns]) / 2;
    fitted.origins[PACKET] = (Fitted, "the measured latency of the shortest message, piggybacked");
    fitted
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEEN: Measured = Measured {
        write_ns: 10_000.0,
        send_ns: 13_000.0,
        write_completed_ns: 15_000.0,
        read_completed_ns: 20_000.0,
        write_gap_ns: 5_000.0,
        send_gap_ns: 6_000.0,
        read_gap_ns: 7_000.0,
        write_mb_s: 100.0,
        post_ns: 3_000.0,
        post_long_ns: 3_000.0 + 65_536.0 * 2.0,
        post_long_bytes: 65_536.0,
        post_receive_ns: 200.0,
        look_empty_ns: 50.0,
        look_found_ns: 150.0,
        register_page_ns: 9_000.0,
        register_long_ns: 9_000.0 + 255.0 * 100.0,
        register_long_bytes: 1_048_576.0,
        deregister_ns: 4_000.0,
        open_ns: 30_000.0,
        connect_ns: 40_000.0,
        copy_mb_s: 1_000.0,
        copy_beside_mb_s: 800.0,
    };

    #[test]
    fn costs_add_up_to_what_was_measured() {
        let costs = calibrate("a device", &SEEN).costs;
        assert_eq!(costs.post_ns + costs.write.latency_ns, 10_000);
        assert_eq!(costs.post_ns + costs.send.latency_ns + costs.completion_ns, 13_000);
        assert_eq!(
            costs.post_ns + costs.write.latency_ns + costs.acknowledge_ns + costs.completion_ns,
            15_000
        );
        let there_and_back_ns = costs.read.latency_ns + costs.read.receive_ns + costs.acknowledge_ns;
        assert_eq!(costs.post_ns + there_and_back_ns + costs.completion_ns, 20_000);
        assert_eq!((costs.byte_ps, costs.copy_byte_ps, costs.post_byte_ps), (10_000, 1_000, 2_000));
        assert_eq!(costs.registration_ns(4096), 9_000);
        assert_eq!(costs.registration_ns(1 << 20), 34_500);
        assert_eq!(costs.copy_beside_device_percent, 80);
    }

    #[test]
    fn a_message_may_arrive_before_the_post_returns() {
        let early = Measured { post_ns: 14_000.0, ..SEEN };
        let costs = calibrate("a software device", &early).costs;
        assert_eq!((costs.post_ns, costs.post_after_ns, costs.write.latency_ns), (10_000, 4_000, 0));
        assert_eq!(calibrate("a device", &SEEN).costs.post_after_ns, 0);
    }

    #[test]
    fn a_device_that_seems_quicker_than_its_parts_has_no_negative_cost() {
        let odd = Measured { write_ns: 100.0, write_completed_ns: 1.0, ..SEEN };
        let costs = calibrate("an odd device", &odd).costs;
        assert_eq!((costs.write.latency_ns, costs.acknowledge_ns), (0, 0));
    }

    #[test]
    fn the_packet_is_fitted_to_one_latency_and_says_so() {
        let theory = calibrate("a device", &SEEN);
        assert!(theory.constants()[PACKET].kind == Guessed && theory.costs.packet_ns == 0);
        let fitted = fit_packet(&theory, 11_000.0, 14_000.0);
        assert!(fitted.constants()[PACKET].kind == Fitted && fitted.costs.packet_ns == 1_500);
        let others = |theory: &Theory| Costs { packet_ns: 0, ..theory.costs };
        assert_eq!(others(&fitted), others(&theory));
    }
}
