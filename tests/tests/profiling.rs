//! Profiling by `PMPI_` names (MPI-5.0, 15.2): a tool that wraps the `MPI_` names sees the
//! program's calls, all of them, and nothing else.

use std::path::PathBuf;
use std::process::Command;
use verbena_tests::{build_dir, compile, job, program, shell, staged, top};

/// The tool, as a library to preload.
fn wrappers() -> PathBuf {
    let library = build_dir().join(format!("libwrappers.{}.so", std::process::id()));
    compile(&staged("bin/mpicc"), &top().join("tests/programs/wrappers.c"), &library, &["-shared", "-fPIC"]);
    library
}

/// The calls of each rank but `Comm_free`, which depends on the rank.
const CALLS: &str = "Init=1 Recv=0 Isend=5 Irecv=8 Wait=4 Waitall=5 Test=0 Iprobe=0 Barrier=1 Bcast=1 Allreduce=4 \
                     Allgather=0 Comm_rank=1 Comm_size=1 Comm_group=0 Comm_dup=1 Comm_split=1";
const REST: &str = "Group_free=0 Type_size=0 Type_vector=1 Type_commit=1 Type_free=1 Cart_create=2 Info_create=0 \
                    Info_free=0 Error_string=0 sent_bytes=1200";

#[test]
fn a_preloaded_tool_sees_the_program_s_calls_and_no_others() {
    let (library, program) = (wrappers(), program("profiled"));
    for ranks in [1, 2, 4] {
        let preload = format!("LD_PRELOAD={}", library.display());
        // By env: mpiexec itself is no MPI program.
        let ended = job(ranks, "env").arg(preload).arg(&program).run().ok();
        for rank in 0..ranks {
            let frees = if rank / 2 == 0 { 3 } else { 2 };
            let line = format!("rank {rank}: {CALLS} Comm_free={frees} {REST}");
            assert!(ended.stdout.lines().any(|one| one == line), "no \"{line}\" in:\n{}", ended.stdout);
        }
    }
}

/// The library binds its own calls to itself: a relocation against an `MPI_` name would let a tool
/// see them.
#[test]
fn the_library_never_calls_itself_by_a_name_that_tools_replace() {
    let library = staged("lib/libmpi_abi.so.1");
    let relocations = shell(Command::new("readelf").args(["--relocs", "--wide"]).arg(library)).stdout;
    assert!(relocations.contains("memcpy"), "{relocations}");
    let open: Vec<&str> = relocations.lines().filter(|line| line.contains("MPI_")).collect();
    assert!(open.is_empty(), "{open:?}");
}
