//! The common part of all settings: description, value, check.

use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, Ordering};
use std::sync::{Mutex, MutexGuard};
use verbena_fault::Fault;

/// The value of a number that the library finds by itself.
pub const AUTOMATIC: i64 = -1;

/// The part of Verbena that a setting belongs to. Also a category of MPI's tool interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Category {
    /// Starting the process and meeting the others.
    Startup,
    /// The channels.
    Channel,
    /// The movement of messages.
    Engine,
    /// Waiting.
    Wait,
    /// The algorithms of collectives.
    Collective,
    /// Access to files.
    File,
    /// The launcher `mpiexec`. The library does not read these.
    Launcher,
    /// The compiler wrappers. The library does not read these.
    Compiler,
}

impl Category {
    /// Returns the name.
    pub const fn name(self) -> &'static str {
        match self {
            Category::Startup => "startup",
            Category::Channel => "channel",
            Category::Engine => "engine",
            Category::Wait => "wait",
            Category::Collective => "collective",
            Category::File => "file",
            Category::Launcher => "launcher",
            Category::Compiler => "compiler",
        }
    }
}

/// The unit of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Unit {
    None,
    Bytes,
    Ranks,
    /// Idle rounds of a wait.
    Rounds,
    /// Exchanges with other ranks that are under way at once.
    Exchanges,
    /// Slots of a ring.
    Slots,
    Packets,
    Seconds,
    Nanoseconds,
    Picoseconds,
}

impl Unit {
    /// Returns the name; empty for none.
    pub const fn name(self) -> &'static str {
        match self {
            Unit::None => "",
            Unit::Bytes => "bytes",
            Unit::Ranks => "ranks",
            Unit::Rounds => "rounds",
            Unit::Exchanges => "exchanges",
            Unit::Slots => "slots",
            Unit::Packets => "packets",
            Unit::Seconds => "seconds",
            Unit::Nanoseconds => "nanoseconds",
            Unit::Picoseconds => "picoseconds",
        }
    }
}

/// The processes whose values belong together (MPI-5.0, 15.3.6, the scope of a control variable).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Each process may have its own value.
    Process,
    /// The value of the lowest rank of a node counts for all of the node.
    Node,
    /// All processes of the job must have the same value, or collectives hang.
    Job,
}

impl Scope {
    /// Returns the name.
    pub const fn name(self) -> &'static str {
        match self {
            Scope::Process => "process",
            Scope::Node => "node",
            Scope::Job => "job",
        }
    }
}

/// The time until which a setting may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Until MPI is initialised.
    Start,
    /// At any time; takes effect for operations that begin later.
    Anytime,
}

/// The source of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Origin {
    /// The default: nobody set it.
    Default = 0,
    /// The file that `VERBENA_SETTINGS` names.
    File = 1,
    /// The environment.
    Environment = 2,
    /// `MPI_T_cvar_write`.
    Tool = 3,
}

impl Origin {
    /// Returns the name.
    pub const fn name(self) -> &'static str {
        match self {
            Origin::Default => "default",
            Origin::File => "file",
            Origin::Environment => "environment",
            Origin::Tool => "tool",
        }
    }
}

/// The description of a setting.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// The environment variable and control variable, `VERBENA_...`.
    pub name: &'static str,
    /// The help text.
    pub help: &'static str,
    /// The section of the standard or the paper, or where the default was measured.
    pub source: &'static str,
    /// The part that it belongs to.
    pub category: Category,
    /// The unit of its number.
    pub unit: Unit,
    /// The processes whose values belong together.
    pub scope: Scope,
    /// The time until which it may change.
    pub when: When,
}

/// The values that a setting may have.
#[derive(Clone, Debug)]
pub enum Kind {
    /// A whole number; [`AUTOMATIC`] is also allowed if `automatic` says what then counts.
    Number {
        /// The allowed numbers.
        range: RangeInclusive<i64>,
        /// The library's own way to find the number, if there is one.
        automatic: Option<&'static str>,
    },
    /// 0 or 1.
    Flag,
    /// A choice among these names; its number is the place in the list.
    Choice(&'static [&'static str]),
    /// Some of these, separated by commas; the text says what counts if none is named.
    Names(&'static [&'static str], &'static str),
    /// Any text; what counts if there is none.
    Text(&'static str),
}

/// A setting and its value.
#[derive(Debug)]
pub struct Setting {
    /// The description.
    pub about: About,
    /// The values that it may have.
    pub kind: Kind,
    default: i64,
    word: AtomicI64,
    text: Mutex<String>,
    origin: AtomicU8,
}

/// True once settings of [`When::Start`] are fixed.
static FROZEN: AtomicBool = AtomicBool::new(false);

/// Fixes the settings of [`When::Start`]: MPI is being initialised.
pub fn freeze() {
    FROZEN.store(true, Ordering::Release);
}

/// Returns whether [`freeze`] was called.
pub fn is_frozen() -> bool {
    FROZEN.load(Ordering::Acquire)
}

impl Setting {
    pub(crate) const fn new(about: About, kind: Kind, default: i64) -> Setting {
        Setting {
            about,
            kind,
            default,
            word: AtomicI64::new(default),
            text: Mutex::new(String::new()),
            origin: AtomicU8::new(Origin::Default as u8),
        }
    }

    /// The number behind the value: of a choice its place, of a flag 0 or 1; no meaning for a text.
    #[inline]
    pub fn word(&self) -> i64 {
        self.word.load(Ordering::Relaxed)
    }

    /// Like [`Setting::word`], of the default.
    pub fn default_word(&self) -> i64 {
        self.default
    }

    /// The value of a text or list of names; empty if it is not set.
    pub fn string(&self) -> String {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, String> {
        self.text.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Returns where the value comes from.
    pub fn origin(&self) -> Origin {
        match self.origin.load(Ordering::Relaxed) {
            0 => Origin::Default,
            1 => Origin::File,
            2 => Origin::Environment,
            _ => Origin::Tool,
        }
    }

    /// Returns whether it may change now.
    pub fn may_change(&self) -> bool {
        self.about.when == When::Anytime || !is_frozen()
    }

    /// Returns whether the library reads it: all but those of the compiler wrappers.
    pub fn is_of_library(&self) -> bool {
        self.about.category != Category::Compiler
    }

    /// The key in the file of settings: the name in lower case without `VERBENA_`.
    pub fn key(&self) -> String {
        self.about.name.trim_start_matches("VERBENA_").to_ascii_lowercase()
    }

    /// The value in words.
    pub fn value_text(&self) -> String {
        match &self.kind {
            Kind::Names(_, none) | Kind::Text(none) => {
                let text = self.string();
                if text.is_empty() { (*none).into() } else { text }
            }
            _ => self.word_text(self.word()),
        }
    }

    /// The default in words.
    pub fn default_text(&self) -> String {
        match &self.kind {
            Kind::Names(_, none) | Kind::Text(none) => (*none).into(),
            _ => self.word_text(self.default),
        }
    }

    fn word_text(&self, word: i64) -> String {
        match &self.kind {
            Kind::Choice(among) => among[word as usize].into(),
            Kind::Number { automatic: Some(how), .. } if word == AUTOMATIC => format!("automatic: {how}"),
            _ => word.to_string(),
        }
    }

    /// Returns the allowed values, in words.
    pub fn range_text(&self) -> String {
        match &self.kind {
            Kind::Number { range, automatic } => {
                let or = if automatic.is_some() { ", or auto" } else { "" };
                format!("a whole number from {} to {}{or}", range.start(), range.end())
            }
            Kind::Flag => "0 or 1".into(),
            Kind::Choice(among) => format!("one of {}", among.join(", ")),
            Kind::Names(among, _) => format!("some of {}, separated by commas", among.join(", ")),
            Kind::Text(_) => "any text".into(),
        }
    }

    /// Sets the value from text. Numbers may end with K, M or G (times 1024, 1024² and 1024³).
    ///
    /// # Errors
    /// The text is no value of this setting; the message gives the range.
    pub fn set_text(&self, text: &str, origin: Origin) -> Result<(), Fault> {
        let text = text.trim();
        match &self.kind {
            Kind::Text(_) => self.store_text(text, origin),
            Kind::Names(among, _) => {
                let mut names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
                match names.find(|name| !among.contains(name)) {
                    Some(_) => return Err(self.refused(text, origin)),
                    None => self.store_text(text, origin),
                }
            }
            _ => {
                let word = self.parse(text).ok_or_else(|| self.refused(text, origin))?;
                return self.set_word(word, origin);
            }
        }
        Ok(())
    }

    /// Sets the value of a number, flag or choice.
    ///
    /// # Errors
    /// The number is out of range, or this is a text.
    pub fn set_word(&self, word: i64, origin: Origin) -> Result<(), Fault> {
        let allowed = match &self.kind {
            Kind::Number { range, automatic } => {
                range.contains(&word) || automatic.is_some() && word == AUTOMATIC
            }
            Kind::Flag => word == 0 || word == 1,
            Kind::Choice(among) => usize::try_from(word).is_ok_and(|place| place < among.len()),
            Kind::Names(..) | Kind::Text(_) => false,
        };
        if !allowed {
            return Err(self.refused(&word.to_string(), origin));
        }
        self.word.store(word, Ordering::Relaxed);
        self.origin.store(origin as u8, Ordering::Relaxed);
        Ok(())
    }

    fn store_text(&self, text: &str, origin: Origin) {
        *self.lock() = text.into();
        self.origin.store(origin as u8, Ordering::Relaxed);
    }

    fn parse(&self, text: &str) -> Option<i64> {
        match &self.kind {
            Kind::Number { automatic: Some(_), .. } if text == "auto" => Some(AUTOMATIC),
            // A sign is never right, also where -1 stands for "automatic" inside.
            Kind::Number { .. } => parse_number(text),
            Kind::Flag => match text {
                "0" | "no" | "off" | "false" => Some(0),
                "1" | "yes" | "on" | "true" => Some(1),
                _ => None,
            },
            Kind::Choice(among) => among.iter().position(|name| *name == text).map(|place| place as i64),
            Kind::Names(..) | Kind::Text(_) => None,
        }
    }

    fn refused(&self, text: &str, origin: Origin) -> Fault {
        let source = match origin {
            Origin::File => "the file of settings",
            Origin::Tool => "MPI_T_cvar_write",
            _ => "the environment",
        };
        Fault::new(
            format!("{} cannot be \"{text}\"", self.about.name),
            format!("the setting {} from {source}", self.about.name),
            format!("{} is expected", self.range_text()),
            format!("correct it, or take it away: the default is {}", self.default_text()),
        )
    }
}

fn parse_number(text: &str) -> Option<i64> {
    let (digits, shift) = match text.as_bytes().last()?.to_ascii_uppercase() {
        b'K' => (&text[..text.len() - 1], 10),
        b'M' => (&text[..text.len() - 1], 20),
        b'G' => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    let plain = digits.bytes().all(|digit| digit.is_ascii_digit());
    let number: i64 = digits.parse().ok().filter(|_| plain)?;
    number.checked_mul(1 << shift)
}
