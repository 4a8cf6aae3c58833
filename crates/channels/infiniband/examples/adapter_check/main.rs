//! Tries everything that `rc` asks of a verbs device on two real ones in one process.
//!
//! `adapter_check [latency | DEVICE DEVICE]`, by default `rxe0 rxe1`: two devices that reach each
//! other. Inside a Soft-RoCE guest: `cargo xtask softroce`. Prints a line for each check; the exit
//! status is 0 if all passed.
//!
//! | module | what it holds |
//! | --- | --- |
//! | `pairing` | two adapters, and connections between them |
//! | `moving` | datagrams, send and receive, write, read |
//! | `failing` | errors, full queues, closed queue pairs, forks |
//! | `speed` | `adapter_check latency`: half round trips over the bare adapter |
//! | `world` | effects of the machine on a device: limits, a wire that is cut |

mod failing;
mod moving;
mod pairing;
mod speed;
mod world;

use pairing::Both;
use std::time::Instant;

/// A check; it panics if it fails.
type Check = (&'static str, fn(&mut Both));

const CHECKS: &[Check] = &[
    ("datagrams arrive, long ones are lost", moving::datagrams),
    ("send and receive by a shared queue", moving::shared_receives),
    ("a shared queue that runs low is told, and one that is empty waited for", moving::few_receives),
    ("send and receive by queues of their own", moving::own_receives),
    ("sends of all sizes, inline and not", moving::sizes),
    ("a descriptor is posted again and again, unsignalled", moving::descriptors),
    ("write", moving::write),
    ("read 1 MiB", moving::read),
    ("write and read 9 MiB at once", moving::long),
    ("both ways at once", moving::both_ways),
    ("atomic operations", moving::atomics),
    ("memory that may only be read", moving::read_only_memory),
    ("registrations come and go", moving::registrations),
    ("receive queues fill up", failing::full_receives),
    ("all work that may be under way fails", failing::full_sends),
    ("a wrong remote key", failing::remote_access),
    ("a key for other work", failing::remote_rights),
    ("a wrong local key", failing::local_access),
    ("no receive buffer", failing::receiver_not_ready),
    ("the peer closes", failing::retries_exhausted),
    ("closing forgets completions, but no shared buffer", failing::closing),
    ("many connections: the completion queue grows", failing::many_connections),
    ("memory that is not mapped", failing::unmapped),
    ("a fork does not part device and process", failing::fork),
    ("a device that is not there", failing::no_such_device),
    ("a limit on locked memory", world::limit),
    ("new addresses of the interface are no trouble, a port that goes down is", world::cut),
];

fn main() {
    let names: Vec<String> = std::env::args().skip(1).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let (one, other) = match names[..] {
        [] => ("rxe0", "rxe1"),
        [world::LIMITED, device] => return world::limited(device),
        ["latency"] => return speed::latency(&mut Both::open("rxe0", "rxe1", |_| {})),
        [one, other] => (one, other),
        _ => panic!("adapter_check [latency | DEVICE DEVICE]"),
    };
    Both::open(one, other, |_| {}).show();
    for (name, check) in CHECKS {
        let start = Instant::now();
        check(&mut Both::open(one, other, |_| {}));
        println!("ok: {name} ({} ms)", start.elapsed().as_millis());
    }
    println!("{} checks passed", CHECKS.len());
}
