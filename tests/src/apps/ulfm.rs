//! The programs of ICLDisco/ulfm-testing about lost processes, from a folder with its sources:
//! `api`, `stress` and `tutorial`. Each says what it found; what is right is in its source.

use super::{Purpose, Run};
use crate::sources::Tools;
use crate::world::World;
use crate::{shell, top};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program, the least number of ranks that it is written for, the exit codes that its job may
/// have, and words that it says.
struct Test {
    program: &'static str,
    ranks_min: u32,
    codes: &'static [i32],
    says: &'static str,
}

const fn test(program: &'static str, ranks_min: u32, codes: &'static [i32], says: &'static str) -> Test {
    Test { program, ranks_min, codes, says }
}

/// The job ends well: the deaths were acknowledged.
const WELL: &[i32] = &[0];
/// Nobody acknowledges a death: the exit code is that of the signal.
const UNNOTICED: &[i32] = &[137];
/// The ranks that are left may end before any of them knows of the last death.
const PERHAPS_UNNOTICED: &[i32] = &[0, 137];
/// The children that were to meet a communicator with a dead process fail in `MPI_Init`, and with
/// them the job: their parents' port is closed (`MPI_ERR_PORT`), or the parents have failed.
const CHILDREN_FAIL: &[i32] = &[0, 43, 101];

/// The programs. Not among them are exercises of the tutorial that have to be completed (`q..`),
/// `kill_node`, which kills the launcher, `connect_accept`, which spawns itself until there are no
/// slots left (there always are), `revshrinkkillrecover`, which has no end, and `bindings`, which
/// wants an attribute of Open MPI's own, `MPIX_FT`.
const TESTS: [Test; 30] = [
    test("api/init_errh_info", 2, WELL, "= mpi_errors_return"),
    test("api/err_any", 2, WELL, "TEST PASSED"),
    test("api/err_handler", 2, UNNOTICED, "TEST PASSED"),
    test("api/err_insulation", 4, WELL, "Notified of error"),
    test("api/err_returns", 2, UNNOTICED, "TEST PASSED"),
    test("api/getack", 4, PERHAPS_UNNOTICED, "TEST PASSED"),
    test("api/revoke", 2, UNNOTICED, "TEST PASSED"),
    test("api/revshrink", 2, WELL, "COMPLIANT @ repeat 99"),
    test("api/revshrinkkill", 4, WELL, "Finalizing"),
    test("api/shrink", 4, WELL, "COMPLIANT"),
    test("api/buddycr", 4, WELL, "starting bcast 5"),
    test("stress/pingpairs", 4, WELL, ": SUCCESS"),
    test("stress/sleeptest", 2, WELL, "COMPLIANT"),
    test("stress/spawn", 2, CHILDREN_FAIL, "completed MPI_COMM_SPAWN with fault=fixed"),
    test("stress/isend-err", 4, WELL, "TEST PASSED"),
    test("tutorial/00.noft", 2, UNNOTICED, ""),
    test("tutorial/01.err_returns", 2, UNNOTICED, "Stayin' alive!"),
    test("tutorial/02.err_handler", 4, WELL, "found dead"),
    test("tutorial/03.undisturbed", 4, WELL, "value from"),
    test("tutorial/04.if_error", 4, UNNOTICED, "Sendrecv"),
    // The root of its broadcast, and ranks whose data do not pass the dead one, see no death.
    test("tutorial/05.err_coll", 4, PERHAPS_UNNOTICED, ""),
    test("tutorial/06.err_comm_dup", 4, UNNOTICED, "(safe w/f)"),
    test("tutorial/07.err_comm_grid2d", 4, UNNOTICED, "w/f"),
    test("tutorial/08.err_any_src", 4, WELL, "after detecting 1 faults"),
    test("tutorial/08.2.err_iany_src", 4, WELL, "after detecting 1 faults"),
    test("tutorial/09.err_insulation", 4, WELL, "1 found dead"),
    test("tutorial/10.respawn", 4, WELL, "(post fault)"),
    test("tutorial/11.respawn_reorder", 4, WELL, "(post fault)"),
    test("tutorial/12.buddycr", 4, WELL, "starting bcast 5"),
    test("tutorial/13.transactions", 4, UNNOTICED, "catch the inner-loop block"),
];
/// The numbers of ranks.
const RANKS: [u32; 3] = [2, 4, 8];
/// The words of a program that has not passed.
const WRONG: [&str; 3] = ["TEST FAILED", "NOT COMPLIANT", ": FAILURE"];
/// A function of `isend-err` is used before it is declared.
const DECLARED: &str = "#include <mpi.h>\nstatic void verbose_errhandler(MPI_Comm *, int *, ...);\n";
/// The arguments of `sleeptest`: seconds, and rounds. Others have none.
const SLEEPTEST: &str = "1 3";

/// Builds the programs, with what the header of Open MPI says of itself and calls an error class.
fn built(home: &Path, tools: &Tools) -> PathBuf {
    assert!(home.join("api").is_dir(), "{} is no folder of ulfm-testing", home.display());
    let folder = top().join("target/apps/ulfm");
    for Test { program, .. } in &TESTS {
        let out = folder.join(program);
        fs::create_dir_all(out.parent().expect("a folder")).expect("target/ is writable");
        let mut compiler = Command::new(&tools.mpicc);
        compiler.args(["-O1", "-w", "-DOMPI_HAVE_MPIX_COMM_ISHRINK=1"]);
        compiler.arg("-DMPI_ERR_PROC_FAILED=MPIX_ERR_PROC_FAILED");
        if program.ends_with("isend-err") {
            let declared = folder.join("declared.h");
            fs::write(&declared, DECLARED).expect("target/ is writable");
            compiler.arg("-include").arg(declared);
        }
        shell(compiler.arg("-o").arg(&out).arg(home.join(format!("{program}.c"))).arg("-lm"));
    }
    folder
}

/// Returns the runs: all programs with each number of ranks. Nothing is timed, and the launcher of
/// the virtual nodes is not asked to survive a death.
pub fn runs(home: &Path, world: &World, purpose: Purpose) -> Vec<Run> {
    assert!(world.tools.name == "verbena", "only Verbena's settings are known");
    if purpose != Purpose::Checked {
        return Vec::new();
    }
    let folder = built(home, &world.tools);
    RANKS.map(|ranks| run(&folder, ranks)).into()
}

/// The programs for so many ranks, by their numbers.
fn tests_for(ranks: u32) -> impl Iterator<Item = (usize, &'static Test)> {
    TESTS.iter().enumerate().filter(move |(_, test)| test.ranks_min <= ranks)
}

fn run(folder: &Path, ranks: u32) -> Run {
    let line = |(number, Test { program, .. }): (usize, &Test)| {
        let (path, name) = program.split_once('/').expect("a folder and a name");
        let arguments = if name == "sleeptest" { SLEEPTEST } else { "" };
        let setting =
            if name == "init_errh_info" { "VERBENA_INITIAL_ERRHANDLER=mpi_errors_return " } else { "" };
        format!(
            "echo \"== {number}\"; cd {}/{path}; code=0\n\
             {setting}timeout 120 $LAUNCH {ranks} ./{name} {arguments} 2>&1 </dev/null || code=$?\n\
             echo; echo \"ended with $code\"",
            folder.display()
        )
    };
    let lines: Vec<String> = tests_for(ranks).map(line).collect();
    Run {
        name: format!("ulfm-{ranks}"),
        ranks,
        seconds_max: 900,
        files: vec![],
        // As `mpiexec --with-ft mpi`, for which these programs are written.
        script: format!("export VERBENA_LOST_RANKS=survive\n{}", lines.join("\n")),
        judge: Box::new(move |ended| {
            let wrong = judged(&ended.stdout, ranks);
            assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
            vec![]
        }),
    }
}

/// The programs that did not pass, with what they said.
fn judged(said: &str, ranks: u32) -> Vec<String> {
    let sections = said.split("== ").filter_map(|section| section.split_once('\n'));
    let sections: BTreeMap<&str, &str> = sections.collect();
    let look = |(number, Test { program, codes, says, .. }): (usize, &Test)| {
        let said = *sections.get(&*number.to_string()).unwrap_or(&"it was not run");
        let ends = |code: &i32| said.trim_end().ends_with(&format!("\nended with {code}"));
        let is_right =
            codes.iter().any(ends) && said.contains(says) && !WRONG.iter().any(|wrong| said.contains(wrong));
        (!is_right).then(|| format!("{program} (codes {codes:?}, \"{says}\"): {said}"))
    };
    tests_for(ranks).filter_map(look).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_program_must_say_its_words_and_end_with_its_code() {
        let section = |(number, Test { codes, says, .. }): (usize, &Test)| {
            format!("== {number}\n{says}\n\nended with {}\n", codes[0])
        };
        for ranks in RANKS {
            let said: String = tests_for(ranks).map(section).collect();
            assert_eq!(judged(&said, ranks), [""; 0]);
            assert!(judged(&said.replace("TEST PASSED", ""), ranks)[0].starts_with("api/err_any "));
            let well = tests_for(ranks).filter(|(_, test)| test.codes[0] == 0).count();
            assert_eq!(judged(&said.replace("ended with 0", "ended with 1"), ranks).len(), well);
            assert_eq!(judged(&said.replace("repeat 99", "repeat 99\nNOT COMPLIANT"), ranks).len(), 1);
            assert_eq!(judged("", ranks).len(), tests_for(ranks).count());
        }
    }
}
