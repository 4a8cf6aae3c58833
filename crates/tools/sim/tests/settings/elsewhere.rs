//! The settings of the papers whose effect another test shows.

use std::path::Path;

/// A test, and what it changes.
pub(crate) struct Shown {
    /// The file of the test, from the top of the tree.
    pub file: &'static str,
    /// Each setting with the word by which the test changes it: its variable, or its field.
    pub settings: &'static [(&'static str, &'static str)],
}

/// The tests.
const SHOWN: &[Shown] = &[
    Shown {
        file: "crates/tools/sim/tests/rc/pool.rs",
        settings: &[
            ("RC_RECEIVES_MAX", "receives_max: 24"),
            ("RC_SHARED_RECEIVES", "shared_receives: false"),
            ("RC_POOL_RECEIVES", "pooled(16)"),
        ],
    },
    Shown {
        file: "crates/tools/sim/tests/rc/paths.rs",
        settings: &[("FAILOVER_SECONDS_MAX", "take_over_ns_max, ..")],
    },
    Shown {
        file: "crates/tools/sim/tests/polling_set.rs",
        settings: &[("RC_POLL_ORDER", "Order::Circular")],
    },
    Shown {
        file: "crates/tools/sim/tests/over_pipe.rs",
        settings: &[
            ("PIPE_DESIGN", "Design::ALL"),
            ("PIPE_BYTES", "ring_bytes: 256"),
            ("PIPE_CHUNK_BYTES", "chunk_bytes: 128"),
            ("PIPE_ZERO_COPY_BYTES_MIN", "zero_copy_bytes_min: 4000"),
        ],
    },
    Shown {
        file: "crates/tools/sim/tests/paper_4_settings.rs",
        settings: &[
            ("RC_PEERS_MAX", "RC_PEERS_MAX"),
            ("UD_SENDERS", "UD_SENDERS"),
            ("UD_RECEIVES", "UD_RECEIVES"),
            ("UD_SHORT_BUFFERS_MAX", "UD_SHORT_BUFFERS_MAX"),
            ("UD_LONG_BUFFERS_MAX", "UD_LONG_BUFFERS_MAX"),
            ("UD_FRAGMENTS_MAX", "UD_FRAGMENTS_MAX"),
            ("UD_EAGER_BYTES_MAX", "UD_EAGER_BYTES_MAX"),
            ("UD_RELIABLE", "UD_RELIABLE"),
            ("UD_CHECKSUM", "UD_CHECKSUM"),
            ("UD_WINDOW_MAX", "UD_WINDOW_MAX"),
            ("UD_ACK_EVERY", "UD_ACK_EVERY"),
            ("UD_ACK_DELAY_NS", "UD_ACK_DELAY_NS"),
            ("UD_RESEND_NS_MIN", "UD_RESEND_NS_MIN"),
            ("UD_RESEND_NS_MAX", "UD_RESEND_NS_MAX"),
            ("UD_RESEND_NS_FIRST", "UD_RESEND_NS_FIRST"),
            ("UD_LOCAL_NS_MAX", "UD_LOCAL_NS_MAX"),
            ("UD_RESENDS_MAX", "UD_RESENDS_MAX"),
            ("UD_SILENT_SECONDS_MAX", "silent_ns_max"),
            ("UD_SIGNAL_EVERY", "UD_SIGNAL_EVERY"),
        ],
    },
    Shown {
        file: "tests/tests/polling.rs",
        settings: &[
            ("POLLING", "\"POLLING\""),
            ("POLLING_RATIO", "\"POLLING_RATIO\""),
            ("POLLING_UPDATE_EVERY", "\"POLLING_UPDATE_EVERY\""),
            ("POLLING_HISTORY", "\"POLLING_HISTORY\""),
        ],
    },
    Shown {
        file: "tests/tests/programs.rs",
        settings: &[
            ("PROGRESS_THREAD", "VERBENA_PROGRESS_THREAD"),
            ("WAIT_SPINS", "VERBENA_WAIT_SPINS"),
            ("WAIT_YIELDS", "VERBENA_WAIT_YIELDS"),
        ],
    },
    Shown {
        file: "tests/tests/softroce.rs",
        settings: &[("RC_CACHE", "VERBENA_RC_CACHE"), ("RC_WORK_MAX", "VERBENA_RC_WORK_MAX")],
    },
    Shown {
        file: "tests/tests/softroce_rails.rs",
        settings: &[("RC_RAILS", "VERBENA_RC_RAILS"), ("UD_DEVICE", "VERBENA_UD_DEVICE")],
    },
    Shown { file: "tests/tests/trace.rs", settings: &[("TRACE", "VERBENA_TRACE")] },
];

/// The settings whose effect no test shows yet, in the order of the table.
pub(crate) const NOT_YET: &[&str] = &["UD_RANKS_MIN"];

/// Returns the test that shows the effect of this setting, and the word by which it does.
pub(crate) fn shown(setting: &str) -> Option<(&'static str, &'static str)> {
    let named =
        |shown: &Shown| shown.settings.iter().find(|(name, _)| *name == setting).map(|(_, word)| *word);
    SHOWN.iter().find_map(|shown| Some((shown.file, named(shown)?)))
}

/// Returns whether the file has the word.
pub(crate) fn has(file: &str, word: &str) -> bool {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let text = std::fs::read_to_string(top.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
    text.contains(word)
}
