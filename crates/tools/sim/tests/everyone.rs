//! Everyone speaks to everyone (paper 4, 5.2.2), by the cost model: datagrams need nothing made
//! first, and a shared receive pool does not grow with the number of processes.

use verbena_sim::figures::everyone::{By, Took, connect};
use verbena_sim::verbs::Costs;

/// Numbers of processes.
const RANKS: [u32; 4] = [16, 64, 256, 1024];

fn took(by: By) -> [Took; RANKS.len()] {
    RANKS.map(|ranks| connect(by, ranks, Costs::PAPER_1).expect("it ends"))
}

/// Paper 4, figures 5 and 6: with datagrams memory stays, and time is that of the messages alone;
/// connections take more of both with every peer.
#[test]
fn datagrams_need_no_connections() {
    let [datagrams, shared, own] = [By::Datagrams, By::SharedQueue, By::OwnQueues].map(took);
    println!("{datagrams:#?} {shared:#?} {own:#?}");
    assert!(datagrams.iter().all(|took| took.pairs == 0));
    for (at, ranks) in RANKS.into_iter().enumerate() {
        assert_eq!([shared[at].pairs, own[at].pairs], [ranks as usize - 1; 2]);
        assert!(
            shared[at].time_ns > 3 * datagrams[at].time_ns && own[at].time_ns > 3 * datagrams[at].time_ns
        );
    }
    // Some more buffers may be under way at once.
    assert!(datagrams[3].registered_bytes < datagrams[0].registered_bytes * 12 / 10);
    assert!(own[3].registered_bytes > own[0].registered_bytes);
    takes_less(&shared, &own);
}

/// Paper 4, 2.1 and figure 6 (14.75 to 25.0 MiB): without a shared receive queue the most memory.
/// With one it stays, since the pool has its size, and no burst makes it grow here.
fn takes_less(shared: &[Took], own: &[Took]) {
    for (shared, own) in shared.iter().zip(own) {
        assert!(3 * shared.registered_bytes < own.registered_bytes, "{shared:?}, {own:?}");
    }
    let bytes = || shared.iter().map(|took| took.registered_bytes);
    assert!(bytes().max() < bytes().min().map(|least| 2 * least), "{shared:?}");
}
