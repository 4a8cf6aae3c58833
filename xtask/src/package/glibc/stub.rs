//! Makes the libraries that the linker sees in place of the machine's C library.

use super::super::command::{self, said};
use super::super::elf::{Glibc, Sort, Symbol, exported};
use anyhow::{Context, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The last version in which the C library was several files; then all became one.
const APART: Glibc = Glibc::new(2, 33, 0);

/// The parts of the C library that were files of their own, with the name for `-l` and the
/// beginnings of the names of their symbols. A symbol that came over from one got a new version.
static PARTS: [(&str, &str, &[&str]); 4] = [
    ("libpthread.so.0", "pthread", &["pthread_", "sem_", "__pthread_"]),
    ("libdl.so.2", "dl", &["dl"]),
    ("librt.so.1", "rt", &["aio_", "lio_", "mq_", "shm_", "timer_", "clock_"]),
    ("libutil.so.1", "util", &["forkpty", "openpty", "login", "logout"]),
];

/// Writes the libraries into this folder, under the names that `-l` looks for too.
pub(super) fn write(folder: &Path, limit: Glibc) -> Result<()> {
    let symbols = exported(&machine_s("libc.so.6")?, limit)?;
    let mut in_libc = Vec::new();
    let mut parts: BTreeMap<&str, Vec<Symbol>> = BTreeMap::new();
    for symbol in symbols {
        match part(&symbol, limit) {
            Some(part) => parts.entry(part).or_default().push(symbol),
            None => in_libc.push(symbol),
        }
    }
    library(folder, "libc.so.6", &in_libc)?;
    library(folder, "libm.so.6", &exported(&machine_s("libm.so.6")?, limit)?)?;
    command::write(&folder.join("libm.so"), input(&[folder.join("libm.so.6")]))?;
    for (file, name, _) in PARTS {
        library(folder, file, parts.get(file).map_or(&[][..], Vec::as_slice))?;
        command::write(&folder.join(format!("lib{name}.so")), input(&[folder.join(file)]))?;
    }
    command::write(&folder.join("libc.so"), libc_script(folder)?)
}

/// The part in which a symbol lay when the C library had the version `limit`.
fn part(symbol: &Symbol, limit: Glibc) -> Option<&'static str> {
    let has_moved = symbol.is_newer && limit <= APART;
    let begins = |names: &[&str]| names.iter().any(|name| symbol.name.starts_with(name));
    PARTS.iter().find(|(.., names)| has_moved && begins(names)).map(|(file, ..)| *file)
}

/// The bytes of a library of this machine, where the compiler finds it.
fn machine_s(name: &str) -> Result<Vec<u8>> {
    let path = compiler_s(name)?;
    std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))
}

fn compiler_s(name: &str) -> Result<PathBuf> {
    let path = said(Command::new("cc").arg(format!("-print-file-name={name}")))?;
    Ok(PathBuf::from(path.trim_end()))
}

/// A linker script that stands for these files.
fn input(files: &[PathBuf]) -> String {
    let words: Vec<String> = files.iter().map(|file| format!("\"{}\"", file.display())).collect();
    format!("INPUT ( {} )\n", words.join(" "))
}

/// The linker script `libc.so`, as the C library installs one: the shared part, the static one, and
/// the others where they are needed.
fn libc_script(folder: &Path) -> Result<String> {
    let mut others: Vec<PathBuf> = PARTS.iter().map(|(file, ..)| folder.join(file)).collect();
    others.push(compiler_s("ld-linux-x86-64.so.2")?);
    let words = |files: &[PathBuf]| {
        files.iter().map(|file| format!("\"{}\"", file.display())).collect::<Vec<_>>().join(" ")
    };
    let first = [
        folder.join("libc.so.6"),
        folder.join("libc_nonshared.a"),
        // Its `atexit` and the like, which it still has.
        compiler_s("libc_nonshared.a")?,
    ];
    Ok(format!("GROUP ( {} AS_NEEDED ( {} ) )\n", words(&first), words(&others)))
}

/// Assembles an empty library with these symbols.
fn library(folder: &Path, name: &str, symbols: &[Symbol]) -> Result<()> {
    let (source, script) = (folder.join(format!("{name}.s")), folder.join(format!("{name}.versions")));
    command::write(&source, assembly(symbols))?;
    command::write(&script, version_script(symbols))?;
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-nostdlib", "-nostartfiles"]).arg(format!("-Wl,-soname,{name}"));
    cc.arg(format!("-Wl,--version-script={}", script.display())).arg("-o").arg(folder.join(name));
    said(cc.arg(&source))?;
    Ok(())
}

/// Each version, as an empty node: the symbols name theirs in the assembly.
fn version_script(symbols: &[Symbol]) -> String {
    let versions: BTreeSet<Glibc> = symbols.iter().map(|symbol| symbol.version).collect();
    versions.iter().map(|version| format!("GLIBC_{version} {{ }};\n")).collect()
}

/// All symbols: functions at one place, each variable at its own, so that two names of a variable
/// are still one.
fn assembly(symbols: &[Symbol]) -> String {
    let mut text = String::from("\t.text\n");
    let mut variables: BTreeMap<u64, (u64, String)> = BTreeMap::new();
    for (number, Symbol { name, version, sort, .. }) in symbols.iter().enumerate() {
        let head = format!("\t.globl s{number}\n\t.symver s{number}, {name}@@@GLIBC_{version}\n");
        match *sort {
            Sort::Function => {
                let _ = write!(text, "{head}\t.type s{number}, @function\ns{number}:\n");
            }
            Sort::Variable { address, bytes } => {
                let (room, labels) = variables.entry(address).or_default();
                *room = bytes.max(*room);
                let _ = write!(
                    labels,
                    "{head}\t.type s{number}, @object\n\t.size s{number}, {bytes}\ns{number}:\n"
                );
            }
        }
    }
    text += "\t.byte 0\n\t.bss\n";
    for (room, labels) in variables.into_values() {
        let _ = write!(text, "\t.balign 32\n{labels}\t.zero {}\n", room.max(1));
    }
    text + "\t.section .note.GNU-stack, \"\", @progbits\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(name: &str, is_newer: bool) -> Symbol {
        Symbol { name: name.into(), version: Glibc::new(2, 2, 5), sort: Sort::Function, is_newer }
    }

    #[test]
    fn a_symbol_that_moved_lay_in_its_part() {
        let limit = Glibc::new(2, 28, 0);
        assert_eq!(part(&function("pthread_create", true), limit), Some("libpthread.so.0"));
        assert_eq!(part(&function("dlopen", true), limit), Some("libdl.so.2"));
        // Was in libc.so.6 before, and is.
        assert_eq!(part(&function("pthread_mutex_lock", false), limit), None);
        // Got a new version, and did not move.
        assert_eq!(part(&function("glob", true), limit), None);
        assert_eq!(part(&function("dlopen", true), Glibc::new(2, 35, 0)), None);
    }

    /// A program that is linked with the stubs asks for old versions, and runs.
    #[test]
    fn a_program_linked_with_the_stubs_needs_no_newer_c_library() {
        if !cfg!(target_arch = "x86_64") {
            return;
        }
        let limit = Glibc::new(2, 28, 0);
        let folder = tempfile::tempdir().expect("a folder");
        write(folder.path(), limit).expect("stubs");
        super::super::objects(folder.path()).expect("objects");
        let source = folder.path().join("main.c");
        let text = "#include <pthread.h>\n#include <stdio.h>\n#include <sys/stat.h>\n\
                    static int made;\n\
                    __attribute__((constructor)) static void make(void) { made = 1; }\n\
                    static void *run(void *at) { *(int *)at = 7; return 0; }\n\
                    int main(void) {\n  struct stat status; pthread_t thread; int got = 0;\n\
                    if (stat(\"/\", &status) || !S_ISDIR(status.st_mode)) return 1;\n\
                    if (pthread_create(&thread, 0, run, &got) || pthread_join(thread, 0)) return 2;\n\
                    printf(\"made %d got %d\\n\", made, got); return 0; }\n";
        command::write(&source, text).expect("own folder");
        let program = folder.path().join("main");
        let mut cc = Command::new("cc");
        cc.arg(&source).arg("-o").arg(&program).arg("-L").arg(folder.path());
        cc.arg(format!("-B{}/", folder.path().display())).arg("-Wl,--allow-shlib-undefined");
        said(cc.arg("-lpthread")).expect("linked");
        let needs = crate::package::elf::needs(&std::fs::read(&program).expect("built")).expect("ELF");
        assert!(needs.glibc <= Some(limit), "{needs:?}");
        assert!(needs.libraries.contains("libpthread.so.0"), "{needs:?}");
        assert_eq!(said(&mut Command::new(&program)).expect("it runs"), "made 1 got 7\n");
    }
}
