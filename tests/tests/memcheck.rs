//! The README's first program under valgrind's memcheck, with the suppressions that are installed.

use std::process::Command;
use verbena_tests::{build_dir, compile, job, staged, top};

/// A program without a fault passes with leaks as errors; one with a leak of its own does not.
#[test]
fn memcheck_finds_the_programs_leaks_and_none_of_ours() {
    assert!(Command::new("valgrind").arg("--version").output().is_ok(), "valgrind is missing: `make deps`");
    let source = std::fs::read_to_string(top().join("examples/hello.c")).expect("the README's program");
    let leaky = source.replace("    MPI_Finalize();", "    lost = 0;\n    MPI_Finalize();");
    let leaky = leaky
        .replace("    MPI_Init(", "    char *volatile lost = malloc(4711);\n    lost[0] = 1;\n    MPI_Init(");
    for (name, text, code) in [("sound", &source, 0), ("leaky", &format!("#include <stdlib.h>\n{leaky}"), 9)]
    {
        let file = build_dir().join(format!("memcheck-{name}.c"));
        std::fs::write(&file, text).expect("target/ is writable");
        let program = build_dir().join(format!("memcheck-{name}"));
        compile(&staged("bin/mpicc"), &file, &program, &[]);
        let suppressions = format!("--suppressions={}", staged("share/verbena/verbena.supp").display());
        let options = ["--quiet", "--leak-check=full", "--error-exitcode=9", &suppressions];
        let run = options.iter().fold(job(2, "valgrind"), |job, option| job.arg(option));
        let ended = run.arg(&program).run();
        assert_eq!(ended.code, code, "{name}: {ended:?}");
        assert_eq!(
            ended.stderr.contains("4,711 bytes in 1 blocks are definitely lost"),
            code == 9,
            "{ended:?}"
        );
    }
}
