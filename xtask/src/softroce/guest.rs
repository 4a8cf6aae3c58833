//! One QEMU process and its streams.

use super::job::Job;
use super::kernel::Kernel;
use super::{Accelerator, Args};
use anyhow::{Context, Result};
use std::fs;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::Duration;
use verbena_fault::Fault;

/// Time for booting, and for the guest's own report when its command's time is up.
pub(super) const GRACE: Duration = Duration::from_secs(90);

/// What the kernel is told: quiet, no rest after a panic, nothing that only real hardware needs.
const KERNEL_WORDS: &str = "console=ttyS0 quiet loglevel=4 panic=-1 random.trust_cpu=on mitigations=off \
                            cryptomgr.notests tsc=unstable net.ifnames=0";

/// A running guest. It ends with this value, and with this process however that ends.
pub(super) struct Guest {
    machine: Child,
    streams: Vec<JoinHandle<()>>,
    console: PathBuf,
}

impl Guest {
    /// Boots a guest.
    ///
    /// # Errors
    /// QEMU cannot be started.
    pub(super) fn start(args: &Args, job: &Job, kernel: &Kernel) -> Result<Guest> {
        let console = job.control().join("console");
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "--", "qemu-system-x86_64"]);
        command.args(machine(args)).args(streams(&console)).args(folders(job));
        command.arg("-kernel").arg(&kernel.image).arg("-initrd").arg(job.initrd());
        command.args(["-append", &format!("{KERNEL_WORDS} SOFTROCE_NODE=0")]);
        // A group of its own: what the keyboard interrupts is we, and we end the guest.
        command.process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut machine = command.spawn().context("QEMU does not start")?;
        let streams = vec![
            forward(machine.stdout.take().expect("piped"), std::io::stdout()),
            forward(machine.stderr.take().expect("piped"), std::io::stderr()),
        ];
        Ok(Guest { machine, streams, console })
    }

    /// Whether it has not ended yet. Once it has, all that it said is written.
    pub(super) fn running(&mut self) -> Result<bool> {
        let ended = self.machine.try_wait()?.is_some();
        if ended {
            self.streams.drain(..).for_each(|stream| drop(stream.join()));
        }
        Ok(!ended)
    }

    /// It ended without a word about the command.
    pub(super) fn lost(&self) -> Fault {
        Fault::new(
            "A Soft-RoCE node ended before its command did.",
            format!("its console ends with:{}", self.console_end()),
            "its kernel failed, it ran out of memory, or its files could not be reached",
            "look at the console; give it more memory with --memory",
        )
    }

    /// It ran on after its time.
    pub(super) fn silent(&self, seconds: u32) -> Fault {
        Fault::new(
            format!(
                "A Soft-RoCE node did not even report in time ({seconds} s and {} s more).",
                GRACE.as_secs()
            ),
            format!("its console ends with:{}", self.console_end()),
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

/// The kernel's console goes to a file. Standard output and standard error have a port each; a third one reports to
/// standard error, so that it is not held up behind the command's own words.
fn streams(console: &Path) -> Vec<String> {
    let mut words = vec!["-device".to_owned(), "virtio-serial-pci".to_owned()];
    let mut port = |id: &str, backend: String, device: String| {
        words.extend(["-chardev".to_owned(), format!("{backend},id={id}"), "-device".to_owned(), device]);
    };
    let console = console.display().to_string().replace(',', ",,");
    port("c", format!("file,path={console}"), "isa-serial,chardev=c".into());
    for (number, stream) in [(1, 1), (2, 2), (3, 2)] {
        let (name, device) = (format!("p{number}"), format!("virtserialport,chardev=p{number},nr={number}"));
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
            // Nobody may be reading ours any more; the guest must not wait for that.
            let _ = to.write_all(&bytes[..count]).and_then(|()| to.flush());
        }
    })
}
