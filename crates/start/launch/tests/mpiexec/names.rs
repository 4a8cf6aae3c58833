//! Hosts whose names have no address yet, and default host files: a job as Kubernetes' mpi-operator
//! starts it, as far as that goes without a cluster. The name service is a file in a mount
//! namespace of its own, and `ssh` a script.

use crate::harness::{MPIEXEC, Outcome, begin};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;
use verbena_testing::{Lack, skip};

/// Runs a command line for the host, as a server of ssh does, if the host has an address.
const SSH: &str = "#!/bin/sh
[ \"$1\" = -G ] && { echo \"hostname $2\"; exit 0; }
while :; do case $1 in -o) shift 2;; -*) shift;; *) break;; esac; done
host=$1; shift
getent hosts \"$host\" >/dev/null || { echo \"ssh: Could not resolve hostname $host\" >&2; exit 255; }
HOST_NAME=$host exec sh -c \"$*\"
";

/// A folder with the name service, the false ssh and the host file; removed when dropped.
struct Cluster(PathBuf);

impl Cluster {
    /// `None` without the rights to make one.
    fn new(name: &str) -> Option<Cluster> {
        // SAFETY: the call touches no memory.
        if unsafe { libc::geteuid() } != 0 {
            skip(Lack::Rights, "only root may make namespaces");
            return None;
        }
        let folder = std::env::temp_dir().join(format!("launch-{name}-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("bin")).unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
        write("hosts", "127.0.0.1 localhost\n127.0.0.8 worker-0\n");
        write("nsswitch.conf", "hosts: files\n");
        write("hostfile", "worker-0:1\nworker-1:1\n");
        write("bin/ssh", SSH);
        std::fs::set_permissions(folder.join("bin/ssh"), PermissionsExt::from_mode(0o755)).unwrap();
        Some(Cluster(folder))
    }

    /// Runs `mpiexec` where the second worker gets its address after some seconds, or never.
    fn run(&self, seconds: Option<f64>, variables: &[(&str, &str)], line: &str) -> Outcome {
        let place = self.0.display();
        let late = seconds.map_or_else(String::new, |seconds| {
            format!("(sleep {seconds}; echo 127.0.0.9 worker-1 >>{place}/hosts) >/dev/null 2>&1 &")
        });
        let script = format!(
            "set -e; mount --make-rprivate /; mount --bind {place}/hosts /etc/hosts\n\
             mount --bind {place}/nsswitch.conf /etc/nsswitch.conf\n{late}\n\
             PATH={place}/bin:$PATH HYDRA_HOST_FILE={place}/hostfile exec {MPIEXEC} {line}"
        );
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", &script]).envs(variables.iter().copied());
        begin(&mut command).finish()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

#[test]
fn a_worker_whose_name_comes_late_is_waited_for() {
    let Some(cluster) = Cluster::new("late-name") else { return };
    let outcome =
        cluster.run(Some(1.5), &[("K_MPI_JOB_ROLE", "launcher")], "sh -c 'echo $PMI_RANK $HOST_NAME'");
    assert_eq!((outcome.code, outcome.lines()), (Some(0), vec!["0 worker-0", "1 worker-1"]), "{outcome:?}");
    assert!(outcome.took > Duration::from_secs(1), "{outcome:?}");
    assert!(outcome.err.contains("Waiting for the address of host worker-1, for up to 120 s"), "{outcome:?}");
}

#[test]
fn a_name_that_never_comes_is_told_in_four_parts() {
    let Some(cluster) = Cluster::new("no-name") else { return };
    let outcome = cluster.run(None, &[("VERBENA_RESOLVE_SECONDS", "1")], "sleep 20");
    let told: Vec<&str> = outcome.err.lines().filter(|line| !line.contains("Waiting for")).collect();
    assert_eq!((outcome.code, told.len()), (Some(127), 4), "{outcome:?}");
    assert!(told[0].contains("Could not start mpiexec's agent on host worker-1"), "{outcome:?}");
    assert!(told[1].contains("Could not resolve hostname worker-1"), "{outcome:?}");
    let took = outcome.took;
    assert!(took > Duration::from_secs(1) && took < Duration::from_secs(10), "{outcome:?}");
}

#[test]
fn the_wait_ends_with_the_job() {
    let Some(cluster) = Cluster::new("impatient") else { return };
    let outcome = cluster.run(None, &[], "--timeout 0.5 sleep 20");
    assert_eq!(outcome.code, Some(124), "{outcome:?}");
    assert!(outcome.took < Duration::from_secs(8), "{outcome:?}");
}
