//! The file: settings in TOML, each under the reason for its value.

use super::choose::Choice;
use super::knobs::Knob;
use anyhow::{Context, Result, bail};
use std::fmt::Write;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};
use verbena_lab::report::Report;

/// The text of a profile.
pub(super) fn text(found: &[(&Knob, &Choice)]) -> String {
    let Report { command, machine, started_unix_s, .. } = Report::of_this_command();
    let date = humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs(started_unix_s));
    let mut out = format!(
        "# Settings of Verbena measured on {machine}\n# by {command}, {date}.\n\
         # Later runs read them if VERBENA_SETTINGS names this file; for all ranks: mpiexec -genv VERBENA_SETTINGS FILE.\n"
    );
    for (knob, choice) in found {
        let _ = write!(out, "\n# {}\n", knob.what);
        choice.reason.iter().for_each(|line| _ = writeln!(out, "#   {line}"));
        if !choice.is_noise {
            let worst = (choice.worst - 1.0) * 100.0;
            let _ = writeln!(out, "#   at its worst size {worst:.0}% off the best candidate");
        }
        let value = match choice.value.parse::<u64>() {
            Ok(number) => number.to_string(),
            Err(_) => format!("\"{}\"", choice.value),
        };
        let unset = if choice.is_noise { "# " } else { "" };
        let _ = writeln!(out, "{unset}{} = {value}", knob.setting.to_ascii_lowercase());
    }
    out
}

/// The settings that a profile names, in upper case and without `VERBENA_`.
///
/// # Errors
/// It cannot be read, is no TOML, or names no setting.
pub(super) fn names(path: &Path) -> Result<Vec<String>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let table: toml::Table = text.parse().with_context(|| format!("{} is no TOML", path.display()))?;
    if table.is_empty() {
        bail!("{} names no setting", path.display());
    }
    Ok(table.keys().map(|key| key.to_ascii_uppercase()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tune::knobs::{By, knobs};

    #[test]
    fn noise_sets_nothing() {
        let knobs = knobs(By::Latency, false, 2);
        let of = |is_noise| Choice { value: "7".into(), reason: Vec::new(), worst: 1.0, is_noise };
        let written = text(&[(&knobs[0], &of(true)), (&knobs[1], &of(false))]);
        let table: toml::Table = written.parse().expect("TOML");
        assert_eq!(table.keys().collect::<Vec<_>>(), [&knobs[1].setting.to_ascii_lowercase()], "{written}");
        assert!(written.contains(&format!("# {} = 7", knobs[0].setting.to_ascii_lowercase())), "{written}");
        assert_eq!(written.matches("off the best candidate").count(), 1, "{written}");
    }

    #[test]
    fn what_is_written_is_read_by_the_library() {
        let knobs = knobs(By::Latency, true, 64);
        let choice =
            |value: String| Choice { value, reason: vec!["a reason".into()], worst: 1.02, is_noise: false };
        let choices: Vec<Choice> = knobs.iter().map(|knob| choice(knob.values()[0].0.clone())).collect();
        let found: Vec<(&Knob, &Choice)> = knobs.iter().zip(&choices).collect();
        let written = text(&found);
        let pairs = [("VERBENA_SETTINGS".to_string(), "/profile".to_string())];
        let loaded = verbena_settings::load_from(pairs.into_iter(), |_| Ok(written.clone()));
        assert!(loaded.wrong.is_empty() && loaded.unknown.is_empty(), "{loaded:?}\n{written}");
        assert_eq!(verbena_settings::CMA_BYTES_MIN.get(), 1 << 40);
        let dated = written.lines().nth(1).is_some_and(|line| line.contains(", 20") && line.ends_with("Z."));
        assert!(dated, "{written}");
        assert!(written.contains("a reason") && written.contains("2% off"), "{written}");
    }
}
