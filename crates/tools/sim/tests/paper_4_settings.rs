//! Each setting of paper 4 shows in what the devices and the channels count: the same run, event by
//! event, with another value of one setting, must not count the same. A setting without effect
//! fails. The shared receive pool has tests of its own (`rc/pool.rs`).

use verbena_channel::packet::{Header, Kind};
use verbena_channel::{Channel, Datagrams, Payload, Peer, Reach, Sink};
use verbena_fault::Fault;
use verbena_infiniband::rc::settings::Policy;
use verbena_infiniband::reliable::Rules;
use verbena_infiniband::ud::Settings;
use verbena_infiniband::ud::adapter::Limits;
use verbena_sim::over_hybrid::HybridFaults;
use verbena_sim::over_rc::RcFaults;
use verbena_sim::over_ud::{self, LIMITS, UdFaults};
use verbena_sim::traffic::{run_over_hybrid_under, run_over_rc_under};
use verbena_sim::verbs::{Costs, Counts, Cut, DeviceFaults, Subnet};

/// Processes that send to each other.
const RANKS: u32 = 3;
/// Messages from each to each.
const MESSAGES: usize = 120;
/// Virtual time of a step, and the longest of a run, in nanoseconds.
const STEP_NS: u64 = 5000;
const RUN_NS: u64 = 100_000_000;

/// The counts of a run of `ud`.
#[derive(Clone, Debug, PartialEq)]
struct Seen {
    reach: Option<Reach>,
    devices: Counts,
    datagrams: Vec<Datagrams>,
    receive_bytes: u64,
    held_bytes: usize,
    /// Packets delivered, peers given up, and when the first was.
    delivered: usize,
    given_up: usize,
    given_up_ns: u64,
    end_ns: u64,
}

#[derive(Default)]
struct Log {
    delivered: usize,
    given_up: usize,
}

impl Sink for Log {
    fn packet(&mut self, _peer: Peer, _header: &Header, _payload: &[u8]) {
        self.delivered += 1;
    }

    fn transferred(&mut self, _token: u64, _outcome: Result<(), Fault>) {}

    fn broken(&mut self, _peer: Peer, _fault: Fault) {
        self.given_up += 1;
    }
}

/// A bad network: everything that the settings are for happens.
fn bad() -> DeviceFaults {
    DeviceFaults {
        delay_ns_max: 2000,
        datagrams_lost_percent: 5,
        datagrams_late_ns_max: 3000,
        datagrams_garbled_percent: 2,
        sender_hangs_one_in: 100,
        sender_hangs_ns_max: 3_000_000,
        ..DeviceFaults::NONE
    }
}

/// The events of a run of `ud`.
#[derive(Clone, Copy)]
struct Story {
    device: DeviceFaults,
    /// The first process hears and says nothing from this time on.
    cut_ns: Option<u64>,
    /// Another channel reaches everyone.
    spare: bool,
}

const PLAIN: Story = Story { device: DeviceFaults::NONE, cut_ns: None, spare: false };

/// Everyone sends messages of many lengths to everyone.
fn run(settings: &Settings, story: Story) -> Seen {
    let limits = Limits { senders: settings.senders, ..LIMITS };
    let subnet = Subnet::new(7, RANKS, Costs::PAPER_1, story.device);
    let mut uds = over_ud::channels(&subnet, limits, |_| settings.clone(), RANKS);
    let mut logs: Vec<Log> = (0..RANKS).map(|_| Log::default()).collect();
    let mut left: Vec<(usize, Peer, usize)> = (0..MESSAGES)
        .flat_map(|number| (0..RANKS as usize).map(move |from| (number, from)))
        .flat_map(|(number, from)| (0..RANKS).map(move |to| (from, to, number)))
        .filter(|(from, to, _)| *from != *to as usize)
        .collect();
    if story.spare {
        for (from, to, _) in left.iter().filter(|(_, _, number)| *number == 0) {
            uds[*from].failover().expect("it hands back").keep_sent(*to);
        }
    }
    if let Some(cut_ns) = story.cut_ns {
        subnet.cut(0, 0, cut_ns, Cut::Down);
    }
    let (mut given_up_ns, mut full) = (0, 0);
    while subnet.now_ns() < RUN_NS && !(left.is_empty() && uds.iter_mut().all(|ud| ud.is_quiet())) {
        left.retain(|&(from, to, number)| {
            let payload =
                vec![number as u8; [8, 200, 900, 5000][number % 4].min(longest(&mut uds[from], to))];
            let header = Header { length: payload.len() as u64, ..Header::new(Kind::Eager) };
            let sent = uds[from].send(to, &header, Payload::Bytes(&payload)).is_ok();
            full += usize::from(!sent);
            !sent
        });
        subnet.run_until(subnet.now_ns() + STEP_NS);
        for (ud, log) in uds.iter_mut().zip(&mut logs) {
            while ud.poll(log) > 0 {}
        }
        if given_up_ns == 0 && logs.iter().any(|log| log.given_up > 0) {
            given_up_ns = subnet.now_ns();
        }
    }
    Seen {
        reach: uds[0].reach(1),
        devices: subnet.counts(),
        datagrams: uds.iter().map(|ud| ud.counts().datagrams).collect(),
        receive_bytes: uds[0].counts().receives.bytes,
        held_bytes: uds[0].bytes_held() + full,
        delivered: logs.iter().map(|log| log.delivered).sum(),
        given_up: logs.iter().map(|log| log.given_up).sum(),
        given_up_ns,
        end_ns: subnet.now_ns(),
    }
}

fn longest(ud: &mut impl Channel, to: Peer) -> usize {
    ud.reach(to).map_or(0, |reach| reach.packet_bytes_max)
}

/// The settings that are changed one by one. Much is signalled: what is not keeps buffers.
fn usual() -> Settings {
    Settings { signal_every: 2, ..over_ud::settings() }
}

type Change = fn(&mut Settings);

/// Checks that each change makes this run count something else.
fn each_shows(story: Story, changes: &[(&str, Change)]) {
    let usual = run(&usual(), story);
    assert_eq!(usual, run(&self::usual(), story), "the same run counts the same");
    for (name, change) in changes {
        let mut settings = self::usual();
        change(&mut settings);
        assert!(usual != run(&settings.sound(), story), "{name} has no effect");
    }
}

fn rule(settings: &mut Settings, change: impl FnOnce(&mut Rules)) {
    change(&mut settings.rules);
}

#[test]
fn every_setting_of_datagrams_shows_on_a_bad_network() {
    let changes: [(&str, Change); 16] = [
        ("UD_SENDERS", |s| s.senders = 1),
        ("UD_RECEIVES", |s| s.receives = Some(16)),
        ("UD_SHORT_BUFFERS_MAX", |s| s.short_buffers_max = 8),
        ("UD_LONG_BUFFERS_MAX", |s| s.long_buffers_max = Some(8)),
        ("UD_FRAGMENTS_MAX", |s| s.fragments_max = Some(2)),
        ("UD_EAGER_BYTES_MAX", |s| s.eager_bytes_max = 100),
        ("UD_RELIABLE", |s| s.reliable = false),
        ("UD_CHECKSUM", |s| s.checksum = false),
        ("UD_WINDOW_MAX", |s| rule(s, |rules| rules.window_max = 4)),
        ("UD_WINDOW_MIN", |s| rule(s, |rules| rules.window_min = 1)),
        ("UD_ACK_EVERY", |s| rule(s, |rules| rules.ack_every = 1)),
        ("UD_ACK_DELAY_NS", |s| rule(s, |rules| rules.ack_delay_ns = 200_000)),
        ("UD_RESEND_NS_MIN", |s| rule(s, |rules| rules.resend_ns_min = 2_000_000)),
        ("UD_LOCAL_NS_MAX", |s| s.local_ns_max = 100_000),
        ("UD_SIGNAL_EVERY", |s| s.signal_every = 1),
        ("UD_INLINE_BYTES_MAX", |s| s.inline_bytes_max = 0),
    ];
    each_shows(Story { device: bad(), ..PLAIN }, &changes);
}

/// A lost way costs resends up to the limit, and then the peer is given up, but only where another
/// channel reaches it; else after the silence.
#[test]
fn the_limits_of_a_lost_way_show() {
    let cut = Story { cut_ns: Some(500_000), ..PLAIN };
    let short: Change = |s| rule(s, |rules| rules.resends_max = 3);
    let quick: Change = |s| rule(s, |rules| (rules.silent_ns_max, rules.silent_waits_min) = (10_000_000, 2));
    each_shows(
        cut,
        &[("UD_RESEND_NS_MAX", |s| rule(s, |r| r.resend_ns_max = 500_000)), ("UD_SILENT", quick)],
    );
    each_shows(Story { spare: true, ..cut }, &[("UD_RESENDS_MAX", short)]);
    let first: Change = |s| rule(s, |rules| rules.resend_ns_first = 5_000_000);
    each_shows(Story { cut_ns: Some(0), ..PLAIN }, &[("UD_RESEND_NS_FIRST", first)]);
    let mut settings = usual();
    short(&mut settings);
    let (alone, spare) = (run(&settings, cut), run(&settings, Story { spare: true, ..cut }));
    println!("alone {alone:?}\nspare {spare:?}");
    assert_eq!(alone.given_up, 0, "nobody else reaches it, and it was not silent for long");
    // One end of both ways of the first process at least.
    assert!(spare.given_up >= RANKS as usize - 1);
    assert!(spare.devices.datagrams < alone.devices.datagrams);
}

/// Receive buffers take the memory that the setting says, and fewer lose more in a burst.
#[test]
fn a_small_receive_pool_loses_what_finds_no_buffer() {
    let of = |receives| run(&Settings { receives: Some(receives), ..over_ud::settings() }, PLAIN);
    let (few, many) = (of(16), of(1024));
    assert!(few.receive_bytes * 60 < many.receive_bytes);
    assert_eq!(few.delivered, many.delivered);
}

/// With checksums what was garbled is sent again, and nobody gets it; without it gets through.
#[test]
fn checksums_find_what_was_garbled() {
    let of = |checksum| run(&Settings { checksum, ..over_ud::settings() }, Story { device: bad(), ..PLAIN });
    let garbled = |seen: &Seen| seen.datagrams.iter().map(|counts| counts.garbled).sum::<u64>();
    let (with, without) = (of(true), of(false));
    assert!(with.devices.garbled > 0 && garbled(&with) > 2 * garbled(&without));
}

/// With `rc` and `ud` open: how many connections there may be, how soon the busiest get them, and
/// after how many resends in vain `ud` gives way.
#[test]
fn the_settings_of_connections_beside_datagrams_show() {
    let usual = HybridFaults { cut_percent: 50, cut_ns_max: 200_000, ..HybridFaults::none(1) };
    let count = |faults: &HybridFaults| {
        (0..10)
            .map(|seed| run_over_hybrid_under(seed, faults).expect("no rule is broken"))
            .collect::<Vec<_>>()
    };
    let changed = |change: fn(&mut HybridFaults)| {
        let mut faults = usual.clone();
        change(&mut faults);
        count(&faults)
    };
    let before = count(&usual);
    assert!(before != changed(|f| f.rc.faults.connected_peers_max = 0), "RC_PEERS_MAX has no effect");
    let hasty = changed(|f| f.rc.faults.connections_review_every = 2);
    assert!(before != hasty, "RC_PEERS_REVIEW_EVERY has no effect");
    assert!(before != changed(|f| f.resends_max = 3), "UD_RESENDS_MAX has no effect");
}

/// All goes by connection, by send and receive.
#[test]
fn the_number_of_credits_shows() {
    let count = |credits| {
        let mut faults = RcFaults::none();
        (faults.settings.credits, faults.settings.policy) = (credits, Policy::None);
        (0..10).map(|seed| run_over_rc_under(seed, &faults).expect("no rule is broken")).collect::<Vec<_>>()
    };
    assert!(count(8) != count(4), "RC_CREDITS has no effect");
}

/// The usual settings of the simulator are those of a run in which nothing goes wrong.
#[test]
fn nothing_is_given_up_or_garbled_on_a_good_network() {
    let seen = run(&UdFaults::none().settings, PLAIN);
    assert_eq!((seen.given_up, seen.delivered), (0, MESSAGES * (RANKS * (RANKS - 1)) as usize));
}
