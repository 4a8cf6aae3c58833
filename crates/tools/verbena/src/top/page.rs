//! The page of `verbena top`.

use comfy_table::Table;
use comfy_table::presets::NOTHING;
use std::collections::BTreeMap;
use verbena_hang::top::Answer;
use verbena_hang::waits::{Doing, Scene};
use verbena_hang::{Rank, Traffic, explain, words};

/// The page for this answer; with one from before, traffic is told as rates. Rows of the table are
/// cut to `width` characters, if that is given.
pub(super) fn render(answer: &Answer, before: Option<&Answer>, width: Option<usize>) -> String {
    let mut text = head(answer);
    text += &verdict(answer);
    text += &channels(answer, before);
    text += &ranks(answer, width);
    text
}

fn head(answer: &Answer) -> String {
    let hosts: std::collections::BTreeSet<&str> =
        answer.ranks.iter().map(|rank| rank.host.as_str()).collect();
    format!(
        "{}: {} on {}, for {}\n",
        answer.program,
        words::count(answer.ranks.len(), "rank"),
        words::count(hosts.len(), "host"),
        words::duration(answer.ran_ms)
    )
}

/// The judgement whether the job gets on.
fn verdict(answer: &Answer) -> String {
    let scene = Scene::new(&answer.ranks);
    let waiting = answer.ranks.iter().filter(|rank| matches!(scene.doing(rank.number), Doing::Waiting(_)));
    let waiting = match waiting.count() {
        1 => "1 rank waits in MPI".to_owned(),
        several => format!("{several} ranks wait in MPI"),
    };
    match answer.still_ms.and_then(|still| explain(&answer.ranks, Some(still))) {
        Some(report) => format!(
            "{waiting}, and none has got any further for {}\n  likely cause: {}\n",
            words::duration(answer.still_ms.unwrap_or_default()),
            report.cause
        ),
        None => format!("{waiting}\n"),
    }
}

/// The sums of what went over each channel.
fn sums(answer: &Answer) -> BTreeMap<String, Traffic> {
    let mut sums: BTreeMap<String, Traffic> = BTreeMap::new();
    let traffic = answer.ranks.iter().filter_map(|rank| rank.snapshot.as_ref());
    for own in traffic.flat_map(|snapshot| &snapshot.channels) {
        let sum = sums.entry(own.name.clone()).or_default();
        sum.packets_sent += own.packets_sent;
        sum.bytes_sent += own.bytes_sent;
        sum.packets_received += own.packets_received;
        sum.bytes_received += own.bytes_received;
    }
    sums.retain(|_, sum| sum.packets_sent + sum.packets_received + sum.bytes_sent + sum.bytes_received > 0);
    sums
}

fn channels(answer: &Answer, before: Option<&Answer>) -> String {
    let (now, then) = (sums(answer), before.map(sums).unwrap_or_default());
    let passed_ms = before.map_or(0, |before| answer.ran_ms.saturating_sub(before.ran_ms));
    let mut text = String::new();
    for (name, sum) in &now {
        let old = then.get(name).cloned().unwrap_or_default();
        let told = if passed_ms > 0 {
            let rate = |now: u64, then: u64| now.saturating_sub(then).saturating_mul(1000) / passed_ms;
            format!(
                "{} packets/s, {}/s sent, {}/s received",
                rate(sum.packets_sent, old.packets_sent),
                amount(rate(sum.bytes_sent, old.bytes_sent)),
                amount(rate(sum.bytes_received, old.bytes_received))
            )
        } else {
            format!(
                "{} packets, {} sent, {} received",
                sum.packets_sent,
                amount(sum.bytes_sent),
                amount(sum.bytes_received)
            )
        };
        text += &format!("  {name}: {told}\n");
    }
    text
}

/// An amount of bytes with three digits.
fn amount(bytes: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let (mut value, mut unit) = (bytes as f64, 0);
    while value >= 1000.0 && unit + 1 < units.len() {
        (value, unit) = (value / 1024.0, unit + 1);
    }
    let digits = if unit == 0 || value >= 100.0 { 0 } else { 1 };
    format!("{value:.digits$} {}", units[unit])
}

fn ranks(answer: &Answer, width: Option<usize>) -> String {
    let scene = Scene::new(&answer.ranks);
    let mut table = Table::new();
    table.load_style(NOTHING);
    table.set_header(["rank", "host", "pid", "cpu", "memory", "posted", "sends", "unexpected", "doing"]);
    for rank in &answer.ranks {
        table.add_row(row(&scene, rank));
    }
    let rows = table.to_string();
    rows.lines().map(|row| width.map_or(row.to_owned(), |width| shortened(row, width)) + "\n").collect()
}

fn row(scene: &Scene<'_>, rank: &Rank) -> [String; 9] {
    let count = |of: fn(&verbena_hang::Snapshot) -> u64| {
        rank.snapshot.as_ref().map_or("-".into(), |snapshot| of(snapshot).to_string())
    };
    let doing = match scene.doing(rank.number) {
        // Nothing is known of a rank that answered and waits for nothing but that it is in MPI now
        // and then.
        Doing::Outside if rank.is_answered && rank.polls().is_none() => {
            "calls MPI, and does not wait for long".into()
        }
        _ => format!("{}{}", words::doing(scene, rank), words::places(rank)),
    };
    [
        rank.number.to_string(),
        rank.host.clone(),
        rank.pid.to_string(),
        rank.processor_percent.map_or("-".into(), |percent| format!("{percent}%")),
        amount(rank.memory_bytes),
        count(|snapshot| snapshot.posted.total),
        count(|snapshot| snapshot.sends.total),
        count(|snapshot| snapshot.arrived.total),
        doing,
    ]
}

/// The text, cut where it has more than `width` characters.
fn shortened(text: &str, width: usize) -> String {
    const CUT: &str = "...";
    let at = |count: usize| text.char_indices().nth(count).map(|(at, _)| at);
    match at(width).and_then(|_| at(width.saturating_sub(CUT.len()))) {
        Some(at) => format!("{}{CUT}", &text[..at]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use verbena_hang::{Awaited, Message, Operation, RunState, Snapshot, Stage, Wait};

    fn answer(ran_ms: u64, bytes_sent: u64) -> Answer {
        let traffic =
            Traffic { name: "shm".into(), packets_sent: bytes_sent / 8, bytes_sent, ..Traffic::default() };
        let awaited = Operation::Receive(Message { context: 8, process: Some(1), tag: Some(7), bytes: 4 });
        let wait = Wait {
            call: "MPI_Recv".into(),
            began_ms: 0,
            awaited: Awaited::All(vec![awaited]),
            frames: vec![],
            python: vec![],
        };
        let snapshot = Snapshot { waits: vec![wait], channels: vec![traffic], ..Snapshot::default() };
        let rank = |number, snapshot| Rank {
            stage: Stage::Initialised,
            state: RunState::Running,
            memory_bytes: 3 << 20,
            snapshot,
            ..Rank::new(number, "node", 70 + number as i32)
        };
        let ranks = vec![rank(0, Some(snapshot)), rank(1, None)];
        Answer { job: "job".into(), program: "ring".into(), ran_ms, still_ms: Some(5000), ranks }
    }

    #[test]
    fn the_page_tells_who_waits_and_what_moves() {
        let page = render(&answer(10_000, 80_000), None, None);
        for part in [
            "ring: 2 ranks on 1 host, for 10 s\n",
            "1 rank waits in MPI, and none has got any further for 5.0 s",
            "likely cause: the others wait for rank 1",
            "shm: 10000 packets, 78.1 KiB sent, 0 B received\n",
            "waits in MPI_Recv for a message from rank 1 with tag 7",
            "3.0 MiB",
        ] {
            assert!(page.contains(part), "no {part:?} in\n{page}");
        }
    }

    #[test]
    fn with_an_answer_from_before_traffic_is_told_as_rates() {
        let page = render(&answer(12_000, 80_000), Some(&answer(10_000, 40_000)), None);
        assert!(page.contains("shm: 2500 packets/s, 19.5 KiB/s sent"), "{page}");
    }

    #[test]
    fn amounts_have_few_digits() {
        let told = [0, 999, 1000, 1 << 20, 150 << 30].map(amount);
        assert_eq!(told, ["0 B", "999 B", "1.0 KiB", "1.0 MiB", "150 GiB"]);
    }

    #[test]
    fn rows_are_cut_to_the_terminal_only() {
        assert_eq!((shortened("short", 5), shortened("longer", 5)), ("short".into(), "lo...".into()));
        let whole = render(&answer(10_000, 80_000), None, None);
        assert!(
            whole.contains("with tag 7 on an object of which more is not known, or a freed one"),
            "{whole}"
        );
        let cut = render(&answer(10_000, 80_000), None, Some(80));
        let rows = cut.lines().skip_while(|line| !line.contains("doing"));
        assert!(rows.clone().count() == 3 && rows.clone().all(|row| row.chars().count() <= 80), "{cut}");
    }
}
