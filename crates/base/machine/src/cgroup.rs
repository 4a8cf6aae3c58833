//! The control groups of this process: where their limits on cores and memory can be read.

use std::path::{Path, PathBuf};

/// The two interfaces of control groups, which name their files differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// One hierarchy of groups for each controller.
    V1,
    /// One hierarchy for all.
    V2,
}

/// A group's directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The interface that its files belong to.
    pub version: Version,
    /// The group's directory.
    pub at: PathBuf,
}

impl Group {
    /// The text of one of the group's files.
    pub fn read(&self, file: &str) -> Option<String> {
        std::fs::read_to_string(self.at.join(file)).ok()
    }

    /// A file that holds one number; `None` also for `max`.
    pub fn number(&self, file: &str) -> Option<u64> {
        self.read(file)?.trim().parse().ok()
    }
}

/// The groups of this process under `controller` (`cpu`, `memory`) and all above them: each one's
/// limit holds.
pub fn groups(controller: &str) -> Vec<Group> {
    let lines = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    lines.lines().flat_map(|line| groups_of_line(Path::new("/sys/fs/cgroup"), line, controller)).collect()
}

/// The groups of a line of `/proc/self/cgroup` under a mount of them: number, controllers, path;
/// version 2 has no controllers. In a container the path may be the host's, and only its top is
/// visible here: so go upwards, and take what is there.
pub fn groups_of_line(mount: &Path, line: &str, controller: &str) -> Vec<Group> {
    let mut fields = line.splitn(3, ':').skip(1);
    let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { return Vec::new() };
    let (version, roots) = if controllers.is_empty() {
        // Beside version 1 (hybrid mode), version 2 has a place of its own.
        (Version::V2, [mount.join("unified"), mount.to_owned()])
    } else if controllers.split(',').any(|c| c == controller) {
        (Version::V1, [mount.join(controllers), mount.join(controller)])
    } else {
        return Vec::new();
    };
    let Some(root) = roots.iter().find(|root| root.is_dir()) else { return Vec::new() };
    let own = root.join(path.trim_start_matches('/'));
    let upwards = own.ancestors().take_while(|at| at.starts_with(root)).filter(|at| at.is_dir());
    upwards.map(|at| Group { version, at: at.to_owned() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use verbena_testing::files::Folder;

    #[test]
    fn both_versions_are_found_upwards() {
        let mount = Folder::new("groups", &[("a/b/x", ""), ("cpu,cpuacct/c/x", "")]);
        let found = |line: &str| -> Vec<(Version, String)> {
            let path = |g: &Group| g.at.strip_prefix(&mount.0).unwrap().display().to_string();
            groups_of_line(&mount.0, line, "cpu").iter().map(|g| (g.version, path(g))).collect()
        };
        let v2 = ["a/b", "a", ""].map(|p| (Version::V2, p.to_owned()));
        assert_eq!(found("0::/a/b"), v2);
        let v1 = ["cpu,cpuacct/c", "cpu,cpuacct"].map(|p| (Version::V1, p.to_owned()));
        assert_eq!(found("3:cpu,cpuacct:/c"), v1);
        assert_eq!(found("3:cpu,cpuacct:/host/only"), v1[1..]);
        assert_eq!(found("4:memory:/c"), []);
        assert_eq!(found("nonsense"), []);
    }
}
