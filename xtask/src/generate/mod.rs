//! `cargo xtask generate`: writes what `verbena_codegen` makes for the tree, the licences of the
//! linked crates ([`licences`]), and pages of the book ([`book`]). `--check` and a test compare
//! them with the files.

mod book;
mod licences;

use crate::crates::Graph;
use anyhow::{Result, bail};
use std::path::Path;
use verbena_codegen::{Output, root};

/// Writes the generated files, or with `check` only says which ones differ.
pub(crate) fn run(check: bool) -> Result<()> {
    let root = root();
    let stale = stale(&root)?;
    if check && !stale.is_empty() {
        let names: Vec<String> = stale.iter().map(|o| o.path.display().to_string()).collect();
        bail!("these generated files are out of date:\n  {}\nrun `cargo xtask generate`", names.join("\n  "));
    }
    for output in stale {
        output.write(&root)?;
        println!("wrote {}", output.path.display());
    }
    Ok(())
}

/// The generated files that differ from those in the tree.
fn stale(root: &Path) -> Result<Vec<Output>> {
    let mut outputs = verbena_codegen::in_tree(root)?;
    outputs.extend(book::pages(root)?);
    outputs.push(Output::new("packaging/THIRD-PARTY.txt", licences::write(&Graph::of(root)?)?));
    let differs = |o: &Output| std::fs::read_to_string(root.join(&o.path)).ok().as_ref() != Some(&o.text);
    Ok(outputs.into_iter().filter(differs).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_files_are_up_to_date() {
        let stale = stale(&root()).unwrap();
        let names: Vec<_> = stale.iter().map(|o| &o.path).collect();
        assert!(names.is_empty(), "run `cargo xtask generate`: {names:?} differ");
    }
}
