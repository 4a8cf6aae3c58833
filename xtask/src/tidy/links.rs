//! Links between the pages: a link to a file leads to one.

use super::Finding;
use super::tree::File;
use std::path::Path;

/// Checks one page of Markdown.
pub(super) fn check(file: &File, top: &Path) -> Vec<Finding> {
    let folder = top.join(Path::new(&file.path).parent().unwrap_or(Path::new("")));
    let mut findings = Vec::new();
    let mut fenced = false;
    for (number, line) in (1..).zip(file.text.lines()) {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            for target in targets(line).into_iter().filter(|target| !exists(&folder, top, target)) {
                let what = format!("the link leads nowhere: {target}");
                findings.push(Finding { rule: "link", path: file.path.clone(), line: number, what });
            }
        }
    }
    findings
}

/// The targets of `[text](target)` and `[name]: target` in a line, without code in backquotes.
fn targets(line: &str) -> Vec<String> {
    let prose: String = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
    let mut targets: Vec<String> =
        prose.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0.to_string())).collect();
    if let Some((_, target)) = prose.split_once("]: ").filter(|(name, _)| name.starts_with('[')) {
        targets.push(target.to_string());
    }
    targets.iter().filter_map(|target| Some(target.split_whitespace().next()?.to_string())).collect()
}

fn exists(folder: &Path, top: &Path, target: &str) -> bool {
    let target = target.trim_matches(['<', '>']);
    let path = target.split('#').next().unwrap_or("");
    // An item of Rust is rustdoc's to find.
    if path.is_empty() || path.contains("::") || path.contains("://") || path.starts_with("mailto:") {
        return true;
    }
    match path.strip_prefix('/') {
        Some(from_top) => top.join(from_top).exists(),
        None => folder.join(path).exists(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_found_and_code_is_not() {
        assert_eq!(targets("see [a](b.md#c) and ![d](e.png \"title\")"), ["b.md#c", "e.png"]);
        assert_eq!(targets("`[a](b.md)` [x]"), [""; 0]);
        assert_eq!(targets("[name]: f.md"), ["f.md"]);
    }

    #[test]
    fn a_link_must_lead_to_a_file() {
        let top = Path::new(env!("CARGO_MANIFEST_DIR"));
        let text = "[here](Cargo.toml) [there](nowhere.md)\n```\n[code](none.md)\n```\n[web](https://a.b) [#](#x) [item](crate::a)\n";
        let page = File { path: "page.md".into(), text: text.into() };
        let found: Vec<String> = check(&page, top).into_iter().map(|finding| finding.what).collect();
        assert_eq!(found, ["the link leads nowhere: nowhere.md"]);
    }
}
