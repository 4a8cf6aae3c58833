//! The settings of the papers whose effect another test shows.

use std::path::Path;

/// The file of the test, from the top of the tree, and the settings that it shows.
const FILES: &[(&str, &[&str])] = &[
    ("tests/tests/programs.rs", &["PROGRESS_THREAD", "WAIT_SPINS", "WAIT_YIELDS"]),
    ("tests/tests/softroce.rs", &["RC_CACHE", "RC_WORK_MAX"]),
    ("tests/tests/softroce_rails.rs", &["RC_RAILS"]),
    ("tests/tests/trace.rs", &["TRACE"]),
];

/// The settings whose effect no test shows yet, in the order of the table.
pub(crate) const NOT_YET: &[&str] = &[
    "RC_RECEIVES_MAX",
    "RC_SHARED_RECEIVES",
    "RC_POLL_ORDER",
    "FAILOVER_SECONDS_MAX",
    "RC_PEERS_MAX",
    "UD_RANKS_MIN",
    "UD_SENDERS",
    "UD_RECEIVES",
    "UD_SHORT_BUFFERS_MAX",
    "UD_LONG_BUFFERS_MAX",
    "UD_FRAGMENTS_MAX",
    "UD_EAGER_BYTES_MAX",
    "UD_RELIABLE",
    "UD_CHECKSUM",
    "UD_WINDOW_MAX",
    "UD_ACK_EVERY",
    "UD_ACK_DELAY_NS",
    "UD_RESEND_NS_MIN",
    "UD_RESEND_NS_MAX",
    "UD_RESEND_NS_FIRST",
    "UD_LOCAL_NS_MAX",
    "UD_SILENT_SECONDS_MAX",
    "UD_SIGNAL_EVERY",
    "POLLING",
    "POLLING_RATIO",
    "POLLING_UPDATE_EVERY",
    "POLLING_HISTORY",
];

/// Returns the file of the test that shows the effect of this setting.
pub(crate) fn file_of(setting: &str) -> Option<&'static str> {
    FILES.iter().find(|(_, settings)| settings.contains(&setting)).map(|(file, _)| *file)
}

/// Returns whether the file names the setting.
pub(crate) fn names(file: &str, setting: &str) -> bool {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let text = std::fs::read_to_string(top.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
    text.contains(setting)
}
