//! The hardware that this process runs on (MPI-5.0, 9.1.2).

use crate::args::Out;
use crate::calls::info::publish;
use crate::generated::types::MPI_Info;
use crate::host::host_name;
use verbena_machine::hardware::{Resource, resources};
use verbena_mpi::comm::{HARDWARE, Places};
use verbena_mpi::{Info, Result};

/// A number that differs between nodes, made from the host's name and the running kernel's
/// identity. Containers of a machine have names of their own and may be unable to share memory, so
/// they count as nodes.
fn node() -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    // DefaultHasher::new() is the same function in every process.
    let mut hasher = DefaultHasher::new();
    host_name().hash(&mut hasher);
    std::fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default().hash(&mut hasher);
    hasher.finish()
}

/// The resource of one sort of hardware, by the name that hints give it.
fn of_sort<'a>(resources: &'a [Resource], sort: &str) -> Option<&'a Resource> {
    resources.iter().find(|resource| sort.strip_prefix("hwloc://") == Some(resource.name))
}

/// The hardware that this process is restricted to now. All nodes number instances alike, so the
/// node goes into the number.
pub(super) fn places() -> Places {
    let (node, resources) = (node(), resources());
    std::array::from_fn(|i| match i {
        0 => Some(node),
        _ => {
            let instance = of_sort(&resources, HARDWARE[i])?.instance?;
            Some(node.wrapping_mul(31).wrapping_add((instance as u64) << 4 | i as u64))
        }
    })
}

/// `MPI_Get_hw_resource_info` (9.1.2): for each sort of hardware whether the process is restricted
/// to one piece.
pub fn get_hw_resource_info(hw_info: Out<'_, MPI_Info>) -> Result<()> {
    let (info, resources) = (Info::new(), resources());
    info.set(HARDWARE[0].as_bytes(), b"true")?;
    for sort in HARDWARE {
        if let Some(resource) = of_sort(&resources, sort) {
            info.set(sort.as_bytes(), resource.instance.is_some().to_string().as_bytes())?;
        }
    }
    publish(info, hw_info)
}
