//! Groups (MPI-5.0, 7.3).

use crate::args::{InOut, Out};
use crate::generated::types::MPI_Group;
use crate::handles::GROUPS;
use std::ffi::c_int;
use std::sync::Arc;
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::group::Range;
use verbena_mpi::{Group, Result};

/// Makes a handle of a group for the program; that of an empty one is `MPI_GROUP_EMPTY`.
fn publish(group: Group, handle: Out<'_, MPI_Group>) -> Result<()> {
    handle.set(match group.size() {
        0 => mpi::MPI_GROUP_EMPTY,
        _ => GROUPS.insert(Arc::new(group)),
    });
    Ok(())
}

/// `MPI_Group_size` (7.3.1).
pub fn group_size(group: &Arc<Group>, size: Out<'_, c_int>) -> Result<()> {
    size.set(group.size());
    Ok(())
}

/// `MPI_Group_rank` (7.3.1).
pub fn group_rank(group: &Arc<Group>, rank: Out<'_, c_int>) -> Result<()> {
    rank.set(group.rank().unwrap_or(mpi::MPI_UNDEFINED));
    Ok(())
}

/// `MPI_Group_translate_ranks` (7.3.1).
pub fn group_translate_ranks(
    group1: &Arc<Group>,
    _n: c_int,
    ranks1: &[c_int],
    group2: &Arc<Group>,
    ranks2: &mut [c_int],
) -> Result<()> {
    ranks2.copy_from_slice(&group1.translate(ranks1, group2)?);
    Ok(())
}

/// `MPI_Group_compare` (7.3.1).
pub fn group_compare(group1: &Arc<Group>, group2: &Arc<Group>, result: Out<'_, c_int>) -> Result<()> {
    result.set(group1.compare(group2) as c_int);
    Ok(())
}

/// `MPI_Group_union` (7.3.2).
pub fn group_union(group1: &Arc<Group>, group2: &Arc<Group>, newgroup: Out<'_, MPI_Group>) -> Result<()> {
    publish(group1.union(group2), newgroup)
}

/// `MPI_Group_intersection` (7.3.2).
pub fn group_intersection(
    group1: &Arc<Group>,
    group2: &Arc<Group>,
    newgroup: Out<'_, MPI_Group>,
) -> Result<()> {
    publish(group1.intersection(group2), newgroup)
}

/// `MPI_Group_difference` (7.3.2).
pub fn group_difference(
    group1: &Arc<Group>,
    group2: &Arc<Group>,
    newgroup: Out<'_, MPI_Group>,
) -> Result<()> {
    publish(group1.difference(group2), newgroup)
}

/// `MPI_Group_incl` (7.3.2).
pub fn group_incl(
    group: &Arc<Group>,
    _n: c_int,
    ranks: &[c_int],
    newgroup: Out<'_, MPI_Group>,
) -> Result<()> {
    publish(group.incl(ranks)?, newgroup)
}

/// `MPI_Group_excl` (7.3.2).
pub fn group_excl(
    group: &Arc<Group>,
    _n: c_int,
    ranks: &[c_int],
    newgroup: Out<'_, MPI_Group>,
) -> Result<()> {
    publish(group.excl(ranks)?, newgroup)
}

fn ranges_of(triplets: &[[c_int; 3]]) -> Vec<Range> {
    triplets.iter().map(|&[first, last, stride]| Range { first, last, stride }).collect()
}

/// `MPI_Group_range_incl` (7.3.2).
pub fn group_range_incl(
    group: &Arc<Group>,
    _n: c_int,
    ranges: &[[c_int; 3]],
    newgroup: Out<'_, MPI_Group>,
) -> Result<()> {
    publish(group.range_incl(&ranges_of(ranges))?, newgroup)
}

/// `MPI_Group_range_excl` (7.3.2).
pub fn group_range_excl(
    group: &Arc<Group>,
    _n: c_int,
    ranges: &[[c_int; 3]],
    newgroup: Out<'_, MPI_Group>,
) -> Result<()> {
    publish(group.range_excl(&ranges_of(ranges))?, newgroup)
}

/// `MPI_Group_free` (7.3.3): communicators that use the group keep it alive. `MPI_GROUP_EMPTY` may
/// be freed, since it may be the result of a call; it stays.
pub fn group_free(group: InOut<'_, MPI_Group>) -> Result<()> {
    if group.get() != mpi::MPI_GROUP_EMPTY {
        GROUPS.remove(group.get())?;
    }
    group.set(mpi::MPI_GROUP_NULL);
    Ok(())
}
