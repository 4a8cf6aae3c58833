//! Each setting of the five papers acts: the same traffic under two of its values leaves other
//! counts behind. A setting that changes nothing that can be counted fails here.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`cases`] | the settings, two values of each, the traffic, and the count that must differ |
//! | [`pair`] | two ranks: the real engine over the real `rc`, with the settings of this process |
//! | [`elsewhere`] | the settings whose effect another test shows, where and how |

mod cases;
mod elsewhere;
mod pair;

use cases::{CASES, Case};
use pair::{Seen, run};
use std::sync::Mutex;
use verbena_settings::Origin;

/// Held by the one test that has settings changed now: they are the process's.
static ALONE: Mutex<()> = Mutex::new(());

fn set(name: &str, value: &str) {
    let found =
        verbena_settings::all().find(|setting| setting.about.name.ends_with(&format!("VERBENA_{name}")));
    let setting = found.unwrap_or_else(|| panic!("there is no setting {name}"));
    setting.set_text(value, Origin::Tool).unwrap_or_else(|fault| panic!("{fault}"));
}

fn reset() {
    for setting in verbena_settings::all() {
        // Texts and lists of names have no word: no case changes one.
        let _ = setting.set_word(setting.default_word(), Origin::Default);
    }
}

/// Runs the traffic of a case under these settings.
fn seen(case: &Case, value: &str) -> Seen {
    let _alone = ALONE.lock().expect("no test panicked with the settings changed");
    reset();
    case.beside.iter().for_each(|(name, value)| set(name, value));
    set(case.setting, value);
    let seen = run(case.traffic);
    reset();
    seen
}

#[test]
fn each_setting_of_papers_1_2_and_5_changes_what_is_counted() {
    let mut idle = Vec::new();
    for case in CASES {
        let [less, more] = case.values.map(|value| (case.count)(&seen(case, value)));
        println!("{} {:?}: {less} and {more} {}", case.setting, case.values, case.what);
        if less >= more {
            idle.push(format!("{} {:?}: {less} and {more} {}", case.setting, case.values, case.what));
        }
    }
    assert!(idle.is_empty(), "these settings do not act:\n{}", idle.join("\n"));
}

/// A value that is set twice leaves the same counts: what differs above is the setting's doing.
#[test]
fn the_same_settings_leave_the_same_counts() {
    for case in CASES {
        let counts = [(); 2].map(|()| (case.count)(&seen(case, case.values[0])));
        assert_eq!(counts[0], counts[1], "{}", case.setting);
    }
}

#[test]
fn every_setting_of_a_paper_has_one_test_of_its_effect() {
    for setting in verbena_settings::all().filter(|setting| setting.about.source.contains("paper ")) {
        let name = setting.about.name.trim_start_matches("VERBENA_");
        let here = CASES.iter().any(|case| case.setting == name);
        assert!(here != elsewhere::is_shown(name), "{name}: no test shows its effect, or two do");
    }
}

#[test]
fn the_tests_elsewhere_set_two_values_or_compare_counts() {
    assert_eq!(elsewhere::untrue(), Vec::<String>::new());
    assert_eq!(elsewhere::of_one_value(), elsewhere::ONE_VALUE);
}
