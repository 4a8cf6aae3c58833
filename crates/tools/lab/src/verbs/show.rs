//! The rows as tables for people: a table for each subject, its variants across.

use super::outcome::{Outcome, Subject};
use crate::metric::format_size;
use crate::table::{format_value, right};
use comfy_table::{Cell, Table, presets};
use std::fmt::Write;

/// Renders all tables, under lines that name the machine and the devices.
pub fn render(outcome: &Outcome) -> String {
    let mut out = format!("{}\n", outcome.machine);
    for (rank, place) in outcome.places.iter().enumerate() {
        let _ = writeln!(out, "rank {rank}: {place}");
    }
    for subject in Subject::ALL {
        if !outcome.variants(subject).is_empty() {
            let _ = write!(out, "\n{}, {}\n{}\n", subject.title(), subject.unit(), table(outcome, subject));
        }
    }
    out
}

fn table(outcome: &Outcome, subject: Subject) -> Table {
    let variants = outcome.variants(subject);
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED);
    let head = subject.axis().into_iter().chain(variants.iter().copied());
    table.set_header(head.collect::<Vec<_>>());
    for at in outcome.places_of(subject) {
        let name =
            subject.axis().map(|axis| right(if axis == "size" { format_size(at) } else { at.to_string() }));
        let cell = |variant: &&str| {
            right(outcome.value(subject, variant, at).map_or_else(String::new, format_value))
        };
        table.add_row(name.into_iter().chain(variants.iter().map(cell)).collect::<Vec<Cell>>());
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timing::Samples;
    use crate::verbs::outcome::Row;

    #[test]
    fn each_subject_has_its_variants_across() {
        let times = Samples { seconds: vec![2e-6], iterations: 1 };
        let row = |subject, variant: &str, at| Row::new(subject, variant, at, &times, 1);
        let rows = vec![
            row(Subject::Latency, "write", 2048),
            row(Subject::Latency, "send", 2048),
            row(Subject::Look, "empty", 64),
        ];
        let text = render(&Outcome { rows, ..Outcome::of_this_command() });
        assert!(text.contains("2 KiB") && text.contains("send") && text.contains("2.00"), "{text}");
        assert!(text.contains("connections") && text.contains("2000") && !text.contains("Copies"), "{text}");
    }
}
