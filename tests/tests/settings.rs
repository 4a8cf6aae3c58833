//! Settings as a user meets them: wrong ones are refused, unknown ones are said once, and what all
//! ranks must have alike is compared.

use verbena_tests::{build_dir, job, program};

#[test]
fn a_wrong_value_is_refused_with_the_range() {
    let ended = job(2, program("hello")).env("VERBENA_CLAIM_BYTES", "many").run();
    assert_ne!(ended.code, 0, "{ended:?}");
    ended
        .complains("VERBENA_CLAIM_BYTES cannot be \"many\"")
        .complains("a whole number from 4096 to")
        .complains("the default is 524288");
}

#[test]
fn an_unknown_name_is_said_once() {
    let ended = job(3, program("hello")).env("VERBENA_CHANELS", "shm").run().ok();
    assert_eq!(ended.stderr.matches("there is no setting VERBENA_CHANELS").count(), 1, "{ended:?}");
    ended.complains("did you mean VERBENA_CHANNELS?");
}

#[test]
fn ranks_that_would_choose_other_algorithms_do_not_start() {
    let program = program("hello");
    let different = ["-env", "VERBENA_COLL_REDUCE_WHOLE_BYTES_MAX", "1"];
    let job = job(1, &program).args([":", "-n", "1"]).args(different).arg(&program);
    let ended = job.run();
    assert_ne!(ended.code, 0, "{ended:?}");
    ended.complains("must have alike differ").complains("VERBENA_COLL_REDUCE_WHOLE_BYTES_MAX=1");
}

#[test]
fn a_file_holds_settings() {
    let file = build_dir().join(format!("settings.{}.toml", std::process::id()));
    let program = program("collectives");
    // Every message by rendezvous, copied by the receiver alone, and sleep at once.
    std::fs::write(&file, "eager_bytes_max = 0\ncopy_by_both = false\nwait_spins = 0\nwait_yields = 1\n")
        .expect("writable");
    job(3, &program).env("VERBENA_SETTINGS", &file).run().ok();
    std::fs::write(&file, "wait_spins = -5\n").expect("writable");
    let ended = job(1, &program).env("VERBENA_SETTINGS", &file).run();
    assert_ne!(ended.code, 0, "{ended:?}");
    ended.complains("VERBENA_WAIT_SPINS cannot be \"-5\"").complains("from the file of settings");
    std::fs::remove_file(&file).expect("removable");
}
