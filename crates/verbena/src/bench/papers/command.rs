//! The command line of `verbena bench papers`.

use super::page::Page;
use super::results::Results;
use super::{html, markdown};
use anyhow::{Context, Result};
use clap::Args;
use std::path::{Path, PathBuf};

/// The options of `verbena bench papers`.
#[derive(Args, Debug)]
pub struct PapersArgs {
    /// Result files measured elsewhere, as --json of `verbena bench` and its comparisons writes them
    #[arg(long, value_name = "FILE", num_args = 1..)]
    add: Vec<PathBuf>,
    /// The folder of the report: report.html, report.md, pictures, and the result files
    #[arg(long, value_name = "DIR", default_value = "papers")]
    out: PathBuf,
}

/// Runs `verbena bench papers`.
///
/// # Errors
/// Something needed is missing, or a file cannot be read or written. What cannot be measured is a row with its reason.
pub fn run(args: &PapersArgs) -> Result<()> {
    let mut results = Results::default();
    args.add.iter().try_for_each(|path| results.add_file(path))?;
    let page = Page::new(&results)?;
    write(&page, &args.out)?;
    println!("{}", args.out.join("report.html").display());
    Ok(())
}

/// The folder of the pictures beside the Markdown.
const PICTURES: &str = "pictures";

fn write(page: &Page, out: &Path) -> Result<()> {
    let folder = out.join(PICTURES);
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let (text, pictures) = markdown::render(page, PICTURES);
    file(&out.join("report.html"), &html::render(page))?;
    file(&out.join("report.md"), &text)?;
    pictures.iter().try_for_each(|(name, svg)| file(&folder.join(name), svg))
}

fn file(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
