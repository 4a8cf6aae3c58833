//! The orders for the guests, and the place of their answers: a folder of this run, shared with
//! them.

use super::kernel::Kernel;
use super::{Args, Shape, file_fault, top};
use anyhow::{Context, Result, bail};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A run. Its own folder goes with it.
pub(super) struct Job {
    folder: tempfile::TempDir,
    out: PathBuf,
}

impl Job {
    /// Makes the folders and writes the orders.
    ///
    /// # Errors
    /// A folder cannot be written.
    pub(super) fn prepare(args: &Args, kernel: &Kernel) -> Result<Job> {
        let folder = tempfile::Builder::new().prefix("verbena-softroce.").tempdir()?;
        let out = args.out.clone().unwrap_or_else(|| folder.path().join("out"));
        for each in [&out, &folder.path().join("control")] {
            fs::create_dir_all(each).map_err(|error| file_fault("A folder cannot be made.", each, &error))?;
        }
        let job = Job { out: out.canonicalize()?, folder };
        fs::write(job.control().join("job.sh"), script(args, kernel)?)?;
        if args.shape == Shape::Many {
            job.make_key()?;
        }
        Ok(job)
    }

    /// The key by which the guests let each other in.
    fn make_key(&self) -> Result<()> {
        let key = self.control().join("key");
        let made =
            Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(key).status()?;
        if made.success() { Ok(()) } else { bail!("ssh-keygen failed: {made}") }
    }

    /// Returns the folder that the guests see as `/softroce`.
    pub(super) fn control(&self) -> PathBuf {
        self.folder.path().join("control")
    }

    /// Returns the folder that the guests see as `/out`.
    pub(super) fn out(&self) -> &Path {
        &self.out
    }

    /// Returns whether the guest of a node (of several) has reported that it is ready.
    pub(super) fn is_up(&self, node: u32) -> bool {
        self.control().join(format!("up.{node}")).exists()
    }

    /// The socket that is the wire between guest 0 and another.
    pub(super) fn wire(&self, node: u32) -> PathBuf {
        self.folder.path().join(format!("wire.{node}"))
    }

    /// Returns the place of the initramfs.
    pub(super) fn initrd(&self) -> PathBuf {
        self.folder.path().join("initrd")
    }

    /// The command's exit code, once a guest reported it.
    pub(super) fn exit_code(&self) -> Option<u8> {
        fs::read_to_string(self.control().join("exit")).ok()?.trim().parse().ok()
    }
}

/// Variables and the command, in words that a shell reads as they are.
fn script(args: &Args, kernel: &Kernel) -> Result<Vec<u8>> {
    let stage = std::path::absolute(&args.stage)?;
    let mut text = Vec::new();
    let mut set = |name: &str, value: &OsStr| {
        text.extend(format!("{name}=").bytes().chain(quoted(value)).chain([b'\n']));
    };
    let number = |value: u32| value.to_string();
    set(
        "shape",
        OsStr::new(match args.shape {
            Shape::One => "one",
            Shape::Many => "many",
        }),
    );
    set("nodes", number(args.nodes).as_ref());
    set("rails", number(args.rails).as_ref());
    set("ranks_per_node", args.ranks_per_node.map(number).unwrap_or_default().as_ref());
    set("seconds_max", number(args.limit).as_ref());
    set("netem", args.wire.netem().as_ref());
    set("modules", kernel.modules.as_ref());
    set("guest", top().join("xtask/src/softroce/guest").as_ref());
    set("directory", std::env::current_dir()?.as_ref());
    set("stage", stage.as_ref());
    for (name, value) in environment(args)? {
        set(&format!("export {name}"), value.as_ref());
    }
    let words = args.command.iter().flat_map(|word| quoted(word).chain([b' ']));
    text.extend(b"command=(".iter().copied().chain(words).chain(*b")\n"));
    Ok(text)
}

/// Returns the part of our environment that the command gets.
fn environment(args: &Args) -> Result<Vec<(String, std::ffi::OsString)>> {
    let ours = std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
    let mut given: Vec<_> = ours.filter(|(name, _)| name.starts_with("VERBENA_")).collect();
    for word in &args.environment {
        given.push(match word.split_once('=') {
            Some((name, value)) => (name.to_owned(), value.into()),
            None => {
                (word.clone(), std::env::var_os(word).with_context(|| format!("-x {word}: it is not set"))?)
            }
        });
    }
    Ok(given)
}

/// A word in single quotes.
fn quoted(word: &OsStr) -> impl Iterator<Item = u8> {
    let inner = word.as_bytes().iter().flat_map(|&byte| match byte {
        b'\'' => b"'\\''".to_vec(),
        other => vec![other],
    });
    [b'\''].into_iter().chain(inner).chain([b'\''])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_quoted_words_as_they_were() {
        for word in ["", "a b", "it's", "$HOME `x` \"y\" \\", "two\nlines"] {
            let script = [b"printf %s ".to_vec(), quoted(OsStr::new(word)).collect()].concat();
            let output = std::process::Command::new("sh").arg("-c").arg(OsStr::from_bytes(&script)).output();
            assert_eq!(output.unwrap().stdout, word.as_bytes());
        }
    }
}
