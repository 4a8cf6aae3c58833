//! Reads the API table: `api/types.toml`, `api/constants/*.toml`, `api/functions/*.toml`.

use super::function::Function;
use anyhow::{Context, Result, anyhow, bail};
use std::path::Path;
use toml::{Table as Toml, Value};

/// The whole table.
pub(crate) struct Table {
    /// Names of the handle types.
    pub handles: Vec<String>,
    /// Function types, as name and C type.
    pub callbacks: Vec<(String, String)>,
    /// Other names of function types, as new name and old name.
    pub aliases: Vec<(String, String)>,
    /// Groups of predefined handles; the group's name is the handle's type.
    pub predefined: Vec<Group>,
    /// Groups of constants with a type of their own; the group's name is that C type.
    pub pointers: Vec<Group>,
    /// Groups of integers.
    pub integers: Vec<Group>,
    /// Functions by family, in order of the family's name.
    pub families: Vec<Family>,
}

/// Constants that belong together.
pub(crate) struct Group {
    /// The group's name or C type.
    pub name: String,
    /// The constants in order.
    pub constants: Vec<Constant>,
}

/// A constant.
pub(crate) struct Constant {
    /// The C name.
    pub name: String,
    /// The ABI value.
    pub value: i64,
    /// The constant that it is another name of.
    pub alias: Option<String>,
}

/// A family of functions: one file of the table, one of generated code.
pub(crate) struct Family {
    /// The name of the file.
    pub name: String,
    /// The subject of the family, and its chapter of the standard.
    pub chapter: String,
    /// True if MPI-3.0 removed these.
    pub removed: bool,
    /// The functions in order.
    pub functions: Vec<Function>,
}

impl Table {
    /// Reads the table from its folder.
    pub(crate) fn load(folder: &Path) -> Result<Table> {
        let types = read(&folder.join("types.toml"))?;
        let families = families(&folder.join("functions"))?;
        Ok(Table {
            handles: strings(&types, "handles")?,
            callbacks: pairs(&types, "functions")?,
            aliases: pairs(&types, "aliases")?,
            predefined: groups(&folder.join("constants/handles.toml"))?,
            pointers: groups(&folder.join("constants/pointers.toml"))?,
            integers: groups(&folder.join("constants/integers.toml"))?,
            families,
        })
    }
}

/// A file of the table.
pub(crate) fn read(path: &Path) -> Result<Toml> {
    let text = std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
    text.parse().with_context(|| format!("parsing {}", path.display()))
}

fn string(value: &Value) -> Result<String> {
    Ok(value.as_str().ok_or_else(|| anyhow!("{value} is not a string"))?.to_string())
}

/// A section of a file.
pub(crate) fn section<'a>(toml: &'a Toml, name: &str) -> Result<&'a Toml> {
    toml.get(name).and_then(Value::as_table).with_context(|| format!("no section `{name}`"))
}

/// A list of strings.
pub(crate) fn strings(toml: &Toml, name: &str) -> Result<Vec<String>> {
    let list = toml.get(name).and_then(Value::as_array).with_context(|| format!("no list `{name}`"))?;
    list.iter().map(string).collect()
}

/// A section of strings: their names and the strings, in order if that is wanted.
pub(crate) fn pairs<T: FromIterator<(String, String)>>(toml: &Toml, name: &str) -> Result<T> {
    section(toml, name)?.iter().map(|(key, value)| Ok((key.clone(), string(value)?))).collect()
}

fn groups(path: &Path) -> Result<Vec<Group>> {
    let toml = read(path)?;
    toml.keys()
        .map(|name| Ok(Group { name: name.clone(), constants: constants(section(&toml, name)?)? }))
        .collect()
}

fn constants(toml: &Toml) -> Result<Vec<Constant>> {
    let mut constants: Vec<Constant> = Vec::new();
    for (name, value) in toml {
        let (value, alias) = match value {
            Value::Integer(value) => (*value, None),
            Value::String(other) => {
                let known = constants.iter().find(|c| &c.name == other);
                (
                    known
                        .with_context(|| format!("{name} is another name of {other}, which is not above it"))?
                        .value,
                    Some(other.clone()),
                )
            }
            _ => bail!("{name} is neither a number nor a name"),
        };
        constants.push(Constant { name: name.clone(), value, alias });
    }
    Ok(constants)
}

fn families(folder: &Path) -> Result<Vec<Family>> {
    let mut paths: Vec<_> =
        std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    paths.sort();
    paths.iter().map(|path| family(path).with_context(|| path.display().to_string())).collect()
}

fn family(path: &Path) -> Result<Family> {
    let toml = read(path)?;
    let collective = toml.get("collective").and_then(Value::as_bool).unwrap_or(false);
    let extension = toml.get("extension").and_then(Value::as_bool).unwrap_or(false);
    let line = |(name, text): &(String, String)| match collective {
        true => Function::collective(name, text).with_context(|| name.clone()),
        false => Ok(vec![Function::parse(name, text).with_context(|| name.clone())?]),
    };
    let functions: Vec<_> = pairs::<Vec<_>>(&toml, "functions")?.iter().map(line).collect::<Result<_>>()?;
    Ok(Family {
        name: path.file_stem().context("no name")?.to_string_lossy().into_owned(),
        chapter: string(toml.get("chapter").context("no `chapter`")?)?,
        removed: toml.get("removed").and_then(Value::as_bool).unwrap_or(false),
        functions: functions
            .into_iter()
            .flatten()
            .map(|function| Function { extension, ..function })
            .collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root;

    #[test]
    fn the_table_holds_every_function_of_the_standard_once() {
        let table = Table::load(&root().join("api")).unwrap();
        let functions = table.families.iter().filter(|f| !f.removed).flat_map(|f| &f.functions);
        let functions = functions.filter(|f| !f.extension);
        let mut names: Vec<String> = functions.flat_map(|f| f.forms()).map(|large| large.0).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), 662);
        assert_eq!(names.iter().filter(|n| n.ends_with("_c")).count(), 159);
        assert_eq!(names.iter().filter(|n| n.starts_with("MPI_T_")).count(), 51);
    }
}
