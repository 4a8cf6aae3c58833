//! Every target on its kept inputs and on some thousand random and mutated ones, the same ones each
//! time. Each target is a test of its own by name, so that a failure names it; see `verbena_fuzz`
//! for how an input that breaks one gets into the corpus.

use verbena_fuzz::driver::{Until, drive};
use verbena_fuzz::{all, corpus, find};

/// The seed of the random inputs.
const SEED: u64 = 20_261_124;

/// # Panics
/// If an input breaks the target.
fn holds(name: &str) {
    let target = find(name).unwrap_or_else(|| panic!("there is no target {name}"));
    let report = drive(target, &corpus::folder(), SEED, Until::Inputs(target.inputs)).expect("the corpus");
    if let Some(input) = report.broken {
        panic!("{name} is broken by this input, the smallest that was found: {input:?}");
    }
    assert!(report.inputs >= target.inputs);
}

macro_rules! targets {
    ($($name:ident)*) => {
        /// The names below, to be compared with the table.
        const NAMES: &[&str] = &[$(stringify!($name)),*];
        $(#[test]
        fn $name() {
            holds(stringify!($name));
        })*
    };
}

targets! {
    packet rc_frame rc_talk rc_elided_header ud_frame ud_header ud_card pipe_talk pipe_inbox ofi_frame ofi_card shm_card
    assembly incoming outgoing boot_card port_name pmi_text pmi_server pmix_answer agent snapshot hosts command_line settings
    engine datatype datatype_wire view window_request window_answer window_service
}

#[test]
fn every_target_has_its_test_and_every_folder_its_target() {
    assert_eq!(all().iter().map(|target| target.name).collect::<Vec<_>>(), NAMES);
    for entry in corpus::folder().read_dir().expect("the corpus") {
        let name = entry.expect("a folder").file_name().into_string().expect("a plain name");
        assert!(find(&name).is_some(), "{name} holds inputs of no target");
    }
}
