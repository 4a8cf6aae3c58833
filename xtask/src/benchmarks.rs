//! `cargo xtask benchmarks-page RESULT.json`: the page BENCHMARKS.md, its charts, and the figures
//! of the README, all from the result file of one run of `cargo xtask peers --page`.
//!
//! | module | job |
//! | --- | --- |
//! | [`charts`] | which rows a chart shows |
//! | [`figures`] | the five figures of the README |
//! | [`page`] | the text of the page |
//! | [`svg`] | panels of lines and bars as SVG |

mod charts;
mod figures;
mod page;
mod svg;

use crate::peers::summary::Summary;
use crate::peers::top;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// The options of `cargo xtask benchmarks-page`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The result file of `cargo xtask peers --page --json FILE`
    result: PathBuf,
    /// The folder that the pages are written into [default: the repository]
    #[arg(long, value_name = "DIR")]
    into: Option<PathBuf>,
}

/// Runs the task.
///
/// # Errors
/// The result file cannot be read, lacks a point that a chart shows, or a page cannot be written.
pub(crate) fn run(args: &Args) -> Result<()> {
    let text = std::fs::read_to_string(&args.result)
        .with_context(|| format!("cannot read {}", args.result.display()))?;
    let summary: Summary = serde_json::from_str(&text)
        .with_context(|| format!("{} is no result of cargo xtask peers", args.result.display()))?;
    let folder = args.into.clone().unwrap_or_else(top);
    let readme = folder.join("README.md");
    let before =
        std::fs::read_to_string(&readme).with_context(|| format!("cannot read {}", readme.display()))?;
    let mut files = vec![(readme, figures::replaced(&before, &summary)?)];
    for (name, chart) in charts::all(&summary)? {
        files.push((folder.join("docs").join(name), chart));
    }
    files.push((folder.join("BENCHMARKS.md"), page::text(&summary)));
    files.iter().try_for_each(|(path, text)| write(path, text))
}

fn write(path: &Path, text: &str) -> Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
