//! The bill of materials, in the form CycloneDX 1.5: every crate of others that is linked into what
//! is installed.

use crate::crates::{Graph, Package};
use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The reference of Verbena itself.
const OWN: &str = "verbena";

/// The text of the bill. `lock` is the text of Cargo.lock, which has the crates' checksums.
///
/// # Errors
/// The lock file cannot be read.
pub(super) fn write(graph: &Graph, lock: &str, version: &str) -> Result<String> {
    let sums = checksums(lock)?;
    let crates = graph.installed();
    let components: Vec<Value> = crates.iter().map(|package| component(package, &sums)).collect();
    let mut dependencies = vec![json!({
        "ref": OWN,
        "dependsOn": crates.iter().map(|package| reference(package)).collect::<Vec<_>>(),
    })];
    for package in &crates {
        let others: Vec<String> = graph.linked_by(package).into_iter().map(reference).collect();
        dependencies.push(json!({ "ref": reference(package), "dependsOn": others }));
    }
    let bill = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "tools": { "components": [{ "type": "application", "name": "cargo xtask release" }] },
            "component": {
                "type": "application",
                "bom-ref": OWN,
                "name": OWN,
                "version": version,
                "licenses": [{ "expression": "Apache-2.0 OR MIT" }],
            },
        },
        "components": components,
        "dependencies": dependencies,
    });
    Ok(serde_json::to_string_pretty(&bill)? + "\n")
}

/// The address of a crate, as package-url has it.
fn reference(package: &Package) -> String {
    format!("pkg:cargo/{}@{}", package.name, package.version)
}

fn component(package: &Package, sums: &BTreeMap<(String, String), String>) -> Value {
    let Package { name, version, license, .. } = package;
    let mut component = json!({
        "type": "library",
        "bom-ref": reference(package),
        "name": name,
        "version": version,
        "scope": "required",
        "purl": reference(package),
    });
    if let Some(license) = license {
        // The old form of a choice.
        component["licenses"] = json!([{ "expression": license.replace('/', " OR ") }]);
    }
    if let Some(sum) = sums.get(&(name.clone(), version.clone())) {
        component["hashes"] = json!([{ "alg": "SHA-256", "content": sum }]);
    }
    component
}

/// The checksums of the crates' archives, by name and version.
fn checksums(lock: &str) -> Result<BTreeMap<(String, String), String>> {
    let lock: toml::Table = toml::from_str(lock).context("Cargo.lock")?;
    let packages =
        lock.get("package").and_then(toml::Value::as_array).context("Cargo.lock has no packages")?;
    let word = |package: &toml::Value, key: &str| Some(package.get(key)?.as_str()?.to_string());
    let sum = |package: &toml::Value| {
        Some(((word(package, "name")?, word(package, "version")?), word(package, "checksum")?))
    };
    Ok(packages.iter().filter_map(sum).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crates::tests::graph;
    use std::collections::BTreeSet;

    #[test]
    fn every_linked_crate_is_named_with_its_licence_and_checksum() {
        let graph = graph(&[
            "verbena-abi 1 here: low@1, !tool@1",
            "low 1 registry MIT/Apache-2.0: lower@2",
            "lower 2 registry Zlib:",
            "tool 1 registry MIT:",
        ]);
        let lock = "[[package]]\nname = \"low\"\nversion = \"1\"\nchecksum = \"abc\"\n";
        let bill: Value = serde_json::from_str(&write(&graph, lock, "0.2.0").expect("a bill")).expect("JSON");
        let low = &bill["components"][0];
        assert_eq!(low["purl"], "pkg:cargo/low@1");
        assert_eq!(low["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert_eq!(low["hashes"][0]["content"], "abc");
        assert_eq!(bill["components"].as_array().map(Vec::len), Some(2), "{bill}");
        assert_eq!(bill["dependencies"][1]["dependsOn"], json!(["pkg:cargo/lower@2"]));
    }

    /// The tree's own bill: each reference leads somewhere, and each crate has its checksum.
    #[test]
    fn the_tree_s_bill_is_whole() {
        let top = verbena_codegen::root();
        let lock = std::fs::read_to_string(top.join("Cargo.lock")).expect("the lock file");
        let text = write(&Graph::of(&top).expect("the graph"), &lock, "0.2.0").expect("a bill");
        let bill: Value = serde_json::from_str(&text).expect("JSON");
        let components = bill["components"].as_array().expect("a list");
        let mut known: BTreeSet<&str> = components.iter().filter_map(|c| c["bom-ref"].as_str()).collect();
        known.insert(OWN);
        assert!(components.iter().all(|c| c["hashes"][0]["content"].is_string()), "{text}");
        for dependency in bill["dependencies"].as_array().expect("a list") {
            assert!(known.contains(dependency["ref"].as_str().expect("a name")));
            let others = dependency["dependsOn"].as_array().expect("a list");
            assert!(
                others.iter().all(|other| known.contains(other.as_str().expect("a name"))),
                "{dependency}"
            );
        }
    }
}
