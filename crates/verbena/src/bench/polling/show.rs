//! The measurements as tables and plots, and what must be true of them.

use super::variants::{DISCOVERIES, LATENCIES, Place, Variant};
use crate::bench::metric::Point;
use crate::bench::plot::{Axis, Line, Panel};
use crate::bench::table::{cell, format_value, right};
use comfy_table::{Cell, Table, presets};
use serde_json::{Value, json};

/// The axis of both plots.
pub const AXIS: Axis = Axis { name: "ratio, or update rate", label: |value| value.to_string() };

/// What must be true (issue 5; paper 3, 3.3): the lowest value of a point over that with everything polled in each round.
#[derive(Clone, Debug)]
pub struct Goal {
    what: String,
    ratio: Option<f64>,
    at_most: f64,
}

/// Both figures as tables, with the goals below.
pub fn render(variants: &[Variant]) -> String {
    let goals = goals(variants);
    let mut out =
        format!("\nLatency by the ratio of polls (paper 3, figure 2)\n{}\n", table(variants, &LATENCIES));
    out +=
        &format!("\nTime of an exchange in bursts (paper 3, figure 3)\n{}\n", table(variants, &DISCOVERIES));
    for reason in variants.iter().flat_map(|variant| variant.candidate.failures()) {
        out += &format!("{reason}\n");
    }
    out += "\nWhat must be true\n";
    for goal in goals {
        let ratio = goal.ratio.map_or_else(|| "not measured".into(), format_value);
        let verdict = if goal.ratio.is_some_and(|ratio| ratio <= goal.at_most) { "met" } else { "missed" };
        out += &format!("{}: {ratio}, at most {}: {verdict}\n", goal.what, format_value(goal.at_most));
    }
    out
}

fn table(variants: &[Variant], points: &[Point]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED);
    let names = points.iter().map(|point| format!("{point}, {}", point.metric.unit()));
    table.set_header(std::iter::once("polling".to_string()).chain(names));
    for variant in variants.iter().filter(|variant| variant.candidate.entry(points[0]).is_some()) {
        let cells =
            points.iter().map(|point| right(variant.candidate.entry(*point).map_or_else(String::new, cell)));
        table.add_row(std::iter::once(Cell::new(&variant.candidate.name)).chain(cells));
    }
    table
}

/// The goals, with what was measured.
pub fn goals(variants: &[Variant]) -> Vec<Goal> {
    let all = |point| variants.iter().find(|variant| variant.candidate.name == "all")?.candidate.value(point);
    let best = |point| variants.iter().filter_map(|variant| variant.candidate.value(point)).reduce(f64::min);
    let goal = |point: Point, at_most| Goal {
        what: format!("{point}, the best to all in every round"),
        ratio: best(point).zip(all(point)).map(|(best, all)| best / all),
        at_most,
    };
    vec![goal(LATENCIES[0], 0.63), goal(DISCOVERIES[0], 0.63), goal(DISCOVERIES[1], 0.55)]
}

/// The goals for programs.
pub fn json(goals: &[Goal]) -> Value {
    let goal = |goal: &Goal| json!({"what": goal.what, "ratio": goal.ratio, "at_most": goal.at_most});
    goals.iter().map(goal).collect()
}

/// A panel for each figure.
pub fn panels(variants: &[Variant]) -> Vec<Panel> {
    let line = |point: &Point| {
        let place = |variant: &Variant| match variant.place {
            Place::Ratio(at) | Place::Update(at) => Some((at as usize, variant.candidate.value(*point)?)),
            Place::Scheme => None,
        };
        Line { label: point.to_string(), points: variants.iter().filter_map(place).collect() }
    };
    let panel = |title: &str, points: &[Point]| Panel {
        title: title.into(),
        unit: "us".into(),
        lines: points.iter().map(line).filter(|line| line.points.len() >= 3).collect(),
    };
    let both = [
        panel("Latency by the ratio of polls (paper 3, figure 2)", &LATENCIES),
        panel("Exchange in bursts by the update rate (paper 3, figure 3)", &DISCOVERIES),
    ];
    both.into_iter().filter(|panel| !panel.lines.is_empty()).collect()
}
