//! The facts about the MPICH ABI: `api/mpich/constants.toml` and `api/mpich/parameters.toml`.

use crate::function::{Function, Parameter};
use crate::table::{Constant, Table, pairs as texts, read, section, strings};
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::path::Path;
use toml::{Table as Toml, Value};

/// The facts.
pub(super) struct Facts {
    /// Predefined handles: name, value here, value on the standard face.
    pub handles: Vec<Pair>,
    /// Handles that only this ABI has, each with the name of its like on the standard face;
    /// programs get these.
    pub like: Vec<(Pair, String)>,
    /// Classes of constants.
    pub classes: Vec<Class>,
    /// Error classes.
    pub errors: Vec<Pair>,
    /// Bytes of strings.
    pub sizes: Vec<Pair>,
    /// Addresses that mean something.
    pub pointers: Vec<Pair>,
    kinds: BTreeMap<String, String>,
    parameters: BTreeMap<String, String>,
    /// Families whose buffers may be `MPI_IN_PLACE` and its like.
    pub families: Vec<String>,
    /// Parameters that may be `MPI_UNWEIGHTED` and its like.
    pub weights: Vec<String>,
}

/// A constant on both faces.
pub(super) struct Pair {
    /// The name of the constant.
    pub name: String,
    /// The value in the MPICH ABI.
    pub face: i64,
    /// The value in the standard ABI.
    pub native: i64,
}

/// The use of the values of a class.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Values {
    /// Any number may stand there, not only the constants.
    Open,
    /// Only the constants may stand there.
    Closed,
    /// Sums of constants may stand there.
    Flags,
}

/// Constants that may stand at the same places.
pub(super) struct Class {
    /// The word of `parameters.toml`.
    pub name: String,
    /// The use of the values.
    pub values: Values,
    /// The constants.
    pub pairs: Vec<Pair>,
}

impl Facts {
    /// Reads the facts, and looks up the standard ABI's values in the API table.
    pub(super) fn load(folder: &Path, table: &Table) -> Result<Facts> {
        let constants = read(&folder.join("constants.toml"))?;
        let parameters = read(&folder.join("parameters.toml"))?;
        let addresses = section(&parameters, "addresses")?;
        let mut classes = Vec::new();
        for (word, values) in [("open", Values::Open), ("closed", Values::Closed), ("flags", Values::Flags)] {
            let section = section(&constants, word)?;
            for name in section.keys() {
                classes.push(Class { name: name.clone(), values, pairs: pairs(section, name, table)? });
            }
        }
        Ok(Facts {
            handles: pairs(&constants, "handles", table)?,
            like: like(section(&constants, "like")?, table)?,
            classes,
            errors: pairs(&constants, "error", table)?,
            sizes: pairs(&constants, "size", table)?,
            pointers: pairs(&constants, "pointer", table)?,
            kinds: texts(&parameters, "kinds")?,
            parameters: texts(&parameters, "parameters")?,
            families: strings(addresses, "families")?,
            weights: strings(addresses, "weights")?,
        })
    }

    /// The class of the constants that a parameter may carry.
    pub(super) fn class(&self, function: &Function, parameter: &Parameter) -> Option<&str> {
        let own = self.parameters.get(&format!("{}.{}", function.name, parameter.name));
        let class = own
            .or_else(|| self.kinds.get(&parameter.kind.base))
            .or_else(|| self.parameters.get(&parameter.name).filter(|_| is_integer(parameter)));
        class.map(String::as_str).filter(|class| !class.is_empty())
    }

    /// The bytes that a string has on both faces, if the program has less room here. The standard
    /// face counts the final zero of a key, MPICH does not.
    pub(super) fn smaller_room(&self, constant: &str) -> Option<&Pair> {
        self.sizes.iter().find(|size| size.name == constant && size.face + 1 < size.native)
    }
}

/// Parameters of other kinds may have the same name.
fn is_integer(parameter: &Parameter) -> bool {
    matches!(parameter.kind.base.as_str(), "int" | "ints" | "offset" | "raw")
}

fn like(toml: &Toml, table: &Table) -> Result<Vec<(Pair, String)>> {
    let pair = |(name, value): (&String, &Value)| {
        let [face, other] = value.as_array().map_or(&[][..], Vec::as_slice) else {
            bail!("{name} is no pair")
        };
        let (face, other) = (face.as_integer().context("no number")?, other.as_str().context("no name")?);
        let native = table.constant(other).with_context(|| format!("the API table has no {other}"))?.value;
        Ok((Pair { name: name.clone(), face, native }, other.to_string()))
    };
    toml.iter().map(pair).collect()
}

fn pairs(toml: &Toml, name: &str, table: &Table) -> Result<Vec<Pair>> {
    let pair = |(name, value): (&String, &Value)| {
        let face = value.as_integer().with_context(|| format!("{name} is no number"))?;
        let native = table.constant(name).with_context(|| format!("the API table has no {name}"))?.value;
        Ok(Pair { name: name.clone(), face, native })
    };
    section(toml, name)?.iter().map(pair).collect()
}

impl Table {
    /// A constant by its name.
    fn constant(&self, name: &str) -> Option<&Constant> {
        let groups = self.predefined.iter().chain(&self.pointers).chain(&self.integers);
        groups.flat_map(|group| &group.constants).find(|constant| constant.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root;

    /// The classes that have the same value on both faces, or mean nothing to a program that is
    /// built.
    const NOT_TRANSLATED: [&str; 4] = ["version", "fortran", "special", "size"];

    #[test]
    fn every_constant_of_the_standard_has_its_value_here() {
        let table = Table::load(&root().join("api")).unwrap();
        let facts = Facts::load(&root().join("api/mpich"), &table).unwrap();
        let classes = facts.classes.iter().flat_map(|class| &class.pairs);
        let known: Vec<&str> =
            facts.handles.iter().chain(&facts.errors).chain(classes).map(|pair| pair.name.as_str()).collect();
        let groups = table.integers.iter().chain(&table.predefined);
        for group in groups.filter(|group| !NOT_TRANSLATED.contains(&group.name.as_str())) {
            for constant in group.constants.iter().filter(|constant| constant.alias.is_none()) {
                assert!(known.contains(&constant.name.as_str()), "{}", constant.name);
            }
        }
    }
}
