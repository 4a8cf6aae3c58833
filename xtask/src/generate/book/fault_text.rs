//! The texts of the faults in a file of Rust, as far as they stand there: literals, formats with
//! their values left out, and names of those.

use anyhow::{Context, Result};
use std::collections::BTreeMap;
use syn::visit::{self, Visit};
use syn::{Block, Expr, Pat};

/// A message that the sources can give.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Message {
    /// The texts of what failed, of which one is shown.
    pub what: Vec<String>,
    /// The likely causes.
    pub cause: Vec<String>,
    /// The remedies.
    pub remedy: Vec<String>,
}

/// Returns the messages of a file. One whose first part is made elsewhere is left out.
///
/// # Errors
/// The file is no Rust.
pub(super) fn messages(source: &str) -> Result<Vec<Message>> {
    let file = syn::parse_file(source).context("this is no Rust")?;
    let mut functions = Functions::default();
    functions.visit_file(&file);
    let mut names = Names { functions: &functions.0, constants: Texts::new(), variables: Texts::new() };
    names.visit_file(&file);
    let constants = names.constants;
    let mut finder = Finder { functions: &functions.0, names: vec![constants], found: Vec::new() };
    finder.visit_file(&file);
    Ok(finder.found)
}

/// The texts that a name stands for.
type Texts = BTreeMap<String, Vec<String>>;
/// The functions of a file by their names.
type Blocks<'a> = BTreeMap<String, &'a Block>;

/// Collects the functions of a file.
#[derive(Default)]
struct Functions<'a>(Blocks<'a>);

impl<'a> Visit<'a> for Functions<'a> {
    fn visit_item_fn(&mut self, function: &'a syn::ItemFn) {
        self.0.insert(function.sig.ident.to_string(), &function.block);
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'a syn::ImplItemFn) {
        self.0.insert(function.sig.ident.to_string(), &function.block);
        visit::visit_impl_item_fn(self, function);
    }
}

/// Collects the constants of a file, or the variables of a function.
struct Names<'f, 'a> {
    functions: &'f Blocks<'a>,
    constants: Texts,
    variables: Texts,
}

impl<'a> Visit<'a> for Names<'_, 'a> {
    fn visit_item_const(&mut self, item: &'a syn::ItemConst) {
        let texts = texts(&item.expr, self.functions, &[]);
        self.constants.insert(item.ident.to_string(), texts);
    }

    fn visit_local(&mut self, local: &'a syn::Local) {
        if let Some(init) = &local.init {
            self.bind(&local.pat, &leaves(&init.expr, self.functions, DEPTH_MAX));
        }
        visit::visit_local(self, local);
    }
}

impl<'a> Names<'_, 'a> {
    /// Gives the names in a pattern the texts of the expressions.
    fn bind(&mut self, pattern: &Pat, values: &[&'a Expr]) {
        match pattern {
            Pat::Type(typed) => self.bind(&typed.pat, values),
            Pat::Ident(name) => {
                let known = [&self.variables];
                let all = values.iter().flat_map(|value| texts(value, self.functions, &known)).collect();
                self.variables.insert(name.ident.to_string(), distinct(all));
            }
            Pat::Tuple(tuple) => {
                for (place, element) in tuple.elems.iter().enumerate() {
                    let parts: Vec<&Expr> =
                        values.iter().flat_map(|value| part(value, place, self.functions)).collect();
                    self.bind(element, &parts);
                }
            }
            _ => {}
        }
    }
}

/// The part of a tuple at this place.
fn part<'a>(value: &'a Expr, place: usize, functions: &Blocks<'a>) -> Vec<&'a Expr> {
    match value {
        Expr::Tuple(tuple) => {
            tuple.elems.iter().nth(place).map(|part| leaves(part, functions, DEPTH_MAX)).unwrap_or_default()
        }
        _ => Vec::new(),
    }
}

/// Finds the messages.
struct Finder<'f, 'a> {
    functions: &'f Blocks<'a>,
    /// The constants of the file, then the variables of the functions around.
    names: Vec<Texts>,
    found: Vec<Message>,
}

impl<'a> Finder<'_, 'a> {
    fn add(&mut self, what: &'a Expr, cause: &'a Expr, remedy: &'a Expr) {
        let known: Vec<&Texts> = self.names.iter().collect();
        let [what, cause, remedy] = [what, cause, remedy].map(|part| texts(part, self.functions, &known));
        if !what.is_empty() {
            self.found.push(Message { what, cause, remedy });
        }
    }

    /// Visits a function with the names of its variables known.
    fn within(&mut self, block: &'a Block, look: impl FnOnce(&mut Self)) {
        let mut names = Names { functions: self.functions, constants: Texts::new(), variables: Texts::new() };
        names.visit_block(block);
        let Names { constants, mut variables, .. } = names;
        variables.extend(constants);
        self.names.push(variables);
        look(self);
        self.names.pop();
    }
}

impl<'a> Visit<'a> for Finder<'_, 'a> {
    fn visit_item_mod(&mut self, item: &'a syn::ItemMod) {
        let is_test = item.attrs.iter().any(|attribute| attribute.path().is_ident("cfg"));
        if !is_test {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_fn(&mut self, function: &'a syn::ItemFn) {
        self.within(&function.block, |finder| visit::visit_item_fn(finder, function));
    }

    fn visit_impl_item_fn(&mut self, function: &'a syn::ImplItemFn) {
        self.within(&function.block, |finder| visit::visit_impl_item_fn(finder, function));
    }

    fn visit_expr_call(&mut self, call: &'a syn::ExprCall) {
        if let Expr::Path(path) = &*call.func {
            let names: Vec<String> =
                path.path.segments.iter().map(|segment| segment.ident.to_string()).collect();
            let of = names.iter().rev().nth(1).map(String::as_str);
            let arguments: Vec<&'a Expr> = call.args.iter().collect();
            match (of, names.last().map(String::as_str), arguments.as_slice()) {
                (Some("Fault"), Some("new"), [what, _, cause, remedy]) => self.add(what, cause, remedy),
                (Some("Error"), Some("new"), [_, what, _, cause, remedy]) => self.add(what, cause, remedy),
                _ => {}
            }
        }
        visit::visit_expr_call(self, call);
    }

    fn visit_expr_struct(&mut self, made: &'a syn::ExprStruct) {
        let field = |name: &str| {
            let is_it =
                |field: &&syn::FieldValue| matches!(&field.member, syn::Member::Named(own) if own == name);
            made.fields.iter().find(is_it).map(|field| &field.expr)
        };
        if made.path.segments.last().is_some_and(|segment| segment.ident == "Fault")
            && let (Some(what), Some(cause), Some(remedy)) = (field("what"), field("cause"), field("remedy"))
        {
            self.add(what, cause, remedy);
        }
        visit::visit_expr_struct(self, made);
    }
}

/// The calls of the file's own functions that are followed, one in the other.
const DEPTH_MAX: usize = 3;

/// The expressions that a choice, a block, a pair of brackets or a call of a function of the file
/// can come to.
fn leaves<'a>(value: &'a Expr, functions: &Blocks<'a>, depth: usize) -> Vec<&'a Expr> {
    let of = |value: &'a Expr| leaves(value, functions, depth);
    match value {
        Expr::Paren(inner) => of(&inner.expr),
        Expr::Group(inner) => of(&inner.expr),
        Expr::Reference(inner) => of(&inner.expr),
        Expr::Block(inner) => last(&inner.block, functions, depth),
        Expr::If(choice) => {
            let mut all = last(&choice.then_branch, functions, depth);
            all.extend(choice.else_branch.iter().flat_map(|(_, other)| of(other)));
            all
        }
        Expr::Match(choice) => choice.arms.iter().flat_map(|arm| of(&arm.body)).collect(),
        Expr::MethodCall(call) if PLAIN.iter().any(|name| call.method == name) => of(&call.receiver),
        other => match called(other).and_then(|name| functions.get(&name)).filter(|_| depth > 0) {
            Some(block) => last(block, functions, depth - 1),
            None => vec![other],
        },
    }
}

/// The name of the function of this file, or of the method of `self`, that an expression calls.
fn called(value: &Expr) -> Option<String> {
    match value {
        Expr::Call(call) => match &*call.func {
            Expr::Path(path) => path.path.get_ident().map(ToString::to_string),
            _ => None,
        },
        Expr::MethodCall(call) => match &*call.receiver {
            Expr::Path(path) if path.path.is_ident("self") => Some(call.method.to_string()),
            _ => None,
        },
        _ => None,
    }
}

/// Methods that leave a text as it is.
const PLAIN: [&str; 4] = ["into", "to_owned", "to_string", "clone"];

fn last<'a>(block: &'a Block, functions: &Blocks<'a>, depth: usize) -> Vec<&'a Expr> {
    match block.stmts.last() {
        Some(syn::Stmt::Expr(value, None)) => leaves(value, functions, depth),
        _ => Vec::new(),
    }
}

/// The texts that an expression can come to, in their order; none if they are made elsewhere.
fn texts<'a>(value: &'a Expr, functions: &Blocks<'a>, known: &[&Texts]) -> Vec<String> {
    distinct(leaves(value, functions, DEPTH_MAX).into_iter().flat_map(|leaf| text(leaf, known)).collect())
}

fn distinct(all: Vec<String>) -> Vec<String> {
    let mut seen: Vec<String> = Vec::new();
    for text in all {
        if !seen.contains(&text) {
            seen.push(text);
        }
    }
    seen
}

fn text(leaf: &Expr, known: &[&Texts]) -> Vec<String> {
    match leaf {
        Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => vec![text.value()],
        Expr::Macro(made) if made.mac.path.is_ident("format") => {
            let first = made.mac.tokens.clone().into_iter().next();
            let text = first.and_then(|token| syn::parse2::<syn::LitStr>(token.into()).ok());
            text.map(|text| vec![without_values(&text.value())]).unwrap_or_default()
        }
        Expr::Path(path) => {
            let name = path.path.get_ident().map(ToString::to_string).unwrap_or_default();
            known.iter().rev().find_map(|texts| texts.get(&name)).cloned().unwrap_or_default()
        }
        _ => Vec::new(),
    }
}

/// A format with a sign for each value.
fn without_values(format: &str) -> String {
    let (mut out, mut depth) = (String::new(), 0);
    let mut letters = format.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '{' | '}' if depth == 0 && letters.peek() == Some(&letter) => {
                letters.next();
                out.push(letter);
            }
            '{' => {
                depth += 1;
                out.push('…');
            }
            '}' => depth -= 1,
            _ if depth == 0 => out.push(letter),
            _ => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(source: &str) -> Vec<Message> {
        messages(source).expect("Rust")
    }

    fn message(what: &[&str], cause: &[&str], remedy: &[&str]) -> Message {
        let [what, cause, remedy] =
            [what, cause, remedy].map(|texts| texts.iter().map(|text| (*text).to_owned()).collect());
        Message { what, cause, remedy }
    }

    #[test]
    fn literals_formats_and_names_are_texts() {
        let source = r#"
            const REMEDY: &str = "mend it";
            fn f(rank: u32) -> Fault {
                let cause = if rank > 0 { "a" } else { "b" };
                Fault::new(format!("rank {rank} {{x}} {:?}", 1), on(), cause, REMEDY)
            }
        "#;
        assert_eq!(found(source), [message(&["rank … {x} …"], &["a", "b"], &["mend it"])]);
    }

    #[test]
    fn each_part_of_a_pair_has_its_own_texts() {
        let source = r#"
            impl A {
                fn f(&self) -> Error {
                    let (what, remedy) = match self.0 { 1 => ("one", "do"), _ => ("two", "do".into()) };
                    mpi::Error::new(CLASS, what, "on", elsewhere(), remedy)
                }
            }
        "#;
        assert_eq!(found(source), [message(&["one", "two"], &[], &["do"])]);
    }

    #[test]
    fn functions_of_the_file_are_followed() {
        let source = r#"
            impl A {
                fn f(&self) -> Fault {
                    let (cause, remedy) = hint(self.0);
                    Fault::new("w", "on", cause, self.more(remedy))
                }
                fn more(&self, _: &str) -> String { format!("{} more", 1) }
            }
            fn hint(n: u8) -> (&'static str, String) { match n { 0 => ("b", "x".into()), _ => ("a", "x".into()) } }
            fn endless() -> &'static str { endless() }
            fn g() -> Fault { Fault::new("v", "", endless(), "r") }
        "#;
        assert_eq!(found(source), [message(&["w"], &["b", "a"], &["… more"]), message(&["v"], &[], &["r"])]);
    }

    #[test]
    fn structs_count_and_tests_and_other_errors_do_not() {
        let source = r#"
            fn f() -> Fault { Fault { what: "w".into(), on: x, cause: "c".to_string(), remedy: "r".into() } }
            fn g() -> io::Error { io::Error::new(kind, "no fault") }
            fn h(what: &str) -> Fault { Fault::new(what, "", "", "") }
            #[cfg(test)]
            mod tests { fn t() { Fault::new("test", "", "", ""); } }
        "#;
        assert_eq!(found(source), [message(&["w"], &["c"], &["r"])]);
    }
}
