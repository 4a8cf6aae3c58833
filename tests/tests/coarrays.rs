//! Fortran's coarrays by Debian's OpenCoarrays for MPICH, on our library of that ABI: its own
//! tests, as Debian built them, and a program that is compiled for it.

use std::path::PathBuf;
use std::process::Command;
use verbena_tests::apps::{Purpose, coarrays};
use verbena_tests::sources::unpacked;
use verbena_tests::world::World;
use verbena_tests::{build_dir, job, shell, staged, top};

#[test]
fn coarrays_pass_their_own_tests() {
    let world = World::ours();
    for run in coarrays::runs(&world, Purpose::Checked) {
        run.check(&world);
    }
}

/// Compiles a program of coarrays for MPICH: nothing of ours is there.
fn compiled() -> PathBuf {
    let lib = |package: &str| {
        unpacked(package).join("usr/lib").join(format!("{}-linux-gnu", std::env::consts::ARCH))
    };
    let program = build_dir().join("coarrays");
    let mut command = Command::new("gfortran");
    command.args(["-fcoarray=lib", "-O1", "-g", "-Wall", "-Werror", "-o"]).arg(&program);
    command.arg(top().join("tests/programs/fortran/coarrays.f90"));
    command.arg(lib("libcoarrays-mpich-dev").join("open-coarrays/mpich/lib/libcaf_mpich.a"));
    // Debian's library needs others, which it finds when it runs.
    shell(command.arg(lib("libmpich12").join("libmpich.so.12")).arg("-Wl,--allow-shlib-undefined"));
    program
}

#[test]
fn a_program_of_coarrays_gets_the_right_values() {
    let (program, library) = (compiled(), staged("lib/libmpich.so.12"));
    let by_messages = [("VERBENA_WINDOW_HEAP", "0"), ("VERBENA_CMA", "0")];
    for (images, settings) in [1, 2, 3, 4, 8]
        .map(|images| (images, &[][..]))
        .into_iter()
        .chain([(2, &by_messages[..]), (4, &by_messages[..])])
    {
        let job = job(images, &program).env("LD_LIBRARY_PATH", library.parent().expect("a folder"));
        let ended = settings.iter().fold(job, |job, (name, value)| job.env(name, value)).run().ok();
        assert!(ended.stdout.contains(&format!("coarrays: ok with {images} images")), "{ended:?}");
    }
}
