//! Reads `api/fortran.toml`: what Fortran has otherwise than C.

use crate::table::{read, section};
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::path::Path;
use toml::{Table as Toml, Value};

/// The contents of `api/fortran.toml`.
pub struct Facts {
    families_of_c: Vec<String>,
    functions_of_c: Vec<String>,
    of_address: Vec<String>,
    large_by_name: Vec<String>,
    kinds: BTreeMap<String, String>,
    instead: BTreeMap<String, String>,
}

impl Facts {
    /// Reads the file.
    pub fn load(path: &Path) -> Result<Facts> {
        let toml = read(path)?;
        let pair = |(name, value): (&String, &Value)| {
            Ok((name.clone(), value.as_str().context("not a string")?.to_string()))
        };
        Ok(Facts {
            families_of_c: names(&toml, "families_of_c")?,
            functions_of_c: names(&toml, "functions_of_c")?,
            of_address: names(&toml, "of_address")?,
            large_by_name: names(&toml, "large_by_name")?,
            kinds: section(&toml, "kinds")?.iter().map(pair).collect::<Result<_>>()?,
            instead: section(&toml, "instead")?.iter().map(pair).collect::<Result<_>>()?,
        })
    }

    /// Returns whether Fortran has this family at all.
    pub fn has_family(&self, name: &str) -> bool {
        !self.families_of_c.iter().any(|family| family == name)
    }

    /// Returns whether Fortran has this function of such a family.
    pub fn has_function(&self, name: &str) -> bool {
        !self.functions_of_c.iter().any(|function| function == name)
    }

    /// Returns whether the function uses the address of its buffer only.
    pub fn takes_address(&self, name: &str) -> bool {
        self.of_address.iter().any(|function| function == name)
    }

    /// Returns whether the large form has a name of its own in Fortran.
    pub fn names_large(&self, name: &str) -> bool {
        self.large_by_name.iter().any(|function| function == name)
    }

    /// The C function that a removed one calls.
    pub fn instead(&self, function: &str) -> Option<&str> {
        self.instead.get(function).map(String::as_str)
    }

    /// Returns Fortran's kind of a parameter, where it differs.
    pub fn kind(&self, function: &str, parameter: &str) -> Option<&str> {
        self.kinds.get(&format!("{function}.{parameter}")).map(String::as_str)
    }
}

fn names(toml: &Toml, key: &str) -> Result<Vec<String>> {
    let list = toml.get(key).and_then(Value::as_array).with_context(|| format!("no list `{key}`"))?;
    list.iter().map(|name| Ok(name.as_str().context("a name is a string")?.to_string())).collect()
}
