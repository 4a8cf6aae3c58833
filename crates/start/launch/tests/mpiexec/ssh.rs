//! Agents started by the real `ssh`, over a server of our own on the loopback network with
//! throw-away keys. Without `sshd` or a place for it the tests say so and pass.

use crate::harness::{CLIENT, MPIEXEC, begin, eventually, mpiexec};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use verbena_testing::{Lack, skip};

/// Addresses of the loopback network that do not count as this host.
const HOSTS: [&str; 2] = ["127.0.0.2", "127.0.0.3"];

/// A server that ends when dropped, and the folder with its keys.
struct Server {
    folder: PathBuf,
    process: Child,
}

impl Server {
    fn start(name: &str) -> Option<Server> {
        let sshd = ["/usr/sbin/sshd", "/usr/bin/sshd"].into_iter().find(|path| Path::new(path).exists());
        let (Some(sshd), true) = (sshd, has_client()) else {
            skip(Lack::Installed, "OpenSSH is not installed");
            return None;
        };
        let folder = std::env::temp_dir().join(format!("launch {name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        // The server needs this folder, which nobody else makes in a container.
        let _ = std::fs::create_dir_all("/run/sshd");
        let port =
            TcpListener::bind((HOSTS[0], 0)).and_then(|listener| listener.local_addr()).unwrap().port();
        make_keys(&folder);
        write_configurations(&folder, port);
        let mut command = Command::new(sshd);
        command.args(["-D", "-e", "-f"]).arg(folder.join("sshd_config"));
        let log = std::fs::File::create(folder.join("log")).unwrap();
        let process = command.stdin(Stdio::null()).stderr(log).spawn().unwrap();
        let server = Server { folder, process };
        server.wait_until_it_answers().then_some(server)
    }

    fn launcher(&self) -> String {
        format!("ssh -F '{}'", self.folder.join("ssh_config").display())
    }

    fn wait_until_it_answers(&self) -> bool {
        let script = format!("{} {} true", self.launcher(), HOSTS[1]);
        for _ in 0..40 {
            if Command::new("sh").args(["-c", &script]).stderr(Stdio::null()).status().unwrap().success() {
                return true;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let log = std::fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        skip(Lack::Installed, &format!("sshd lets nobody in here: {}", log.replace('\n', " ")));
        false
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        std::fs::remove_dir_all(&self.folder).unwrap();
    }
}

fn has_client() -> bool {
    Command::new("ssh").arg("-V").stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

fn make_keys(folder: &Path) {
    for name in ["host", "user"] {
        let mut keygen = Command::new("ssh-keygen");
        keygen.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(folder.join(name));
        assert!(keygen.status().unwrap().success());
    }
    std::fs::copy(folder.join("user.pub"), folder.join("authorized")).unwrap();
    let key = std::fs::read_to_string(folder.join("host.pub")).unwrap();
    std::fs::write(folder.join("known"), format!("ours {key}")).unwrap();
}

fn write_configurations(folder: &Path, port: u16) {
    let place = folder.display();
    let server = format!(
        "Port {port}\nListenAddress {}\nListenAddress {}\nHostKey \"{place}/host\"\nPidFile none\nUsePAM no\n\
         AuthorizedKeysFile \"{place}/authorized\"\nStrictModes no\nPermitRootLogin yes\nMaxStartups 100\n",
        HOSTS[0], HOSTS[1]
    );
    let client = format!(
        "Host *\n Port {port}\n IdentityFile \"{place}/user\"\n IdentitiesOnly yes\n BatchMode yes\n LogLevel ERROR\n \
         HostKeyAlias ours\n UserKnownHostsFile \"{place}/known\"\n StrictHostKeyChecking yes\n"
    );
    std::fs::write(folder.join("sshd_config"), server).unwrap();
    std::fs::write(folder.join("ssh_config"), client).unwrap();
}

/// All parts share one server: it takes a moment to come up.
#[test]
fn jobs_over_ssh() {
    let Some(server) = Server::start("ssh") else { return };
    let launcher = server.launcher();
    let hosts = format!("{}:2,localhost,{}", HOSTS[0], HOSTS[1]);
    let options = ["--launcher", &launcher, "-x", "LAUNCH_TEST", "-host", &hosts];
    exchange(&options);
    a_prefix_with_a_space(&options, &server.folder);
    standard_input(&options);
    ends(&options);
}

fn exchange(options: &[&str]) {
    let steps = [CLIENT, "who", "exchange=100000", "barrier", "exchange", "finalize"];
    let outcome = begin(&mut mpiexec(&[options, &steps].concat())).finish();
    assert_eq!((outcome.code, outcome.err.as_str()), (Some(0), ""), "{outcome:?}");
    assert_eq!(outcome.out.matches("exchanged 4").count(), 8, "{outcome:?}");
}

/// Words that the remote shell splits come together again.
fn a_prefix_with_a_space(options: &[&str], folder: &Path) {
    std::fs::create_dir_all(folder.join("bin")).unwrap();
    std::fs::copy(MPIEXEC, folder.join("bin/mpiexec")).unwrap();
    let prefix = ["--prefix", folder.to_str().unwrap(), "-n", "2"];
    let program = ["sh", "-c", "echo $PMI_RANK \"$0\"", "a  'b'"];
    let outcome = begin(&mut mpiexec(&[options, &prefix, &program].concat())).finish();
    assert_eq!((outcome.code, outcome.lines()), (Some(0), vec!["0 a  'b'", "1 a  'b'"]), "{outcome:?}");
    let lacks = ["--prefix", "/no/such/place", "-n", "2", "true"];
    let outcome = begin(&mut mpiexec(&[options, &lacks].concat())).finish();
    assert_eq!((outcome.code, outcome.err.lines().count()), (Some(127), 4), "{outcome:?}");
    assert!(outcome.err.contains("install Verbena at the same place"), "{outcome:?}");
}

fn standard_input(options: &[&str]) {
    let text: String = (0..100_000).map(|i| format!("{i}\n")).collect();
    let mut run = begin(mpiexec(&[options, &["-n", "2", "wc", "-c"]].concat()).stdin(Stdio::piped()));
    run.type_in(text.as_bytes());
    let outcome = run.finish();
    assert_eq!((outcome.code, outcome.lines()), (Some(0), vec!["0", &text.len().to_string()]), "{outcome:?}");
}

/// Ranks over ssh end when one is killed, after a signal to `mpiexec`, and with `mpiexec` itself.
fn ends(options: &[&str]) {
    let killed = [options, &[CLIENT, "exchange", "kill=9@0", "sleep=20000"]].concat();
    let outcome = begin(&mut mpiexec(&killed)).finish();
    assert_eq!(outcome.code, Some(137), "{outcome:?}");
    assert!(outcome.err.contains("host 127.0.0.2"), "{outcome:?}");
    outcome.assert_nothing_left();
    for (signal, code) in [(libc::SIGINT, Some(130)), (libc::SIGKILL, None)] {
        let run = begin(&mut mpiexec(&[options, &["sleep", "25"]].concat()));
        run.wait_for("sleep", 4);
        run.signal(signal);
        let outcome = run.finish();
        assert_eq!(outcome.code, code, "{outcome:?}");
        assert!(outcome.took < Duration::from_secs(5), "{outcome:?}");
        eventually(|| outcome.left().is_empty().then_some(()));
    }
}
