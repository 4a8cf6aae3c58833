//! Jobs over several hosts, which are this machine: under other names, as containers that share its
//! network, and as hosts that share nothing with each other. `mpiexec` itself over hosts is tested
//! in `crates/start/launch`.

use verbena_tests::{Job, program, staged};

/// A job of the program `point` over the hosts, started by a launcher that is a command for
/// namespaces.
fn point(ranks: u32, launcher: &str, hosts: &str) -> Job {
    let options = ["--launcher", launcher, "-host", hosts];
    Job::under(&staged("bin/mpiexec"), ranks).args(options).arg(program("point"))
}

#[test]
fn hosts_that_are_one_machine_share_memory() {
    let ended = point(4, "fork", "a:2,localhost,b").run().ok();
    assert!(ended.stdout.contains("point: ok with 4 ranks"), "{ended:?}");
}

/// Processes, System V memory and mounts of their own; the network and the host's name are common,
/// and so is the memory that is handed over a socket.
#[test]
fn containers_of_one_host_share_memory() {
    let container = "sh -c 'exec unshare --pid --fork --mount-proc --ipc --mount \"$@\"'";
    let ended = point(4, container, "a:2,localhost,b").run().ok();
    assert!(ended.stdout.contains("point: ok with 4 ranks"), "{ended:?}");
}

/// A network or a name of its own makes another node. Without a network channel the user learns
/// that, and nobody waits.
#[test]
fn nodes_that_nothing_joins_are_told_apart() {
    let network = "sh -c 'exec unshare --net \"$@\"'";
    let name = "sh -c 'exec unshare --uts sh -c \"hostname node$$; exec $*\"'";
    for launcher in [network, name] {
        let ended = point(2, launcher, "a,b").env("VERBENA_CHANNELS", "loopback,shm,cma").run();
        let ended = ended.complains("no channel reaches the process");
        assert_ne!(ended.code, 0, "{ended:?}");
    }
}
