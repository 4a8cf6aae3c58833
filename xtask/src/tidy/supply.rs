//! The crates of others: licences that are allowed, crates that are banned, and none twice in the
//! MPI library.

use super::Finding;
use super::rules::Supply;
use crate::crates::{Graph, Package};

/// The package whose library every MPI program loads.
const LIBRARY: &str = "verbena-abi";

/// Checks the whole graph.
pub(super) fn check(graph: &Graph, rules: &Supply) -> Vec<Finding> {
    let all = graph.all().flat_map(|package| of_package(package, rules));
    all.chain(doubled(graph)).map(finding).collect()
}

fn finding(what: String) -> Finding {
    Finding { rule: "supply", path: "Cargo.lock".into(), line: 0, what }
}

fn of_package(package: &Package, rules: &Supply) -> Vec<String> {
    let Package { name, version, license, .. } = package;
    let mut found = Vec::new();
    if rules.banned.contains(name) {
        found.push(format!("{name} {version} is banned"));
    }
    match license {
        None => found.push(format!("{name} {version} names no licence")),
        Some(text) if !is_allowed(text, &rules.licences) => {
            found.push(format!("{name} {version} is under {text}, which is not among the allowed licences"));
        }
        Some(_) => {}
    }
    found
}

/// Returns whether one way of choosing in the SPDX expression needs allowed licences only. An
/// expression that cannot be read is not allowed.
fn is_allowed(text: &str, allowed: &[String]) -> bool {
    let expression = spdx::Expression::parse_mode(text, spdx::ParseMode::LAX);
    let one = |requirement: &spdx::LicenseReq| allowed.contains(&requirement.to_string());
    expression.is_ok_and(|expression| expression.evaluate(one))
}

fn doubled(graph: &Graph) -> Vec<String> {
    let linked = graph.linked_into(LIBRARY);
    let pairs = linked.windows(2).filter(|pair| pair[0].name == pair[1].name);
    pairs
        .map(|pair| {
            let [one, other] = [&pair[0].version, &pair[1].version];
            format!("{} is twice in the MPI library: {one} and {other}", pair[0].name)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crates::tests::graph;

    fn found(lines: &[&str]) -> Vec<String> {
        let rules = Supply {
            licences: vec!["MIT".into(), "Apache-2.0".into(), "Unicode-3.0".into()],
            banned: vec!["leftpad".into()],
        };
        check(&graph(lines), &rules).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn one_allowed_way_to_choose_is_enough() {
        let fine = ["a 1 registry MIT OR GPL-3.0-only:", "b 1 registry MIT/Apache-2.0:"];
        assert_eq!(found(&fine), [""; 0]);
        assert_eq!(found(&["c 1 registry (MIT OR Apache-2.0) AND Unicode-3.0:"]), [""; 0]);
        assert!(found(&["d 1 registry MPL-2.0:"])[0].contains("under MPL-2.0"));
        assert!(found(&["e 1 registry MIT AND MPL-2.0:"])[0].contains("not among"));
        assert!(found(&["f 1 registry:"])[0].contains("names no licence"));
        assert!(found(&["g 1 registry my own:"])[0].contains("not among"));
    }

    #[test]
    fn a_banned_crate_and_a_doubled_one_are_found() {
        assert_eq!(found(&["leftpad 1 registry MIT:"]), ["leftpad 1 is banned"]);
        let library = ["verbena-abi 1 here MIT: a@1, a@2", "a 1 registry MIT:", "a 2 registry MIT:"];
        assert_eq!(found(&library), ["a is twice in the MPI library: 1 and 2"]);
        // Elsewhere it is allowed.
        assert_eq!(found(&["tool 1 here MIT: a@1, a@2", library[1], library[2]]), [""; 0]);
    }
}
