//! The crates of others that are linked into what Verbena installs, by `cargo metadata`.

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The packages of this workspace that are installed.
pub(crate) const INSTALLED: [&str; 6] =
    ["verbena", "verbena-abi", "verbena-fortran", "verbena-launch", "verbena-mpich", "verbena-mpifort"];

/// The platform that the graph is taken for.
const PLATFORM: &str = "x86_64-unknown-linux-gnu";

/// A package of the graph.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Package {
    /// The name in its manifest.
    pub name: String,
    /// The version of the package.
    pub version: String,
    /// The licence, as an SPDX expression; none if the manifest has none.
    pub license: Option<String>,
    /// The path of its manifest.
    pub manifest_path: PathBuf,
    /// The source of the package; none for the packages of this workspace.
    pub source: Option<String>,
    id: String,
    targets: Vec<Target>,
}

#[derive(Clone, Debug, Deserialize)]
struct Target {
    kind: Vec<String>,
}

impl Package {
    /// Returns whether it runs in the compiler, so that nothing of it is in what is built.
    fn is_macro(&self) -> bool {
        self.targets.iter().any(|target| target.kind.iter().any(|kind| kind == "proc-macro"))
    }
}

/// All packages, and the links between them.
#[derive(Debug)]
pub(crate) struct Graph {
    packages: BTreeMap<String, Package>,
    /// The ids of the packages that each package links.
    links: BTreeMap<String, Vec<String>>,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    pkg: String,
    dep_kinds: Vec<DependencyKind>,
}

#[derive(Deserialize)]
struct DependencyKind {
    /// None for an ordinary dependency; else `dev` or `build`.
    kind: Option<String>,
}

impl Graph {
    /// Asks cargo about the workspace at `top`.
    ///
    /// # Errors
    /// Cargo fails, or the lock file does not fit the manifests.
    pub(crate) fn of(top: &Path) -> Result<Graph> {
        let arguments = ["metadata", "--format-version=1", "--locked", "--filter-platform", PLATFORM];
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let output =
            Command::new(cargo).args(arguments).current_dir(top).output().context("cargo metadata")?;
        ensure!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
        Graph::parse(&output.stdout)
    }

    fn parse(text: &[u8]) -> Result<Graph> {
        let Metadata { packages, resolve } = serde_json::from_slice(text).context("cargo metadata")?;
        let is_linked = |dependency: &Dependency| dependency.dep_kinds.iter().any(|kind| kind.kind.is_none());
        let links = |node: Node| {
            (node.id, node.deps.into_iter().filter(is_linked).map(|dependency| dependency.pkg).collect())
        };
        Ok(Graph {
            packages: packages.into_iter().map(|package| (package.id.clone(), package)).collect(),
            links: resolve.nodes.into_iter().map(links).collect(),
        })
    }

    /// The crates of others that are linked into a package of this workspace, by name and version.
    pub(crate) fn linked_into(&self, package: &str) -> Vec<&Package> {
        let is_root = |p: &&Package| p.name == package && p.source.is_none();
        let mut waiting: Vec<&str> = self.packages.values().filter(is_root).map(|p| p.id.as_str()).collect();
        let mut seen = BTreeSet::new();
        while let Some(id) = waiting.pop() {
            if seen.insert(id) && !self.packages[id].is_macro() {
                waiting.extend(self.links.get(id).into_iter().flatten().map(String::as_str));
            }
        }
        let others = seen.into_iter().map(|id| &self.packages[id]);
        let mut others: Vec<&Package> = others.filter(|p| p.source.is_some() && !p.is_macro()).collect();
        others.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
        others
    }

    /// The crates of others that are linked into anything that is installed, by name and version.
    pub(crate) fn installed(&self) -> Vec<&Package> {
        let all = INSTALLED.iter().flat_map(|package| self.linked_into(package));
        all.map(|p| ((&p.name, &p.version), p)).collect::<BTreeMap<_, _>>().into_values().collect()
    }

    /// The crates of others that a package links itself, by name and version.
    pub(crate) fn linked_by(&self, package: &Package) -> Vec<&Package> {
        let ids = self.links.get(&package.id).into_iter().flatten();
        let linked = ids.filter_map(|id| self.packages.get(id));
        linked.filter(|other| other.source.is_some() && !other.is_macro()).collect()
    }

    /// Every crate of others that the workspace builds or runs, tests included.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Package> {
        self.packages.values().filter(|package| package.source.is_some())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A graph from lines `name version [registry] licence: linked, !built with`.
    pub(crate) fn graph(lines: &[&str]) -> Graph {
        let of = |line: &&str| {
            let (head, rest) = line.split_once(": ").unwrap_or((line.trim_end_matches(':'), ""));
            let words: Vec<&str> = head.split(' ').collect();
            let dependency = |name: &str| match name.strip_prefix('!') {
                Some(name) => serde_json::json!({"pkg": name, "dep_kinds": [{"kind": "build"}]}),
                None => serde_json::json!({"pkg": name, "dep_kinds": [{"kind": null}]}),
            };
            let id = format!("{}@{}", words[0], words[1]);
            let deps: Vec<_> = rest.split(", ").filter(|name| !name.is_empty()).map(dependency).collect();
            let package = serde_json::json!({
                "name": words[0], "version": words[1], "id": id, "manifest_path": "/none/Cargo.toml",
                "license": words.get(3).map(|_| words[3..].join(" ")),
                "source": (words.get(2) == Some(&"registry")).then_some("registry"),
                "targets": [{"kind": ["lib"]}],
            });
            (package, serde_json::json!({"id": id, "deps": deps}))
        };
        let (packages, nodes): (Vec<_>, Vec<_>) = lines.iter().map(of).unzip();
        let text = serde_json::json!({"packages": packages, "resolve": {"nodes": nodes}});
        Graph::parse(text.to_string().as_bytes()).expect("a graph")
    }

    #[test]
    fn what_is_linked_counts_and_what_builds_does_not() {
        let graph = graph(&[
            "verbena-abi 1 here: low@1, !tool@1",
            "low 1 registry MIT: lower@2",
            "lower 2 registry MIT:",
            "tool 1 registry MIT:",
        ]);
        let names = |all: Vec<&Package>| all.iter().map(|p| p.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(graph.linked_into("verbena-abi")), ["low", "lower"]);
        assert_eq!(names(graph.installed()), ["low", "lower"]);
        assert_eq!(graph.all().count(), 3);
    }
}
