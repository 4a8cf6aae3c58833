//! Everyone speaks to everyone (paper 4, 5.2.2), by the cost model: datagrams need nothing made
//! first.

use verbena_sim::figures::everyone::{By, connect};
use verbena_sim::verbs::Costs;

/// Paper 4, figures 5 and 6: with datagrams memory stays, and time is that of the messages alone;
/// connections take more of both with every peer, and without a shared receive queue the most
/// memory.
#[test]
fn datagrams_need_no_connections() {
    let took = |by, ranks| connect(by, ranks, Costs::PAPER_1).expect("it ends");
    let all =
        [By::Datagrams, By::SharedQueue, By::OwnQueues].map(|by| [16, 128].map(|ranks| took(by, ranks)));
    println!("{all:#?}");
    let [datagrams, shared, own] = all;
    assert_eq!(datagrams[1].pairs, 0);
    assert_eq!((shared[1].pairs, own[1].pairs), (127, 127));
    // Some more buffers may be under way at once.
    assert!(datagrams[1].registered_bytes < datagrams[0].registered_bytes * 11 / 10);
    assert!(own[1].registered_bytes > own[0].registered_bytes);
    assert!(shared[1].time_ns > 3 * datagrams[1].time_ns && own[1].time_ns > 3 * datagrams[1].time_ns);
}
