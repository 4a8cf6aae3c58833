//! Process sets (MPI-5.0, 11.3.2).

use crate::error::{Error, Result};
use crate::generated::constants as mpi;
use crate::group::Group;
use crate::info::Info;
use verbena_channel::Peer;

/// The process set of all processes of the job.
pub const WORLD: &[u8] = b"mpi://WORLD";
/// The process set of the calling process alone.
pub const SELF: &[u8] = b"mpi://SELF";
/// The process sets in the order of their numbers (`MPI_Session_get_nth_pset`).
pub const PROCESS_SETS: [&[u8]; 2] = [WORLD, SELF];

/// The name of process set `n`. `MPI_ERR_ARG` if there is none.
pub fn nth_process_set(n: i32) -> Result<&'static [u8]> {
    usize::try_from(n).ok().and_then(|n| PROCESS_SETS.get(n).copied()).ok_or_else(|| no_nth(n))
}

/// The group of a process set as process `me` of `size` sees it. Names are compared without regard
/// to case, like those of the Internet and as in MPICH. `MPI_ERR_ARG` if there is no such set.
pub fn process_set(name: &[u8], me: Peer, size: u32) -> Result<Group> {
    match PROCESS_SETS.iter().find(|set| set.eq_ignore_ascii_case(name)) {
        Some(&WORLD) => Ok(Group::of_job(me, size)),
        Some(&SELF) => Ok(Group::new(vec![me], me)),
        _ => Err(no_set(name)),
    }
}

/// Describes a process set: its size as `mpi_size` (`MPI_Session_get_pset_info`).
pub fn process_set_info(name: &[u8], me: Peer, size: u32) -> Result<Info> {
    let info = Info::new();
    info.set(b"mpi_size", process_set(name, me, size)?.size().to_string().as_bytes())?;
    Ok(info)
}

#[cold]
fn no_nth(n: i32) -> Error {
    Error::new(
        mpi::MPI_ERR_ARG,
        format!("there is no process set number {n}"),
        format!("{} process sets, numbered from 0", PROCESS_SETS.len()),
        "the number was not compared with MPI_Session_get_num_psets",
        "give a number below that",
    )
}

#[cold]
fn no_set(name: &[u8]) -> Error {
    Error::new(
        mpi::MPI_ERR_ARG,
        "there is no such process set",
        format!("the name \"{}\"", String::from_utf8_lossy(name)),
        "the name is misspelt, or comes from another MPI library",
        "use mpi://WORLD, mpi://SELF, or a name from MPI_Session_get_nth_pset",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn process_sets_are_numbered_and_have_groups() {
        let groups: Vec<Group> =
            (0..2).map(|n| process_set(nth_process_set(n).unwrap(), 2, 4).unwrap()).collect();
        assert_eq!((groups[0].members(), groups[0].rank()), (&[0, 1, 2, 3][..], Some(2)));
        assert_eq!((groups[1].members(), groups[1].rank()), (&[2][..], Some(0)));
        assert_eq!(process_set_info(WORLD, 2, 4).unwrap().get(b"mpi_size").unwrap().unwrap(), b"4");
        assert_eq!(process_set_info(SELF, 2, 4).unwrap().get(b"mpi_size").unwrap().unwrap(), b"1");
    }

    #[test]
    fn the_case_of_a_name_does_not_matter() {
        assert_eq!(process_set(b"mpi://world", 0, 3).unwrap().members(), [0, 1, 2]);
        assert_eq!(process_set(b"MPI://Self", 1, 3).unwrap().members(), [1]);
    }

    #[test]
    fn unknown_process_sets_are_refused() {
        assert_eq!(nth_process_set(2).unwrap_err().class, mpi::MPI_ERR_ARG);
        assert_eq!(nth_process_set(-1).unwrap_err().class, mpi::MPI_ERR_ARG);
        assert_eq!(process_set(b"mpi://worlds", 0, 1).unwrap_err().class, mpi::MPI_ERR_ARG);
    }
}
