//! The five figures of the README: a table between two comments, which is written anew.

use crate::peers::contender::OURS;
use crate::peers::render::{number, title};
use crate::peers::summary::{Conditions, Row, Summary};
use anyhow::{Context, Result};

const BEGIN: &str = "<!-- figures: written by cargo xtask benchmarks-page -->\n";
const END: &str = "<!-- end of figures -->";

/// The points, with the conditions under which the run measured them. The last is beside busy
/// processes, whose number is the run's.
const FIGURES: [(&str, usize, bool); 5] = [
    ("latency:8", 2, false),
    ("bandwidth:1048576", 2, false),
    ("allreduce:8", 8, false),
    ("startup", 2, false),
    ("barrier", 4, true),
];

/// The README with the figures of this result.
///
/// # Errors
/// The README lacks the comments, or the result a figure.
pub(super) fn replaced(readme: &str, summary: &Summary) -> Result<String> {
    let (before, rest) = readme.split_once(BEGIN).context("README.md has no place for figures")?;
    let (_, after) = rest.split_once(END).context("the figures of README.md do not end")?;
    let lines = FIGURES.iter().map(|figure| line(summary, figure)).collect::<Result<String>>()?;
    let head = "| what | Verbena | best of the others | measured by |\n| --- | --- | --- | --- |\n";
    Ok(format!("{before}{BEGIN}{head}{lines}{END}{after}"))
}

fn line(summary: &Summary, &(point, ranks, is_beside_busy): &(&str, usize, bool)) -> Result<String> {
    let is_it = |row: &&Row| row.point == point && row.ranks == ranks && (row.busy > 0) == is_beside_busy;
    let row = summary.rows.iter().find(is_it);
    let row =
        row.with_context(|| format!("the result has no {point}: measure by cargo xtask peers --page"))?;
    let Conditions { ranks, busy } = row.conditions();
    let ours = row.median(OURS);
    let value = |value: Option<f64>| value.map_or("failed".into(), |v| format!("{} {}", number(v), row.unit));
    let best = row.best_peer().map_or("failed".into(), |(name, v)| format!("{} ({name})", value(Some(v))));
    let (beside, option) = match busy {
        0 => (String::new(), String::new()),
        busy => (format!(" beside {busy} busy processes"), format!(" --busy {busy}")),
    };
    let what = format!("{}, {ranks} ranks{beside}", title(point));
    let command = format!("verbena bench -n {ranks} --points {point}{option}");
    Ok(format!("| {what} | {} | {best} | `{command}` |\n", value(ours)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::benchmarks::charts::tests::result;

    #[test]
    fn the_figures_are_written_anew_and_the_rest_stays() {
        let readme = format!("before\n{BEGIN}old\n{END}\nafter\n");
        let new = replaced(&readme, &result()).expect("a page");
        assert!(
            new.starts_with("before\n") && new.ends_with("-->\nafter\n") && !new.contains("old"),
            "{new}"
        );
        let last = "| barrier, 4 ranks beside 2 busy processes | 1.00 us | 10.0 us (mpich) | `verbena bench -n 4 --points barrier --busy 2` |";
        assert!(new.contains(last), "{new}");
        assert_eq!(replaced(&new, &result()).expect("a page"), new);
    }

    #[test]
    fn a_page_without_a_place_is_refused() {
        assert!(replaced("nothing", &result()).is_err());
        assert!(replaced(&format!("{BEGIN}no end"), &result()).is_err());
    }
}
