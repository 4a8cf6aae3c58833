//! Each layer knows the ones below it and nothing above: the manifests say what the design says,
//! and so does the table of the page that explains it.

use super::Finding;
use super::rules::Rules;
use super::tree::File;
use std::collections::BTreeMap;
use toml::{Table, Value};

/// Checks one `Cargo.toml`.
pub(super) fn check(file: &File, rules: &Rules) -> Vec<Finding> {
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

/// The prefix of the names of packages; the page leaves it out.
const PREFIX: &str = "verbena-";
/// The head of the page's table.
const HEAD: [&str; 2] = ["crate", "knows"];

/// Compares the page's table of the layers with the rules: the same packages, and each knows the
/// same.
pub(super) fn check_page(files: &[File], rules: &Rules) -> Vec<Finding> {
    let path = &rules.pages.layers;
    if path.is_empty() {
        return Vec::new();
    }
    let finding = |what: String| Finding { rule: "layer-table", path: path.clone(), line: 0, what };
    let Some(page) = files.iter().find(|file| file.path == *path) else {
        return vec![finding("there is no such page".into())];
    };
    let (told, kept) = (told(&page.text), kept(rules));
    let packages = told.keys().chain(kept.keys().filter(|package| !told.contains_key(*package)));
    let differing = packages.filter(|package| told.get(*package) != kept.get(*package));
    let words = |of: Option<&Vec<String>>| of.map_or("nothing of it".into(), |known| known.join(", "));
    differing
        .map(|package| {
            let (told, kept) = (words(told.get(package)), words(kept.get(package)));
            finding(format!("{package} knows [{told}] here and [{kept}] in xtask/tidy.toml"))
        })
        .collect()
}

/// The rules' layers by short names, in order.
fn kept(rules: &Rules) -> BTreeMap<String, Vec<String>> {
    let short = |package: &String| package.strip_prefix(PREFIX).unwrap_or(package).to_string();
    let known = |names: &Vec<String>| sorted(names.iter().map(short).collect());
    rules.layers.iter().map(|(package, names)| (short(package), known(names))).collect()
}

/// The page's layers: names stand between backquotes in the first and the last cell of each row.
fn told(page: &str) -> BTreeMap<String, Vec<String>> {
    let cells = |row: &str| row.trim_matches('|').split('|').map(str::trim).map(String::from).collect();
    let is_head = |row: &Vec<String>| {
        row.first().map(String::as_str) == Some(HEAD[0]) && row.last().map(String::as_str) == Some(HEAD[1])
    };
    let names = |cell: &String| cell.split('`').skip(1).step_by(2).map(String::from).collect::<Vec<_>>();
    let rows = page.lines().map(|line| if line.starts_with('|') { cells(line) } else { Vec::new() });
    let rows = rows.skip_while(|row| !is_head(row)).skip(2).take_while(|row: &Vec<String>| !row.is_empty());
    let mut layers = BTreeMap::new();
    for row in rows {
        let known = sorted(row.last().map(names).unwrap_or_default());
        layers
            .extend(row.first().map(names).unwrap_or_default().into_iter().map(|name| (name, known.clone())));
    }
    layers
}

fn sorted(mut names: Vec<String>) -> Vec<String> {
    names.sort();
    names
}

fn name(manifest: &Table) -> Option<&str> {
    manifest.get("package")?.get("name")?.as_str()
}

/// Returns the names of the packages that a package is built with, on any platform. Tests may
/// depend on any.
fn dependencies(manifest: &Table) -> Vec<String> {
    let platforms = manifest.get("target").and_then(Value::as_table);
    let platforms = platforms.into_iter().flat_map(Table::values).filter_map(Value::as_table);
    let tables = std::iter::once(manifest).chain(platforms);
    let kinds = tables.flat_map(|table| ["dependencies", "build-dependencies"].map(|kind| table.get(kind)));
    let entries = kinds.flatten().filter_map(Value::as_table).flatten();
    // A crate may be known under another name.
    let name =
        |(key, value): (&String, &Value)| value.get("package").and_then(Value::as_str).unwrap_or(key).into();
    entries.map(name).collect()
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
        let low =
            "[package]\nname = \"low\"\n[dependencies]\nother = { package = \"high\", path = \"..\" }\n";
        assert_eq!(findings(low), ["low may not know high"]);
    }

    #[test]
    fn every_package_has_a_place() {
        assert!(findings("[package]\nname = \"new\"\n")[0].contains("no place"));
        assert_eq!(findings("[workspace]\n"), [""; 0]);
    }

    fn page_findings(page: &str) -> Vec<String> {
        let rules = Rules::parse(
            "layers = { verbena-low = [], verbena-high = [\"verbena-low\", \"verbena\"], verbena = [] }\npages = { layers = \"a.md\" }",
        );
        let file = File { path: "a.md".into(), text: page.into() };
        check_page(&[file], &rules).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn the_page_says_what_the_rules_say() {
        let page = "| a | table |\n| --- | --- |\n\n| crate | job | knows |\n| --- | --- | --- |\n";
        let rows = "| `low`, `verbena` | `x` | |\n| `high` | | `verbena`, `low` |\n\n| `other` | | |\n";
        assert_eq!(page_findings(&format!("{page}{rows}")), [""; 0]);
        let wrong = "| `verbena` | | `low` |\n| `high` | | `verbena`, `low` |\n| `new` | | |\n";
        assert_eq!(
            page_findings(&format!("{page}{wrong}")),
            [
                "new knows [] here and [nothing of it] in xtask/tidy.toml",
                "verbena knows [low] here and [] in xtask/tidy.toml",
                "low knows [nothing of it] here and [] in xtask/tidy.toml",
            ]
        );
    }

    #[test]
    fn a_page_that_is_missing_is_a_finding() {
        assert_eq!(check_page(&[], &Rules::parse("pages = { layers = \"a.md\" }"))[0].rule, "layer-table");
        assert_eq!(check_page(&[], &Rules::parse("")), []);
    }
}
