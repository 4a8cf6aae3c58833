//! Trees that were made up for the rule.

use super::*;

/// The findings in a crate of these files below `src`.
fn findings(sources: &[(&str, &str)]) -> Vec<String> {
    let file = |(path, text): &(&str, &str)| File { path: format!("src/{path}"), text: text.to_string() };
    let manifest = File { path: "Cargo.toml".into(), text: "[package]\nname = \"a\"\n".into() };
    let files: Vec<File> = sources.iter().map(file).chain([manifest]).collect();
    check(&files).iter().map(Finding::to_string).collect()
}

/// One finding, and it has each of these texts.
fn found(sources: &[(&str, &str)], texts: &[&str]) {
    let findings = findings(sources);
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert!(texts.iter().all(|text| findings[0].contains(text)), "{findings:?}");
}

fn none(sources: &[(&str, &str)]) {
    assert_eq!(findings(sources), [""; 0]);
}

const TWO: [(&str, &str); 3] = [
    ("lib.rs", "mod a; mod b;"),
    ("a.rs", "use crate::b::B;\npub struct A(B);"),
    ("b.rs", "pub struct B;\nfn f(_: super::a::A) {}"),
];

const THREE: [(&str, &str); 4] = [
    ("lib.rs", "mod a; mod b; mod c;"),
    ("a.rs", "use crate::b;\nfn f() { b::f() }"),
    ("b.rs", "pub fn f() { assert!(super::c::f()) }"),
    ("c.rs", "pub fn f() -> bool { use crate::{a::{self as x}, b}; true }"),
];

#[test]
fn two_files_that_import_each_other_are_a_circle() {
    let texts = ["2 files", "src/a.rs:1 crate::b::B -> src/b.rs", "src/b.rs:2 super::a::A -> src/a.rs"];
    found(&TWO, &texts);
}

#[test]
fn imports_in_macros_and_functions_count_in_a_circle_of_three() {
    let texts =
        ["3 files", "src/a.rs:1 crate::b", "src/b.rs:1 super::c::f", "src/c.rs:1 crate::a -> src/a.rs"];
    found(&THREE, &texts);
}

#[test]
fn imports_one_way_are_no_circle() {
    none(&[("lib.rs", "mod a; mod b;"), ("a.rs", "use crate::b::B;"), ("b.rs", "pub struct B;")]);
}

#[test]
fn a_name_is_followed_through_what_passes_it_on() {
    let through = |top: &str, import: &str| {
        let a = format!("use {import};\npub struct A;");
        let tree = [("lib.rs", top), ("a.rs", &a), ("b.rs", "use crate::a::A;\npub struct B;")];
        found(&tree, &["2 files", "src/a.rs:1", "-> src/b.rs", "src/b.rs:1"]);
    };
    through("mod a; mod b; pub use b::B;", "crate::B");
    through("mod a; mod b; use b::B as Other;", "super::Other");
    through("mod a; mod b; pub use b::*;", "crate::B");
    through("mod a; mod b; mod inner { pub use super::b::B; }", "crate::inner::B");
    through("mod a; mod b; pub use b as other;", "crate::other::B");
}

#[test]
fn a_name_that_comes_with_all_others_is_followed_where_it_stands() {
    let top = "mod a; mod b; mod all;";
    let all = ("all.rs", "pub use crate::b::B;");
    let tree = [("lib.rs", top), all, ("a.rs", "use crate::all::*;\npub struct A(B);"), TWO[2]];
    found(&tree, &["src/a.rs:2 B -> src/b.rs"]);
}

#[test]
fn parent_and_child_may_import_each_other() {
    none(&[
        ("lib.rs", "mod a;\nuse a::A;\npub struct Top(A);"),
        ("a.rs", "mod b;\npub struct A(b::B, super::Top);"),
        ("a/b.rs", "pub struct B;\nuse super::A;"),
    ]);
}

#[test]
fn children_of_one_parent_and_a_grandparent_may_not() {
    let top = ("lib.rs", "mod a;\npub struct Top(a::b::B);");
    let tree = [top, ("a/mod.rs", "pub mod b;"), ("a/b.rs", "pub struct B;\nuse crate::Top;")];
    found(&tree, &["src/a/b.rs:2 crate::Top -> src/lib.rs", "src/lib.rs:2 a::b::B -> src/a/b.rs"]);
}

#[test]
fn tests_and_comments_do_not_count() {
    let code = "pub struct B;\n// use super::a::A;\n/// [`super::a::A`]\nfn f() {}\n";
    let tests = "#[cfg(test)]\nuse crate::a;\n#[cfg(all(test, unix))]\nmod inner { use crate::a::A; }\n#[test]\nfn t() { crate::a::f() }\nimpl B { #[cfg(test)] fn g(_: crate::a::A) {} }\n#[cfg(test)]\nmod tests;";
    none(&[TWO[0], TWO[1], ("b.rs", &format!("{code}{tests}")), ("b/tests.rs", "use crate::a::A;")]);
    found(&[TWO[0], TWO[1], ("b.rs", "pub struct B;\n#[cfg(not(test))]\nuse crate::a;")], &["src/b.rs:3"]);
}

#[test]
fn names_of_other_crates_and_of_variables_are_no_imports() {
    let b = "pub struct B;\nuse a_crate::a::A;\nuse std::fmt;\nfn f() { let a = 1; fmt::g(a) }";
    none(&[TWO[0], TWO[1], ("b.rs", b)]);
}

#[test]
fn a_program_is_a_crate_like_a_library() {
    let manifest =
        File { path: "x/Cargo.toml".into(), text: "[[bin]]\nname = \"y\"\npath = \"y.rs\"".into() };
    let of = |(path, text): &(&str, &str)| File {
        path: format!("x/{}", path.replace("lib.rs", "y.rs")),
        text: text.to_string(),
    };
    let files: Vec<File> = TWO.iter().map(of).chain([manifest]).collect();
    assert_eq!(check(&files).len(), 1);
}

#[test]
fn two_circles_of_a_crate_are_two_findings() {
    let tree = [
        ("lib.rs", "mod a; mod b; mod c; mod d;"),
        TWO[1],
        ("b.rs", "pub struct B;\nuse crate::{a::A, c::C};"),
        ("c.rs", "use crate::d::D;\npub struct C;"),
        ("d.rs", "use crate::c::C;\npub struct D;"),
    ];
    assert_eq!(findings(&tree).len(), 2);
}
