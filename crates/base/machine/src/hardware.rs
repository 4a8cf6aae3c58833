//! The hardware that this process is restricted to: Linux's description of packages, memory nodes,
//! caches and cores (sysfs) against the process's affinity mask.
//!
//! The names are those of hwloc, which all tools share: `Package`, `NUMANode`, `L3Cache` and so on
//! down to `PU`, the hardware thread.

use crate::cores::affinity;
use std::fs::read_to_string;
use std::path::{Path, PathBuf};

/// A sort of hardware resource of this node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// The sort's name in hwloc.
    pub name: &'static str,
    /// The one of its sort that the process is restricted to, as the lowest core (by the system's
    /// number) that belongs to it; `None` if the process may run on several.
    pub instance: Option<u32>,
}

/// The folder where the system describes its hardware.
const ROOT: &str = "/sys/devices/system";

/// The resources that the system tells of now, from the outermost to the innermost. Empty if the
/// system tells nothing.
pub fn resources() -> Vec<Resource> {
    resources_in(Path::new(ROOT), &cores_of(&affinity()))
}

/// The numbers of the bits that are set.
fn cores_of(mask: &[u8]) -> Vec<u32> {
    (0..8 * mask.len() as u32).filter(|&i| mask[i as usize / 8] >> (i % 8) & 1 == 1).collect()
}

fn resources_in(root: &Path, mine: &[u32]) -> Vec<Resource> {
    let Some(&first) = mine.first() else { return Vec::new() };
    let core = root.join(format!("cpu/cpu{first}"));
    if !core.is_dir() {
        return Vec::new();
    }
    let topology = |new: &str, old: &str| {
        list_in(&core.join("topology").join(new)).or_else(|| list_in(&core.join("topology").join(old)))
    };
    let sorts = [
        ("Package", topology("package_cpus_list", "core_siblings_list")),
        ("NUMANode", memory_node(root, &core)),
        ("L3Cache", cache(&core, 3)),
        ("L2Cache", cache(&core, 2)),
        ("L1Cache", cache(&core, 1)),
        ("Core", topology("core_cpus_list", "thread_siblings_list")),
        ("PU", Some(vec![first])),
    ];
    let known = sorts.into_iter().filter_map(|(name, cores)| Some((name, cores?)));
    known.map(|(name, cores)| Resource { name, instance: restricted_to(mine, &cores) }).collect()
}

/// The number of the resource that these cores belong to, if all of `mine` are among them.
fn restricted_to(mine: &[u32], cores: &[u32]) -> Option<u32> {
    let inside = mine.iter().all(|core| cores.contains(core));
    cores.iter().min().copied().filter(|_| inside)
}

/// The cores of the memory node that this core belongs to.
fn memory_node(root: &Path, core: &Path) -> Option<Vec<u32>> {
    let number = |path: PathBuf| path.file_name()?.to_str()?.strip_prefix("node")?.parse::<u32>().ok();
    let node = core.read_dir().ok()?.flatten().find_map(|entry| number(entry.path()))?;
    list_in(&root.join(format!("node/node{node}/cpulist")))
}

/// The cores that share this core's cache (for data) of a level.
fn cache(core: &Path, level: u32) -> Option<Vec<u32>> {
    let is_meant = |index: &PathBuf| {
        let says = |name| read_to_string(index.join(name)).unwrap_or_default();
        says("level").trim().parse() == Ok(level) && says("type").trim() != "Instruction"
    };
    let index = core.join("cache").read_dir().ok()?.flatten().map(|entry| entry.path()).find(is_meant)?;
    list_in(&index.join("shared_cpu_list"))
}

fn list_in(path: &Path) -> Option<Vec<u32>> {
    parse_list(read_to_string(path).ok()?.trim())
}

/// A list as the kernel writes it: `0-3,8,10-11`. `None` if it is not one, or empty.
fn parse_list(text: &str) -> Option<Vec<u32>> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse::<u32>().ok()?..=last.parse::<u32>().ok()?)
    };
    let ranges: Vec<_> = text.split(',').map(range).collect::<Option<_>>()?;
    Some(ranges.into_iter().flatten().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{create_dir_all, write};
    use verbena_testing::files::Folder;

    /// Two packages of two cores of two threads each; one memory node and one L3 cache per package.
    fn machine(root: &Path) {
        for core in 0..8_u32 {
            let package = if core < 4 { "0-3" } else { "4-7" };
            let pair = format!("{}-{}", core & !1, core | 1);
            let dir = root.join(format!("cpu/cpu{core}"));
            create_dir_all(dir.join("topology")).unwrap();
            create_dir_all(dir.join(format!("node{}", core / 4))).unwrap();
            write(dir.join("topology/core_siblings_list"), format!("{package}\n")).unwrap();
            write(dir.join("topology/core_cpus_list"), &pair).unwrap();
            for (i, (level, sort, shared)) in
                [("1", "Instruction", "0-7"), ("1", "Data", &pair), ("3", "Unified", package)]
                    .iter()
                    .enumerate()
            {
                let index = dir.join(format!("cache/index{i}"));
                create_dir_all(&index).unwrap();
                write(index.join("level"), level).unwrap();
                write(index.join("type"), sort).unwrap();
                write(index.join("shared_cpu_list"), shared).unwrap();
            }
        }
        for (node, cores) in [(0, "0-3"), (1, "4-7")] {
            let dir = root.join(format!("node/node{node}"));
            create_dir_all(&dir).unwrap();
            write(dir.join("cpulist"), cores).unwrap();
        }
    }

    #[test]
    fn a_process_is_restricted_to_what_holds_its_whole_mask() {
        let root = Folder::new("hardware-machine", &[]);
        machine(&root.0);
        let instances = |mine: &[u32]| {
            let found = resources_in(&root.0, mine);
            let names: Vec<_> = found.iter().map(|resource| resource.name).collect();
            assert_eq!(names, ["Package", "NUMANode", "L3Cache", "L1Cache", "Core", "PU"]);
            found.into_iter().map(|resource| resource.instance).collect::<Vec<_>>()
        };
        assert_eq!(instances(&[5]), [Some(4), Some(4), Some(4), Some(4), Some(4), Some(5)]);
        assert_eq!(instances(&[6, 7]), [Some(4), Some(4), Some(4), Some(6), Some(6), None]);
        assert_eq!(instances(&[1, 2]), [Some(0), Some(0), Some(0), None, None, None]);
        assert_eq!(instances(&[0, 7]), [None; 6]);
    }

    #[test]
    fn a_system_that_tells_nothing_has_no_resources() {
        let root = Folder::new("hardware-nothing", &[]);
        assert!(resources_in(&root.0, &[0]).is_empty());
        assert!(resources_in(&root.0, &[]).is_empty());
    }

    #[test]
    fn this_system_tells_of_hardware_threads() {
        assert!(resources().iter().any(|resource| resource.name == "PU"));
    }

    #[test]
    fn lists_of_the_kernel_are_read() {
        assert_eq!(parse_list("0-2,5,8-9"), Some(vec![0, 1, 2, 5, 8, 9]));
        assert_eq!((parse_list(""), parse_list("a-b"), parse_list("3-")), (None, None, None));
        assert_eq!(cores_of(&[0b1000_0001, 0b10]), [0, 7, 9]);
    }
}
