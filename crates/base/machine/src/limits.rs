//! The limits that the system sets to this process (`getrlimit(2)`).

/// A resource that has a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// The number of open descriptors.
    Descriptors,
    /// The size of a file that is written, in bytes.
    FileSize,
    /// The size of the address space, in bytes.
    Addresses,
}

/// The soft limit of a resource; `None` if there is none, or the system does not tell.
pub fn soft(resource: Resource) -> Option<u64> {
    let resource = match resource {
        Resource::Descriptors => libc::RLIMIT_NOFILE,
        Resource::FileSize => libc::RLIMIT_FSIZE,
        Resource::Addresses => libc::RLIMIT_AS,
    };
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the call fills our structure.
    let is_known = unsafe { libc::getrlimit(resource, &raw mut limit) } == 0;
    (is_known && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}
