//! The pages of the book that are made of what is true elsewhere.
//!
//! | page | made of | by |
//! | --- | --- | --- |
//! | `docs/book/settings.md` | the table of settings | [`settings`] |
//! | `docs/book/messages.md` | every fault in the sources | [`messages`] |
//! | a part of `docs/book/performance.md` | `BENCHMARKS.md` | [`performance`] |

mod fault_text;
mod messages;
mod performance;
mod settings;

use anyhow::Result;
use std::path::Path;
use verbena_codegen::Output;

/// Makes the pages in memory.
///
/// # Errors
/// A source cannot be read or understood.
pub(super) fn pages(root: &Path) -> Result<Vec<Output>> {
    Ok(vec![
        Output::new("docs/book/settings.md", settings::page()),
        Output::new("docs/book/messages.md", messages::page(root)?),
        Output::new("docs/book/performance.md", performance::page(root)?),
    ])
}

/// A text as a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;").replace('\n', " ")
}
