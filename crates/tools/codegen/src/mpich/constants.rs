//! Writes the constants of both faces, and the functions that translate them.

use super::facts::{Class, Facts, Pair, Values};
use crate::IN_BUILD;
use crate::table::Table;
use anyhow::{Context, Result};
use std::fmt::Write;

/// A kind with more predefined handles than this gets a table.
const COMPARED_MAX: usize = 4;

/// The text of `constants.rs`.
pub(super) fn write(table: &Table, facts: &Facts) -> Result<String> {
    let mut text = format!(
        "//! Constants on both faces. {IN_BUILD}\n\
         #![allow(missing_docs)]\n\n\
         use crate::values::{{UNKNOWN, flags}};\n\
         use std::ffi::c_int;\n\n",
    );
    write_singles(&mut text, table, facts)?;
    write_faces(&mut text, facts)?;
    for group in table.predefined.iter().filter(|group| group.name != "MPI_File") {
        let names: Vec<&str> = group.constants.iter().map(|constant| constant.name.as_str()).collect();
        let own = facts.handles.iter().filter(|pair| names.contains(&pair.name.as_str()));
        let like = facts.like.iter().filter(|like| names.contains(&like.1.as_str())).map(|like| &like.0);
        let pairs: Vec<&Pair> = own.chain(like).collect();
        write_handles(&mut text, &group.name.replace("MPI_", "").to_lowercase(), &pairs)?;
    }
    for class in &facts.classes {
        write_class(&mut text, class)?;
    }
    Ok(text)
}

fn write_singles(text: &mut String, table: &Table, facts: &Facts) -> Result<()> {
    let find = |pairs: &'_ [Pair], name: &str| -> Result<(i64, i64)> {
        let pair = pairs.iter().find(|pair| pair.name == name).with_context(|| name.to_string())?;
        Ok((pair.face, pair.native))
    };
    let (_, null) = find(&facts.handles, "MPI_FILE_NULL")?;
    writeln!(text, "pub const FILE_NULL: usize = {null:#x};")?;
    for pair in &facts.pointers {
        let name = pair.name.trim_start_matches("MPI_");
        writeln!(text, "pub const {name}: usize = {:#x};", pair.face)?;
        writeln!(text, "pub const NATIVE_{name}: usize = {:#x};", pair.native)?;
    }
    for name in ["MPI_UNWEIGHTED", "MPI_WEIGHTS_EMPTY", "MPI_T_PVAR_ALL_HANDLES"] {
        let constants = table.pointers.iter().flat_map(|group| &group.constants);
        let value = constants.clone().find(|c| c.name == name).context(name)?.value;
        writeln!(text, "pub const NATIVE_{}: usize = {value:#x};", name.trim_start_matches("MPI_"))?;
    }
    let (face, native) = find(&facts.errors, "MPI_ERR_LASTCODE")?;
    writeln!(text, "pub const LASTCODE: c_int = {face};\npub const NATIVE_LASTCODE: c_int = {native};\n")?;
    writeln!(text, "/// Error classes here and there.")?;
    writeln!(text, "pub static ERRORS: [(c_int, c_int); {}] = [", facts.errors.len())?;
    for pair in &facts.errors {
        writeln!(text, "    ({}, {}), // {}", pair.face, pair.native, pair.name)?;
    }
    Ok(writeln!(text, "];\n")?)
}

/// The table from native predefined handles to those of this face.
fn write_faces(text: &mut String, facts: &Facts) -> Result<()> {
    let len = facts.handles.iter().map(|pair| pair.native).max().unwrap_or(0) + 1;
    writeln!(
        text,
        "/// Predefined handles by the value that they have on the standard face; 0 if there is none."
    )?;
    writeln!(text, "pub static FACE_OF: [i32; {len}] = {{\n    let mut table = [0; {len}];")?;
    // The later ones take precedence.
    for pair in facts.handles.iter().chain(facts.like.iter().map(|like| &like.0)) {
        writeln!(text, "    table[{:#x}] = {:#010x}u32 as i32; // {}", pair.native, pair.face, pair.name)?;
    }
    Ok(writeln!(text, "    table\n}};")?)
}

/// A function from a predefined handle to that of the standard face.
fn write_handles(text: &mut String, kind: &str, pairs: &[&Pair]) -> Result<()> {
    if pairs.len() > COMPARED_MAX {
        write_table(text, kind, pairs)
    } else {
        write_comparisons(text, kind, pairs)
    }
}

fn write_comparisons(text: &mut String, kind: &str, pairs: &[&Pair]) -> Result<()> {
    writeln!(
        text,
        "\n#[inline(always)]\npub fn {kind}(handle: i32) -> Option<usize> {{\n    match handle as u32 {{"
    )?;
    for pair in pairs {
        writeln!(text, "        {:#010x} => Some({:#x}), // {}", pair.face, pair.native, pair.name)?;
    }
    Ok(writeln!(text, "        _ => None,\n    }}\n}}")?)
}

/// Bits of an index of such a table.
const INDEX_BITS: u32 = 9;

/// A table in which each handle has a place of its own, found by one multiplication.
fn write_table(text: &mut String, kind: &str, pairs: &[&Pair]) -> Result<()> {
    let (upper, len, shift) = (kind.to_uppercase(), 1 << INDEX_BITS, u32::BITS - INDEX_BITS);
    let factor = factor(pairs).with_context(|| format!("no factor tells the handles of {kind} apart"))?;
    writeln!(text, "\nstatic {upper}: [(u32, u32); {len}] = {{\n    let mut table = [(0, 0); {len}];")?;
    for pair in pairs {
        let (place, face, native) = (place(pair, factor), pair.face, pair.native);
        writeln!(text, "    table[{place}] = ({face:#010x}, {native:#x}); // {}", pair.name)?;
    }
    // 0 is no handle, and its place is the first: an empty one must not look as if it held that.
    if pairs.iter().all(|pair| place(pair, factor) != 0) {
        writeln!(text, "    table[0] = (1, 0);")?;
    }
    writeln!(
        text,
        "    table\n}};\n\n/// The second number is the handle on the standard face if the first one is 0."
    )?;
    writeln!(text, "#[inline(always)]\npub fn {kind}_guess(handle: i32) -> (u32, usize) {{")?;
    writeln!(text, "    let place = (handle as u32).wrapping_mul({factor:#x}) >> {shift};")?;
    writeln!(text, "    let (face, native) = {upper}[place as usize];")?;
    writeln!(text, "    (face ^ handle as u32, native as usize)\n}}\n")?;
    writeln!(text, "#[inline(always)]\npub fn {kind}(handle: i32) -> Option<usize> {{")?;
    writeln!(text, "    let (difference, native) = {kind}_guess(handle);")?;
    Ok(writeln!(text, "    if difference == 0 {{ Some(native) }} else {{ None }}\n}}")?)
}

fn place(pair: &Pair, factor: u32) -> u32 {
    (pair.face as u32).wrapping_mul(factor) >> (u32::BITS - INDEX_BITS)
}

/// A factor that gives each handle a place of its own.
fn factor(pairs: &[&Pair]) -> Option<u32> {
    let is_good = |factor: &u32| {
        let mut taken = [false; 1 << INDEX_BITS];
        factor >> (u32::BITS - INDEX_BITS) != 0
            && pairs.iter().all(|pair| !std::mem::replace(&mut taken[place(pair, *factor) as usize], true))
    };
    // Multiples of an odd number with well-mixed bits: any would do.
    (1..1_000_000u32).map(|n| n.wrapping_mul(0x9e37_79b1)).find(is_good)
}

/// Functions that translate the constants of a class, `<class>_native` and `<class>_face`.
fn write_class(text: &mut String, class: &Class) -> Result<()> {
    let offset = class.pairs.iter().any(|pair| pair.name == "MPI_DISPLACEMENT_CURRENT");
    let int = if offset { "i64" } else { "c_int" };
    let forth: Vec<(i64, i64)> = class.pairs.iter().map(|pair| (pair.face, pair.native)).collect();
    let back: Vec<(i64, i64)> = class.pairs.iter().map(|pair| (pair.native, pair.face)).collect();
    let [native, face] = ["native", "face"].map(|way| format!("{}_{way}", class.name));
    let negative = forth.iter().all(|pair| pair.0 < 0 && pair.1 < 0);
    match class.values {
        Values::Flags => {
            write_flags(text, &native, &forth)?;
            write_flags(text, &face, &back)
        }
        Values::Open if negative => {
            write_special(text, &native, int, &forth, Rest::Unknown)?;
            write_special(text, &face, int, &back, Rest::Same)
        }
        Values::Open => {
            write_match(text, "pub ", &native, int, &forth, Rest::SameUnlessConstant)?;
            write_match(text, "pub ", &face, int, &back, Rest::Same)
        }
        Values::Closed => {
            write_match(text, "pub ", &native, int, &forth, Rest::Unknown)?;
            write_match(text, "pub ", &face, int, &back, Rest::Same)
        }
    }
}

fn write_flags(text: &mut String, name: &str, pairs: &[(i64, i64)]) -> Result<()> {
    let pairs: Vec<String> = pairs.iter().map(|(from, to)| format!("({from}, {to})")).collect();
    writeln!(text, "\npub fn {name}(value: c_int) -> c_int {{")?;
    Ok(writeln!(text, "    flags(value, [{}].into_iter())\n}}", pairs.join(", "))?)
}

/// The translation of a number that is no constant.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rest {
    /// The number stays as it is.
    Same,
    /// The number stays as it is, unless it would be a constant on the other face.
    SameUnlessConstant,
    /// The number becomes one that is wrong there as well.
    Unknown,
}

/// A function for negative constants among numbers that hardly ever are: those pass at once.
fn write_special(text: &mut String, name: &str, int: &str, pairs: &[(i64, i64)], rest: Rest) -> Result<()> {
    writeln!(text, "\n#[inline(always)]\npub fn {name}(value: {int}) -> {int} {{")?;
    writeln!(text, "    if value >= 0 {{ value }} else {{ {name}_special(value) }}\n}}")?;
    write_match(text, "#[inline(always)]\n", &format!("{name}_special"), int, pairs, rest)
}

fn write_match(
    text: &mut String,
    head: &str,
    name: &str,
    int: &str,
    pairs: &[(i64, i64)],
    rest: Rest,
) -> Result<()> {
    writeln!(text, "\n{head}fn {name}(value: {int}) -> {int} {{\n    match value {{")?;
    for (from, to) in pairs {
        writeln!(text, "        {from} => {to},")?;
    }
    let unknown = if int == "i64" { "i64::from(UNKNOWN)" } else { "UNKNOWN" };
    if rest == Rest::SameUnlessConstant {
        let taken: Vec<String> = pairs.iter().map(|pair| pair.1.to_string()).collect();
        writeln!(text, "        {} => {unknown},", taken.join(" | "))?;
    }
    let last = if rest == Rest::Unknown { format!("_ => {unknown}") } else { "other => other".into() };
    Ok(writeln!(text, "        {last},\n    }}\n}}")?)
}
