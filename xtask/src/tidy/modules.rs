//! The tree of a crate's modules, and which file imports which.
//!
//! A path is followed through `use` and `pub use` to the file that defines what it names. The
//! compiler's finer points are left out: methods, macros that are called by their bare name, and
//! what a macro makes.

use super::imports::{self, Body, Named};
use super::tree::File;
use std::collections::{BTreeMap, BTreeSet};

/// An import of one file by another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Import {
    /// The file that imports.
    pub from: String,
    /// The file that defines what is imported.
    pub to: String,
    /// The line in the file that imports, from 1.
    pub line: usize,
    /// The path as it stands there.
    pub path: String,
}

/// A module of the tree.
#[derive(Debug)]
struct Module {
    file: String,
    parent: Option<usize>,
    children: Vec<(String, usize)>,
    body: Body,
}

/// The end of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Module(usize),
    /// Something that this module defines.
    Item(usize),
}

impl Place {
    fn module(self) -> usize {
        match self {
            Place::Module(module) | Place::Item(module) => module,
        }
    }
}

/// The modules of a crate; the first is the top.
#[derive(Debug, Default)]
pub(super) struct Modules {
    all: Vec<Module>,
}

impl Modules {
    /// Reads the crate whose top is the file `top`.
    pub(super) fn of(top: &str, files: &BTreeMap<&str, &File>) -> Modules {
        let mut modules = Modules::default();
        if let Some(file) = files.get(top) {
            let folder = folder(top);
            modules.add(imports::read(&file.text), top, folder, None, files);
        }
        let lifted: Vec<(String, usize)> = (0..modules.all.len()).flat_map(|at| modules.lifted(at)).collect();
        for (name, at) in lifted.into_iter().filter(|(_, at)| *at != 0) {
            let path = modules.path_to(at).into_iter().chain([name.clone()]).collect();
            let named = Named { path, line: 0 };
            modules.all[0].body.uses.push(imports::Use { name: Some(name), named });
        }
        modules
    }

    /// Adds a module and those below it. The files of those lie in `folder`.
    fn add(
        &mut self,
        mut body: Body,
        path: &str,
        folder: String,
        parent: Option<usize>,
        files: &BTreeMap<&str, &File>,
    ) -> usize {
        let at = self.all.len();
        let (inline, outer) = (std::mem::take(&mut body.inline), std::mem::take(&mut body.files));
        self.all.push(Module { file: path.into(), parent, children: Vec::new(), body });
        for (name, body) in inline {
            let child = self.add(body, path, format!("{folder}{name}/"), Some(at), files);
            self.all[at].children.push((name, child));
        }
        for (name, given) in outer {
            let places = match given {
                Some(given) => vec![format!("{}{given}", self::folder(path))],
                None => vec![format!("{folder}{name}.rs"), format!("{folder}{name}/mod.rs")],
            };
            // A file that is not there is made by the build.
            let Some(file) = places.iter().find_map(|place| files.get(place.as_str())) else { continue };
            let below = format!("{folder}{name}/");
            let child = self.add(imports::read(&file.text), &file.path, below, Some(at), files);
            self.all[at].children.push((name, child));
        }
        at
    }

    fn lifted(&self, at: usize) -> Vec<(String, usize)> {
        self.all[at].body.lifted.iter().map(|name| (name.clone(), at)).collect()
    }

    /// The path of a module from the top.
    fn path_to(&self, at: usize) -> Vec<String> {
        let Some(parent) = self.all[at].parent else { return vec!["crate".into()] };
        let mut path = self.path_to(parent);
        path.extend(
            self.all[parent].children.iter().find(|(_, child)| *child == at).map(|(name, _)| name.clone()),
        );
        path
    }

    /// The imports between files, the first for each pair. Those between the file of a module and
    /// the file of its parent are left out.
    pub(super) fn imports(&self) -> Vec<Import> {
        let mut found: BTreeMap<(&str, &str), Import> = BTreeMap::new();
        for (at, module) in self.all.iter().enumerate() {
            let uses = module.body.uses.iter().map(|of| (&of.named, false));
            let paths = module.body.paths.iter().map(|named| (named, named.path.len() == 1));
            for (named, bare) in uses.chain(paths) {
                for place in self.follow(at, &named.path, &mut Vec::new()) {
                    let to = self.all[place.module()].file.as_str();
                    // A name alone is no module: it is something of that name.
                    let skipped = bare && matches!(place, Place::Module(_));
                    if skipped || to == module.file || self.are_kin(&module.file, to) || named.line == 0 {
                        continue;
                    }
                    let (from, path) = (module.file.clone(), named.path.join("::"));
                    let import = Import { from, to: to.into(), line: named.line, path };
                    found.entry((&module.file, to)).or_insert(import);
                }
            }
        }
        found.into_values().collect()
    }

    /// Returns whether one of two files holds a module and the other a module right below it.
    fn are_kin(&self, one: &str, other: &str) -> bool {
        let pairs = self.all.iter().filter_map(|module| Some((module, &self.all[module.parent?])));
        let mut files = pairs.map(|(child, parent)| (child.file.as_str(), parent.file.as_str()));
        files.any(|pair| pair == (one, other) || pair == (other, one))
    }

    /// Follows a path from a module. Nothing if it leads out of the crate.
    fn follow(&self, from: usize, path: &[String], trail: &mut Trail) -> BTreeSet<Place> {
        let mut from = from;
        let mut rest = path;
        let mut places = BTreeSet::new();
        while let Some((first, after)) = rest.split_first() {
            from = match first.as_str() {
                "crate" => 0,
                "self" => from,
                "super" => self.all[from].parent.unwrap_or(0),
                _ => break,
            };
            (rest, places) = (after, BTreeSet::from([Place::Module(from)]));
        }
        if places.is_empty() {
            let Some((first, after)) = rest.split_first() else { return places };
            places = self.look(from, first, after.is_empty(), trail);
            rest = after;
        }
        for (at, name) in rest.iter().enumerate() {
            let last = at + 1 == rest.len();
            places = places.into_iter().flat_map(|place| self.step(place, name, last, trail)).collect();
        }
        places
    }

    fn step(&self, place: Place, name: &str, last: bool, trail: &mut Trail) -> BTreeSet<Place> {
        let Place::Module(module) = place else { return BTreeSet::from([place]) };
        let found = self.look(module, name, last, trail);
        // A name that nobody wrote is a macro's.
        if found.is_empty() { BTreeSet::from([Place::Item(module)]) } else { found }
    }

    /// Looks a name up in a module.
    fn look(&self, at: usize, name: &str, last: bool, trail: &mut Trail) -> BTreeSet<Place> {
        let key = (at, name.to_string());
        if trail.contains(&key) {
            return BTreeSet::new();
        }
        trail.push(key);
        let module = &self.all[at];
        let children = module.children.iter().filter(|(child, _)| child == name);
        let mut found: BTreeSet<Place> = children.map(|(_, child)| Place::Module(*child)).collect();
        if last || found.is_empty() {
            if module.body.items.contains(name) {
                found.insert(Place::Item(at));
            }
            for of in module.body.uses.iter().filter(|of| of.name.as_deref() == Some(name)) {
                found.extend(self.follow(at, &of.named.path, trail));
            }
        }
        if found.is_empty() {
            for of in module.body.uses.iter().filter(|of| of.name.is_none()) {
                for place in self.follow(at, &of.named.path, trail) {
                    if let Place::Module(module) = place {
                        found.extend(self.look(module, name, last, trail));
                    }
                }
            }
        }
        trail.pop();
        found
    }
}

/// The names that are being looked up, so that a name that leads to itself ends.
type Trail = Vec<(usize, String)>;

/// The folder of a file, with `/` at its end.
fn folder(path: &str) -> String {
    path.rsplit_once('/').map_or(String::new(), |(folder, _)| format!("{folder}/"))
}
