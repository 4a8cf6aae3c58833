//! Names of types, files and folders use the glossary's terms: the words that its table forbids
//! occur in none.

use super::Finding;
use super::rules::Rules;
use super::tree::File;
use std::path::Path;

/// The heading of the glossary's table of forbidden words, and the first cell of that table's head.
const HEAD: &str = "not this word";

/// Compares the names of all files, and of the types that they declare, with the glossary.
pub(super) fn check(files: &[File], rules: &Rules) -> Vec<Finding> {
    let path = &rules.pages.glossary;
    let Some(glossary) = files.iter().find(|file| file.path == *path) else {
        let what = format!("there is no glossary {path}");
        let missing = Finding { rule: "glossary", path: "xtask/tidy.toml".into(), line: 0, what };
        return Some(missing).filter(|_| !path.is_empty()).into_iter().collect();
    };
    let forbidden = forbidden(&glossary.text);
    if forbidden.is_empty() {
        let what = format!("there is no table with the head `{HEAD}`");
        return vec![Finding { rule: "glossary", path: path.clone(), line: 0, what }];
    }
    let ours = files.iter().filter(|file| file.ending() == "rs" && !rules.is_generated(&file.path));
    ours.flat_map(|file| of_file(file, &forbidden)).collect()
}

/// A word that names must not use, and the term to use in its place.
type Synonym = (String, String);

/// The rows of the table: the words between backquotes in the first cell, the term in the second.
fn forbidden(glossary: &str) -> Vec<Synonym> {
    let rows = glossary.lines().skip_while(|line| !line.starts_with(&format!("| {HEAD} "))).skip(2);
    let rows = rows.take_while(|line| line.starts_with('|'));
    let cells = rows.filter_map(|row| {
        let mut cells = row.trim_matches('|').split('|').map(str::trim);
        Some((cells.next()?, cells.next()?))
    });
    let synonyms = cells.flat_map(|(words, term)| {
        words.split('`').skip(1).step_by(2).map(move |word| (word.to_lowercase(), term.to_string()))
    });
    synonyms.collect()
}

fn of_file(file: &File, forbidden: &[Synonym]) -> Vec<Finding> {
    let place = Path::new(&file.path).with_extension("");
    let parts: Vec<&str> = place.iter().filter_map(|part| part.to_str()).collect();
    let types = (1..).zip(file.text.lines()).filter_map(|(number, line)| Some((number, declared(line)?)));
    let names = parts.into_iter().map(|part| (0, part)).chain(types);
    let found = names.flat_map(|(line, name)| {
        let words = words(name);
        let hits = forbidden.iter().filter(move |(word, _)| words.contains(word));
        hits.map(move |(word, term)| Finding {
            rule: "synonym",
            path: file.path.clone(),
            line,
            what: format!("{name}: the glossary has no \"{word}\"; it says {term}"),
        })
    });
    found.collect()
}

/// The type that a line declares.
fn declared(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let scope = line.strip_prefix("pub(").and_then(|rest| rest.split_once(')'));
    let mut words = scope.map_or(line, |(_, rest)| rest).split_whitespace();
    let keyword = words.find(|word| !matches!(*word, "pub" | "unsafe"))?;
    let name = words.next().filter(|_| matches!(keyword, "struct" | "enum" | "trait" | "type" | "union"))?;
    let end = name.find(|next: char| !next.is_alphanumeric() && next != '_').unwrap_or(name.len());
    Some(&name[..end])
}

/// The words of a name in lower case: `RingHeader` and `ring_header` are `ring` and `header`.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for letter in name.chars() {
        if letter.is_uppercase() || letter == '_' || letter == '-' {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| letter.is_alphanumeric()) {
            word.extend(letter.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    const GLOSSARY: &str = "# Glossary\n\n| not this word | but |\n| --- | --- |\n| `msg`, `Mail` | message |\n\n| `ring` | x |\n";

    fn found(path: &str, text: &str) -> Vec<(usize, String)> {
        let rules = Rules::parse("pages = { glossary = \"g.md\" }");
        let files = [("g.md", GLOSSARY), (path, text)];
        let files = files.map(|(path, text)| File { path: path.into(), text: text.into() });
        check(&files, &rules).into_iter().map(|finding| (finding.line, finding.what)).collect()
    }

    #[test]
    fn forbidden_words_are_found_in_types_and_files() {
        let text = "//! Of a msg.\npub(crate) struct MsgQueue<T>(T);\nenum Ring {}\ntype Inbox = MailBox;\n";
        let what = "MsgQueue: the glossary has no \"msg\"; it says message";
        assert_eq!(found("a/ring.rs", text), [(2, what.to_string())]);
        assert_eq!(found("a/mail_box.rs", "")[0].0, 0);
        assert_eq!(found("a/mail/mod.rs", "")[0].0, 0);
        assert_eq!(found("a/b.rs", "pub(in crate::a) struct MsgQueue;\n").len(), 1);
        assert_eq!(found("a/mail_box.md", ""), []);
        assert_eq!(found("a/mailbox.rs", "unsafe trait Message {}\n"), []);
    }

    #[test]
    fn a_glossary_without_the_table_is_a_finding() {
        let rules = Rules::parse("pages = { glossary = \"g.md\" }");
        let empty = File { path: "g.md".into(), text: "# Glossary\n".into() };
        assert_eq!(check(&[empty], &rules)[0].rule, "glossary");
        assert_eq!(check(&[], &rules)[0].rule, "glossary");
        assert_eq!(check(&[], &Rules::parse("")), []);
    }
}
