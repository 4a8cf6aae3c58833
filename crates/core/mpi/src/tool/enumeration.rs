//! Enumerations: the names of values (MPI-5.0, 15.3.5).

use std::sync::LazyLock;
use verbena_settings::{Kind, Setting};

/// The names of the values 0, 1, 2 ...
#[derive(Debug)]
pub struct Enumeration {
    /// The name of the enumeration.
    pub name: String,
    /// The name of each value.
    pub items: &'static [&'static str],
}

/// All enumerations: that of flags, then one for each setting that is a choice.
pub static ALL: LazyLock<Vec<Enumeration>> = LazyLock::new(|| {
    let flag = Enumeration { name: "flag".into(), items: &["off", "on"] };
    std::iter::once(flag).chain(verbena_settings::all().filter_map(of_choice)).collect()
});

fn of_choice(setting: &'static Setting) -> Option<Enumeration> {
    match setting.kind {
        Kind::Choice(items) => Some(Enumeration { name: setting.about.name.into(), items }),
        _ => None,
    }
}

/// The place in [`ALL`] of a setting's enumeration, if it has one.
pub fn of(setting: &Setting) -> Option<usize> {
    match setting.kind {
        Kind::Flag => Some(0),
        Kind::Choice(_) => ALL.iter().position(|enumeration| enumeration.name == setting.about.name),
        _ => None,
    }
}
