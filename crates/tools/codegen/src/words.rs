//! The words of the table on functions and arguments: `api/sentences.toml` and
//! `api/arguments.toml`.

use super::function::{Form, Function};
use super::table::{Family, pairs, read};
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;
use std::path::Path;

/// A sentence on a function.
pub(crate) struct Sentence<'a> {
    /// The section of MPI-5.0.
    pub section: &'a str,
    /// The sentence, which begins with a verb.
    pub text: String,
}

impl Sentence<'_> {
    /// Returns whether the function is no part of the standard: its section is 0.
    pub(crate) fn is_of_extension(&self) -> bool {
        self.section == "0"
    }
}

/// The words of the table.
pub(crate) struct Words {
    /// The sentence on each function, by its name without a form, with the section before it.
    sentences: BTreeMap<String, String>,
    /// The meaning of each argument, by its name.
    arguments: BTreeMap<String, String>,
}

impl Words {
    /// Reads the words, and compares them with the functions.
    ///
    /// # Errors
    /// A function or argument lacks words, or words are of none.
    pub(crate) fn load(folder: &Path, families: &[Family]) -> Result<Words> {
        let toml = read(&folder.join("sentences.toml"))?;
        let mut sentences = BTreeMap::new();
        for family in families {
            sentences.extend(pairs::<Vec<_>>(&toml, &family.name)?);
        }
        let arguments = pairs::<BTreeMap<_, _>>(&read(&folder.join("arguments.toml"))?, "arguments")?;
        let words = Words { sentences, arguments };
        words.compare(families)?;
        Ok(words)
    }

    fn compare(&self, families: &[Family]) -> Result<()> {
        let mut of_none: Vec<&String> = self.sentences.keys().collect();
        let mut unused: Vec<&String> = self.arguments.keys().collect();
        for function in families.iter().flat_map(|family| &family.functions) {
            let sentence = self.sentence(function).with_context(|| function.name.clone())?;
            ensure!(
                sentence.text.ends_with('.') && sentence.text.starts_with(char::is_uppercase),
                "the sentence on MPI_{} is none: {}",
                function.name,
                sentence.text
            );
            of_none.retain(|name| *name != stem(function));
            for parameter in &function.parameters {
                self.argument(&parameter.name)?;
                unused.retain(|name| **name != parameter.name);
            }
        }
        ensure!(of_none.is_empty(), "there are no such functions: {of_none:?}");
        ensure!(unused.is_empty(), "no function has such arguments: {unused:?}");
        Ok(())
    }

    /// The sentence on a function, in its form.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn sentence(&self, function: &Function) -> Result<Sentence<'_>> {
        let line = self.sentences.get(stem(function)).context("api/sentences.toml has no sentence on it")?;
        let (section, text) = line.split_once(' ').context("no section before the sentence")?;
        ensure!(section.starts_with(|c: char| c.is_ascii_digit()), "no section before the sentence");
        let text = match &function.collective {
            None | Some((Form::Blocking, _)) => text.to_owned(),
            Some((Form::Nonblocking, name)) => format!("Starts MPI_{name}, with a request: {}", lower(text)),
            Some((Form::Persistent, name)) => {
                format!("Makes a persistent request for MPI_{name}: {}", lower(text))
            }
        };
        Ok(Sentence { section, text })
    }

    /// The meaning of the argument of this name.
    ///
    /// # Errors
    /// No words are known.
    pub(crate) fn argument(&self, name: &str) -> Result<&str> {
        let words = self.arguments.get(name).map(String::as_str);
        words.with_context(|| format!("api/arguments.toml does not say what `{name}` is"))
    }
}

/// The name under which the words on a function stand.
pub(crate) fn stem(function: &Function) -> &str {
    function.collective.as_ref().map_or(&function.name, |(_, name)| name)
}

/// A sentence that goes on behind others: its first letter is small.
pub(crate) fn lower(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::super::table::Table;
    use super::*;
    use crate::root;

    #[test]
    fn a_form_of_a_collective_has_a_sentence_of_its_own() {
        let table = Table::load(&root().join("api")).unwrap();
        let words = Words::load(&root().join("api"), &table.families).unwrap();
        let all = || table.families.iter().flat_map(|family| &family.functions);
        let sentence = |name: &str| {
            let function = all().find(|function| function.name == name).expect(name);
            let sentence = words.sentence(function).unwrap();
            format!("{} {}", sentence.section, sentence.text)
        };
        assert_eq!(sentence("Barrier"), "6.3 Waits until all ranks have called it.");
        assert_eq!(
            sentence("Ibarrier"),
            "6.3 Starts MPI_Barrier, with a request: waits until all ranks have called it."
        );
        assert_eq!(words.argument("comm").unwrap(), "communicator");
        assert!(words.argument("nonsense").is_err());
    }
}
