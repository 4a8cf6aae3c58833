//! The types of settings: thin names over [`Setting`] that give the value its type.

use crate::setting::{AUTOMATIC, About, Kind, Setting};
use std::ops::{Deref, RangeInclusive};

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name(Setting);

        impl Deref for $name {
            type Target = Setting;

            fn deref(&self) -> &Setting {
                &self.0
            }
        }
    )*};
}

kinds! {
    /// A whole number that is not negative.
    Number;
    /// A number that the library finds by itself unless it is set.
    Automatic;
    /// Yes or no.
    Flag;
    /// One of several names.
    Choice;
    /// Some of several names.
    Names;
    /// A text.
    Text;
}

impl Number {
    pub(crate) const fn new(about: About, default: i64, range: RangeInclusive<i64>) -> Number {
        assert!(*range.start() >= 0 && default >= *range.start() && default <= *range.end());
        Number(Setting::new(about, Kind::Number { range, automatic: None }, default))
    }

    /// The value.
    #[inline]
    pub fn get(&self) -> usize {
        self.0.word() as usize
    }

    /// The default.
    pub fn default(&self) -> usize {
        self.0.default_word() as usize
    }
}

impl Automatic {
    pub(crate) const fn new(about: About, how: &'static str, range: RangeInclusive<i64>) -> Automatic {
        assert!(*range.start() >= 0);
        Automatic(Setting::new(about, Kind::Number { range, automatic: Some(how) }, AUTOMATIC))
    }

    /// The value; `None` if the library is to find it.
    #[inline]
    pub fn get(&self) -> Option<usize> {
        usize::try_from(self.0.word()).ok()
    }
}

impl Flag {
    pub(crate) const fn new(about: About, default: bool) -> Flag {
        Flag(Setting::new(about, Kind::Flag, default as i64))
    }

    /// The value.
    #[inline]
    pub fn get(&self) -> bool {
        self.0.word() != 0
    }

    /// The default.
    pub fn default(&self) -> bool {
        self.0.default_word() != 0
    }
}

impl Choice {
    pub(crate) const fn new(about: About, among: &'static [&'static str], default: usize) -> Choice {
        assert!(default < among.len());
        Choice(Setting::new(about, Kind::Choice(among), default as i64))
    }

    /// The place of the chosen name in the list.
    #[inline]
    pub fn get(&self) -> usize {
        self.0.word() as usize
    }
}

impl Names {
    pub(crate) const fn new(about: About, none: &'static str, among: &'static [&'static str]) -> Names {
        Names(Setting::new(about, Kind::Names(among, none), 0))
    }

    /// The names, separated by commas; `None` if it is not set.
    pub fn get(&self) -> Option<String> {
        Some(self.0.string()).filter(|text| !text.is_empty())
    }
}

impl Text {
    pub(crate) const fn new(about: About, none: &'static str) -> Text {
        Text(Setting::new(about, Kind::Text(none), 0))
    }

    /// The text; `None` if it is not set.
    pub fn get(&self) -> Option<String> {
        Some(self.0.string()).filter(|text| !text.is_empty())
    }
}
