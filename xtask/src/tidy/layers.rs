//! Each layer knows the ones below it and nothing above: the manifests say what the design says.

use super::Finding;
use super::rules::Rules;
use super::tree::File;
use toml::{Table, Value};

/// Checks one `Cargo.toml`.
pub fn check(file: &File, rules: &Rules) -> Vec<Finding> {
    let finding = |what: String| Finding { rule: "layer", path: file.path.clone(), line: 0, what };
    let Ok(manifest) = file.text.parse::<Table>() else { return vec![finding("this is no TOML".into())] };
    let Some(package) = name(&manifest) else { return Vec::new() };
    let Some(allowed) = rules.layers.get(package) else {
        return vec![finding(format!("{package} has no place among the layers of xtask/tidy.toml"))];
    };
    let within = |name: &String| rules.layers.contains_key(name.as_str());
    let known = dependencies(&manifest).into_iter().filter(within);
    let above = known.filter(|name| !allowed.contains(name));
    above.map(|name| finding(format!("{package} may not know {name}"))).collect()
}

fn name(manifest: &Table) -> Option<&str> {
    manifest.get("package")?.get("name")?.as_str()
}

/// The names of what a package is built with, on any platform. Tests may depend on what they like.
fn dependencies(manifest: &Table) -> Vec<String> {
    let platforms = manifest.get("target").and_then(Value::as_table);
    let platforms = platforms.into_iter().flat_map(Table::values).filter_map(Value::as_table);
    let tables = std::iter::once(manifest).chain(platforms);
    let kinds = tables.flat_map(|table| ["dependencies", "build-dependencies"].map(|kind| table.get(kind)));
    kinds.flatten().filter_map(Value::as_table).flat_map(Table::keys).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(manifest: &str) -> Vec<String> {
        let rules = Rules::parse("layers = { low = [], high = [\"low\"] }");
        let file = File { path: "Cargo.toml".into(), text: manifest.into() };
        check(&file, &rules).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn knowing_downwards_is_fine_and_upwards_is_not() {
        let high = "[package]\nname = \"high\"\n[dependencies]\nlow = \"1\"\nlibc = \"1\"\n";
        assert_eq!(findings(high), [""; 0]);
        let low = "[package]\nname = \"low\"\n[target.'cfg(unix)'.dependencies]\nhigh = { path = \"..\" }\n";
        assert_eq!(findings(low), ["low may not know high"]);
    }

    #[test]
    fn every_package_has_a_place() {
        assert!(findings("[package]\nname = \"new\"\n")[0].contains("no place"));
        assert_eq!(findings("[workspace]\n"), [""; 0]);
    }
}
