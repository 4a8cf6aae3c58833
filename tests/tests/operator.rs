//! A job as Kubernetes' mpi-operator (v2beta1) starts it, as far as that goes without a cluster.
//! Each pod is a network namespace with a name service and an ssh server of its own; the launcher
//! gets the variables and the host file of the operator. The second worker comes late: its name has
//! no address for five seconds, and its server answers later still. The launcher's own name has no
//! address at all.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use verbena_testing::{Lack, skip};
use verbena_tests::cable::has_libfabric;
use verbena_tests::{Ended, program, scratch, staged};

/// The names of the workers, as the operator writes them in its host file.
const WORKERS: [&str; 2] = ["pi-worker-0.pi.default.svc", "pi-worker-1.pi.default.svc"];
/// The addresses of the workers.
const ADDRESSES: [&str; 2] = ["10.78.0.2", "10.78.1.2"];
/// The port of the ssh servers in the operator's images.
const PORT: u32 = 2222;
/// The time that the second worker takes to get an address, and then to answer.
const LATE: [Duration; 2] = [Duration::from_secs(5), Duration::from_secs(2)];

/// An implementation of MPI as the operator knows it: its name, the variables of the launcher, in
/// which `@` is the host file, and the rest of a line of that file.
struct Mode {
    name: &'static str,
    variables: &'static [(&'static str, &'static str)],
    slots: &'static str,
}

const MODES: [Mode; 3] = [
    Mode {
        name: "MPICH",
        variables: &[("HYDRA_HOST_FILE", "@"), ("HYDRA_LAUNCH_EXTRA_ARGS", "-o ConnectionAttempts=10")],
        slots: ":2",
    },
    Mode {
        name: "Intel",
        variables: &[
            ("I_MPI_HYDRA_HOST_FILE", "@"),
            ("I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS", "-o ConnectionAttempts=10"),
            ("I_MPI_PERHOST", "2"),
        ],
        slots: ":2",
    },
    Mode {
        name: "OpenMPI",
        variables: &[
            ("OMPI_MCA_orte_default_hostfile", "@"),
            ("OMPI_MCA_orte_keep_fqdn_hostnames", "true"),
            ("OMPI_MCA_plm_rsh_args", "-o ConnectionAttempts=10"),
            ("OMPI_MCA_orte_set_default_slots", "2"),
        ],
        slots: " slots=2",
    },
];

/// The pods: namespaces `ID-l` of the launcher, `ID-0` and `ID-1` of the workers. They go with
/// this, and so do the servers in them.
struct Pods {
    id: String,
    folder: PathBuf,
    servers: Vec<Child>,
}

/// Runs commands of a shell.
fn shell(script: &str) -> Result<(), String> {
    let made = Command::new("sh").args(["-ec", script]).output().map_err(|error| format!("sh: {error}"))?;
    match made.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&made.stderr).trim().to_string()),
    }
}

impl Pods {
    /// Makes the namespaces: each worker has a cable to the launcher, which passes on what the
    /// workers send each other.
    fn new(test: &str) -> Result<Pods, String> {
        let id = format!("vk{}{test}", std::process::id());
        let folder = scratch(&format!("operator-{test}"));
        let pods = Pods { id, folder, servers: Vec::new() };
        let id = &pods.id;
        shell(&format!(
            "for pod in l 0 1; do ip netns add {id}-$pod; ip -n {id}-$pod link set lo up; done
             ip netns exec {id}-l sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
             for n in 0 1; do
               ip link add to$n netns {id}-l type veth peer name eth0 netns {id}-$n
               ip -n {id}-l addr add 10.78.$n.1/24 dev to$n; ip -n {id}-l link set to$n up
               ip -n {id}-$n addr add 10.78.$n.2/24 dev eth0; ip -n {id}-$n link set eth0 up
               ip -n {id}-$n route add default via 10.78.$n.1
             done
             # The kernel takes up to a second to notice the cables. Real pods begin with theirs.
             for pod in 0 1; do
               for look in $(seq 100); do
                 ip -n {id}-$pod link show dev eth0 | grep -q 'state UP' && break
                 sleep 0.1
               done
             done"
        ))?;
        pods.write_files();
        Ok(pods)
    }

    fn name(&self, pod: &str) -> String {
        format!("{}-{pod}", self.id)
    }

    /// A file of a pod, which `ip netns exec` puts in the place of `/etc/FILE`.
    fn etc(&self, pod: &str, file: &str) -> PathBuf {
        Path::new("/etc/netns").join(self.name(pod)).join(file)
    }

    /// The keys that the operator gives to all pods, and the configuration of its images.
    fn write_files(&self) {
        let place = self.folder.display();
        for key in ["host", "user"] {
            let keygen = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                .arg(self.folder.join(key))
                .status();
            assert!(keygen.expect("ssh-keygen").success());
        }
        let client = format!(
            "Host *\n Port {PORT}\n StrictHostKeyChecking no\n UserKnownHostsFile /dev/null\n \
             IdentityFile {place}/user\n LogLevel ERROR\n"
        );
        let server = format!(
            "Port {PORT}\nHostKey {place}/host\nPidFile none\nUsePAM no\nStrictModes no\n\
             AuthorizedKeysFile {place}/user.pub\nPermitRootLogin yes\n"
        );
        fs::write(self.folder.join("sshd_config"), server).expect("a file of ours");
        for pod in ["l", "0", "1"] {
            fs::create_dir_all(self.etc(pod, "ssh")).expect("only root comes here");
            fs::write(self.etc(pod, "ssh/ssh_config"), &client).expect("a file of ours");
            fs::write(self.etc(pod, "nsswitch.conf"), "hosts: files\npasswd: files\n").expect("ours");
        }
        self.name_workers(1);
    }

    /// The name service knows the first workers now.
    fn name_workers(&self, count: usize) {
        let mut hosts = String::from("127.0.0.1 localhost\n");
        for (address, name) in ADDRESSES.iter().zip(WORKERS).take(count) {
            writeln!(hosts, "{address} {name}").expect("a string");
        }
        for pod in ["l", "0", "1"] {
            // The file that processes have mounted is written over, and stays the same file.
            fs::write(self.etc(pod, "hosts"), &hosts).expect("a file of ours");
        }
    }

    /// A command in a pod.
    fn command(&self, pod: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name(pod)]).stdin(Stdio::null());
        command
    }

    /// Starts the ssh server of a worker.
    fn serve(&mut self, worker: usize) {
        // The server needs this folder, which nobody else makes in a container.
        let _ = fs::create_dir_all("/run/sshd");
        let log = fs::File::create(self.folder.join(format!("sshd-{worker}"))).expect("a file of ours");
        let mut command = self.command(&worker.to_string());
        command.args(["/usr/sbin/sshd", "-D", "-e", "-f"]).arg(self.folder.join("sshd_config"));
        self.servers.push(command.stderr(log).spawn().expect("ip runs"));
    }

    /// Runs a program by `mpiexec` in the launcher's pod. The second worker comes late.
    fn launch(&mut self, mode: &Mode, arguments: &[&str]) -> Ended {
        let host_file = self.folder.join("hostfile");
        let lines = WORKERS.map(|worker| format!("{worker}{}\n", mode.slots));
        fs::write(&host_file, lines.concat()).expect("a file of ours");
        self.name_workers(1);
        self.serve(0);
        let mut command = self.command("l");
        // The last thing that the entry script of the images does.
        command.args(["timeout", "-k", "5", "100", "sh", "-c", "exec \"$@\"", "entrypoint"]);
        command.arg(staged("bin/mpiexec")).args(arguments).env("K_MPI_JOB_ROLE", "launcher");
        command.env("HOSTNAME", "pi-launcher");
        for (name, value) in mode.variables {
            command.env(name, value.replace('@', host_file.to_str().expect("a plain path")));
        }
        let start = Instant::now();
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("ip runs");
        std::thread::sleep(LATE[0]);
        self.name_workers(2);
        std::thread::sleep(LATE[1]);
        self.serve(1);
        let output = child.wait_with_output().expect("our child");
        let (took, code) = (start.elapsed(), output.status.code().unwrap_or(-1));
        self.stop();
        let [stdout, stderr] =
            [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        Ended { code, stdout, stderr, took, hung: code == 124 }
    }

    fn stop(&mut self) {
        for mut server in self.servers.drain(..) {
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}

impl Drop for Pods {
    fn drop(&mut self) {
        self.stop();
        for pod in ["l", "0", "1"] {
            // A thing that was not made cannot be deleted.
            let _ = Command::new("ip").args(["netns", "delete", &self.name(pod)]).output();
            let _ = fs::remove_dir_all(self.etc(pod, ""));
        }
    }
}

/// The pods, where they can be made.
fn pods(test: &str) -> Option<Pods> {
    if !Path::new("/usr/sbin/sshd").exists() || !has_libfabric() {
        skip(Lack::Installed, "OpenSSH's server or libfabric is not installed");
        return None;
    }
    let pods = Pods::new(test);
    pods.map_err(|why| skip(Lack::Rights, &format!("no network namespaces can be made: {why}"))).ok()
}

#[test]
fn the_mpi_operator_starts_a_job_whose_second_worker_comes_late() {
    let Some(mut pods) = pods("a") else { return };
    let point = program("point");
    let point = point.to_str().expect("a plain path");
    for mode in &MODES {
        let ended = pods.launch(mode, &["-n", "4", point]);
        assert_eq!(ended.code, 0, "{}: {ended:?}", mode.name);
        assert!(ended.stdout.contains("point: ok with 4 ranks"), "{}: {ended:?}", mode.name);
        assert!(ended.took > LATE[0] + LATE[1], "{}: {ended:?}", mode.name);
        ended.complains(&format!("Waiting for the address of host {}, for up to 120 s", WORKERS[1]));
    }
}

/// Each worker has the ranks of its slots, in its own network.
#[test]
fn the_ranks_of_the_mpi_operator_are_on_its_workers() {
    let Some(mut pods) = pods("b") else { return };
    let ended = pods.launch(&MODES[0], &["-l", "ip", "-4", "-o", "addr", "show", "eth0"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    for (rank, address) in [ADDRESSES[0], ADDRESSES[0], ADDRESSES[1], ADDRESSES[1]].iter().enumerate() {
        let line = ended.stdout.lines().find(|line| line.starts_with(&format!("[{rank}] ")));
        assert!(line.is_some_and(|line| line.contains(address)), "rank {rank}: {ended:?}");
    }
}
