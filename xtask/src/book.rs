//! `cargo xtask book`: checks that every page of the book is linked and every link leads to one;
//! with `--render` writes it as HTML by mdBook, which is installed under `target/tools` at the
//! first time.

use anyhow::{Context, Result, bail, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;
use verbena_tests::book::links;

/// The version of mdBook that the book was looked at with.
const MDBOOK: &str = "0.5.4";

/// The options of `cargo xtask book`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Write the book as HTML to target/book (crates.io is asked for mdbook at the first time)
    #[arg(long)]
    render: bool,
}

/// Runs the task.
///
/// # Errors
/// A page or a link is wrong, or mdBook cannot be installed or run.
pub(crate) fn run(args: &Args) -> Result<()> {
    let top = verbena_tests::top();
    let folder = top.join(links::FOLDER);
    let faults = links::faults(&folder).context("reading the book")?;
    if !faults.is_empty() {
        bail!("{} faults in the book:\n{}", faults.len(), faults.join("\n"));
    }
    println!("{} pages, and every link leads somewhere", links::pages(&folder)?.len());
    if args.render { render(&top) } else { Ok(()) }
}

fn render(top: &Path) -> Result<()> {
    let mdbook = installed(top)?;
    done(Command::new(mdbook).arg("build").arg(top.join(links::FOLDER)))?;
    println!("written to {}", top.join("target/book/index.html").display());
    Ok(())
}

/// The program, which is built if it is not there.
fn installed(top: &Path) -> Result<PathBuf> {
    let folder = top.join("target/tools");
    let program = folder.join("bin/mdbook");
    if !program.exists() {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args(["install", "--locked", "mdbook", "--version", MDBOOK, "--root"]).arg(&folder);
        done(&mut cargo)?;
    }
    Ok(program)
}

fn done(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot run {command:?}"))?;
    ensure!(status.success(), "{command:?} failed");
    Ok(())
}
