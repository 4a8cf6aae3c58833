//! The MPICH ABI: programs built for MPICH and Intel MPI run on `libmpi.so.12` unchanged.

use std::path::{Path, PathBuf};
use verbena_faces::FINGERPRINT;
use verbena_tests::gpu::driver;
use verbena_tests::peers::{INTEL, MPICH, Peer};
use verbena_tests::sources::unpacked;
use verbena_tests::{Ended, Job, build_dir, compile, job, staged, top};

/// A job that finds our library where its program expects another.
fn on_ours(ranks: u32, program: &Path) -> Job {
    let library = staged("lib/libmpi.so.12");
    job(ranks, program).env("LD_LIBRARY_PATH", library.parent().expect("a folder"))
}

/// A program of `tests/programs`, built with a peer's `mpi.h` and linked with its `libmpi.so.12`;
/// nothing of ours.
fn built_by(peer: Peer, name: &str) -> PathBuf {
    let header = peer.file("include/mpi.h");
    let include = format!("-I{}", header.parent().expect("a folder").display());
    let library = peer.file("lib/libmpi.so.12").display().to_string();
    let out = build_dir().join(format!("{name}.{}-abi", peer.name));
    let source = top().join("tests/programs").join(format!("{name}.c"));
    // The peer's library needs others, which it finds when it runs.
    let link = "-Wl,--allow-shlib-undefined";
    // Some programs make handles of numbers, which are pointers on the standard face and integers
    // here.
    let lenient = "-Wno-error";
    compile(Path::new("cc"), &source, &out, &[&include, &library, link, lenient, "-lm"]);
    out
}

fn runs(peer: Peer, name: &str, ranks: &[u32]) {
    let program = built_by(peer, name);
    for &n in ranks {
        let ended = on_ours(n, &program).run().ok();
        assert!(ended.stdout.contains(&format!("{name}: ok with {n} ranks")), "{ended:?}");
    }
}

/// The tests of the standard face, in the other ABI: handles, statuses, callbacks, constants.
#[test]
fn programs_built_with_mpich_s_header() {
    let names = [
        "abi_version",
        "point",
        "collectives",
        "collective_forms",
        "datatypes",
        "threads",
        "engines",
        "generalized",
        "abuse",
        "objects",
        "sessions",
        "partitioned",
        "tool",
        "window_kinds",
        "window_synchronize",
        "window_operations",
        "window_errors",
    ];
    for name in names {
        runs(MPICH, name, &[2, 4]);
    }
}

#[test]
fn a_buffer_in_the_memory_of_a_gpu_is_an_error_in_mpich_s_abi_too() {
    let program = built_by(MPICH, "gpu_buffers");
    let ended = on_ours(2, &program).arg(driver()).arg("early").run().ok();
    assert!(ended.stdout.contains("gpu_buffers: ok with 2 ranks"), "{ended:?}");
}

/// Lists of strings, infos and error codes cross the border of the two ABIs.
#[test]
fn programs_built_with_mpich_s_header_spawn() {
    let program = built_by(MPICH, "spawns");
    for way in ["merge", "arguments", "multiple", "missing"] {
        let ended = on_ours(2, &program).arg(way).run().ok();
        assert!(ended.stdout.contains("spawns: ok with 2 ranks"), "{way}: {ended:?}");
    }
    let program = built_by(MPICH, "connects");
    for (way, ranks) in [("home", 4), ("refused", 1)] {
        let ended = on_ours(ranks, &program).arg(way).env("VERBENA_CONNECT_SECONDS", "2").run().ok();
        assert!(ended.stdout.contains(&format!("connects: ok with {ranks} ranks")), "{way}: {ended:?}");
    }
}

#[test]
fn programs_that_ask_for_gpus_get_a_no() {
    runs(MPICH, "gpu_support", &[2]);
}

#[test]
fn programs_built_with_intel_mpi_s_header() {
    for name in ["point", "collectives", "datatypes", "objects", "abuse"] {
        runs(INTEL, name, &[2, 4]);
    }
}

/// The two libraries of a mixed installation: nothing is called through a table of another layout.
#[test]
fn libraries_of_different_builds_refuse_each_other() {
    let folder = build_dir().join(format!("mixed.{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("target/ is writable");
    std::fs::copy(staged("lib/libmpi.so.12"), folder.join("libmpi.so.12")).expect("a copy");
    let mut other = std::fs::read(staged("lib/libmpi_abi.so.1")).expect("the library");
    let ours = FINGERPRINT.to_le_bytes();
    let place = other.windows(8).position(|bytes| bytes == ours);
    other[place.expect("the stage is of the same build as this test")] ^= 1;
    std::fs::write(folder.join("libmpi_abi.so.1"), other).expect("another build");
    let ended = job(2, built_by(MPICH, "hello")).env("LD_LIBRARY_PATH", &folder).run();
    std::fs::remove_dir_all(&folder).expect("the copies");
    assert!(ended.code != 0 && !ended.stdout.contains("hello: ok"), "{ended:?}");
    ended
        .complains("the MPICH ABI of Verbena (libmpi.so.12) does not fit its library")
        .complains(&format!("its table is {:016x}, and this face needs {FINGERPRINT:016x}", FINGERPRINT ^ 1))
        .complains("it is of another version of Verbena")
        .complains("install libmpi.so.12 and libmpi_abi.so.1 together");
}

#[test]
fn the_library_names_itself_and_the_abi() {
    let program = built_by(MPICH, "hello");
    let ended = on_ours(1, &program).run().ok();
    assert!(ended.stdout.contains("Verbena") && ended.stdout.contains("MPICH ABI"), "{ended:?}");
}

/// A copy without the library that it is a face of says what is missing.
#[test]
fn alone_it_says_what_is_missing() {
    let program = built_by(MPICH, "hello");
    let folder = build_dir().join("mpich-alone");
    std::fs::create_dir_all(&folder).expect("writable");
    std::fs::copy(staged("lib/libmpi.so.12"), folder.join("libmpi.so.12")).expect("copy");
    let ended = job(1, &program).env("LD_LIBRARY_PATH", &folder).run();
    assert_ne!(ended.code, 0);
    ended.complains("cannot open its library").complains("libmpi_abi.so.1");
}

/// Intel's own benchmark, as its package brings it.
#[test]
fn intel_s_benchmarks_run() {
    let ended: Ended = on_ours(2, &INTEL.file("bin/IMB-MPI1"))
        .args(["PingPong", "Sendrecv", "Allreduce", "Bcast", "Alltoall", "-iter", "10", "-msglog", "0:16"])
        .run()
        .ok();
    let all = ["PingPong", "Sendrecv", "Allreduce", "Bcast", "Alltoall"];
    assert!(all.iter().all(|name| ended.stdout.contains(&format!("Benchmarking {name}"))), "{ended:?}");
    assert!(ended.stdout.contains("All processes entering MPI_Finalize"), "{ended:?}");
}

/// Debian's package of NetPIPE for MPICH: its binary asks for `libmpich.so.12`.
#[test]
fn debian_s_netpipe_finds_every_byte_intact() {
    let home = unpacked("netpipe-mpich2");
    let output = build_dir().join("netpipe-mpich2.out");
    let program = home.join("usr/bin/NPmpich2");
    let ended = on_ours(2, &program).args(["-i", "-u", "300000", "-n", "4", "-o"]).arg(output).run().ok();
    let text = ended.stdout + &ended.stderr;
    assert!(text.contains("Integrity check passed"), "{text}");
    assert!(!text.contains("Integrity check failed"), "{text}");
}

/// The libraries of a Debian package, unpacked.
fn libraries(package: &str) -> PathBuf {
    unpacked(package).join("usr/lib/x86_64-linux-gnu")
}

/// HDF5 as Debian built it for MPICH: it asks for `libmpich.so.12`.
#[test]
fn debian_s_hdf5_for_mpich_writes_and_reads_together() {
    let needed = ["libhdf5-mpich-103-1", "libsz2", "libaec0"].map(libraries);
    let library = needed[0].join("libhdf5_mpich.so.103").display().to_string();
    let hdf5 = format!("-I{}", unpacked("libhdf5-mpich-dev").join("usr/include/hdf5/mpich").display());
    let mpi = format!("-I{}", MPICH.file("include/mpi.h").parent().expect("a folder").display());
    let link = ["-Wl,--allow-shlib-undefined", "-Wno-error"];
    let (out, source) = (build_dir().join("hdf5_together"), top().join("tests/programs/hdf5_together.c"));
    let with = MPICH.file("lib/libmpi.so.12").display().to_string();
    compile(Path::new("cc"), &source, &out, &[&mpi, &hdf5, &library, &with, link[0], link[1]]);
    let ours = staged("lib/libmpi.so.12");
    let folders = [&[ours.parent().expect("a folder").to_owned()], &needed[..]].concat();
    let path = std::env::join_paths(folders).expect("no colon in a name");
    for ranks in [1, 2, 4] {
        let file = build_dir().join(format!("together-{ranks}.h5"));
        let ended = job(ranks, &out).arg(file).env("LD_LIBRARY_PATH", &path).run().ok();
        assert!(ended.stdout.contains(&format!("hdf5_together: ok with {ranks} ranks")), "{ended:?}");
        assert!(ended.stdout.contains("library: Verbena"), "{ended:?}");
    }
}
