//! The spec file for Fedora, RHEL and their like, and the packages where `rpmbuild` is.

use super::command::{self, said};
use super::ground::Ground;
use super::trial::{Place, listed, without_trace};
use super::verdict::{Tried, Verdict};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;
use time::OffsetDateTime;
use verbena_testing::Lack;

/// The folder of the installed files: `%{_libdir}/verbena` of the spec file.
const HOME: &str = "/usr/lib64/verbena";

/// Writes the spec file and the source archive, and builds the packages from the ready build, if
/// rpmbuild is there.
pub(super) fn make(ground: &Ground) -> Result<Vec<PathBuf>> {
    let (sources, address) = ground.sources()?;
    let spec = ground.out.join("verbena.spec");
    let words = [("RUST", rust(&ground.top)?), ("URL", address), ("DATE", date(ground.epoch)?)];
    let words: Vec<(&str, &str)> = words.iter().map(|(name, value)| (*name, value.as_str())).collect();
    command::write(&spec, ground.page("rpm/verbena.spec", &words)?)?;
    let mut files = vec![sources.clone(), spec.clone()];
    if command::is_there("rpmbuild") {
        files.extend(built(ground, &spec, &sources)?);
    }
    Ok(files)
}

/// The oldest Rust that builds Verbena.
pub(super) fn rust(top: &Path) -> Result<String> {
    let text = std::fs::read_to_string(top.join("Cargo.toml")).context("Cargo.toml")?;
    let manifest: toml::Table = toml::from_str(&text).context("Cargo.toml")?;
    let version =
        manifest.get("workspace").and_then(|table| table.get("package")?.get("rust-version")?.as_str());
    Ok(version.context("Cargo.toml has no workspace.package.rust-version")?.into())
}

/// A date as rpm's list of changes has it.
fn date(epoch: u64) -> Result<String> {
    let when = OffsetDateTime::from_unix_timestamp(i64::try_from(epoch)?)?;
    let [weekday, month] = [when.weekday().to_string(), when.month().to_string()];
    Ok(format!("{} {} {:02} {}", &weekday[..3], &month[..3], when.day(), when.year()))
}

fn built(ground: &Ground, spec: &Path, sources: &Path) -> Result<Vec<PathBuf>> {
    let work = ground.scratch("rpm")?;
    let folder = sources.parent().context("a file lies in a folder")?;
    let mut build = Command::new("rpmbuild");
    for (name, value) in [
        ("_topdir", work.display().to_string()),
        ("_sourcedir", folder.display().to_string()),
        ("_rpmdir", work.join("packages").display().to_string()),
        ("build_dir", ground.build()?.display().to_string()),
        // As on the systems that the package is for: Debian's rpm has lib/x86_64-linux-gnu.
        ("_libdir", "/usr/lib64".into()),
        ("use_source_date_epoch_as_buildtime", "1".into()),
        ("clamp_mtime_to_source_date_epoch", "1".into()),
    ] {
        build.arg("--define").arg(format!("{name} {value}"));
    }
    build.env("SOURCE_DATE_EPOCH", ground.epoch.to_string());
    said(build.args(["-bb", "--nodeps"]).arg(spec))?;
    let mut made = Vec::new();
    for path in listed(&work.join("packages"))? {
        if path.extension().is_some_and(|ending| ending == "rpm") {
            let name = path.file_name().context("a file has a name")?;
            let file = ground.out.join(name);
            std::fs::copy(work.join("packages").join(&path), &file).context("copying a package")?;
            made.push(file);
        }
    }
    Ok(made)
}

/// Lints the spec file and the packages; installs them into an empty root that has only rpm's own
/// list, runs programs there, and removes them.
pub(super) fn check(ground: &Ground, files: &[PathBuf]) -> Vec<Verdict> {
    let mut verdicts = vec![Verdict::of("rpm: rpmlint", lint(&ground.top, files))];
    let is_package = |file: &&PathBuf| file.extension().is_some_and(|ending| ending == "rpm");
    let packages: Vec<&PathBuf> = files.iter().filter(is_package).collect();
    if packages.is_empty() {
        let why = "rpmbuild is not installed (apt-get install rpm)".to_string();
        verdicts.push(Verdict::of("rpm", Ok(Some((Lack::Optional, why)))));
        return verdicts;
    }
    match tried(ground, &packages) {
        Ok(of_packages) => verdicts.extend(of_packages),
        Err(error) => verdicts.push(Verdict::of("rpm", Err(error))),
    }
    verdicts
}

fn tried(ground: &Ground, packages: &[&PathBuf]) -> Result<Vec<Verdict>> {
    let work = ground.scratch("rpm-trial")?;
    let root = work.join("root");
    std::fs::create_dir_all(&root)?;
    let rpm = |words: &[&str]| {
        let mut rpm = Command::new("rpm");
        rpm.arg("--root").arg(&root).args(words);
        rpm
    };
    said(&mut rpm(&["--initdb"]))?;
    let before = listed(&root)?;
    // There is no distribution around it whose packages it could need.
    let installed = said(rpm(&["--install", "--nodeps"]).args(packages));
    let mut verdicts = vec![Verdict::of("rpm: rpm --install", installed.map(|_| None))];
    let home = root.join(HOME.trim_start_matches('/'));
    // It runs where it lies: a root without a C library starts nothing.
    let place = Place::here(&home.join("bin"), &work);
    verdicts.push(Verdict::of("rpm: verbena info", place.info(&ground.version)));
    verdicts.push(Verdict::of("rpm: C", place.c_ring(&ground.top)));
    verdicts.push(Verdict::of("rpm: Fortran", place.fortran_hello(&ground.top)));
    let removed = said(rpm(&["--erase", "--nodeps"]).args(["verbena", "verbena-devel"]));
    verdicts.push(Verdict::of("rpm: rpm --erase", removed.map(|_| None)));
    let is_rpm_s = |path: &Path| path.starts_with("var") || path.starts_with("root");
    // Folders above the package's are those of a distribution, which has them anyway.
    let is_of_all = |path: &Path| {
        ["usr", "usr/lib64", "usr/share", "usr/share/modulefiles", "usr/share/doc", "usr/share/licenses"]
            .iter()
            .any(|folder| path == Path::new(folder))
    };
    verdicts.push(Verdict::of(
        "rpm: nothing is left",
        without_trace(&before, &root, |path| is_rpm_s(path) || is_of_all(path)),
    ));
    Ok(verdicts)
}

/// The errors of rpmlint; its warnings are about what only a distribution decides.
/// `packaging/rpm/verbena.rpmlintrc` excuses errors, each with its reason.
fn lint(top: &Path, files: &[PathBuf]) -> Tried {
    if !command::is_there("rpmlint") {
        return Ok(Some((Lack::Optional, "rpmlint is not installed (apt-get install rpmlint)".into())));
    }
    let is_source = |file: &&PathBuf| file.extension().is_some_and(|ending| ending == "gz");
    let mut rpmlint = Command::new("rpmlint");
    rpmlint.arg("--rpmlintrc").arg(top.join("packaging/rpm/verbena.rpmlintrc"));
    said(rpmlint.args(files.iter().filter(|file| !is_source(file)))).context("rpmlint")?;
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_date_is_in_rpm_s_form() {
        assert_eq!(date(1_700_000_000).expect("a date"), "Tue Nov 14 2023");
        assert_eq!(date(1_767_225_600).expect("a date"), "Thu Jan 01 2026");
    }
}
