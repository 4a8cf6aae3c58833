//! Control variables (MPI-5.0, 15.3.6): every setting that the library reads is one, under its name
//! in the environment.
//!
//! Numbers are `MPI_COUNT` (-1: automatic, where the library can find the number by itself), flags
//! and choices `MPI_INT` with an enumeration, texts `MPI_CHAR`. None is bound to an object.

use super::{Type, refusal};
use crate::engine_settings::engine_settings;
use crate::error::Result;
use crate::generated::constants as mpi;
use crate::process::Process;
use std::sync::LazyLock;
use verbena_settings::{Category, Kind, Origin, Scope, Setting};

/// Bytes of a text's value, its closing zero included.
pub const TEXT_BYTES: usize = 1024;

/// All variables, in the order of the table of settings.
pub static ALL: LazyLock<Vec<&'static Setting>> =
    LazyLock::new(|| verbena_settings::all().filter(|setting| setting.is_of_library()).collect());

/// The type of a setting's value and its number of elements.
pub fn shape(setting: &Setting) -> (Type, usize) {
    match setting.kind {
        Kind::Number { .. } => (Type::Count, 1),
        Kind::Flag | Kind::Choice(_) => (Type::Int, 1),
        Kind::Names(..) | Kind::Text(_) => (Type::Char, TEXT_BYTES),
    }
}

/// The processes whose values belong together, as `MPI_T_SCOPE_...`.
pub fn scope(setting: &Setting) -> i32 {
    match setting.about.scope {
        Scope::Process => mpi::MPI_T_SCOPE_LOCAL,
        Scope::Node => mpi::MPI_T_SCOPE_GROUP,
        Scope::Job => mpi::MPI_T_SCOPE_ALL_EQ,
    }
}

/// The users for whom a setting is meant, as `MPI_T_VERBOSITY_...`.
pub fn verbosity(setting: &Setting) -> i32 {
    match setting.about.category {
        Category::Startup | Category::Channel | Category::Launcher | Category::Compiler => {
            mpi::MPI_T_VERBOSITY_USER_BASIC
        }
        Category::Engine | Category::Wait | Category::File => mpi::MPI_T_VERBOSITY_TUNER_BASIC,
        Category::Collective => mpi::MPI_T_VERBOSITY_TUNER_DETAIL,
    }
}

/// The description of a setting, with unit, range and default.
pub fn description(setting: &Setting) -> String {
    let (about, unit) = (&setting.about, setting.about.unit.name());
    let unit = if unit.is_empty() { String::new() } else { format!(" {unit};") };
    format!("{};{unit} {}; default: {}", about.help, setting.range_text(), setting.default_text())
}

/// The value of a setting, as it lies in memory.
pub fn read(setting: &Setting) -> Vec<u8> {
    match shape(setting).0 {
        Type::Char => {
            let mut text = setting.string().into_bytes();
            text.resize(TEXT_BYTES, 0);
            text[TEXT_BYTES - 1] = 0;
            text
        }
        Type::Int => (setting.word() as i32).to_ne_bytes().to_vec(),
        Type::Count | Type::UnsignedLongLong => setting.word().to_ne_bytes().to_vec(),
    }
}

/// Sets the value from memory. `MPI_T_ERR_CVAR_SET_NEVER` if MPI is initialised and the setting is
/// for the start; `MPI_T_ERR_INVALID` if the bytes are no value of this setting.
pub fn write(setting: &Setting, bytes: &[u8], process: Option<&Process>) -> Result<()> {
    if !setting.may_change() {
        let what = "the setting decides how MPI starts, and MPI has started";
        return Err(refusal(mpi::MPI_T_ERR_CVAR_SET_NEVER, what));
    }
    let outcome = match shape(setting).0 {
        Type::Char => {
            let text = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
            setting.set_text(&String::from_utf8_lossy(text), Origin::Tool)
        }
        _ => setting.set_word(word(bytes), Origin::Tool),
    };
    outcome.map_err(|fault| refusal(mpi::MPI_T_ERR_INVALID, &fault.to_string()))?;
    if let Some(process) = process {
        process.command_all(|engine| engine.configure(engine_settings()));
    }
    Ok(())
}

/// An `MPI_INT` or `MPI_COUNT` in memory.
fn word(bytes: &[u8]) -> i64 {
    match bytes.try_into() {
        Ok(long) => i64::from_ne_bytes(long),
        Err(_) => bytes.try_into().map_or(0, i32::from_ne_bytes).into(),
    }
}
