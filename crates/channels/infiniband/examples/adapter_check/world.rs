//! Checks of what the machine does to a device: limits on memory, wires that are cut. They need
//! root and Soft-RoCE; elsewhere the program says so and leaves them out, and fails where
//! `VERBENA_NO_SKIP=1`.

use crate::pairing::{Both, Memory, post, until};
use std::fs::read_to_string;
use std::process::Command;
use verbena_channel::Access;
use verbena_infiniband::device::options::{Named, Options};
use verbena_infiniband::device::{Failed, Post, Trouble};
use verbena_infiniband::rc::adapter::{Adapter, Operation, Remote};
use verbena_infiniband::rc::verbs::Verbs;
use verbena_memory::Owned;
use verbena_testing::{Lack, skip};

/// The argument that makes this program do [`limited`].
pub(crate) const LIMITED: &str = "limited";

/// Runs this program as a user without rights, who may lock little memory.
pub(crate) fn limit(both: &mut Both) {
    if !is_root() {
        return skip(Lack::Installed, "only root can become somebody else");
    }
    let mut command = Command::new("prlimit");
    command.args(["--memlock=65536:65536", "setpriv", "--reuid=65534", "--clear-groups", "--"]);
    command.arg(std::env::current_exe().expect("own path")).args([LIMITED, &both.names[0]]);
    let run = command.output().expect("prlimit and setpriv");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
}

/// Registers as much as may be locked, and more.
pub(crate) fn limited(device: &str) {
    let named = Named { device: device.into(), port: None };
    let options = Options { devices: vec![named], ..Options::current() };
    let mut verbs = Verbs::open(&options).unwrap_or_else(|fault| panic!("{fault}")).expect("a named device");
    let left = verbs.limits().register_bytes_max;
    assert!((4096..=65536).contains(&left), "{left}");
    Memory::new(&mut verbs, 4000);
    let owner = Owned::zeroed(1 << 20);
    let fault = verbs.register(owner.lend(), Access::NONE).expect_err("more than the limit");
    assert!(fault.cause.contains("may lock 64 KiB") && fault.remedy.contains("ulimit -l"), "{fault}");
}

pub(crate) fn cut(both: &mut Both) {
    let Some(cable) = Cable::of(&both.names[1]) else {
        return skip(Lack::Installed, "needs root, and a Soft-RoCE device on a veth pair");
    };
    let (here, _) = both.connect(true);
    let (from, into) = (Memory::new(&mut both.a, 64), Memory::new(&mut both.b, 64));
    ip(&["addr", "add", "10.99.99.99/32", "dev", &cable.near]);
    ip(&["addr", "del", "10.99.99.99/32", "dev", &cable.near]);
    std::thread::sleep(std::time::Duration::from_millis(100));
    assert!(both.b.trouble().is_none(), "our own address has not changed");
    ip(&["link", "set", &cable.far, "down"]);
    let trouble = until("trouble", || both.b.trouble());
    let Trouble::Port(fault) = trouble else { panic!("{trouble:?}") };
    assert!(fault.what.contains("went down") && fault.on.starts_with(&both.names[1]), "{fault}");
    let to = Remote { address: into.region.address(), key: into.registration.remote_key };
    post(&mut both.a, here, &from, (1, Operation::Write(to)), 64, Post::default());
    let end = until("a completion", || both.a.poll());
    assert_eq!(end.outcome, Err(Failed::RetriesExhausted));
    ip(&["link", "set", &cable.far, "up"]);
    assert!(both.a.trouble().is_none());
}

fn is_root() -> bool {
    // SAFETY: it reads a number.
    unsafe { libc::geteuid() == 0 }
}

fn ip(arguments: &[&str]) {
    let status = Command::new("ip").args(arguments).status().expect("ip");
    assert!(status.success(), "ip {arguments:?}");
}

/// The two ends of the virtual cable below a Soft-RoCE device.
struct Cable {
    near: String,
    far: String,
}

impl Cable {
    fn of(device: &str) -> Option<Cable> {
        let near = read_to_string(format!("/sys/class/infiniband/{device}/parent")).ok()?.trim().to_string();
        let peer = read_to_string(format!("/sys/class/net/{near}/iflink")).ok()?;
        let mut interfaces = std::fs::read_dir("/sys/class/net").ok()?;
        let far = interfaces.find_map(|entry| {
            let name = entry.ok()?.file_name().into_string().ok()?;
            (index_of(&name)? == peer).then_some(name)
        })?;
        // An interface that is no pair leads to itself.
        (is_root() && far != near).then_some(Cable { near, far })
    }
}

fn index_of(interface: &str) -> Option<String> {
    read_to_string(format!("/sys/class/net/{interface}/ifindex")).ok()
}
