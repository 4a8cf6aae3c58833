//! The rules of Rust code that need parsing.

use super::Finding;
use super::rules::{Forbid, Rules};
use super::tree::File;
use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};
use quote::ToTokens;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

/// Runs the checks on one file of Rust.
pub(super) fn check(file: &File, rules: &Rules) -> Vec<Finding> {
    let parsed = file.text.parse::<TokenStream>().ok().zip(syn::parse_file(&file.text).ok());
    let Some((tokens, tree)) = parsed else {
        return vec![finding(file, "parse", 0, "this is no Rust".into())];
    };
    let mut findings: Vec<Finding> = header(file).into_iter().collect();
    if !rules.is_generated(&file.path) {
        let mut functions = Functions { file, limit: rules.limits.function_lines, findings: Vec::new() };
        functions.visit_file(&tree);
        findings.extend(functions.findings);
    }
    let forbidden = rules.forbid.iter().filter(|forbid| forbid.holds_for(&file.path)).collect();
    Tokens { file, rules, forbidden, findings: &mut findings }.look(tokens);
    findings
}

fn finding(file: &File, rule: &'static str, line: usize, what: String) -> Finding {
    Finding { rule, path: file.path.clone(), line, what }
}

/// Checks that every file begins by saying what it is.
fn header(file: &File) -> Option<Finding> {
    let first =
        file.text.lines().find(|line| !line.trim().is_empty() && !line.starts_with("#!")).unwrap_or("");
    let what = "the file does not begin with //! and what it is";
    (!first.starts_with("//!")).then(|| finding(file, "header", 1, what.into()))
}

/// Finds long functions.
struct Functions<'a> {
    file: &'a File,
    limit: usize,
    findings: Vec<Finding>,
}

impl Functions<'_> {
    fn measure(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let (first, last) = (signature.span().start().line, block.span().end().line);
        let lines = last - first + 1;
        if lines > self.limit {
            let what = format!("fn {} has {lines} lines, more than {}", signature.ident, self.limit);
            self.findings.push(finding(self.file, "function-lines", first, what));
        }
        self.check_lending(signature, block);
    }

    /// Checks functions that make a slice of an address and hand it out: they promise what only the
    /// caller can keep.
    fn check_lending(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let lends = matches!(&signature.output, syn::ReturnType::Type(_, of) if has_reference(of));
        if lends && signature.unsafety.is_none() && makes_slices(block.to_token_stream()) {
            let what = format!(
                "fn {} lends a slice that it makes of an address, and is no unsafe fn",
                signature.ident
            );
            self.findings.push(finding(self.file, "lent-memory", signature.span().start().line, what));
        }
    }
}

impl<'a> Visit<'a> for Functions<'_> {
    fn visit_item_fn(&mut self, function: &'a syn::ItemFn) {
        self.measure(&function.sig, &function.block);
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'a syn::ImplItemFn) {
        self.measure(&function.sig, &function.block);
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'a syn::TraitItemFn) {
        if let Some(block) = &function.default {
            self.measure(&function.sig, block);
        }
        visit::visit_trait_item_fn(self, function);
    }
}

fn has_reference(of: &syn::Type) -> bool {
    of.to_token_stream()
        .into_iter()
        .any(|token| is_punct(Some(&token), '&') || is_group_with_reference(&token))
}

fn is_group_with_reference(token: &TokenTree) -> bool {
    let TokenTree::Group(group) = token else { return false };
    group.stream().into_iter().any(|token| is_punct(Some(&token), '&') || is_group_with_reference(&token))
}

/// Returns whether the tokens name one of [`SLICE_MAKERS`].
fn makes_slices(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(word) => SLICE_MAKERS.iter().any(|maker| word == maker),
        TokenTree::Group(group) => makes_slices(group.stream()),
        _ => false,
    })
}

/// Functions that make a slice of an address.
const SLICE_MAKERS: [&str; 3] = ["from_raw_parts", "from_raw_parts_mut", "bytes_mut"];

/// Finds words that the rules forbid, in macros too. Comments and texts are no such tokens.
struct Tokens<'a> {
    file: &'a File,
    rules: &'a Rules,
    forbidden: Vec<&'a Forbid>,
    findings: &'a mut Vec<Finding>,
}

impl Tokens<'_> {
    fn look(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        for (at, token) in tokens.iter().enumerate() {
            match token {
                TokenTree::Ident(word) => {
                    self.word(word, tokens.get(at + 1));
                    if is_punct(tokens.get(at + 1), '!') {
                        self.printed(word, tokens.get(at + 2));
                    }
                }
                TokenTree::Group(group) => {
                    if group.delimiter() == Delimiter::Bracket
                        && is_punct(at.checked_sub(1).map(|b| &tokens[b]), '#')
                    {
                        self.attribute(group.stream());
                    }
                    self.look(group.stream());
                }
                _ => {}
            }
        }
    }

    fn word(&mut self, word: &Ident, next: Option<&TokenTree>) {
        let line = word.span().start().line;
        for forbid in &self.forbidden {
            if forbid.words.iter().any(|forbidden| word == forbidden) {
                let what = format!("{word} may not be used here: {}", forbid.why);
                self.findings.push(finding(self.file, "forbidden-word", line, what));
            }
        }
        if is_punct(next, '!') && self.rules.sources.unwritten.iter().any(|name| word == name) {
            self.findings.push(finding(
                self.file,
                "unwritten",
                line,
                format!("{word}! stands for missing code"),
            ));
        }
    }

    /// A test that prints that it is skipped, which the test harness hides.
    fn printed(&mut self, word: &Ident, arguments: Option<&TokenTree>) {
        let Some(TokenTree::Group(arguments)) = arguments else { return };
        let prints = ["eprint", "eprintln", "print", "println"].iter().any(|name| word == name);
        let first = arguments.stream().into_iter().next().map(|first| first.to_string());
        if prints && first.is_some_and(|text| text.to_lowercase().trim_start_matches('"').starts_with("skip"))
        {
            let what = "the test harness hides this: say it by verbena_testing::skip";
            let line = word.span().start().line;
            self.findings.push(finding(self.file, "silent-skip", line, what.into()));
        }
    }

    fn attribute(&mut self, inside: TokenStream) {
        if let Some(TokenTree::Ident(name)) = inside.into_iter().next()
            && name == "ignore"
        {
            let line = name.span().start().line;
            self.findings.push(finding(self.file, "ignored-test", line, "a test that does not run".into()));
        }
    }
}

fn is_punct(token: Option<&TokenTree>, wanted: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: &str = r#"
        limits = { file_lines = 9, file_lines_hard = 9, function_lines = 3 }
        sources = { code = [], no_tabs = [], generated = ["gen/"], unwritten = ["todo"] }
        forbid = [{ words = ["unsafe"], under = ["safe/"], except = ["safe/edge/"], why = "it is safe" }]
    "#;

    fn rules_of(path: &str, text: &str) -> Vec<(&'static str, usize)> {
        let file = File { path: path.into(), text: text.into() };
        check(&file, &Rules::parse(RULES)).into_iter().map(|finding| (finding.rule, finding.line)).collect()
    }

    #[test]
    fn tidy_code_passes() {
        let text =
            "//! A file.\n// unsafe todo!() #[ignore]\nfn f() -> &'static str {\n    \"unsafe todo!()\"\n}\n";
        assert_eq!(rules_of("safe/a.rs", text), []);
    }

    #[test]
    fn each_breach_is_found_with_its_line() {
        assert_eq!(rules_of("a.rs", "fn f() {}\n"), [("header", 1)]);
        assert_eq!(rules_of("a.rs", "//! A.\nfn f() {\n\n\n}\n"), [("function-lines", 2)]);
        assert_eq!(rules_of("a.rs", "//! A.\nimpl A {\nfn f() {\n\n\n}}\n"), [("function-lines", 3)]);
        assert_eq!(rules_of("safe/a.rs", "//! A.\nfn f() { unsafe { g() } }\n"), [("forbidden-word", 2)]);
        assert_eq!(rules_of("safe/edge/a.rs", "//! A.\nfn f() { unsafe { g() } }\n"), []);
        assert_eq!(rules_of("a.rs", "//! A.\nfn f() { unsafe { g() } }\n"), []);
        assert_eq!(rules_of("a.rs", "//! A.\nmacro_rules! m { () => { todo!() } }\n"), [("unwritten", 2)]);
        assert_eq!(
            rules_of("a.rs", "//! A.\n#[test]\n#[ignore = \"slow\"]\nfn f() {}\n"),
            [("ignored-test", 3)]
        );
        assert_eq!(
            rules_of("a.rs", "//! A.\nfn f() { eprintln!(\"Skipped: {x}\") }\n"),
            [("silent-skip", 2)]
        );
        assert_eq!(rules_of("a.rs", "//! A.\nfn f() { eprintln!(\"2 lines skipped\") }\n"), []);
        assert_eq!(rules_of("a.rs", "//! A.\nfn f( {}\n"), [("parse", 0)]);
        let lends = |unsafety: &str, output: &str| {
            format!(
                "//! A.\nimpl A {{ {unsafety} fn f(&self) -> {output} {{ unsafe {{ from_raw_parts(self.0, 1) }} }} }}\n"
            )
        };
        assert_eq!(rules_of("a.rs", &lends("", "&[u8]")), [("lent-memory", 2)]);
        assert_eq!(rules_of("a.rs", &lends("", "Option<(u8, &mut [u8])>")), [("lent-memory", 2)]);
        assert_eq!(rules_of("a.rs", &lends("unsafe", "&[u8]")), []);
        assert_eq!(rules_of("a.rs", &lends("", "Vec<u8>")), []);
    }

    #[test]
    fn generated_functions_may_be_long() {
        assert_eq!(rules_of("gen/a.rs", "//! A.\nfn f() {\n\n\n}\n"), []);
    }
}
