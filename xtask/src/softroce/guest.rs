//! A QEMU process and its streams.

use super::job::Job;
use super::kernel::Kernel;
use super::{Accelerator, Args, Shape};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use verbena_fault::Fault;

/// Time for booting, and for the guest's own report when its command's time is up.
pub(super) const GRACE: Duration = Duration::from_secs(90);

/// The time that QEMU may take to make its sockets.
const SOCKET_TIME: Duration = Duration::from_secs(30);

/// The wires' MTU in bytes, as in `guest/fabric.sh`.
const MTU: u32 = 4200;

/// The kernel's command line: quiet, no rest after a panic, and nothing that only real hardware
/// needs. The trial of the timer is off: an emulated machine that gets no processor in time fails
/// it ("IO-APIC + timer doesn't work").
const KERNEL_WORDS: &str = "console=ttyS0 quiet loglevel=4 panic=-1 random.trust_cpu=on mitigations=off \
                            cryptomgr.notests tsc=unstable net.ifnames=0 no_timer_check";

/// A running guest. It ends with this value, and with this process however that ends.
pub(super) struct Guest {
    node: u32,
    machine: Child,
    streams: Vec<JoinHandle<()>>,
    console: PathBuf,
}

impl Guest {
    fn start(args: &Args, job: &Job, kernel: &Kernel, node: u32) -> Result<Guest> {
        let console = job.control().join(format!("console.{node}"));
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "--", "qemu-system-x86_64"]);
        command.args(machine(args)).args(streams(&console)).args(folders(job)).args(wires(args, job, node));
        command.arg("-kernel").arg(&kernel.image).arg("-initrd").arg(job.initrd());
        command.args(["-append", &format!("{KERNEL_WORDS} SOFTROCE_NODE={node}")]);
        // A group of its own: the keyboard interrupts us, and we end the guest.
        command.process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut machine = command.spawn().context("QEMU does not start")?;
        let streams = vec![
            forward(machine.stdout.take().expect("piped"), std::io::stdout()),
            forward(machine.stderr.take().expect("piped"), std::io::stderr()),
        ];
        Ok(Guest { node, machine, streams, console })
    }

    /// Returns whether it has not ended yet. Once it has, all its output is written.
    pub(super) fn running(&mut self) -> Result<bool> {
        let ended = self.machine.try_wait()?.is_some();
        if ended {
            self.streams.drain(..).for_each(|stream| drop(stream.join()));
        }
        Ok(!ended)
    }

    /// The failure of a guest that ended before it was ready for the others.
    pub(super) fn never_came_up(&mut self, job: &Job) -> Option<Fault> {
        let ended = self.node > 0 && self.machine.try_wait().is_ok_and(|ended| ended.is_some());
        (ended && !job.is_up(self.node)).then(|| self.lost())
    }

    /// Returns the fault of a guest that ended without a word about the command.
    pub(super) fn lost(&self) -> Fault {
        Fault::new(
            "A Soft-RoCE guest ended too early.",
            format!("guest {}, whose console ends with:{}", self.node, self.console_end()),
            "its kernel failed, it ran out of memory, or its files could not be reached",
            "look at the console; give it more memory with --memory",
        )
    }

    /// Returns the fault of a guest that ran on after its time.
    pub(super) fn silent(&self, seconds: u32) -> Fault {
        Fault::new(
            format!(
                "A Soft-RoCE node did not even report in time ({seconds} s and {} s more).",
                GRACE.as_secs()
            ),
            format!("guest {}, whose console ends with:{}", self.node, self.console_end()),
            "its kernel hangs, or this machine is far too busy",
            "look at the console; run again on a quiet machine, or with a higher --limit",
        )
    }

    fn console_end(&self) -> String {
        let bytes = fs::read(&self.console).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
        lines[lines.len().saturating_sub(20)..].iter().map(|line| format!("\n    {line}")).collect()
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        // It may have ended by itself: then there is nothing to end, and nothing to say.
        let _ = self.machine.kill();
        let _ = self.machine.wait();
    }
}

/// Boots all guests, guest 0 first: the others plug their wires into it.
///
/// # Errors
/// QEMU cannot be started, or guest 0 makes no sockets for the wires.
pub(super) fn start_all(args: &Args, job: &Job, kernel: &Kernel) -> Result<Vec<Guest>> {
    let mut guests = vec![Guest::start(args, job, kernel, 0)?];
    if args.shape == Shape::Many {
        for node in 1..args.nodes {
            wait_for(&job.wire(node)).with_context(|| guests[0].lost())?;
            guests.push(Guest::start(args, job, kernel, node)?);
        }
    }
    Ok(guests)
}

fn wait_for(socket: &Path) -> Result<()> {
    let start = Instant::now();
    while !socket.exists() {
        ensure!(start.elapsed() < SOCKET_TIME, "QEMU did not make {}", socket.display());
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

/// The ends of the wires at a guest: a stream loses nothing, datagrams and multicast do under load.
fn wires(args: &Args, job: &Job, node: u32) -> Vec<String> {
    let peers = match (args.shape, node) {
        (Shape::One, _) => 0..0,
        (Shape::Many, 0) => 1..args.nodes,
        (Shape::Many, node) => node..node + 1,
    };
    let server = if node == 0 { "on" } else { "off" };
    let end = |wire: u32| {
        let path = job.wire(wire).display().to_string().replace(',', ",,");
        [
            "-netdev".to_owned(),
            format!("stream,id=n{wire},server={server},addr.type=unix,addr.path={path}"),
            "-device".to_owned(),
            format!("virtio-net-pci,netdev=n{wire},host_mtu={MTU}"),
        ]
    };
    peers.flat_map(end).collect()
}

fn machine(args: &Args) -> Vec<String> {
    let accelerator = match args.accelerator {
        Accelerator::Tcg => "tcg,thread=multi",
        Accelerator::Kvm => "kvm",
    };
    let words = format!(
        "-M q35 -cpu max -smp {} -m {}M -accel {accelerator} -nodefaults -no-user-config -display none -no-reboot",
        args.cpus, args.memory
    );
    words.split_whitespace().map(str::to_owned).collect()
}

/// The kernel's console goes to a file; standard output and standard error have a port each.
fn streams(console: &Path) -> Vec<String> {
    let mut words = vec!["-device".to_owned(), "virtio-serial-pci".to_owned()];
    let mut port = |id: &str, backend: String, device: String| {
        words.extend(["-chardev".to_owned(), format!("{backend},id={id}"), "-device".to_owned(), device]);
    };
    let console = console.display().to_string().replace(',', ",,");
    port("c", format!("file,path={console}"), "isa-serial,chardev=c".into());
    for stream in [1, 2] {
        let (name, device) = (format!("p{stream}"), format!("virtserialport,chardev=p{stream},nr={stream}"));
        port(&name, format!("file,path=/proc/self/fd/{stream}"), device);
    }
    words
}

/// The folders that the guest sees, by the names that `init.sh` mounts.
fn folders(job: &Job) -> Vec<String> {
    let folder = |name: &str, path: &Path, options: &str| {
        let path = path.display().to_string().replace(',', ",,");
        [
            "-fsdev".to_owned(),
            format!("local,id={name},path={path},security_model=none,multidevs=remap{options}"),
            "-device".to_owned(),
            format!("virtio-9p-pci,fsdev={name},mount_tag={name}"),
        ]
    };
    let all = [
        folder("root", Path::new("/"), ",readonly=on"),
        folder("out", job.out(), ""),
        folder("control", &job.control(), ""),
    ];
    all.concat()
}

/// Copies a stream of the guest to one of ours as it comes.
fn forward(mut from: impl Read + Send + 'static, mut to: impl Write + Send + 'static) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let mut bytes = [0; 16384];
        while let Ok(count @ 1..) = from.read(&mut bytes) {
            // Perhaps nobody reads our stream any more; the guest must not wait for that.
            let _ = to.write_all(&bytes[..count]).and_then(|()| to.flush());
        }
    })
}
