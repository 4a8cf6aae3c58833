//! Options that people's scripts have from other launchers.

use crate::harness::{begin, mpiexec, run, run_script};
use std::path::PathBuf;

/// A folder, removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("launch-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn name(&self, file: &str) -> String {
        self.0.join(file).to_str().unwrap().to_owned()
    }

    fn text(&self, file: &str) -> String {
        std::fs::read_to_string(self.0.join(file)).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

#[test]
fn options_of_open_mpi_are_taken_and_noted_once() {
    let options = ["--mca", "btl", "tcp,self", "--mca", "pml", "ob1", "--pmixmca", "a", "b", "--n", "2"];
    let outcome = run_script(&options, "echo $PMI_RANK/$PMI_SIZE");
    assert_eq!((outcome.code, outcome.lines()), (Some(0), vec!["0/2", "1/2"]), "{outcome:?}");
    assert_eq!(outcome.err.lines().count(), 4, "{outcome:?}");
    assert!(outcome.err.contains("--mca, --pmixmca"), "{outcome:?}");
}

#[test]
fn options_of_mpich_are_taken_and_noted_once() {
    let options =
        ["-disable-x", "-localhost", "a", "-print-all-exitcodes", "-v", "-launcher-exec", "ssh", "-n", "2"];
    let outcome = run_script(&options, "echo $PMI_RANK/$PMI_SIZE");
    assert_eq!((outcome.code, outcome.lines()), (Some(0), vec!["0/2", "1/2"]), "{outcome:?}");
    assert_eq!(outcome.err.lines().count(), 4, "{outcome:?}");
    let noted = "on: -localhost, -v, -disable-x, -print-all-exitcodes\n";
    assert!(outcome.err.contains(noted), "{outcome:?}");
}

#[test]
fn what_would_be_another_job_starts_nothing() {
    for options in [&["-rankmap", "0,1"][..], &["-genvnone"], &["--rankfile", "f"], &["--stdin", "all"]] {
        let outcome = run_script(&[options, &["-n", "2"]].concat(), "echo started");
        assert_eq!((outcome.code, outcome.out.as_str()), (Some(2), ""), "{outcome:?}");
        assert!(outcome.err.contains("nothing was started.\n  on: -"), "{outcome:?}");
        assert_eq!(outcome.err.lines().count(), 4, "{outcome:?}");
    }
}

/// The variable is that of a script for MPICH.
#[test]
fn the_launcher_of_mpichs_variable_counts() {
    let script = "echo $PMI_RANK $VERBENA_LOCAL_SIZE";
    let mut command = mpiexec(&["-host", "a,b", "sh", "-c", script]);
    let outcome = begin(command.env("HYDRA_LAUNCHER", "fork")).finish();
    assert_eq!((outcome.code, outcome.lines()), (Some(0), vec!["0 1", "1 1"]), "{outcome:?}");
    // What is theirs alone is no error of a job here.
    let mut command = mpiexec(&["-n", "2", "sh", "-c", script]);
    let outcome = begin(command.env("HYDRA_LAUNCHER", "manual")).finish();
    assert_eq!((outcome.code, outcome.lines()), (Some(0), vec!["0 2", "1 2"]), "{outcome:?}");
    let outcome = run_script(&["--launcher", "manual", "-n", "2"], "echo started");
    assert_eq!((outcome.code, outcome.out.as_str()), (Some(2), ""), "{outcome:?}");
    assert!(outcome.err.contains("There is no such launcher."), "{outcome:?}");
}

/// So ends a shell that does not find a command, and a loader that does not find a library.
#[test]
fn a_program_that_ends_with_127_lacks_something() {
    let outcome = run_script(&["-n", "1"], "no-such-command");
    assert_eq!(outcome.code, Some(127), "{outcome:?}");
    assert!(outcome.err.contains("ldd PROGRAM"), "{outcome:?}");
}

#[test]
fn variables_in_both_spellings() {
    let outcome =
        run_script(&["-genv", "A=1", "-genv", "B", "2", "-env", "C=3=4", "-n", "1"], "echo $A $B $C");
    assert_eq!((outcome.out.as_str(), outcome.err.as_str()), ("1 2 3=4\n", ""), "{outcome:?}");
}

#[test]
fn hosts_get_ranks_in_turns() {
    let show = "echo $PMI_RANK $VERBENA_LOCAL_RANK/$VERBENA_LOCAL_SIZE";
    let fork = ["--launcher", "fork", "-H", "a:2,b:2"];
    let run = |more: &[&str]| run_script(&[&fork, more].concat(), show);
    assert_eq!(run(&[]).lines(), ["0 0/2", "1 1/2", "2 0/2", "3 1/2"]);
    assert_eq!(run(&["--map-by", "node"]).lines(), ["0 0/2", "1 0/2", "2 1/2", "3 1/2"]);
    assert_eq!(run(&["-N", "1"]).lines(), ["0 0/1", "1 0/1"]);
    assert_eq!(run(&["--map-by", "ppr:1:node", "-n", "3"]).lines(), ["0 0/2", "1 0/1", "2 1/2"]);
}

#[test]
fn output_goes_to_files_as_open_mpi_names_them() {
    let folder = Folder::new("ompi-files");
    let place = folder.name("out");
    let outcome = run_script(&["-n", "2", "--output-filename", &place], "echo $PMI_RANK; echo error >&2");
    assert_eq!((outcome.code, outcome.lines()), (Some(0), vec!["0", "1"]), "{outcome:?}");
    assert_eq!(folder.text("out/1/rank.0/stdout"), "0\n");
    assert_eq!(folder.text("out/1/rank.1/stderr"), "error\n");
    let quiet = format!("{place}:nocopy");
    let outcome = run_script(&["-n", "2", "--output-filename", &quiet], "echo again $PMI_RANK");
    assert_eq!((outcome.code, outcome.out.as_str()), (Some(0), ""), "{outcome:?}");
    assert_eq!(folder.text("out/1/rank.1/stdout"), "again 1\n");
    assert_eq!(folder.text("out/1/rank.1/stderr"), "");
}

#[test]
fn output_goes_to_files_as_mpich_names_them() {
    let folder = Folder::new("mpich-files");
    let place = folder.name("o.%r");
    let outcome = run_script(&["-n", "2", "-outfile-pattern", &place], "echo $PMI_RANK; echo error >&2");
    assert_eq!((outcome.code, outcome.out.as_str()), (Some(0), ""), "{outcome:?}");
    assert_eq!((folder.text("o.0").as_str(), folder.text("o.1").as_str()), ("0\n", "1\n"));
    assert_eq!(outcome.err, "error\nerror\n");
    let all = folder.name("all");
    let lines = "i=0; while [ $i -lt 200 ]; do echo line $i; i=$((i+1)); done";
    let outcome = run_script(&["-n", "3", "-l", "-outfile-pattern", &all], lines);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let text = folder.text("all");
    assert_eq!(text.lines().count(), 600);
    assert!(text.lines().all(|line| line.starts_with('[') && line.contains("] line ")), "torn lines");
}

#[test]
fn a_file_that_cannot_be_written_is_told() {
    let outcome = run(&["-n", "2", "-outfile-pattern", "/proc/none/%r", "echo", "started"]);
    assert_eq!((outcome.code, outcome.err.lines().count()), (Some(1), 4), "{outcome:?}");
    let outcome = run(&["-n", "1", "-outfile-pattern", "/dev/full", "echo", "lost"]);
    assert_eq!((outcome.code, outcome.err.lines().count()), (Some(1), 4), "{outcome:?}");
    assert!(outcome.err.contains("/dev/full"), "{outcome:?}");
}

#[test]
fn programs_from_a_configuration_file() {
    let folder = Folder::new("configfile");
    let show = "'echo $PMI_RANK of $PMI_SIZE'";
    let text = format!("# two parts\n-n 1 sh -c {show}\n-n 2 -env A=1 \\\n sh -c {show}\n");
    std::fs::write(folder.0.join("jobs"), text).unwrap();
    let outcome = run(&["-l", "-configfile", &folder.name("jobs")]);
    assert_eq!(outcome.lines(), ["[0] 0 of 3", "[1] 1 of 3", "[2] 2 of 3"], "{outcome:?}");
    let outcome = run(&["-configfile", &folder.name("none")]);
    assert_eq!((outcome.code, outcome.err.lines().count()), (Some(2), 4), "{outcome:?}");
}

#[test]
fn limits_from_the_environment() {
    let outcome = begin(mpiexec(&["-n", "1", "sleep", "20"]).env("MPIEXEC_TIMEOUT", "0.2")).finish();
    assert_eq!(outcome.code, Some(124), "{outcome:?}");
    let show = "echo $FI_TCP_PORT_LOW_RANGE-$FI_TCP_PORT_HIGH_RANGE";
    let mut command = mpiexec(&["--launcher", "fork", "-host", "a", "sh", "-c", show]);
    let outcome = begin(command.env("MPIEXEC_PORT_RANGE", "20000:20100")).finish();
    assert_eq!((outcome.code, outcome.out.as_str()), (Some(0), "20000-20100\n"), "{outcome:?}");
    let outcome = begin(mpiexec(&["true"]).env("MPIEXEC_PORT_RANGE", "many")).finish();
    assert_eq!((outcome.code, outcome.err.lines().count()), (Some(2), 4), "{outcome:?}");
}
