//! Rows of made-up samples: what is concluded from them, and what is not.

use super::*;
use crate::report::inventory;
use crate::report::jobs::tests::latencies;
use crate::report::plan;
use verbena_lab::witness::Witness;

/// The first row of paper 1, figure 12: RDMA eager to send/receive, at most 0.76.
fn twelve(series: Vec<super::super::results::Series>) -> Row {
    let results = Results { series, ..Results::default() };
    let items = inventory::all();
    let item = items.iter().find(|item| item.paper == 1 && item.place == "figure 12").expect("figure 12");
    rows(item, &results).remove(0)
}

fn eager(values: &[f64]) -> super::super::results::Series {
    counting(latencies("rc latency", "RDMA eager", values), 2.0)
}

fn again(values: &[f64]) -> super::super::results::Series {
    counting(latencies("rc latency", "RDMA eager again", values), 2.0)
}

fn send(values: &[f64]) -> super::super::results::Series {
    counting(latencies("rc latency", "send/receive", values), 4.0)
}

/// Jobs that counted so many sends.
fn counting(mut series: super::super::results::Series, sends: f64) -> super::super::results::Series {
    for job in &mut series.points[0].jobs {
        let counted = [("device rdma_sends".to_string(), sends)].into_iter().collect();
        job.witness = Some(Witness { counted, processors: 2, ..Witness::default() });
    }
    series
}

#[test]
fn a_clear_gain_is_as_claimed_with_its_noise_and_its_range() {
    let row = twelve(vec![
        eager(&[30.0, 30.1, 30.2, 29.9, 30.0]),
        again(&[30.1, 30.0, 29.9, 30.2, 30.0]),
        send(&[43.0, 43.1, 43.2, 42.9, 43.0]),
    ]);
    assert_eq!((row.outcome, row.kind), (Outcome::Kept, Kind::Measured));
    assert!(row.noise.is_some_and(|noise| noise < 1.02), "{row:?}");
    assert!(row.ours.contains("RDMA eager at 8 B: 30.0 us (29.9 to 30.2, 5 jobs)"), "{}", row.ours);
}

/// Paper 1, figure 3: one variant with 64 connections and with one.
#[test]
fn two_places_of_one_series_are_told_apart() {
    let look = |name: &str| {
        let mut series = latencies("verbs look", name, &[50.0; 5]);
        let mut other = series.points[0].clone();
        (series.points[0].x, other.x) = (Some(1.0), Some(64.0));
        series.points.push(other);
        series.points.iter_mut().for_each(|point| point.metric = String::new());
        series
    };
    let results = Results { series: vec![look("empty"), look("empty again")], ..Results::default() };
    let items = inventory::all();
    let rows = items.iter().flat_map(|item| rows(item, &results));
    let row = rows.into_iter().find(|row| row.what.starts_with("an empty look")).expect("the row");
    assert!(
        row.ours.contains("empty at 64 connections:") && row.ours.contains("empty at 1 connections:"),
        "{}",
        row.ours
    );
}

#[test]
fn noise_wider_than_the_effect_cannot_tell() {
    let row = twelve(vec![
        eager(&[30.0, 30.1, 30.2, 29.9, 30.0]),
        again(&[45.0, 44.0, 46.0, 45.0, 44.0]),
        send(&[43.0, 43.1, 43.2, 42.9, 43.0]),
    ]);
    assert_eq!(row.outcome, Outcome::CannotTell, "{row:?}");
}

#[test]
fn without_a_twin_nothing_is_concluded() {
    let row = twelve(vec![eager(&[30.0; 5]), send(&[43.0; 5])]);
    assert_eq!((row.outcome, row.noise), (Outcome::CannotTell, None));
}

#[test]
fn too_few_jobs_are_not_measured() {
    let row = twelve(vec![eager(&[30.0; 5]), again(&[30.0; 5]), send(&[43.0; 4])]);
    assert_eq!((row.outcome, row.seen), (Outcome::Unmeasured, None));
    assert!(row.remark.contains("4 jobs of 4"), "{}", row.remark);
}

#[test]
fn a_disturbed_round_is_thrown_out_and_counted() {
    let row =
        twelve(vec![eager(&[30.0, 30.0, 4000.0, 30.0, 30.0, 30.0]), again(&[30.0; 6]), send(&[43.0; 6])]);
    assert_eq!((row.outcome, row.thrown), (Outcome::Kept, 1));
    assert!(row.ours.contains("5 jobs, 1 thrown out"), "{}", row.ours);
}

#[test]
fn identical_traffic_is_named_whatever_the_times_say() {
    let all = |sends| {
        vec![
            counting(eager(&[30.0; 5]), 2.0),
            counting(again(&[30.0; 5]), 2.0),
            counting(send(&[43.0; 5]), sends),
        ]
    };
    assert_eq!(twelve(all(2.0)).outcome, Outcome::Identical);
    let row = twelve(all(4.0));
    assert_eq!(row.outcome, Outcome::Kept);
    assert!(row.remark.contains("device rdma_sends"), "{}", row.remark);
}

#[test]
fn what_alone_tells_two_sides_apart_must_have_been_counted() {
    let row = |counter| {
        let series = vec![eager(&[30.0; 5]), again(&[30.0; 5]), counting(send(&[43.0; 5]), 2.0)];
        let results = Results { series, ..Results::default() };
        let items = inventory::all();
        let claim = items
            .iter()
            .find(|item| item.paper == 1 && item.place == "figure 12")
            .map(|item| &item.claims[0]);
        let claim = claim.expect("figure 12");
        look(claim, &Seen { counter, ..claim.seen[0].clone() }, &results)
    };
    assert_eq!(row("").outcome, Outcome::Identical);
    assert_eq!(row("device rdma_sends").outcome, Outcome::Identical);
    let uncounted = row("ud_datagrams_checksummed");
    assert_eq!(uncounted.outcome, Outcome::CannotTell);
    assert!(uncounted.remark.contains("was not counted"), "{}", uncounted.remark);
}

#[test]
fn without_counters_nothing_proves_that_two_differ() {
    let mut slow = send(&[43.0; 5]);
    slow.points[0].jobs.iter_mut().for_each(|job| job.witness = None);
    let row = twelve(vec![eager(&[30.0; 5]), again(&[30.0; 5]), slow]);
    assert_eq!(row.outcome, Outcome::CannotTell);
    assert!(row.remark.contains("nothing was counted"), "{}", row.remark);
}

/// Paper 1, figure 1: a bare device has no library that counts, and its two operations are two.
#[test]
fn the_bare_device_needs_no_counters() {
    let bare = |name, values: &[f64]| {
        let mut series = latencies("verbs latency", name, values);
        series.points[0].metric = String::new();
        series
    };
    let series = vec![bare("write", &[30.0; 5]), bare("write again", &[30.0; 5]), bare("send", &[43.0; 5])];
    let results = Results { series, ..Results::default() };
    let items = inventory::all();
    let item = items.iter().find(|item| item.paper == 1 && item.place == "figure 1").expect("figure 1");
    let rows = rows(item, &results);
    let row = rows.iter().find(|row| row.what.contains("our own program")).expect("a row");
    assert_eq!(row.outcome, Outcome::Kept, "{row:?}");
}

/// Paper 2's ladder as the model predicts it: the noise is that of the measured side.
#[test]
fn a_prediction_is_judged_within_the_noise_of_what_was_measured() {
    let row = |again: &[f64]| {
        let mut predicted = latencies("sim predicted latency", "predicted", &[]);
        let point = &mut predicted.points[0];
        (point.label, point.x, point.ranks, point.value) = ("basic, 8 B".into(), None, 0, Some(105.0));
        let basic = |name, values: &[f64]| latencies("rc ladder", name, values);
        let series = vec![predicted, basic("basic", &[100.0; 5]), basic("basic again", again)];
        let results = Results { series, ..Results::default() };
        let items = inventory::all();
        let rows: Vec<Row> = items.iter().flat_map(|item| rows(item, &results)).collect();
        rows.into_iter().find(|row| row.what == "basic design, 8 B").expect("the row")
    };
    assert_eq!(row(&[100.0; 5]).outcome, Outcome::Kept);
    let loud = row(&[140.0; 5]);
    assert_eq!(loud.outcome, Outcome::CannotTell, "{loud:?}");
    assert!(loud.noise.is_some_and(|noise| noise >= 1.4));
    let few = row(&[]);
    assert_eq!(few.outcome, Outcome::CannotTell, "{few:?}");
}

#[test]
fn without_any_result_every_row_has_a_reason() {
    for item in inventory::all() {
        for row in rows(&item, &Results::default()) {
            assert!(matches!(row.outcome, Outcome::Unmeasured | Outcome::Nothing), "{row:?}");
            assert!(!row.remark.is_empty(), "paper {}, {}: {row:?}", item.paper, item.place);
        }
    }
}

/// The variant that an experiment measures twice.
fn measured_twice(experiment: &str) -> String {
    use clap::ValueEnum;
    let sections = plan::Section::value_variants().iter();
    let all = sections.flat_map(|section| plan::experiments(*section, false));
    let planned = all.map(plan::twinned).find(|planned| planned.name == experiment);
    let last = planned.and_then(|planned| planned.variants.last().map(|twin| twin.name.clone()));
    let designs = |designs: Vec<_>| -> Option<String> {
        designs.last().map(|twin: &verbena_lab::experiment::variant::Variant| twin.name.clone())
    };
    let twin = match experiment {
        "npb" => designs(plan::programs_designs()),
        "smg" => designs(plan::scale_designs()),
        "rc trace" => Some(noise::again("RDMA eager, 8 B")),
        "node trace" => Some(noise::again("shared memory, 8 B")),
        "verbs latency" | "verbs bandwidth" => Some(noise::again("write")),
        "verbs look" => Some(noise::again("empty")),
        "node floor" => Some(noise::again("memcpy")),
        "node polling set" => Some(noise::again("rings")),
        _ => last,
    };
    let twin = twin.unwrap_or_else(|| panic!("nothing is measured twice in {experiment}"));
    noise::twin_of(&twin).expect("the name of a twin").to_string()
}

/// Five jobs at the place of a pick, by its variant and by both that are alike.
fn five_jobs(pick: &Pick, into: &mut Results) {
    let (x, label, ranks) = match pick.at {
        At::Size(bytes) => (Some(bytes as f64), "", 2),
        At::SizeRanks(bytes, ranks) => (Some(bytes as f64), "", ranks),
        At::Ranks(ranks) => (None, "", ranks),
        At::Row(row) => (None, row, 0),
        At::Most | At::Least => (Some(8.0), "", 2),
    };
    let twice = measured_twice(pick.experiment);
    for name in [pick.series.to_string(), noise::again(&twice), twice] {
        let mut series = latencies(pick.experiment, &name, &[1.0, 1.01, 1.02, 1.01, 1.0]);
        let point = &mut series.points[0];
        (point.metric, point.label, point.x, point.ranks) = (pick.metric.into(), label.into(), x, ranks);
        into.series.push(series);
    }
}

#[test]
fn every_measured_row_names_its_noise() {
    let mut measured = 0;
    for item in inventory::all() {
        for claim in &item.claims {
            for seen in claim.seen.iter().filter(|seen| kinds::of(seen) == Kind::Measured) {
                let to = if let Some(To::Ours(to)) = seen.to { Some(to) } else { None };
                let also = seen.also.iter().flat_map(|(of, to)| [*of, *to]);
                let mut results = Results::default();
                let picks = std::iter::once(seen.of).chain(to).chain(also);
                picks.for_each(|pick| five_jobs(&pick, &mut results));
                let row = look(claim, seen, &results);
                assert!(row.noise.is_some(), "paper {}, {}: {row:?}", item.paper, item.place);
                assert_ne!(row.outcome, Outcome::Unmeasured, "{row:?}");
                measured += 1;
            }
        }
    }
    assert!(measured > 50, "{measured} rows are measured");
}
