//! The errors of each function, for its manual page: those that the types of its arguments tell,
//! and those of the table `api/errors.toml`.

use super::function::{Function, Parameter};
use super::kind::Direction;
use super::table::{Family, read, section, strings};
use super::words::stem;
use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeMap;
use std::path::Path;

/// The words for each error class of a function, by the name of the class.
pub(crate) type ClassWords<'a> = BTreeMap<&'a str, &'a str>;

/// The table of errors.
pub(crate) struct Errors {
    classes: Vec<Class>,
}

struct Class {
    name: String,
    words: String,
    /// The functions that return it, as patterns.
    functions: Vec<String>,
}

impl Errors {
    /// Reads the table, and compares it with the functions.
    ///
    /// # Errors
    /// The table cannot be read, or a pattern is of no function.
    pub(crate) fn load(folder: &Path, families: &[Family]) -> Result<Errors> {
        let toml = read(&folder.join("errors.toml"))?;
        let class = |name: &String| {
            let of = section(&toml, name)?;
            let words = of.get("words").and_then(|words| words.as_str()).context("it has no words")?;
            ensure!(words.ends_with('.'), "the sentence on {name} is none: {words}");
            Ok(Class { name: name.clone(), words: words.into(), functions: strings(of, "functions")? })
        };
        let class = |name| class(name).with_context(|| format!("{name} of api/errors.toml"));
        let classes = toml.keys().map(class).collect::<Result<Vec<_>>>()?;
        let all: Vec<&str> = families.iter().flat_map(|family| &family.functions).map(stem).collect();
        for Class { name, functions, .. } in &classes {
            let of_none = functions.iter().find(|pattern| !all.iter().any(|name| fits(pattern, name)));
            if let Some(pattern) = of_none {
                bail!("api/errors.toml gives {name} to {pattern}, which is no function");
            }
        }
        Ok(Errors { classes })
    }

    /// The errors of a function in these forms.
    pub(crate) fn of(&self, forms: &[&Function]) -> ClassWords<'_> {
        let head = forms[0];
        let mut told: ClassWords<'_> =
            forms.iter().flat_map(|function| &function.parameters).filter_map(of_argument).collect();
        match () {
            () if head.is_of_tool() && head.name != "T_init_thread" => {
                told.insert("MPI_T_ERR_NOT_INITIALIZED", "The tool interface is not initialised.");
            }
            () if head.before_init || head.is_of_tool() => (),
            () => {
                told.insert("MPI_ERR_OTHER", "MPI is not initialised, or was finalised already.");
            }
        }
        let its = |class: &&Class| class.functions.iter().any(|pattern| fits(pattern, stem(head)));
        told.extend(self.classes.iter().filter(its).map(|class| (class.name.as_str(), class.words.as_str())));
        told
    }
}

/// Returns whether a name is one of a pattern with at most one star.
fn fits(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        Some((start, end)) => {
            name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
        }
        None => pattern == name,
    }
}

/// The error class of a wrong argument.
fn of_argument(parameter: &Parameter) -> Option<(&'static str, &'static str)> {
    let kind = &parameter.kind;
    let is_given = kind.direction != Direction::Out;
    Some(match kind.base.as_str() {
        "comm" if is_given => ("MPI_ERR_COMM", "The communicator is none."),
        "group" if is_given => ("MPI_ERR_GROUP", "The group is none."),
        "datatype" | "datatypes" if is_given => ("MPI_ERR_TYPE", "The datatype is none."),
        "transfer" | "transfers" if is_given => {
            ("MPI_ERR_TYPE", "The datatype is none, or was not committed.")
        }
        "op" if is_given => ("MPI_ERR_OP", "The operation is none, or not one for these elements."),
        "errhandler" if is_given => {
            ("MPI_ERR_ERRHANDLER", "The error handler is none, or for other objects.")
        }
        "info" if is_given => ("MPI_ERR_INFO", "The info object is none."),
        "session" if is_given => ("MPI_ERR_SESSION", "The session is none."),
        "win" if is_given => ("MPI_ERR_WIN", "The window is none."),
        "file" if is_given => ("MPI_ERR_FILE", "The file is none."),
        "request" | "requests" => ("MPI_ERR_REQUEST", "The request is none, or of another kind."),
        "count" | "counts" | "elements" | "mpi_elements" if is_given => {
            ("MPI_ERR_COUNT", "The number of elements is negative.")
        }
        "natural" | "size" | "aint_size" if is_given => ("MPI_ERR_ARG", "A number is negative."),
        "dest" | "source" | "rank" => ("MPI_ERR_RANK", "There is no such rank in the communicator."),
        "root" => ("MPI_ERR_ROOT", "There is no such rank in the communicator."),
        "tag" | "any_tag" => ("MPI_ERR_TAG", "The tag is negative or above MPI_TAG_UB."),
        "buffer" => ("MPI_ERR_BUFFER", "The address is null, or was found to be no memory of the program."),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root;
    use crate::table::Table;

    #[test]
    fn a_star_stands_for_any_letters() {
        assert!(fits("File_read*", "File_read") && fits("File_read*", "File_read_at"));
        assert!(fits("*_get_attr", "Comm_get_attr") && fits("Recv", "Recv"));
        assert!(!fits("*_get_attr", "Attr_get") && !fits("Recv", "Mrecv") && !fits("ab*bc", "abc"));
    }

    #[test]
    fn functions_have_the_errors_of_everyday() {
        let table = Table::load(&root().join("api")).unwrap();
        let errors = Errors::load(&root().join("api"), &table.families).unwrap();
        let of = |name: &str| {
            let functions = table.families.iter().flat_map(|family| &family.functions);
            errors.of(&[functions.into_iter().find(|function| function.name == name).unwrap()])
        };
        for (name, class) in [
            ("Recv", "MPI_ERR_TRUNCATE"),
            ("Ibcast", "MPI_ERR_TRUNCATE"),
            ("Waitall", "MPI_ERR_IN_STATUS"),
            ("File_open", "MPI_ERR_NO_SUCH_FILE"),
            ("Lookup_name", "MPI_ERR_NAME"),
            ("Publish_name", "MPI_ERR_SERVICE"),
            ("Comm_spawn", "MPI_ERR_SPAWN"),
            ("Cart_create", "MPI_ERR_DIMS"),
            ("Put", "MPI_ERR_RMA_SYNC"),
            ("Put", "MPI_ERR_RMA_RANGE"),
            ("Type_commit", "MPI_ERR_TYPE"),
            ("Finalize", "MPI_ERR_OTHER"),
            ("T_cvar_write", "MPI_T_ERR_CVAR_SET_NEVER"),
        ] {
            assert!(of(name).contains_key(class), "{name} lacks {class}");
        }
        assert!(!of("Send").contains_key("MPI_ERR_TRUNCATE"));
    }
}
