//! Reads `api/fortran.toml`: what Fortran has otherwise than C.

use crate::table::{pairs, read, strings};
use anyhow::Result;
use std::collections::BTreeMap;
use std::path::Path;

/// The contents of `api/fortran.toml`.
pub(super) struct Facts {
    /// Families that Fortran lacks.
    pub families_of_c: Vec<String>,
    /// Functions of other families that Fortran lacks.
    pub functions_of_c: Vec<String>,
    /// Functions that use only the address of their buffer.
    pub of_address: Vec<String>,
    /// Functions whose large form has a name of its own in Fortran.
    pub large_by_name: Vec<String>,
    kinds: BTreeMap<String, String>,
    instead: BTreeMap<String, String>,
}

impl Facts {
    /// Reads the file.
    pub(super) fn load(path: &Path) -> Result<Facts> {
        let toml = read(path)?;
        Ok(Facts {
            families_of_c: strings(&toml, "families_of_c")?,
            functions_of_c: strings(&toml, "functions_of_c")?,
            of_address: strings(&toml, "of_address")?,
            large_by_name: strings(&toml, "large_by_name")?,
            kinds: pairs(&toml, "kinds")?,
            instead: pairs(&toml, "instead")?,
        })
    }

    /// The C function that a removed one calls.
    pub(super) fn instead(&self, function: &str) -> Option<&str> {
        self.instead.get(function).map(String::as_str)
    }

    /// Returns Fortran's kind of a parameter, where it differs.
    pub(super) fn kind(&self, function: &str, parameter: &str) -> Option<&str> {
        self.kinds.get(&format!("{function}.{parameter}")).map(String::as_str)
    }
}
