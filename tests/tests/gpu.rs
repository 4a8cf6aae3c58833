//! Buffers in the memory of a GPU. There is no GPU here: a library in the place of the driver's has
//! memory that no processor may read.

use verbena_tests::gpu::driver;
use verbena_tests::{Ended, build_dir, job, program};

/// Runs two ranks in this mode, with this value of a setting.
fn run(mode: &str, (setting, value): (&str, &str)) -> Ended {
    job(2, program("gpu_buffers")).arg(driver()).arg(mode).env(setting, value).run()
}

const CHECK: &str = "VERBENA_CHECK_BUFFERS";

#[track_caller]
fn says_ok(ended: Ended) {
    let ended = ended.ok();
    assert!(ended.stdout.contains("gpu_buffers: ok with 2 ranks"), "{ended:?}");
}

#[test]
fn a_buffer_in_the_memory_of_a_gpu_is_an_error_of_the_call() {
    says_ok(run("early", (CHECK, "auto")));
}

#[test]
fn traced_calls_are_looked_at_too() {
    let trace = build_dir().join("gpu-trace");
    let name = trace.to_str().expect("a name");
    says_ok(run("early", ("VERBENA_TRACE", name)));
    for rank in 0..2 {
        std::fs::remove_file(format!("{name}.{rank}.json")).expect("it was written");
    }
}

#[test]
fn a_driver_that_comes_late_is_known_if_calls_are_told_to_look() {
    says_ok(run("late", (CHECK, "always")));
}

#[test]
fn such_an_error_ends_a_program_that_handles_none_in_words() {
    let ended = run("fatal", (CHECK, "auto"));
    assert!(ended.code != 0 && ended.code < 128 && !ended.hung, "{ended:?}");
    let ended =
        ended.complains(" failed: a buffer lies in the memory of a GPU, which this library does not take");
    let ended = ended.complains("memory of a device, says the driver of CUDA");
    ended.complains("what to do: copy the data to memory of the host and pass that");
}

/// Without a look the copy crashes, and `mpiexec` names what may have been.
#[test]
fn without_a_look_the_crash_is_told() {
    let ended = run("early", (CHECK, "never"));
    assert_eq!(ended.code, 139, "{ended:?}");
    ended.complains("or in the memory of a GPU").complains("VERBENA_CHECK_BUFFERS=always");
}

#[test]
fn programs_that_ask_for_gpus_get_a_no() {
    for ranks in [1, 2] {
        let ended = job(ranks, program("gpu_ext")).run().ok();
        assert!(ended.stdout.contains(&format!("gpu_ext: ok with {ranks} ranks")), "{ended:?}");
    }
}
