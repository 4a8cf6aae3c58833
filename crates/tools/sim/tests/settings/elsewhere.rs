//! The settings of the papers whose effect another test shows, and by what.
//!
//! This file reads the other tests, so a test that is taken away, or that no longer sets or
//! compares what is said here, fails. It cannot run those that need a device, a library or C
//! programs.

use std::path::Path;

/// The way in which a test shows a setting, in its own words.
pub(crate) enum By {
    /// The test sets two values, or one besides the usual one, and compares what is counted.
    Values(&'static str, &'static str),
    /// The test sets a value, and compares a count with what it must be under that value.
    Count(&'static str, &'static str),
    /// The test changes the value of the usual run, and `each_shows` compares all counts of both.
    Change(&'static str),
    /// The test sets one value, and compares nothing by itself: a program or a result says whether
    /// that value acted.
    Program(&'static str, &'static str),
}

use By::{Change, Count, Program, Values};

/// Functions of a test file, and the settings that they show.
struct Shown {
    /// The file of the test, from the top of the tree.
    file: &'static str,
    /// The test, and functions that it calls.
    functions: &'static [&'static str],
    /// Each setting, and how it shows.
    settings: &'static [(&'static str, By)],
}

/// The tests.
const SHOWN: &[Shown] = &[
    Shown {
        file: "crates/tools/sim/tests/rc/pool.rs",
        functions: &["the_pool_grows_no_further_than_the_queue_holds"],
        settings: &[("RC_RECEIVES_MAX", Count("receives_max: 24", "stopped.bytes), (1, 24 *"))],
    },
    Shown {
        file: "crates/tools/sim/tests/rc/pool.rs",
        functions: &["the_size_of_the_pool_is_what_the_setting_says"],
        settings: &[
            ("RC_SHARED_RECEIVES", Values("shared_receives: false", "bursts(&pooled(16)")),
            ("RC_POOL_RECEIVES", Values("bursts(&pooled(16)", "bursts(&pooled(70)")),
        ],
    },
    Shown {
        file: "crates/tools/sim/tests/rc/paths.rs",
        functions: &["a_peer_with_another_way_is_given_up_by_a_limit_of_its_own"],
        settings: &[("FAILOVER_SECONDS_MAX", Values("given_up_ns(soon, true)", "given_up_ns(late, true)"))],
    },
    Shown {
        file: "crates/channels/node/src/cma/tests.rs",
        functions: &["the_shortest_message_is_what_the_setting_says"],
        settings: &[("CMA_BYTES_MIN", Values("least(\"4096\")", "least(\"1M\")"))],
    },
    Shown {
        file: "crates/channels/infiniband/src/device/port/tests.rs",
        functions: &["the_quality_of_service_reaches_the_path"],
        settings: &[
            ("RC_SERVICE_LEVEL", Values("of(\"5\", \"96\")", "of(\"0\", \"0\")")),
            ("RC_TRAFFIC_CLASS", Values("of(\"5\", \"96\")", "of(\"0\", \"0\")")),
        ],
    },
    Shown {
        file: "crates/tools/sim/tests/polling_set.rs",
        functions: &["the_order_decides_how_many_silent_rings_are_looked_at_before"],
        settings: &[("RC_POLL_ORDER", Values("Order::Sequential", "Order::Circular"))],
    },
    Shown {
        file: "crates/tools/sim/tests/over_pipe.rs",
        functions: &["every_setting_shows_in_the_work_of_the_devices"],
        settings: &[
            ("PIPE_DESIGN", Values("2 * basic.writes > 3 * piggyback.writes", "zero_copy.reads > 0")),
            ("PIPE_BYTES", Values("ring_bytes: 128 << 10", "ring_bytes: 256")),
            ("PIPE_CHUNK_BYTES", Values("chunk_bytes: 16 << 10", "chunk_bytes: 128")),
            ("PIPE_ZERO_COPY_BYTES_MIN", Values("with(Design::ZeroCopy)", "zero_copy_bytes_min: 4000")),
        ],
    },
    Shown {
        file: "crates/tools/sim/tests/paper_4_settings.rs",
        functions: &["the_settings_of_connections_beside_datagrams_show"],
        settings: &[("RC_PEERS_MAX", Values("HybridFaults::none(1)", "connected_peers_max = 0"))],
    },
    Shown {
        file: "crates/tools/sim/tests/paper_4_settings.rs",
        functions: &["every_setting_of_datagrams_shows_on_a_bad_network"],
        settings: &[
            ("UD_SENDERS", Change("s.senders = 1")),
            ("UD_RECEIVES", Change("s.receives = Some(16)")),
            ("UD_SHORT_BUFFERS_MAX", Change("s.short_buffers_max = 8")),
            ("UD_LONG_BUFFERS_MAX", Change("s.long_buffers_max = Some(8)")),
            ("UD_FRAGMENTS_MAX", Change("s.fragments_max = Some(2)")),
            ("UD_EAGER_BYTES_MAX", Change("s.eager_bytes_max = 100")),
            ("UD_RELIABLE", Change("s.reliable = false")),
            ("UD_CHECKSUM", Change("s.checksum = false")),
            ("UD_WINDOW_MAX", Change("rules.window_max = 4")),
            ("UD_ACK_EVERY", Change("rules.ack_every = 1")),
            ("UD_ACK_DELAY_NS", Change("rules.ack_delay_ns = 200_000")),
            ("UD_RESEND_NS_MIN", Change("rules.resend_ns_min = 2_000_000")),
            ("UD_LOCAL_NS_MAX", Change("s.local_ns_max = 100_000")),
            ("UD_SIGNAL_EVERY", Change("s.signal_every = 1")),
        ],
    },
    Shown {
        file: "crates/tools/sim/tests/paper_4_settings.rs",
        functions: &["the_limits_of_a_lost_way_show"],
        settings: &[
            ("UD_RESEND_NS_MAX", Change("r.resend_ns_max = 500_000")),
            ("UD_RESEND_NS_FIRST", Change("rules.resend_ns_first = 5_000_000")),
            ("UD_RESENDS_MAX", Change("rules.resends_max = 3")),
            (
                "UD_SILENT_SECONDS_MAX",
                Change("(rules.silent_ns_max, rules.silent_waits_min) = (10_000_000, 2)"),
            ),
        ],
    },
    Shown {
        file: "tests/tests/polling.rs",
        functions: &["the_static_schemes_and_the_ratio_decide_how_often_the_network_is_looked_at"],
        settings: &[
            ("POLLING", Values("(\"POLLING\", \"all\")", "(\"POLLING\", \"latency\")")),
            ("POLLING_RATIO", Values("(\"10\", 10.0)", "(\"100\", 100.0)")),
        ],
    },
    Shown {
        file: "tests/tests/polling.rs",
        functions: &["update_rate_and_history_decide_how_soon_the_dynamic_scheme_turns"],
        settings: &[
            (
                "POLLING_UPDATE_EVERY",
                Values("(\"POLLING_UPDATE_EVERY\", \"1000\")", "(\"POLLING_UPDATE_EVERY\", \"20\")"),
            ),
            ("POLLING_HISTORY", Values("(\"POLLING_RATIO\", \"100\")", "(\"POLLING_HISTORY\", \"1000\")")),
        ],
    },
    Shown {
        file: "tests/tests/programs.rs",
        functions: &["a_long_message_arrives_while_its_receiver_computes"],
        settings: &[(
            "PROGRESS_THREAD",
            Values("\"VERBENA_PROGRESS_THREAD\", \"1\"", "\"VERBENA_PROGRESS_THREAD\", \"0\""),
        )],
    },
    Shown {
        file: "tests/tests/programs.rs",
        functions: &["rounds_of_spinning_come_before_a_sleep"],
        settings: &[("WAIT_SPINS", Values("slept(\"0\") > 0", "slept(\"1000000000\"), 0"))],
    },
    Shown {
        file: "crates/base/waiting/src/patience/tests.rs",
        functions: &["a_set_number_of_yields_comes_before_a_sleep"],
        settings: &[("WAIT_YIELDS", Values("over_at(\"4\")", "over_at(\"900\")"))],
    },
    Shown {
        file: "tests/tests/softroce.rs",
        functions: &["programs_over_reliable_connections", "nodes_in_one_guest", "uncached", "short_queue"],
        settings: &[
            ("RC_CACHE", Count("VERBENA_RC_CACHE=0", "count_of(&said, \"rc_registration_hits\"), 0")),
            ("RC_WORK_MAX", Values("echo short queue && VERBENA_RC_WORK_MAX=2", "told(usual) < told(short)")),
        ],
    },
    Shown {
        file: "tests/tests/softroce_rails.rs",
        functions: &["a_rail_is_cut_in_the_middle_of_every_run", "wanted_rails"],
        settings: &[
            ("RC_RAILS", Values("VERBENA_RC_RAILS={rails}", "run(1), run(2)")),
            ("UD_DEVICE", Program("UD_AND_RC", "moved, cuts - afterwards")),
        ],
    },
    Shown {
        file: "tests/tests/trace.rs",
        functions: &["the_components_of_a_ping_pong_add_up_to_half_its_round_trip"],
        settings: &[("TRACE", Values("(\"VERBENA_TRACE\", &name.display()", "(\"VERBENA_TRACE\", \"\")"))],
    },
];

/// The settings of which one value is tried only, in the order of their names. The list is to get
/// shorter.
pub(crate) const ONE_VALUE: [&str; 1] = ["UD_DEVICE"];

/// Returns whether another test is said to show the effect of this setting.
pub(crate) fn is_shown(setting: &str) -> bool {
    all().any(|(_, name, _)| name == setting)
}

/// Returns the settings of which one value is tried only, in the order of their names.
pub(crate) fn of_one_value() -> Vec<&'static str> {
    let mut names: Vec<_> =
        all().filter(|(.., by)| matches!(by, Program(..))).map(|(_, name, _)| name).collect();
    names.sort_unstable();
    names
}

fn all() -> impl Iterator<Item = (&'static Shown, &'static str, &'static By)> {
    SHOWN.iter().flat_map(|shown| shown.settings.iter().map(move |(name, by)| (shown, *name, by)))
}

/// Returns what is said above of tests and does not stand in them.
pub(crate) fn untrue() -> Vec<String> {
    all().filter_map(|(shown, name, by)| Some(format!("{name}: {}", lack(shown, by)?))).collect()
}

/// Returns what the functions lack to show a setting so.
fn lack(shown: &Shown, by: &By) -> Option<String> {
    let mut text = String::new();
    for function in shown.functions {
        match function_text(&file_text(shown.file), function) {
            Some(body) => text.push_str(&body),
            None => return Some(format!("{} has no {function}", shown.file)),
        }
    }
    let (words, compares) = match by {
        Values(one, other) | Count(one, other) | Program(one, other) => ([*one, *other], "assert"),
        Change(change) => ([*change, *change], "each_shows("),
    };
    let all = words.into_iter().chain([compares]);
    all.into_iter().find(|word| !text.contains(word)).map(|word| format!("{} lacks \"{word}\"", shown.file))
}

fn file_text(file: &str) -> String {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    std::fs::read_to_string(top.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// Returns the text of a function at the left edge of a file, without its comment, each line with
/// one blank for all that ends a line of the source and begins the next.
fn function_text(text: &str, name: &str) -> Option<String> {
    let lines = text.lines().skip_while(|line| !line.starts_with(&format!("fn {name}(")));
    let mut body: Vec<&str> = lines.take_while(|line| *line != "}").collect();
    body.iter_mut().for_each(|line| *line = line.trim());
    body.retain(|line| !line.starts_with("//"));
    (!body.is_empty()).then(|| body.join(" "))
}

#[test]
fn only_a_function_with_its_name_is_read() {
    let text = "fn one() {\n    // two\n    a(\n        1);\n}\n\nfn other() {\n    two();\n}\n";
    assert_eq!(function_text(text, "one").as_deref(), Some("fn one() { a( 1);"));
    assert_eq!(function_text(text, "two"), None);
}

#[test]
fn a_test_that_sets_one_value_or_compares_nothing_is_found_out() {
    let shown = |by| {
        let file = "crates/tools/sim/tests/polling_set.rs";
        lack(&Shown { file, functions: &["run"], settings: &[] }, &by)
    };
    assert!(shown(Values("policy", "order")).is_some_and(|lack| lack.contains("assert")));
    assert!(shown(Values("policy", "Order::Circular")).is_some_and(|lack| lack.contains("Circular")));
    assert!(shown(Change("policy")).is_some_and(|lack| lack.contains("each_shows")));
}
