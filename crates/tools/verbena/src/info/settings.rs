//! Every setting of Verbena, with the value for a program that is started from here.

use serde::Serialize;
use verbena_settings::{Setting, When, all, load};

/// A setting.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Value {
    /// The environment variable, and the control variable of MPI's tool interface.
    pub name: &'static str,
    /// The present value, in words.
    pub value: String,
    /// The origin of the value: default, environment or file.
    pub origin: &'static str,
    /// The value that counts where it is not set.
    pub default: String,
    /// The values that are allowed.
    pub range: String,
    /// The unit of a number.
    pub unit: &'static str,
    /// The effect of the setting.
    pub help: &'static str,
    /// The part of Verbena that it belongs to.
    pub category: &'static str,
    /// The processes whose values must be alike: process, node or job.
    pub scope: &'static str,
    /// True if it may change after `MPI_Init`.
    pub changes_while_running: bool,
    /// The section of the standard or the paper.
    pub source: &'static str,
}

/// Returns every setting and its value.
pub(super) fn describe() -> Vec<Value> {
    load();
    all().map(value).collect()
}

fn value(setting: &Setting) -> Value {
    let about = &setting.about;
    Value {
        name: about.name,
        value: setting.value_text(),
        origin: setting.origin().name(),
        default: setting.default_text(),
        range: setting.range_text(),
        unit: about.unit.name(),
        help: about.help,
        category: about.category.name(),
        scope: about.scope.name(),
        changes_while_running: about.when == When::Anytime,
        source: about.source,
    }
}
