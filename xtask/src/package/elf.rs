//! Reads what a program or a library says of itself: the libraries that it needs, and the versions
//! of the C library's symbols.

use anyhow::{Context, Result};
use goblin::elf::Elf;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// The beginning of the names of the C library's versions.
const GLIBC: &str = "GLIBC_";

/// A version of the GNU C library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Glibc {
    major: u32,
    minor: u32,
    patch: u32,
}

impl Glibc {
    /// A version of three numbers; the last one is 0 since 2.4.
    pub(super) const fn new(major: u32, minor: u32, patch: u32) -> Glibc {
        Glibc { major, minor, patch }
    }

    /// The version in the name of a symbol's version, as `GLIBC_2.3.4`; none for `GLIBC_PRIVATE`
    /// and the names of other libraries.
    pub(super) fn of_name(name: &str) -> Option<Glibc> {
        let numbers: Option<Vec<u32>> =
            name.strip_prefix(GLIBC)?.split('.').map(|number| number.parse().ok()).collect();
        match numbers?[..] {
            [major, minor] => Some(Glibc::new(major, minor, 0)),
            [major, minor, patch] => Some(Glibc::new(major, minor, patch)),
            _ => None,
        }
    }

    /// The version in the name of a platform of PEP 600.
    pub(super) fn manylinux(self) -> String {
        format!("manylinux_{}_{}", self.major, self.minor)
    }
}

impl fmt::Display for Glibc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)?;
        if self.patch == 0 { Ok(()) } else { write!(f, ".{}", self.patch) }
    }
}

/// The needs of a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Needs {
    /// The names of the libraries.
    pub libraries: BTreeSet<String>,
    /// The newest version of a symbol of the C library; none if it needs none of them.
    pub glibc: Option<Glibc>,
    /// Symbols without a version that must be in some library. The C library's have versions: one
    /// that it got after the version of the build is among these.
    pub unversioned: BTreeSet<String>,
}

impl Needs {
    /// Adds those of another file.
    pub(super) fn add(&mut self, other: Needs) {
        self.libraries.extend(other.libraries);
        self.glibc = self.glibc.max(other.glibc);
        self.unversioned.extend(other.unversioned);
    }
}

/// Returns whether these are the bytes of a program or a library.
pub(super) fn is_elf(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\x7fELF")
}

/// Reads the needs of a program or a library.
///
/// # Errors
/// The file is damaged.
pub(super) fn needs(bytes: &[u8]) -> Result<Needs> {
    let elf = Elf::parse(bytes).context("the file is no program and no library")?;
    let mut glibc: Option<Glibc> = None;
    if let Some(files) = &elf.verneed {
        for file in files.iter() {
            for version in file.iter() {
                let name = elf.dynstrtab.get_at(version.vna_name).context("a version without a name")?;
                glibc = glibc.max(Glibc::of_name(name));
            }
        }
    }
    let libraries = elf.libraries.iter().map(|name| (*name).to_string()).collect();
    Ok(Needs { libraries, glibc, unversioned: unversioned(&elf) })
}

/// The symbols without a version that a file takes from others, and cannot do without.
fn unversioned(elf: &Elf<'_>) -> BTreeSet<String> {
    // 0 and 1 are no versions; the highest bit hides a symbol.
    let has_version = |index: usize| {
        let number = elf.versym.as_ref().and_then(|all| all.get_at(index));
        number.is_some_and(|number| number.version() > 1)
    };
    let is_taken = |symbol: &goblin::elf::Sym| {
        symbol.is_import() && symbol.st_bind() == goblin::elf::sym::STB_GLOBAL && symbol.st_name != 0
    };
    let taken = elf.dynsyms.iter().enumerate();
    let taken = taken.filter(|(index, symbol)| is_taken(symbol) && !has_version(*index));
    taken.filter_map(|(_, symbol)| Some(elf.dynstrtab.get_at(symbol.st_name)?.to_string())).collect()
}

/// The names that a file gives to others.
///
/// # Errors
/// The file is damaged.
pub(super) fn names(bytes: &[u8]) -> Result<BTreeSet<String>> {
    let elf = Elf::parse(bytes).context("the file is no program and no library")?;
    let given = elf.dynsyms.iter().filter(|symbol| !symbol.is_import());
    Ok(given.filter_map(|symbol| Some(elf.dynstrtab.get_at(symbol.st_name)?.to_string())).collect())
}

/// The sort of a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    /// Code.
    Function,
    /// A variable of this many bytes at this address.
    Variable { address: u64, bytes: u64 },
}

/// A symbol that a library exports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Symbol {
    /// The name of the symbol.
    pub name: String,
    /// The version that programs got that were linked when the C library had the version asked for.
    pub version: Glibc,
    /// The sort of the symbol.
    pub sort: Sort,
    /// True if the symbol has a newer version today.
    pub is_newer: bool,
}

/// The symbols that a part of the C library exported when it had the version `limit`: of each name
/// the newest version up to that. A symbol keeps its old versions for good.
///
/// # Errors
/// The file is damaged, or has no versions.
pub(super) fn exported(bytes: &[u8], limit: Glibc) -> Result<Vec<Symbol>> {
    let elf = Elf::parse(bytes).context("the file is no library")?;
    let versions = versions(&elf)?;
    let of_symbols = elf.versym.as_ref().context("the library has no versions of symbols")?;
    let mut symbols: BTreeMap<String, Symbol> = BTreeMap::new();
    let mut newer = BTreeSet::new();
    for (index, symbol) in elf.dynsyms.iter().enumerate() {
        let name = elf.dynstrtab.get_at(symbol.st_name).unwrap_or_default();
        let version = of_symbols.get_at(index).and_then(|version| versions.get(&version.version()).copied());
        let (Some(version), false) = (version, symbol.is_import() || name.starts_with(GLIBC)) else {
            continue;
        };
        if version > limit {
            newer.insert(name.to_string());
            continue;
        }
        let Some(sort) = sort(&symbol) else { continue };
        if symbols.get(name).is_none_or(|known| known.version < version) {
            let name = name.to_string();
            symbols.insert(name.clone(), Symbol { name, version, sort, is_newer: false });
        }
    }
    let all = symbols.into_values();
    Ok(all.map(|symbol| Symbol { is_newer: newer.contains(&symbol.name), ..symbol }).collect())
}

/// The versions that a library defines, by their numbers in its table.
fn versions(elf: &Elf<'_>) -> Result<BTreeMap<u16, Glibc>> {
    let defined = elf.verdef.as_ref().context("the library defines no versions")?;
    let mut versions = BTreeMap::new();
    for definition in defined.iter() {
        // The first name is its own; further ones are those that it follows.
        let first = definition.iter().next().context("a version without a name")?;
        let name = elf.dynstrtab.get_at(first.vda_name).context("a version without a name")?;
        if let Some(version) = Glibc::of_name(name) {
            versions.insert(definition.vd_ndx, version);
        }
    }
    Ok(versions)
}

/// The sort of a symbol; none for what no program links with: variables of threads and sections.
fn sort(symbol: &goblin::elf::Sym) -> Option<Sort> {
    use goblin::elf::sym::{STT_FUNC, STT_GNU_IFUNC, STT_NOTYPE, STT_OBJECT};
    match symbol.st_type() {
        STT_FUNC | STT_GNU_IFUNC | STT_NOTYPE => Some(Sort::Function),
        STT_OBJECT => Some(Sort::Variable { address: symbol.st_value, bytes: symbol.st_size }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_and_ordered() {
        let of = Glibc::of_name;
        assert_eq!(of("GLIBC_2.28"), Some(Glibc::new(2, 28, 0)));
        assert_eq!(of("GLIBC_2.2.5"), Some(Glibc::new(2, 2, 5)));
        assert_eq!((of("GLIBC_PRIVATE"), of("GCC_3.0"), of("GLIBC_2")), (None, None, None));
        assert!(of("GLIBC_2.3.4") < of("GLIBC_2.28") && of("GLIBC_2.28") < of("GLIBC_2.34"));
        assert_eq!(Glibc::new(2, 28, 0).manylinux(), "manylinux_2_28");
        assert_eq!([Glibc::new(2, 2, 5), Glibc::new(2, 34, 0)].map(|v| v.to_string()), ["2.2.5", "2.34"]);
    }

    /// This test program itself needs the C library.
    #[test]
    fn a_program_s_needs_are_read() {
        let own = std::fs::read(std::env::current_exe().expect("own path")).expect("own file");
        assert!(is_elf(&own) && !is_elf(b"#!/bin/sh\n"));
        let needs = needs(&own).expect("an ELF file");
        assert!(needs.libraries.contains("libc.so.6"), "{needs:?}");
        assert!(needs.glibc >= Some(Glibc::new(2, 2, 5)), "{needs:?}");
        assert_eq!(needs.unversioned, BTreeSet::new(), "all are of libraries that have versions");
        assert!(super::needs(b"\x7fELF and no more").is_err());
    }

    #[test]
    fn a_symbol_that_no_c_library_has_is_found() {
        let text = "int of_2099(void); int __attribute__((weak)) perhaps(void);\n\
                    int own(void) { return of_2099() + (perhaps ? perhaps() : 0); }\n";
        let folder = verbena_testing::files::Folder::new("unversioned", &[("a.c", text)]);
        let (source, file) = (folder.0.join("a.c"), folder.0.join("liba.so"));
        let mut cc = std::process::Command::new("cc");
        let made = cc.args(["-shared", "-fPIC", "-o"]).arg(&file).arg(&source).status();
        assert!(made.expect("a C compiler").success());
        let bytes = std::fs::read(&file).expect("made");
        assert_eq!(needs(&bytes).expect("a library").unversioned, BTreeSet::from(["of_2099".to_string()]));
        assert!(names(&bytes).expect("a library").contains("own"));
    }

    /// The machine's own C library: a symbol that got a new version later is taken in its old one.
    #[test]
    fn the_symbols_of_an_older_c_library_are_those_up_to_its_version() {
        let mut asked = std::process::Command::new("cc");
        let path = asked.arg("-print-file-name=libc.so.6").output().expect("a C compiler").stdout;
        let bytes = std::fs::read(String::from_utf8_lossy(&path).trim()).expect("the C library");
        let symbols = exported(&bytes, Glibc::new(2, 28, 0)).expect("its symbols");
        let find = |name: &str| symbols.iter().find(|symbol| symbol.name == name);
        let create = find("pthread_create").expect("it has threads");
        assert!(create.version <= Glibc::new(2, 28, 0), "{create:?}");
        assert!(matches!(find("environ").expect("it has an environment").sort, Sort::Variable { .. }));
        assert!(find("gettid").is_none(), "of 2.30");
        assert!(symbols.iter().all(|symbol| symbol.version <= Glibc::new(2, 28, 0)));
        assert!(symbols.len() > 1000);
    }
}
