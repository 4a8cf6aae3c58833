//! The numbers of the bare device that the model needs, from the result of `verbena bench verbs`.

use anyhow::{Context, Result};
use verbena_lab::experiment::comparable;
use verbena_lab::verbs::outcome::{Outcome, Row, Subject};
use verbena_sim::verbs::calibration::Measured;

/// A short message, in bytes.
const SHORT: usize = 8;
/// The long ones: of a post, of a stream, of a registration, of a copy.
const POSTED: usize = 64 << 10;
const STREAMED: usize = 1 << 20;
const REGISTERED: usize = 1 << 20;
const COPIED: usize = 256 << 10;
/// A page, in bytes.
const PAGE: usize = 4 << 10;
/// Nanoseconds of a microsecond.
const NS: f64 = 1e3;

/// Returns the value of a row; of a latency, which comes out quick or slow by where the kernel runs
/// the device's work, the median of the samples that may be compared ([`comparable`]).
fn of_row(row: &Row) -> f64 {
    let quick = comparable(&row.samples).filter(|_| row.subject == Subject::Latency);
    quick.map_or(row.value, |(value, _)| value)
}

/// Returns the numbers.
///
/// # Errors
/// A row is not there: the run was cut off.
pub(crate) fn measured(outcome: &Outcome) -> Result<Measured> {
    let value = |subject, variant: &str, at| {
        let found = outcome.row(subject, variant, at).map(of_row);
        found.with_context(|| format!("the result has no row {subject:?}, {variant}, {at}"))
    };
    // Bytes a microsecond, so bytes over it are the microseconds of an operation.
    let gap =
        |variant| Ok::<f64, anyhow::Error>(SHORT as f64 / value(Subject::Bandwidth, variant, SHORT)? * NS);
    let us = |subject, variant: &str, at| Ok::<f64, anyhow::Error>(value(subject, variant, at)? * NS);
    Ok(Measured {
        write_ns: us(Subject::Latency, "write", SHORT)?,
        send_ns: us(Subject::Latency, "send", SHORT)?,
        write_completed_ns: us(Subject::Completed, "write", SHORT)?,
        read_completed_ns: us(Subject::Completed, "read", SHORT)?,
        write_gap_ns: gap("write")?,
        send_gap_ns: gap("send")?,
        read_gap_ns: gap("read")?,
        write_mb_s: value(Subject::Bandwidth, "write", STREAMED)?,
        post_ns: us(Subject::Post, "write", SHORT)?,
        post_long_ns: us(Subject::Post, "write", POSTED)?,
        post_long_bytes: POSTED as f64,
        post_receive_ns: us(Subject::Receive, "post to an own queue", 0)?,
        look_empty_ns: value(Subject::Look, "empty", 1)?,
        look_found_ns: value(Subject::Look, "found", 1)?,
        register_page_ns: us(Subject::Registration, "register", PAGE)?,
        register_long_ns: us(Subject::Registration, "register", REGISTERED)?,
        register_long_bytes: REGISTERED as f64,
        deregister_ns: us(Subject::Registration, "deregister", PAGE)?,
        open_ns: us(Subject::Pair, "open", 0)?,
        connect_ns: us(Subject::Pair, "connect", 0)?,
        copy_mb_s: value(Subject::Copy, "alone", COPIED)?,
        copy_beside_mb_s: value(Subject::Copy, "beside writes", COPIED)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_that_was_cut_off_is_refused_with_the_row_that_it_lacks() {
        let outcome = r#"{"command": "", "started_unix_s": 0, "machine": "", "places": [], "rows": [
            {"subject": "latency", "variant": "write", "at": 8, "unit": "us", "value": 9.0,
             "samples": [9.0], "iterations": 1, "checked": 8}]}"#;
        let outcome: Outcome = serde_json::from_str(outcome).expect("a result");
        let refused = measured(&outcome).expect_err("rows are missing").to_string();
        assert!(refused.contains("send"), "{refused}");
    }
}
