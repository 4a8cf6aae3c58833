//! The rules' data, from `xtask/tidy.toml`.

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// The rule about the number of lines that knows no exception.
pub(super) const FILE_LINES_HARD: &str = "file-lines-hard";

/// The whole of the data.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rules {
    /// Numbers of lines.
    #[serde(default)]
    pub limits: Limits,
    /// The files for which each rule holds.
    #[serde(default)]
    pub sources: Sources,
    /// The packages that each package of the workspace may depend on.
    #[serde(default)]
    pub layers: BTreeMap<String, Vec<String>>,
    /// The pages that describe what the tree is compared with.
    #[serde(default)]
    pub pages: Pages,
    /// The crates of others that may be used.
    #[serde(default)]
    pub supply: Supply,
    /// Words that some code may not use.
    #[serde(default)]
    pub forbid: Vec<Forbid>,
    /// The breaches that are excused.
    #[serde(default, rename = "exception")]
    pub exceptions: Vec<Exception>,
}

/// Numbers of lines.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Limits {
    /// The lines above which a file needs an exception.
    pub file_lines: usize,
    /// The lines above which no exception helps.
    pub file_lines_hard: usize,
    /// A function's lines, from `fn` to the closing brace.
    pub function_lines: usize,
    /// The longest line of a comment, in characters; 0 switches the rule off.
    #[serde(default)]
    pub comment_columns: usize,
    /// The longest line of a page of Markdown, in characters; 0 switches the rule off.
    #[serde(default)]
    pub page_columns: usize,
}

/// The files for which each rule holds.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sources {
    /// Endings that the limits on lines hold for.
    pub code: Vec<String>,
    /// Endings of files that may hold no tab.
    pub no_tabs: Vec<String>,
    /// Beginnings of the paths of files that are input of a program, byte by byte.
    #[serde(default)]
    pub data: Vec<String>,
    /// Beginnings of the paths of generated files.
    pub generated: Vec<String>,
    /// Macros that stand for missing code.
    pub unwritten: Vec<String>,
    /// Words with which no doc comment begins: the sentence would have no subject.
    #[serde(default)]
    pub first_words: Vec<String>,
}

/// Pages whose tables are compared with the tree. An empty path switches a comparison off.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Pages {
    /// The page with the table of the layers.
    #[serde(default)]
    pub layers: String,
    /// The page with the words that names must not use.
    #[serde(default)]
    pub glossary: String,
}

/// The crates of others that may be used.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Supply {
    /// The licences that are allowed, by SPDX name.
    pub licences: Vec<String>,
    /// Crates that may not come in, not even through others.
    pub banned: Vec<String>,
}

/// Words that some code may not use: names of crates, modules, types and keywords.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Forbid {
    /// The words.
    pub words: Vec<String>,
    /// Beginnings of the paths of files that may not use them.
    pub under: Vec<String>,
    /// Beginnings of the paths of files among these that may all the same.
    #[serde(default)]
    pub except: Vec<String>,
    /// The reason.
    pub why: String,
}

impl Forbid {
    /// Returns whether it holds for the file.
    pub(super) fn holds_for(&self, path: &str) -> bool {
        let begins = |with: &[String]| with.iter().any(|beginning| path.starts_with(beginning.as_str()));
        begins(&self.under) && !begins(&self.except)
    }
}

/// A breach that is excused.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Exception {
    /// The rule's name.
    pub rule: String,
    /// The file.
    pub path: String,
    /// The reason why it is excused.
    pub reason: String,
}

impl Rules {
    /// Reads the file.
    ///
    /// # Errors
    /// It is missing, is not of this form, or has an exception without a reason.
    pub(super) fn read(path: &Path) -> Result<Rules> {
        let text =
            std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let rules: Rules =
            toml::from_str(&text).with_context(|| format!("cannot understand {}", path.display()))?;
        if let Some(bare) = rules.exceptions.iter().find(|exception| exception.reason.trim().is_empty()) {
            bail!("the exception of {} from {} has no reason", bare.path, bare.rule);
        }
        Ok(rules)
    }

    /// Returns whether a generator made the file.
    pub(super) fn is_generated(&self, path: &str) -> bool {
        self.sources.generated.iter().any(|beginning| path.starts_with(beginning.as_str()))
    }

    /// Returns whether the file is input of a program.
    pub(super) fn is_data(&self, path: &str) -> bool {
        self.sources.data.iter().any(|beginning| path.starts_with(beginning.as_str()))
    }

    /// Rules for a test, from TOML.
    #[cfg(test)]
    pub(super) fn parse(text: &str) -> Rules {
        toml::from_str(text).expect("rules")
    }
}
