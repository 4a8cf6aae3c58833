//! The place where the ranks of a program run, and their library: behind one launcher, so that a
//! script says only the number of ranks.

use crate::cable::NAMED;
use crate::sources::Tools;
use crate::{staged, top};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A place for ranks.
#[derive(Clone, Debug)]
pub struct World {
    /// The name in tables, and of its folder.
    pub name: String,
    /// A program that starts ranks: `LAUNCH N PROGRAM ARGUMENTS...`
    pub launch: PathBuf,
    /// The tools that build programs.
    pub tools: Tools,
    /// The place where Debian's binaries for one of the older ABIs find the library.
    pub stock: Stock,
}

/// A library under the name that binaries of an older ABI ask for.
#[derive(Clone, Debug)]
pub struct Stock {
    /// The ABI: `mpich` or `openmpi`, as Debian's packages are named.
    pub abi: &'static str,
    /// The folders with the library.
    pub folders: Vec<PathBuf>,
}

impl World {
    /// The staged installation on this machine, over shared memory.
    pub fn ours() -> World {
        let mpiexec = staged("bin/mpiexec");
        World::with_launcher("verbena", &format!("exec {} -n \"$n\" \"$@\"", mpiexec.display()))
    }

    /// The staged installation on two virtual nodes (`cargo xtask softroce`), half of the ranks on
    /// each.
    pub fn nodes() -> World {
        let half = "h=$(((n + 1) / 2))\nexec mpiexec -hosts node0:$h,node1:$h -n \"$n\" \"$@\"";
        World::with_launcher("nodes", half)
    }

    /// The staged installation on this machine under two other names, which count as nodes: half of
    /// the ranks on each, with libfabric between them.
    pub fn hosts() -> World {
        let mpiexec = staged("bin/mpiexec");
        let script = format!(
            "h=$(((n + 1) / 2))\nlauncher=$(cat <<'END'\n{NAMED}\nEND\n)\n\
             exec {} --launcher \"$launcher\" -host a:$h,b:$h -n \"$n\" \"$@\"",
            mpiexec.display()
        );
        World::with_launcher("hosts", &script)
    }

    /// A world of the standard ABI whose launcher is this shell script; it finds the number of
    /// ranks in `$n` and the program's words in `"$@"`.
    pub fn with_launcher(name: &str, script: &str) -> World {
        let folder = top().join("target/apps/launch");
        fs::create_dir_all(&folder).expect("target/ is writable");
        let launch = folder.join(name);
        let text = format!("#!/bin/sh\n# LAUNCH N PROGRAM ARGUMENTS...\nn=$1\nshift\n{script}\n");
        // Beside its place: it may be running.
        let new = folder.join(format!("{name}.{}", std::process::id()));
        fs::write(&new, text).expect("target/ is writable");
        fs::set_permissions(&new, fs::Permissions::from_mode(0o755)).expect("target/ is writable");
        fs::rename(new, &launch).expect("target/ is writable");
        let stock = Stock { abi: "mpich", folders: vec![folder_of(&staged("lib/libmpich.so.12"))] };
        World { name: name.to_owned(), launch, tools: Tools::staged(), stock }
    }
}

/// The folder of a file.
pub fn folder_of(file: &Path) -> PathBuf {
    file.parent().expect("a file lies in a folder").to_path_buf()
}
