//! Every file of `examples/`, as a user would build and run it on the staged installation.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use verbena_tests::{job, scratch, shell, staged, top, venv};

/// The files, and what each is tried by.
const FILES: [(&str, &str); 15] = [
    ("CMakeLists.txt", "cmake_builds_and_tests_them"),
    ("Makefile", "make_builds_programs_that_run"),
    ("README.md", "every_example_is_tried_and_told_of"),
    ("counter.c", "make_builds_programs_that_run"),
    ("heat.c", "make_builds_programs_that_run"),
    ("hello.c", "make_builds_programs_that_run"),
    ("hello.cc", "make_builds_programs_that_run"),
    ("hello.f90", "make_builds_programs_that_run"),
    ("hello.py", "python_runs"),
    ("jobs/kubernetes.yaml", "the_command_of_kubernetes_runs"),
    ("jobs/pbs.sh", "scripts_of_batch_systems_run"),
    ("jobs/slurm.sh", "scripts_of_batch_systems_run"),
    ("overnet.c", "measurements_run"),
    ("pi.f90", "make_builds_programs_that_run"),
    ("roundtrips.c", "measurements_run"),
];

fn examples() -> PathBuf {
    top().join("examples")
}

/// PATH with the stage's programs first.
fn path() -> String {
    format!("{}:{}", staged("bin").display(), std::env::var("PATH").expect("PATH"))
}

/// The examples, built by their Makefile into a folder of this name.
fn made(name: &str) -> PathBuf {
    let out = scratch(name);
    let mut make = Command::new("make");
    make.arg("-C").arg(examples()).arg(format!("OUT={}", out.display())).env("PATH", path());
    make.args(["CFLAGS=-O2 -Wall -Werror", "CXXFLAGS=-O2 -Wall -Werror", "FFLAGS=-O2 -Wall -Werror"]);
    shell(make.env_remove("MAKEFLAGS").env_remove("MAKELEVEL").env_remove("MFLAGS"));
    out
}

fn names(folder: &Path, before: &str) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).expect("readable").map(|entry| entry.expect("an entry"));
    let mut names = BTreeSet::new();
    for entry in entries {
        let name = format!("{before}{}", entry.file_name().to_string_lossy());
        match entry.path().is_dir() {
            true => names.extend(self::names(&entry.path(), &format!("{name}/"))),
            false => _ = names.insert(name),
        }
    }
    names
}

#[test]
fn every_example_is_tried_and_told_of() {
    let tried: BTreeSet<String> = FILES.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(names(&examples(), ""), tried);
    let page = std::fs::read_to_string(examples().join("README.md")).expect("a page");
    for (name, _) in FILES.iter().filter(|(name, _)| *name != "README.md") {
        assert!(page.contains(&format!("({name})")), "{name} is not in the page");
    }
}

#[test]
fn make_builds_programs_that_run() {
    let out = made("examples-make");
    for (program, expected) in [
        ("hello", "The ranks add up to 6 (expected 6)"),
        ("hello_cxx", "Hello from rank 3 of 4 in C++"),
        ("hello_fortran", "Hello from rank 3 of 4 in Fortran"),
        ("pi", "pi is about 3.14159265"),
        ("heat", "4000 cells on 4 ranks, 1000 steps: warmth 100000.000 (100000.000 at first)"),
        ("counter", "1000 pieces add up to 499500 (expected 499500)"),
    ] {
        let ended = job(4, out.join(program)).run().ok();
        assert!(ended.stdout.contains(expected), "{program}: {ended:?}");
    }
    let refused = job(2, out.join("heat")).arg("0").run();
    assert_ne!(refused.code, 0, "{refused:?}");
}

#[test]
fn measurements_run() {
    let out = made("examples-measure");
    for (name, arguments) in [("overnet", &[][..]), ("roundtrips", &["100", "8"])] {
        let ended = job(2, out.join(name)).args(arguments).run().ok();
        assert!(!ended.stdout.is_empty(), "{name}: {ended:?}");
    }
}

#[test]
fn cmake_builds_and_tests_them() {
    let out = scratch("examples-cmake");
    let mut configure = Command::new("cmake");
    shell(configure.arg("-S").arg(examples()).arg("-B").arg(&out).env("PATH", path()));
    shell(Command::new("cmake").arg("--build").arg(&out).env("PATH", path()));
    let mut test = Command::new("ctest");
    let tested = shell(test.arg("--test-dir").arg(&out).arg("--output-on-failure").env("PATH", path()));
    assert!(tested.stdout.contains("100% tests passed, 0 tests failed out of 6"), "{}", tested.stdout);
}

#[test]
fn python_runs() {
    let ended = job(2, venv("bin/python")).arg(examples().join("hello.py")).run().ok();
    assert!(
        ended.stdout.contains("Hello from rank 1 of 2 on ") && ended.stdout.contains("in Python"),
        "{ended:?}"
    );
}

/// With the variables that the batch system would set; all ranks are on this host.
#[test]
fn scripts_of_batch_systems_run() {
    let out = made("examples-jobs");
    let hosts = out.join("hosts");
    std::fs::write(&hosts, "localhost\nlocalhost\n").expect("writable");
    let run = |script: &str, name: &str, value: &str| {
        let mut command = Command::new("bash");
        command.arg(examples().join("jobs").join(script)).current_dir(&out).env("PATH", path());
        shell(command.env(name, value)).stdout
    };
    let slurm = run("slurm.sh", "SLURM_NTASKS", "2");
    assert!(slurm.contains("2000 cells on 2 ranks"), "{slurm}");
    let pbs = run("pbs.sh", "PBS_NODEFILE", hosts.to_str().expect("utf-8"));
    assert!(pbs.contains("2000 cells on 2 ranks"), "{pbs}");
}

#[test]
fn the_command_of_kubernetes_runs() {
    let page = std::fs::read_to_string(examples().join("jobs/kubernetes.yaml")).expect("a page");
    let line = page.lines().find_map(|line| line.trim().strip_prefix("command: ")).expect("a command");
    let words: Vec<String> = serde_json::from_str(line).expect("a list of words");
    let out = made("examples-kubernetes");
    let ended = shell(Command::new(&words[0]).args(&words[1..]).current_dir(&out).env("PATH", path()));
    assert!(ended.stdout.contains("4000 cells on 4 ranks"), "{ended:?}");
}
