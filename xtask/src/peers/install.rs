//! Wheels into virtual environments, once.

use super::contender::{Contender, Peer, Setup, present};
use std::path::Path;
use std::process::Command;

/// The file that says which wheels an environment holds, written last.
const MARK: &str = "verbena-peer.txt";

/// Installs a peer into `folder/NAME`, unless it is there already.
pub(crate) fn install(peer: &Peer, folder: &Path) -> Contender {
    let home = folder.join(peer.name);
    let setup = ensure(peer, &home).and_then(|()| {
        present(Setup {
            mpiexec: home.join("bin/mpiexec"),
            launcher_args: peer.launcher_args,
            library: home.join(peer.library),
            env: peer.env,
        })
    });
    if let Err(reason) = &setup {
        eprintln!("{} is left out: {reason}", peer.name);
    }
    Contender { name: peer.name, setup }
}

fn ensure(peer: &Peer, home: &Path) -> Result<(), String> {
    let wanted = peer.wheels.join("\n");
    let mark = home.join(MARK);
    if std::fs::read_to_string(&mark).is_ok_and(|found| found == wanted) {
        return Ok(());
    }
    eprintln!("installing {} into {}", peer.wheels.join(" "), home.display());
    run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(home))?;
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    run(Command::new(home.join("bin/python")).args(pip).args(peer.wheels))?;
    std::fs::write(&mark, wanted).map_err(|error| format!("cannot write {}: {error}", mark.display()))
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("cannot run {command:?}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    let tail: Vec<&str> = words.lines().rev().take(5).collect();
    Err(format!("{command:?} failed: {}", tail.into_iter().rev().collect::<Vec<_>>().join("; ")))
}
