//! A Slurm of our own, whose two nodes are this host. Its `srun` starts our processes, and our
//! `mpiexec` takes hosts and launcher from its allocation. It needs root, Slurm and munge; without
//! them the tests say so and pass.

use crate::harness::{CLIENT, Outcome, begin, eventually, mpiexec};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use verbena_testing::{Lack, skip};

/// The controller, a daemon for each node, and munge; all end when dropped.
struct Slurm {
    folder: PathBuf,
    daemons: Vec<Child>,
}

impl Slurm {
    fn start() -> Option<Slurm> {
        let tools = ["slurmctld", "slurmd", "munged", "mungekey", "srun", "salloc"];
        if let Some(missing) = tools.into_iter().find(|tool| find(tool).is_none()) {
            skip(Lack::Optional, &format!("{missing} is not installed"));
            return None;
        }
        // SAFETY: the call touches no memory.
        if unsafe { libc::geteuid() } != 0 {
            skip(Lack::Rights, "only root can run a private Slurm");
            return None;
        }
        let folder = std::env::temp_dir().join(format!("launch-slurm-{}", std::process::id()));
        for part in ["state", "spool-n1", "spool-n2", "munge"] {
            std::fs::create_dir_all(folder.join(part)).unwrap();
        }
        let mut slurm = Slurm { folder, daemons: Vec::new() };
        slurm.start_munge();
        std::fs::write(slurm.folder.join("slurm.conf"), configuration(&slurm.folder)).unwrap();
        slurm.daemon("slurmctld", &["-D"]);
        slurm.daemon("slurmd", &["-D", "-N", "n1"]);
        slurm.daemon("slurmd", &["-D", "-N", "n2"]);
        slurm.wait_for_nodes();
        Some(slurm)
    }

    fn start_munge(&mut self) {
        let place = |name: &str| self.folder.join("munge").join(name).display().to_string();
        let key = place("key");
        let made = Command::new("mungekey").args(["-c", "-k", &key]).status();
        assert!(made.unwrap().success());
        let (socket, log, pid, seed) = (place("socket"), place("log"), place("pid"), place("seed"));
        let files = ["--key-file", &key, "--log-file", &log, "--pid-file", &pid, "--seed-file", &seed];
        let options = [&["--foreground", "--force", "--socket", &socket][..], &files].concat();
        self.daemon("munged", &options);
    }

    fn daemon(&mut self, program: &str, options: &[&str]) {
        let log =
            std::fs::File::create(self.folder.join(format!("{program}-{}", self.daemons.len()))).unwrap();
        let mut command = self.command(find(program).unwrap().to_str().unwrap());
        command.args(options).stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        self.daemons.push(command.spawn().unwrap());
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("SLURM_CONF", self.folder.join("slurm.conf"));
        command
    }

    fn wait_for_nodes(&self) {
        let idle = || {
            let told = self.command("sinfo").args(["-h", "-N", "-o", "%T"]).stderr(Stdio::null()).output();
            String::from_utf8_lossy(&told.unwrap().stdout).matches("idle").count()
        };
        for _ in 0..200 {
            if idle() == 2 {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("Slurm does not come up; see {}", self.folder.display());
    }

    /// Takes two ranks on each node; returns the variables of a shell in that allocation.
    fn allocate(&mut self) -> Vec<(String, String)> {
        let file = self.folder.join("allocation");
        let script = "env | grep ^SLURM_ >$0.new; mv $0.new $0; read line";
        let mut salloc = self.command("salloc");
        salloc.args(["-Q", "-N2", "--ntasks-per-node=2", "sh", "-c", script]).arg(&file);
        self.daemons.push(salloc.stdin(Stdio::piped()).spawn().unwrap());
        let text = eventually(|| std::fs::read_to_string(&file).ok());
        let pairs = text.lines().filter_map(|line| line.split_once('='));
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    /// Waits until Slurm's own processes around the steps have gone: they need their daemon.
    fn wait_for_steps(&self) {
        eventually(|| {
            let steps = self.command("squeue").args(["-h", "-s", "-o", "%i"]).output().unwrap().stdout;
            steps.is_empty().then_some(())
        });
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        for daemon in self.daemons.iter_mut().rev() {
            daemon.kill().unwrap();
            daemon.wait().unwrap();
        }
        if !std::thread::panicking() {
            std::fs::remove_dir_all(&self.folder).unwrap();
        }
    }
}

fn find(program: &str) -> Option<PathBuf> {
    let folders = ["/usr/sbin", "/usr/bin", "/usr/local/sbin", "/usr/local/bin"].into_iter();
    folders.map(|folder| Path::new(folder).join(program)).find(|path| path.is_file())
}

fn configuration(folder: &Path) -> String {
    let place = folder.display();
    // Bound at once, so that they differ; closed again for the daemons.
    let listeners = [(); 3].map(|()| TcpListener::bind(("127.0.0.1", 0)).unwrap());
    let [control, one, two] = listeners.map(|listener| listener.local_addr().unwrap().port());
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let host = host.trim().split('.').next().unwrap();
    format!(
        "ClusterName=test\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={control}\nSlurmUser=root\n\
         AuthType=auth/munge\nAuthInfo=socket={place}/munge/socket\nStateSaveLocation={place}/state\n\
         SlurmdSpoolDir={place}/spool-%n\nSlurmctldPidFile={place}/slurmctld.pid\nSlurmdPidFile={place}/slurmd-%n.pid\n\
         ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nSlurmdParameters=config_overrides\nMpiDefault=none\n\
         NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={one} CPUs=4\n\
         NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={two} CPUs=4\n\
         PartitionName=all Nodes=n1,n2 Default=YES State=UP OverSubscribe=FORCE\n"
    )
}

/// All parts share one Slurm: it takes a moment to come up.
#[test]
fn jobs_under_slurm() {
    let Some(mut slurm) = Slurm::start() else { return };
    srun_starts_ours(&slurm);
    let allocation = slurm.allocate();
    let run = |arguments: &[&str]| begin(mpiexec(arguments).envs(allocation.clone())).finish();
    mpiexec_takes_the_allocation(run);
    failures_come_back(run);
    slurm.wait_for_steps();
}

fn srun_starts_ours(slurm: &Slurm) {
    let steps = [CLIENT, "who", "exchange=3000", "exchange=100", "barrier", "exchange=0", "finalize"];
    for (pmi, kind) in [("", "pmi-1"), ("1", "pmi-1"), ("2", "pmi-2")] {
        let mut srun = slurm.command("srun");
        srun.args(["--mpi=pmi2", "-N", "2", "-n", "3"]).args(steps).env("VERBENA_PMI", pmi);
        let outcome = begin(&mut srun).finish();
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
        assert_eq!(outcome.out.matches("exchanged 3").count(), 9, "{outcome:?}");
        assert_eq!(outcome.out.matches(&format!("of 3 kind {kind}")).count(), 3, "{outcome:?}");
    }
}

fn mpiexec_takes_the_allocation(run: impl Fn(&[&str]) -> Outcome) {
    let outcome = run(&["sh", "-c", "echo $PMI_RANK $SLURMD_NODENAME $VERBENA_LOCAL_RANK"]);
    assert_eq!((outcome.code, outcome.err.as_str()), (Some(0), ""), "{outcome:?}");
    assert_eq!(outcome.lines(), ["0 n1 0", "1 n1 1", "2 n2 0", "3 n2 1"]);
    let outcome = run(&[CLIENT, "exchange=100000", "barrier", "finalize"]);
    assert_eq!((outcome.code, outcome.out.matches("exchanged 4").count()), (Some(0), 4), "{outcome:?}");
    let outcome = run(&["-host", "localhost", "sh", "-c", "echo $PMI_RANK of $PMI_SIZE"]);
    assert_eq!((outcome.code, outcome.out.as_str()), (Some(0), "0 of 1\n"), "{outcome:?}");
}

fn failures_come_back(run: impl Fn(&[&str]) -> Outcome) {
    let outcome = run(&[CLIENT, "exchange", "kill=9@3", "sleep=20000"]);
    assert_eq!(outcome.code, Some(137), "{outcome:?}");
    assert!(outcome.err.contains("Rank 3 was killed") && outcome.err.contains("host n2"), "{outcome:?}");
    let outcome = run(&["-host", "n1,n9", "--launcher", "srun", "sleep", "20"]);
    assert_eq!(outcome.code, Some(127), "{outcome:?}");
    assert!(outcome.err.contains("Could not start mpiexec's agent on host n9"), "{outcome:?}");
    // Slurm's own processes around the steps take a moment to go.
    eventually(|| outcome.left().is_empty().then_some(()));
}
