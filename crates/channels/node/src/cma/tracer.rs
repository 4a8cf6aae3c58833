//! Admits the ranks to this process's memory where Yama (`ptrace_scope` 1) admits only ancestors.
//!
//! Ranks are siblings. So each admits the `mpiexec` (or agent) that started it: Yama then lets in
//! that process and all its descendants, which include the ranks of the node, and nobody else.
//! Other launchers do not say which process that would be.

use verbena_settings::LAUNCHER_PID;

/// The processes that are admitted beside ancestors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tracer {
    /// This process and its descendants.
    Process(u32),
    /// Every process of the user.
    Any,
}

/// Admits the other ranks of the node to this process's memory, where they are kept out. The usual
/// checks still bind them.
pub fn allow_tracers() {
    if ptrace_scope().is_none() {
        return;
    }
    let told = std::env::var(LAUNCHER_PID).ok();
    let tracer = match choose(told.as_deref(), is_ancestor) {
        Tracer::Process(pid) => libc::c_ulong::from(pid),
        Tracer::Any => libc::PR_SET_PTRACER_ANY,
    };
    // SAFETY: sets an attribute of this process; it touches no memory.
    unsafe { libc::prctl(libc::PR_SET_PTRACER, tracer, 0, 0, 0) };
}

/// Chooses who is admitted, given what the launcher told. A number that is no ancestor's comes from
/// another job or another namespace: it would admit a stranger, and not the ranks.
fn choose(told: Option<&str>, is_ancestor: impl Fn(u32) -> bool) -> Tracer {
    let pid = told.and_then(|told| told.trim().parse().ok()).filter(|&pid| is_ancestor(pid));
    pid.map_or(Tracer::Any, Tracer::Process)
}

/// Returns whether this process descends from that one.
fn is_ancestor(pid: u32) -> bool {
    // The first process of a namespace, or one whose parent is outside, has the parent 0.
    let parents = std::iter::successors(Some(std::os::unix::process::parent_id()), |&child| parent(child));
    parents.take_while(|&parent| parent != 0).any(|parent| parent == pid)
}

fn parent(pid: u32) -> Option<u32> {
    parent_in(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// The parent in the kernel's description of a process. Its name may hold anything but ends with
/// the last parenthesis.
fn parent_in(stat: &str) -> Option<u32> {
    stat[stat.rfind(')')? + 1..].split_ascii_whitespace().nth(1)?.parse().ok()
}

/// Yama's setting; `None` where there is no Yama.
pub(super) fn ptrace_scope() -> Option<String> {
    let text = std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").ok()?;
    Some(text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_ancestor_that_the_launcher_named_is_admitted() {
        let is_seven = |pid| pid == 7;
        assert_eq!(choose(Some("7"), is_seven), Tracer::Process(7));
        for told in [None, Some(""), Some("8"), Some("-1"), Some("0"), Some("7x")] {
            assert_eq!(choose(told, is_seven), Tracer::Any, "{told:?}");
        }
    }

    #[test]
    fn ancestors_are_known() {
        let parent_of_ours = std::os::unix::process::parent_id();
        assert!(is_ancestor(parent_of_ours));
        assert!(parent(parent_of_ours).is_none_or(|above| above == 0 || is_ancestor(above)));
        assert!(!is_ancestor(std::process::id()));
        assert!(!is_ancestor(u32::MAX) && !is_ancestor(0));
    }

    #[test]
    fn the_parent_is_found_behind_any_name() {
        assert_eq!(parent_in("12 (a) b) S 34 5 6"), Some(34));
        assert_eq!(parent_in("12"), None);
    }
}
