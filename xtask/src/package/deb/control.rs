//! Everything that dpkg is told of a package: control fields, scripts, checksums, licence and
//! changes.

use super::super::command::{self, said};
use super::super::elf::{self, Needs};
use super::super::ground::Ground;
use super::super::trial::listed;
use super::parts::{LAUNCHERS, Part, WRAPPERS};
use super::{architecture, prefix};
use anyhow::{Context, Result};
use flate2::read::GzDecoder;
use std::fmt::Write;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;
use time::OffsetDateTime;

/// The people behind the packages.
const MAINTAINER: &str = "Verbena maintainers <maintainers@users.noreply.a-seed-7096dd0f.example>";
/// The priority of the alternatives: below those of MPICH (40) and Open MPI (50), so that a second
/// library changes nothing until somebody chooses it.
const PRIORITY: u32 = 30;

/// Writes the folder `DEBIAN` of a package whose files are in `root`.
///
/// # Errors
/// A file cannot be read or written.
pub(super) fn write(ground: &Ground, part: &Part, root: &Path) -> Result<()> {
    // What is in DEBIAN is no file of the package.
    let (sums, bytes, needs) = (md5sums(root)?, bytes_in(root)?, needs_of(root)?);
    let compiler = compiler_of_modules(root)?;
    let debian = root.join("DEBIAN");
    command::write(&debian.join("control"), fields(ground, part, bytes, &needs, compiler))?;
    command::write(&debian.join("md5sums"), sums)?;
    for (name, text) in [("postinst", install_script(part)), ("prerm", remove_script(part))] {
        if let Some(text) = text {
            command::write(&debian.join(name), text)?;
            command::make_executable(&debian.join(name))?;
        }
    }
    Ok(())
}

fn fields(ground: &Ground, part: &Part, bytes: u64, needs: &Needs, compiler: Option<String>) -> String {
    let mut depends: Vec<String> =
        part.depends.iter().map(|package| package.replace("@VERSION@", &ground.version)).collect();
    depends.extend(needs.glibc.map(|glibc| format!("libc6 (>= {glibc})")));
    if needs.libraries.contains("libgcc_s.so.1") {
        depends.push("libgcc-s1 (>= 4.2)".into());
    }
    depends.extend(compiler);
    let [short, long] = part.about;
    let mut text = format!("Package: {}\nVersion: {}\n", part.name, ground.version);
    let _ = writeln!(text, "Architecture: {}\nMaintainer: {MAINTAINER}", architecture().0);
    let _ = writeln!(text, "Installed-Size: {}", bytes.div_ceil(1024));
    if !depends.is_empty() {
        let _ = writeln!(text, "Depends: {}", depends.join(", "));
    }
    let _ = write!(text, "{}Section: {}\nPriority: optional\n", part.fields, part.section);
    if part.section == "libs" {
        text += "Multi-Arch: same\n";
    }
    let _ = writeln!(text, "Description: {short}\n {long}");
    text
}

/// The compiler that reads the Fortran modules of the package, if it has any: the one that made
/// them, or another whose modules have the same form.
fn compiler_of_modules(root: &Path) -> Result<Option<String>> {
    let is_module = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "mod");
    let Some(module) = files(root)?.into_iter().find(is_module) else { return Ok(None) };
    let file = root.join(&module);
    let mut text = String::new();
    let packed = File::open(&file).with_context(|| file.display().to_string())?;
    GzDecoder::new(packed).read_to_string(&mut text).with_context(|| file.display().to_string())?;
    let form = module_form(&text).with_context(|| format!("{} is no module", module.display()))?;
    let version = said(Command::new("gfortran").arg("-dumpversion"))?;
    let major = version.trim().split('.').next().unwrap_or_default();
    Ok(Some(format!("gfortran-{major} | gfortran-mod-{form}")))
}

/// The number of the form that gfortran gave a module.
fn module_form(text: &str) -> Option<&str> {
    text.strip_prefix("GFORTRAN module version '")?.split('\'').next()
}

/// Files of the package, by path from its root.
fn files(root: &Path) -> Result<Vec<PathBuf>> {
    let all = listed(root)?.into_iter();
    Ok(all
        .filter(|path| !path.starts_with("DEBIAN"))
        .filter(|path| root.join(path).symlink_metadata().is_ok_and(|about| about.is_file()))
        .collect())
}

fn md5sums(root: &Path) -> Result<String> {
    said(Command::new("md5sum").args(files(root)?).current_dir(root))
}

fn bytes_in(root: &Path) -> Result<u64> {
    let mut bytes = 0;
    for path in files(root)? {
        bytes += root.join(path).metadata()?.len();
    }
    Ok(bytes)
}

fn needs_of(root: &Path) -> Result<Needs> {
    let mut all = Needs::default();
    for path in files(root)? {
        let bytes = std::fs::read(root.join(&path)).with_context(|| path.display().to_string())?;
        if elf::is_elf(&bytes) {
            all.add(elf::needs(&bytes).with_context(|| path.display().to_string())?);
        }
    }
    Ok(all)
}

/// A group of alternatives: the link, its name, what it leads to, and those that follow it.
struct Group {
    link: String,
    name: String,
    target: String,
    followers: Vec<[String; 3]>,
}

/// The groups of a package.
fn groups(part: &Part) -> Vec<Group> {
    let triplet = architecture().1;
    let command = |name: &str| [format!("/usr/bin/{name}"), name.into(), format!("/usr/bin/{name}.verbena")];
    let page = |name: &str| {
        let place = |name: &str| format!("/usr/share/man/man1/{name}.1.gz");
        [place(name), format!("{name}.1.gz"), place(&format!("{name}.verbena"))]
    };
    let commands = |first: &str, group: &str, all: &[&str]| {
        let [link, _, target] = command(first);
        let others = all.iter().filter(|name| **name != first).map(|name| command(name));
        let followers = others.chain(all.iter().map(|name| page(name))).collect();
        Group { link, name: group.into(), target, followers }
    };
    let library = |name: &str| {
        [
            format!("/usr/lib/{triplet}/{name}"),
            format!("{name}-{triplet}"),
            format!("{}/lib/{name}", prefix()),
        ]
    };
    match part.name {
        "libverbena1" => {
            let [link, name, target] = library("libmpi_abi.so.1");
            vec![Group { link, name, target, followers: vec![library("libmpifort_abi.so.1")] }]
        }
        "verbena" => vec![commands("mpirun", "mpirun", &LAUNCHERS)],
        "verbena-dev" => {
            let include = Group {
                link: format!("/usr/include/{triplet}/mpi"),
                name: format!("mpi-{triplet}"),
                target: format!("{}/include", prefix()),
                followers: Vec::new(),
            };
            vec![commands("mpicc", "mpi", &WRAPPERS), include]
        }
        _ => Vec::new(),
    }
}

/// The script that runs after the files are there.
fn install_script(part: &Part) -> Option<String> {
    let mut lines = String::new();
    for Group { link, name, target, followers } in groups(part) {
        let _ = write!(lines, "  update-alternatives --install {link} {name} {target} {PRIORITY}");
        for [link, name, target] in followers {
            let _ = write!(lines, " \\\n    --slave {link} {name} {target}");
        }
        lines.push('\n');
    }
    let head = "#!/bin/sh\nset -e\nif [ \"$1\" = configure ]; then\n";
    (!lines.is_empty()).then(|| format!("{head}{lines}fi\n"))
}

/// The script that runs before the files go.
fn remove_script(part: &Part) -> Option<String> {
    let line = |group: Group| format!("  update-alternatives --remove {} {}\n", group.name, group.target);
    let lines: String = groups(part).into_iter().map(line).collect();
    let head = "#!/bin/sh\nset -e\nif [ \"$1\" = remove ]; then\n";
    (!lines.is_empty()).then(|| format!("{head}{lines}fi\n"))
}

/// The page about the licence, in Debian's form 1.0.
pub(super) fn copyright(ground: &Ground) -> Result<String> {
    let mit = std::fs::read_to_string(ground.top.join("LICENSE-MIT")).context("LICENSE-MIT")?;
    let indented = |text: &str| {
        let line = |line: &str| {
            if line.trim().is_empty() { " .\n".into() } else { format!(" {}\n", line.trim_end()) }
        };
        text.trim().lines().map(line).collect::<String>()
    };
    Ok(format!(
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\
         Upstream-Name: verbena\n\
         Comment:\n Code of other projects is linked in; /usr/share/doc/verbena/THIRD-PARTY.txt\n \
         (of the package verbena) has their names and licences.\n\n\
         Files: *\n\
         Copyright: The Verbena contributors\n\
         License: Apache-2.0 or MIT\n\n\
         License: Apache-2.0\n The text is in /usr/share/common-licenses/Apache-2.0.\n\n\
         License: MIT\n{}",
        indented(&mit)
    ))
}

/// The list of changes: one entry, which points to ours.
pub(super) fn changelog(ground: &Ground) -> Result<String> {
    let date = date(ground.epoch)?;
    Ok(format!(
        "verbena ({}) unstable; urgency=medium\n\n  * Verbena {0}: CHANGELOG.md of its sources says what is new.\n\n \
         -- {MAINTAINER}  {date}\n",
        ground.version
    ))
}

/// A date as RFC 5322 has it.
fn date(epoch: u64) -> Result<String> {
    let when = OffsetDateTime::from_unix_timestamp(i64::try_from(epoch)?)?;
    let [weekday, month] = [when.weekday().to_string(), when.month().to_string()];
    let (hour, minute, second) = when.to_hms();
    let (day, year) = (when.day(), when.year());
    Ok(format!("{}, {day:02} {} {year} {hour:02}:{minute:02}:{second:02} +0000", &weekday[..3], &month[..3]))
}

#[cfg(test)]
mod tests {
    use super::super::parts::PARTS;
    use super::*;

    #[test]
    fn what_is_installed_as_an_alternative_is_removed() {
        for part in &PARTS {
            let (install, remove) =
                (install_script(part).expect("a script"), remove_script(part).expect("one"));
            for group in groups(part) {
                let words = format!("{} {}", group.name, group.target);
                assert!(install.contains(&words) && remove.contains(&words), "{install}{remove}");
            }
        }
        let script = install_script(&PARTS[1]).expect("a script");
        assert!(script.contains("--slave /usr/bin/mpiexec mpiexec /usr/bin/mpiexec.verbena"), "{script}");
    }

    #[test]
    fn the_date_is_in_debian_s_form() {
        assert_eq!(date(1_700_000_000).expect("a date"), "Tue, 14 Nov 2023 22:13:20 +0000");
    }

    #[test]
    fn a_module_says_its_form() {
        assert_eq!(module_form("GFORTRAN module version '15' created from mpi.f90\n"), Some("15"));
        assert_eq!(module_form("!mod$ v1 sum:1234\n"), None);
    }

    #[test]
    fn the_scripts_are_shell() {
        for part in &PARTS {
            let text = install_script(part).expect("a script") + &remove_script(part).expect("a script");
            said(Command::new("sh").args(["-nc", &text])).expect("well-formed");
        }
    }
}
