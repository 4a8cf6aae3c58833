//! The processors of a host as Linux describes them under `/sys`: which cores, caches, memory nodes
//! and packages hold each. It reads files below a folder and makes no other system call.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::fs::read_to_string;
use std::path::Path;

/// The folder in which Linux describes the processors.
pub const ROOT: &str = "/sys/devices/system";

/// The highest number that a processor may have in a list of the kernel.
pub(crate) const PROCESSORS_MAX: u32 = 1 << 16;

/// A sort of hardware that processors belong to, from the smallest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Object {
    /// A processor itself, as the kernel counts them.
    HardwareThread,
    /// A core, with one processor or several.
    Core,
    /// The first cache for data.
    L1Cache,
    /// The second cache.
    L2Cache,
    /// The third cache.
    L3Cache,
    /// A node of memory.
    Numa,
    /// A package, which sits in a socket.
    Package,
}

impl Object {
    /// The sorts and their names on the command line, the first of each for messages.
    pub const NAMES: [(&str, Object); 12] = [
        ("hwthread", Object::HardwareThread),
        ("core", Object::Core),
        ("l1cache", Object::L1Cache),
        ("l2cache", Object::L2Cache),
        ("l3cache", Object::L3Cache),
        ("numa", Object::Numa),
        ("package", Object::Package),
        ("pu", Object::HardwareThread),
        ("l1", Object::L1Cache),
        ("l2", Object::L2Cache),
        ("l3", Object::L3Cache),
        ("socket", Object::Package),
    ];

    /// The sort of this name.
    pub fn named(name: &str) -> Option<Object> {
        Object::NAMES.iter().find(|(known, _)| *known == name).map(|(_, object)| *object)
    }
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Object::NAMES.iter().find(|(_, object)| object == self).map_or("", |(name, _)| name))
    }
}

/// A processor, and the number of each object that holds it, where the system tells it. Cores and
/// caches have the number of their first processor.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Processor {
    number: u32,
    core: Option<u32>,
    caches: [Option<u32>; 3],
    numa: Option<u32>,
    package: Option<u32>,
}

impl Processor {
    fn home(&self, object: Object) -> Option<u32> {
        match object {
            Object::HardwareThread => Some(self.number),
            Object::Core => self.core,
            Object::L1Cache => self.caches[0],
            Object::L2Cache => self.caches[1],
            Object::L3Cache => self.caches[2],
            Object::Numa => self.numa,
            Object::Package => self.package,
        }
    }
}

/// The processors that may be used, neighbours beside each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topology {
    processors: Vec<Processor>,
}

impl Topology {
    /// Reads what the folder `root` tells of the processors of these numbers.
    pub fn read(root: &Path, allowed: &[u32]) -> Topology {
        let nodes = memory_nodes(root);
        let numa = |number: u32| match &nodes {
            // A kernel without memory nodes has one memory.
            None => Some(0),
            Some(nodes) => nodes.iter().find(|(_, held)| held.contains(&number)).map(|(node, _)| *node),
        };
        let processor = |&number: &u32| {
            let folder = root.join(format!("cpu/cpu{number}"));
            Processor {
                number,
                core: core(&folder),
                caches: caches(&folder),
                numa: numa(number),
                package: package(&folder),
            }
        };
        let mut processors: Vec<Processor> = allowed.iter().map(processor).collect();
        processors.sort_by_key(|one| (one.package, one.numa, one.caches[2], one.core, one.number));
        Topology { processors }
    }

    /// The processors of each object of a sort. `None` where the system does not tell all of them.
    pub fn groups(&self, object: Object) -> Option<Vec<Vec<u32>>> {
        let mut groups: Vec<(u32, Vec<u32>)> = Vec::new();
        let mut place_of_home = BTreeMap::new();
        for processor in &self.processors {
            let home = processor.home(object)?;
            let place = *place_of_home.entry(home).or_insert_with(|| {
                groups.push((home, Vec::new()));
                groups.len() - 1
            });
            groups[place].1.push(processor.number);
        }
        Some(groups.into_iter().map(|(_, processors)| processors).collect())
    }

    /// The numbers of all processors.
    pub fn all(&self) -> Vec<u32> {
        self.processors.iter().map(|processor| processor.number).collect()
    }

    /// Describes processors for a person: `processors 0-1,8 (package 0, numa 0)`.
    pub fn describe(&self, processors: &[u32]) -> String {
        let held = |object| {
            let mine = self.processors.iter().filter(|one| processors.contains(&one.number));
            let mut homes: Vec<u32> = mine.filter_map(|one| one.home(object)).collect();
            homes.sort_unstable();
            homes.dedup();
            list(&homes)
        };
        let word = if processors.len() == 1 { "processor" } else { "processors" };
        let (packages, nodes) = (held(Object::Package), held(Object::Numa));
        format!("{word} {} (package {packages}, numa {nodes})", list(processors))
    }
}

/// The memory nodes and their processors; `None` if the kernel has none.
fn memory_nodes(root: &Path) -> Option<Vec<(u32, Vec<u32>)>> {
    let mut nodes: Vec<(u32, Vec<u32>)> = Vec::new();
    for entry in root.join("node").read_dir().ok()?.flatten() {
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix("node")?.parse().ok());
        if let (Some(number), Some(held)) = (number, list_in(&entry.path().join("cpulist"))) {
            nodes.push((number, held));
        }
    }
    (!nodes.is_empty()).then_some(nodes)
}

fn core(folder: &Path) -> Option<u32> {
    let named = |name: &str| list_in(&folder.join("topology").join(name))?.into_iter().min();
    named("core_cpus_list").or_else(|| named("thread_siblings_list"))
}

fn package(folder: &Path) -> Option<u32> {
    let text = read_to_string(folder.join("topology/physical_package_id")).ok()?;
    // -1: the machine has no packages, that is one.
    text.trim().parse::<i32>().ok().map(|number| u32::try_from(number).unwrap_or(0))
}

/// The caches for data of levels 1 to 3.
fn caches(folder: &Path) -> [Option<u32>; 3] {
    let mut found = [None; 3];
    for index in folder.join("cache").read_dir().into_iter().flatten().flatten() {
        let says = |name: &str| read_to_string(index.path().join(name)).unwrap_or_default();
        let level = says("level").trim().parse::<usize>().ok().filter(|level| (1..=3).contains(level));
        if let Some(level) = level.filter(|_| says("type").trim() != "Instruction") {
            let shared = list_in(&index.path().join("shared_cpu_list"));
            found[level - 1] = shared.and_then(|shared| shared.into_iter().min());
        }
    }
    found
}

fn list_in(path: &Path) -> Option<Vec<u32>> {
    parse_list(read_to_string(path).ok()?.trim())
}

/// Reads a list as the kernel writes it: `0-3,8`. `None` if it is none, or empty.
pub(crate) fn parse_list(text: &str) -> Option<Vec<u32>> {
    let mut numbers = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        if last >= PROCESSORS_MAX || first > last || numbers.len() > PROCESSORS_MAX as usize {
            return None;
        }
        numbers.extend(first..=last);
    }
    Some(numbers)
}

/// Writes numbers in the same form.
pub(crate) fn list(numbers: &[u32]) -> String {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable();
    let runs = sorted.chunk_by(|a, b| a + 1 == *b).map(|run| match run {
        [one] => one.to_string(),
        [first, .., last] => format!("{first}-{last}"),
        [] => String::new(),
    });
    runs.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::fs::{create_dir_all, write};
    use verbena_testing::files::Folder;

    /// Two packages with a memory node each; two third caches in each, with two cores of two
    /// processors each. The second processors of the cores have the numbers from 8 on.
    pub(crate) fn machine(root: &Path) {
        for number in 0..16_u32 {
            let (first, cache) = (number % 8, number % 8 / 2 * 2);
            let pair = format!("{first},{}", first + 8);
            let shared = format!("{cache}-{},{}-{}", cache + 1, cache + 8, cache + 9);
            let folder = root.join(format!("cpu/cpu{number}"));
            create_dir_all(folder.join("topology")).unwrap();
            write(folder.join("topology/physical_package_id"), format!("{}\n", first / 4)).unwrap();
            write(folder.join("topology/core_cpus_list"), format!("{pair}\n")).unwrap();
            let caches = [
                ("1", "Instruction", "0-15"),
                ("1", "Data", &pair),
                ("2", "Unified", &pair),
                ("3", "Unified", &shared),
            ];
            for (i, (level, sort, held)) in caches.iter().enumerate() {
                let index = folder.join(format!("cache/index{i}"));
                create_dir_all(&index).unwrap();
                write(index.join("level"), level).unwrap();
                write(index.join("type"), sort).unwrap();
                write(index.join("shared_cpu_list"), held).unwrap();
            }
        }
        for (node, held) in [(0, "0-3,8-11"), (1, "4-7,12-15")] {
            let folder = root.join(format!("node/node{node}"));
            create_dir_all(&folder).unwrap();
            write(folder.join("cpulist"), held).unwrap();
        }
    }

    #[test]
    fn every_sort_of_object_is_found() {
        let root = Folder::new("topology-objects", &[]);
        machine(&root.0);
        let all: Vec<u32> = (0..16).collect();
        let groups = |object| Topology::read(&root.0, &all).groups(object).unwrap();
        assert_eq!(groups(Object::Core)[..2], [vec![0, 8], vec![1, 9]]);
        assert_eq!(groups(Object::Core).len(), 8);
        assert_eq!(groups(Object::L1Cache).len(), 8);
        assert_eq!(groups(Object::L2Cache).len(), 8);
        assert_eq!(groups(Object::L3Cache)[1], [2, 10, 3, 11]);
        assert_eq!(groups(Object::L3Cache).len(), 4);
        assert_eq!(groups(Object::Numa), groups(Object::Package));
        assert_eq!(groups(Object::Package)[1], [4, 12, 5, 13, 6, 14, 7, 15]);
        assert_eq!(groups(Object::HardwareThread).len(), 16);
    }

    #[test]
    fn only_processors_that_may_be_used_are_seen() {
        let root = Folder::new("topology-allowed", &[]);
        machine(&root.0);
        let topology = Topology::read(&root.0, &[3, 5, 11]);
        assert_eq!(topology.groups(Object::Core).unwrap(), [vec![3, 11], vec![5]]);
        assert_eq!(topology.groups(Object::Package).unwrap(), [vec![3, 11], vec![5]]);
        assert_eq!(topology.all(), [3, 11, 5]);
        assert_eq!(topology.describe(&[3, 11]), "processors 3,11 (package 0, numa 0)");
        assert_eq!(topology.describe(&[5]), "processor 5 (package 1, numa 1)");
        assert_eq!(topology.describe(&[3, 5, 11]), "processors 3,5,11 (package 0-1, numa 0-1)");
    }

    #[test]
    fn what_the_system_does_not_tell_is_not_invented() {
        let root = Folder::new("topology-bare", &[]);
        let topology = Topology::read(&root.0, &[0, 1]);
        assert_eq!(topology.groups(Object::Core), None);
        assert_eq!(topology.groups(Object::L3Cache), None);
        assert_eq!(topology.groups(Object::Numa), Some(vec![vec![0, 1]]), "no nodes: one memory");
        let folder = root.0.join("cpu/cpu0/topology");
        create_dir_all(&folder).unwrap();
        write(folder.join("thread_siblings_list"), "0-1").unwrap();
        write(folder.join("physical_package_id"), "-1").unwrap();
        let topology = Topology::read(&root.0, &[0]);
        assert_eq!(topology.groups(Object::Core), Some(vec![vec![0]]));
        assert_eq!(topology.groups(Object::Package), Some(vec![vec![0]]));
    }

    #[test]
    fn lists_of_the_kernel() {
        assert_eq!(parse_list("0-2,5"), Some(vec![0, 1, 2, 5]));
        for nonsense in ["", "a", "3-", "2-1", "0-4294967295", "1,,2"] {
            assert_eq!(parse_list(nonsense), None, "{nonsense:?}");
        }
        assert_eq!(list(&[9, 0, 1, 2, 5]), "0-2,5,9");
    }

    #[test]
    fn every_sort_has_its_name() {
        for (name, object) in Object::NAMES {
            assert_eq!(Object::named(name), Some(object));
            assert_eq!(Object::named(&object.to_string()), Some(object));
        }
        assert_eq!(Object::named("sockets"), None);
    }
}
