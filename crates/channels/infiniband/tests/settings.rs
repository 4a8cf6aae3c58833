//! Every setting of `rc`, `ud` and `pipe` in the table reaches the channel or its device: with
//! another value there the channel begins with other settings. What these do is tried in
//! `sim/tests/paper_4_settings.rs` and between virtual nodes.

use verbena_infiniband::device::options::Options;
use verbena_infiniband::{pipe, rc, ud};
use verbena_settings::{AUTOMATIC, Kind, Origin, Setting, all};

/// Ranks of the job: automatic values follow from their number.
const RANKS: u32 = 16;

/// These decide whether a channel is opened, what it does then, and whom the engine connects.
const ELSEWHERE: [&str; 4] =
    ["VERBENA_RC_CACHE", "VERBENA_RC_PEERS_MAX", "VERBENA_RC_PEERS_REVIEW_EVERY", "VERBENA_UD_RANKS_MIN"];

/// The settings with which the channels begin now.
fn current() -> String {
    let (rc, ud) = (rc::Settings::current(RANKS), ud::Settings::current());
    let pipe = pipe::Settings::current();
    format!("{rc:?} {ud:?} {pipe:?} {:?} {:?}", Options::current(), Options::of_datagrams())
}

/// Returns whether some value of the setting changes what the channels begin with.
fn has_effect(setting: &Setting) -> bool {
    let before = current();
    let changes = |word: i64| setting.set_word(word, Origin::Tool).is_ok() && current() != before;
    let changed = match &setting.kind {
        Kind::Number { range, .. } => [*range.start(), 1, 17, 100, *range.end()].into_iter().any(changes),
        Kind::Flag => [0, 1].into_iter().any(changes),
        Kind::Choice(words) => (0..words.len() as i64).any(changes),
        Kind::Text(_) | Kind::Names(..) => {
            setting.set_text("device7:1", Origin::Tool).is_ok() && current() != before
        }
    };
    match &setting.kind {
        Kind::Text(_) | Kind::Names(..) => setting.set_text("", Origin::Tool).expect("nothing"),
        Kind::Number { automatic: Some(_), .. } => {
            setting.set_word(AUTOMATIC, Origin::Tool).expect("automatic")
        }
        _ => setting.set_word(setting.default_word(), Origin::Tool).expect("the default"),
    }
    assert_eq!(current(), before, "{} is as it was", setting.about.name);
    changed
}

#[test]
fn every_setting_of_the_table_reaches_its_channel() {
    let ours = ["VERBENA_RC_", "VERBENA_UD_", "VERBENA_PIPE_", "VERBENA_FAILOVER_"];
    let ours = |setting: &&Setting| ours.iter().any(|start| setting.about.name.starts_with(start));
    let without: Vec<&str> =
        all().filter(ours).filter(|setting| !has_effect(setting)).map(|setting| setting.about.name).collect();
    assert_eq!(without, ELSEWHERE);
}
