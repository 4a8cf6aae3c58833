//! Reading the settings: from the environment, and from the file that `VERBENA_SETTINGS` names.
//!
//! The environment goes before the file. An empty variable counts as not set.

use crate::others::OTHERS;
use crate::setting::{Origin, Scope, Setting};
use crate::table;
use std::collections::BTreeMap;
use std::sync::OnceLock;
use verbena_fault::Fault;

const PREFIX: &str = "VERBENA_";

/// The result of reading the settings.
#[derive(Debug, Default)]
pub struct Loaded {
    /// Values that cannot be: the program must not start with them.
    pub wrong: Vec<Fault>,
    /// Names that no setting has; worth a warning.
    pub unknown: Vec<Fault>,
}

/// Reads the settings of this process, at the first call; later ones give the same answer.
pub fn load() -> &'static Loaded {
    static LOADED: OnceLock<Loaded> = OnceLock::new();
    LOADED.get_or_init(|| {
        // A name or value that is no text is no setting's.
        let variables =
            std::env::vars_os().filter_map(|(n, v)| Some((n.into_string().ok()?, v.into_string().ok()?)));
        load_from(variables, |path| std::fs::read_to_string(path))
    })
}

/// Reads the settings from these variables, and from the file that they name, by `read`.
pub fn load_from(
    variables: impl Iterator<Item = (String, String)>,
    read: impl FnOnce(&str) -> std::io::Result<String>,
) -> Loaded {
    let variables: BTreeMap<String, String> =
        variables.filter(|(name, value)| name.starts_with(PREFIX) && !value.trim().is_empty()).collect();
    let mut loaded = Loaded::default();
    if let Some(path) = variables.get(table::SETTINGS.about.name) {
        loaded.file(path, read(path));
    }
    for (name, value) in variables.iter().filter(|(name, _)| !OTHERS.contains(&name.as_str())) {
        loaded.one(name, value, Origin::Environment, "the environment");
    }
    loaded
}

impl Loaded {
    fn one(&mut self, name: &str, value: &str, origin: Origin, place: &str) {
        match table::all().find(|setting| setting.about.name == name) {
            Some(setting) if origin == Origin::File && !setting.is_of_library() => {
                self.unknown.push(not_of_the_file(name, place));
            }
            Some(setting) => self.wrong.extend(setting.set_text(value, origin).err()),
            None => self.unknown.push(unknown(name, place)),
        }
    }

    fn file(&mut self, path: &str, text: std::io::Result<String>) {
        let table = text
            .map_err(|error| no_file(path, &error.to_string()))
            .and_then(|text| text.parse::<toml::Table>().map_err(|error| no_toml(path, error.message())));
        match table {
            Err(fault) => self.wrong.push(fault),
            Ok(table) => {
                for (key, value) in &table {
                    let name = format!("{PREFIX}{}", key.to_ascii_uppercase());
                    self.one(&name, &plain(value), Origin::File, path);
                }
            }
        }
    }
}

/// A value of the file as it would stand in the environment.
fn plain(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => text.clone(),
        toml::Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

/// Returns the settings of [`Scope::Job`] that differ from their defaults, in words: start-up
/// compares them between the ranks.
fn job_words() -> String {
    let changed =
        |setting: &&Setting| setting.about.scope == Scope::Job && setting.word() != setting.default_word();
    let words: Vec<String> =
        table::all().filter(changed).map(|s| format!("{}={}", s.about.name, s.word())).collect();
    words.join(" ")
}

/// Returns the settings that other ranks must know, as bytes for the card.
pub fn card() -> Vec<u8> {
    job_words().into_bytes()
}

/// Returns why this process cannot work with `rank`, whose [`card`] this is; `None` if it can.
pub fn unlike(rank: usize, card: &[u8]) -> Option<Fault> {
    let (own, other) = (job_words(), String::from_utf8_lossy(card).into_owned());
    let shown = |words: &str| if words.is_empty() { "all by default".to_string() } else { words.to_string() };
    (own != other).then(|| {
        Fault::new(
            "Settings that all ranks must have alike differ.",
            format!("here {}; at rank {rank} {}", shown(&own), shown(&other)),
            "the environment or the file of settings is not the same for all ranks",
            "set them for the whole job (mpiexec -genv NAME VALUE)",
        )
    })
}

fn unknown(name: &str, place: &str) -> Fault {
    let distance = |known| strsim::damerau_levenshtein(name, known);
    let likely = ((name.len() - PREFIX.len()) / 3).max(2);
    let nearest = table::all()
        .map(|setting| (distance(setting.about.name), setting.about.name))
        .min()
        .filter(|(distance, _)| *distance <= likely);
    let remedy = match nearest {
        Some((_, known)) => format!("did you mean {known}? `verbena info --settings` lists all"),
        None => "`verbena info --settings` lists all settings".to_string(),
    };
    Fault::new(
        format!("Verbena: warning: there is no setting {name}."),
        place,
        "the name is misspelt, or belongs to another version of Verbena",
        remedy,
    )
}

fn not_of_the_file(name: &str, place: &str) -> Fault {
    Fault::new(
        format!("Verbena: warning: {name} has no effect in a file of settings."),
        place,
        "the compiler wrappers read their settings from the environment alone",
        format!("set the variable {name} where mpicc and the like are called"),
    )
}

fn no_file(path: &str, error: &str) -> Fault {
    Fault::new(
        format!("The file of settings cannot be read: {error}"),
        format!("{path}, which {} names", table::SETTINGS.about.name),
        "the path is wrong, or the file is not there on this machine",
        "give the path as all ranks see it, or unset the variable",
    )
}

fn no_toml(path: &str, error: &str) -> Fault {
    Fault::new(
        format!("The file of settings is no TOML: {error}"),
        path,
        "a line is not of the form name = value",
        "correct it, as in coll_bcast_whole_bytes_max = 65536",
    )
}
