//! Constants, claims and predictions as tables of Markdown.

use super::predict::Prediction;
use std::fmt::Write;
use verbena_lab::table::format_value;
use verbena_sim::figures::held_out::{Claim, Said};
use verbena_sim::verbs::theory::{Kind, Theory};

/// Renders every constant of a model with its origin.
pub(super) fn constants(theory: &Theory) -> String {
    let counts = [Kind::Taken, Kind::Fitted, Kind::Guessed, Kind::Measured]
        .map(|kind| format!("{} {}", theory.count(kind), kind.name()));
    let mut out = format!("\nConstants: {} ({})\n\n", theory.name, counts.join(", "));
    out.push_str("| constant | value | kind | source |\n| --- | --- | --- | --- |\n");
    for constant in theory.constants() {
        let (name, value, unit) = (constant.name, constant.value, constant.unit);
        let _ = writeln!(out, "| {name} | {value} {unit} | {} | {} |", constant.kind.name(), constant.source);
    }
    out
}

/// Renders what the model says of numbers that it was not fitted to.
pub(super) fn claims(claims: &[Claim]) -> String {
    let mut out = String::from("\nNumbers of the papers that no constant was fitted to\n\n");
    out.push_str("| what | source | paper | model | |\n| --- | --- | --- | --- | --- |\n");
    for claim in claims {
        let said = if claim.said == Said::MoreThan { "more than " } else { "" };
        let verdict = if claim.holds() { "agrees" } else { "contradicts the paper" };
        let (paper, model) = (format_value(claim.paper), format_value(claim.model));
        let _ = writeln!(
            out,
            "| {} | {} | {said}{paper} {} | {model} | {verdict} |",
            claim.what, claim.source, claim.unit
        );
    }
    out
}

/// Renders predictions beside what was measured.
pub(super) fn predictions(all: &[Prediction]) -> String {
    let mut out = String::from("\nThe ladder, predicted from the bare device\n\n");
    out.push_str(
        "| design | point | predicted | measured | ratio | |\n| --- | --- | --- | --- | --- | --- |\n",
    );
    for one in all {
        let number = |value: Option<f64>| value.map_or_else(|| "not measured".into(), format_value);
        let remark = if one.is_input { "fitted" } else { "" };
        let (predicted, measured) = (format_value(one.predicted), number(one.measured));
        let ratio = number(one.ratio());
        let _ = writeln!(
            out,
            "| {} | {} | {predicted} | {measured} | {ratio} | {remark} |",
            one.design, one.point
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_contradiction_is_shown_as_such() {
        let claim = Claim {
            what: "peak".into(),
            source: "paper 2",
            unit: "MB/s",
            paper: 230.0,
            said: Said::About,
            model: 300.0,
        };
        assert!(claims(&[claim]).contains("| 230 MB/s | 300 | contradicts the paper |"));
    }

    #[test]
    fn a_fitted_point_is_no_prediction() {
        let point = "latency:8".parse().expect("point");
        let fitted =
            Prediction { design: "piggyback", point, predicted: 30.0, measured: Some(30.0), is_input: true };
        let text = predictions(&[fitted]);
        assert!(text.contains("| 30.0 | 30.0 | 1.00 | fitted |"), "{text}");
    }
}
