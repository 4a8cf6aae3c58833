//! The modules, names and imports that one file of Rust holds, test code aside.

use proc_macro2::{TokenStream, TokenTree};
use std::collections::BTreeSet;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

/// The contents of a module as far as names go.
#[derive(Debug, Default)]
pub(super) struct Body {
    /// Modules whose bodies are here too.
    pub inline: Vec<(String, Body)>,
    /// Modules in files of their own, and the path of the file if an attribute names it.
    pub files: Vec<(String, Option<String>)>,
    /// Names that are defined here.
    pub items: BTreeSet<String>,
    /// The names that `use` brings in.
    pub uses: Vec<Use>,
    /// Paths of other code.
    pub paths: Vec<Named>,
    /// Macros that `#[macro_export]` lifts to the top of the crate.
    pub lifted: BTreeSet<String>,
}

/// A path, and the line where it stands.
#[derive(Clone, Debug)]
pub(super) struct Named {
    /// The parts between the colons.
    pub path: Vec<String>,
    /// The line, from 1.
    pub line: usize,
}

/// One name that a `use` brings in.
#[derive(Clone, Debug)]
pub(super) struct Use {
    /// The name here; none if it is all names of a module.
    pub name: Option<String>,
    /// The path of what is brought in.
    pub named: Named,
}

/// Reads a file; nothing if it is no Rust, which is a finding of another rule.
pub(super) fn read(text: &str) -> Body {
    let mut body = Body::default();
    if let Ok(tree) = syn::parse_file(text) {
        body.visit_file(&tree);
    }
    body
}

impl Body {
    fn bring(&mut self, tree: &syn::UseTree, before: &[String], line: usize) {
        let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
        match tree {
            syn::UseTree::Path(path) => self.bring(&path.tree, &with(&path.ident), line),
            syn::UseTree::Group(group) => {
                for tree in &group.items {
                    self.bring(tree, before, tree.span().start().line);
                }
            }
            syn::UseTree::Glob(_) => self.bound(None, before.to_vec(), line),
            syn::UseTree::Name(name) if name.ident == "self" => {
                self.bound(before.last().cloned(), before.to_vec(), line);
            }
            syn::UseTree::Name(name) => self.bound(Some(name.ident.to_string()), with(&name.ident), line),
            syn::UseTree::Rename(name) if name.ident == "self" => {
                self.bound(Some(name.rename.to_string()), before.to_vec(), line);
            }
            syn::UseTree::Rename(name) => self.bound(Some(name.rename.to_string()), with(&name.ident), line),
        }
    }

    fn bound(&mut self, name: Option<String>, path: Vec<String>, line: usize) {
        self.uses.push(Use { name, named: Named { path, line } });
    }

    /// Takes the paths of more than one part from what a macro is given, or is made of.
    fn take(&mut self, tokens: TokenStream) {
        let mut tokens = tokens.into_iter().peekable();
        let mut path: Vec<String> = Vec::new();
        let mut colons = 0;
        while let Some(token) = tokens.next() {
            match token {
                TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
                TokenTree::Ident(word) => {
                    if colons != 2 {
                        path.clear();
                    }
                    path.push(word.to_string());
                    colons = 0;
                    let goes_on =
                        matches!(tokens.peek(), Some(TokenTree::Punct(punct)) if punct.as_char() == ':');
                    if path.len() > 1 && !goes_on {
                        self.paths.push(Named { path: path.clone(), line: word.span().start().line });
                    }
                }
                other => {
                    // `a::{..}` and `a::<T>` end a path as well.
                    if path.len() > 1 && colons == 2 {
                        self.paths.push(Named { path: path.clone(), line: other.span().start().line });
                    }
                    (path, colons) = (Vec::new(), 0);
                    if let TokenTree::Group(group) = other {
                        self.take(group.stream());
                    }
                }
            }
        }
    }
}

impl<'a> Visit<'a> for Body {
    fn visit_item(&mut self, item: &'a syn::Item) {
        if !is_test(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_file(&mut self, file: &'a syn::File) {
        self.items.extend(file.items.iter().filter_map(name));
        visit::visit_file(self, file);
    }

    fn visit_item_mod(&mut self, module: &'a syn::ItemMod) {
        let name = module.ident.to_string();
        let Some((_, items)) = &module.content else {
            self.files.push((name, path_attribute(&module.attrs)));
            return;
        };
        let mut inner = Body::default();
        inner.items.extend(items.iter().filter_map(self::name));
        for item in items {
            inner.visit_item(item);
        }
        self.inline.push((name, inner));
    }

    fn visit_item_use(&mut self, item: &'a syn::ItemUse) {
        self.bring(&item.tree, &[], item.use_token.span.start().line);
    }

    fn visit_item_macro(&mut self, item: &'a syn::ItemMacro) {
        if let Some(name) = &item.ident
            && item.attrs.iter().any(|attribute| attribute.path().is_ident("macro_export"))
        {
            self.lifted.insert(name.to_string());
        }
        visit::visit_item_macro(self, item);
    }

    fn visit_impl_item_fn(&mut self, function: &'a syn::ImplItemFn) {
        if !is_test(&function.attrs) {
            visit::visit_impl_item_fn(self, function);
        }
    }

    fn visit_macro(&mut self, call: &'a syn::Macro) {
        self.visit_path(&call.path);
        self.take(call.tokens.clone());
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        let parts = path.segments.iter().map(|part| part.ident.to_string()).collect();
        self.paths.push(Named { path: parts, line: path.span().start().line });
        visit::visit_path(self, path);
    }

    fn visit_vis_restricted(&mut self, _: &'a syn::VisRestricted) {}

    fn visit_attribute(&mut self, _: &'a syn::Attribute) {}
}

/// Returns whether code is there in tests only.
fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let condition = attribute.path().is_ident("cfg").then(|| attribute.parse_args::<syn::Meta>().ok());
        attribute.path().is_ident("test") || condition.flatten().is_some_and(|meta| asks_for_test(&meta))
    })
}

/// Returns whether a condition holds in tests only: `test`, or `all` of it and more.
fn asks_for_test(condition: &syn::Meta) -> bool {
    let syn::Meta::List(list) = condition else { return condition.path().is_ident("test") };
    type Metas = syn::punctuated::Punctuated<syn::Meta, syn::Token![,]>;
    let within = list.parse_args_with(Metas::parse_terminated).unwrap_or_default();
    list.path.is_ident("all") && within.iter().any(asks_for_test)
}

fn path_attribute(attributes: &[syn::Attribute]) -> Option<String> {
    let attribute = attributes.iter().find(|attribute| attribute.path().is_ident("path"))?;
    let syn::Meta::NameValue(pair) = &attribute.meta else { return None };
    let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(path), .. }) = &pair.value else { return None };
    Some(path.value())
}

fn attributes(item: &syn::Item) -> &[syn::Attribute] {
    match item {
        syn::Item::Const(item) => &item.attrs,
        syn::Item::Enum(item) => &item.attrs,
        syn::Item::Fn(item) => &item.attrs,
        syn::Item::ForeignMod(item) => &item.attrs,
        syn::Item::Impl(item) => &item.attrs,
        syn::Item::Macro(item) => &item.attrs,
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Static(item) => &item.attrs,
        syn::Item::Struct(item) => &item.attrs,
        syn::Item::Trait(item) => &item.attrs,
        syn::Item::Type(item) => &item.attrs,
        syn::Item::Union(item) => &item.attrs,
        syn::Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// The name that an item defines in its module, if it is neither a module nor a `use`.
fn name(item: &syn::Item) -> Option<String> {
    let name = match item {
        syn::Item::Const(item) => &item.ident,
        syn::Item::Enum(item) => &item.ident,
        syn::Item::Fn(item) => &item.sig.ident,
        syn::Item::Macro(item) => item.ident.as_ref()?,
        syn::Item::Static(item) => &item.ident,
        syn::Item::Struct(item) => &item.ident,
        syn::Item::Trait(item) => &item.ident,
        syn::Item::Type(item) => &item.ident,
        syn::Item::Union(item) => &item.ident,
        _ => return None,
    };
    (!is_test(attributes(item))).then(|| name.to_string())
}
