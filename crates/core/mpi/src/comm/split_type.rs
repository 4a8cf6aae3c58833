//! Splitting by hardware and resources (`MPI_Comm_split_type`; MPI-5.0, 7.4.2).

use super::introduce::identity;
use super::words::{pack, unpack_all};
use super::{Comm, Exchange};
use crate::error::{Error, Result};
use crate::generated::constants as mpi;

/// The known sorts of hardware, from the outermost to the innermost, as `mpi_hw_resource_type`
/// names them.
pub const HARDWARE: [&str; 8] = [
    "hwloc://Machine",
    "hwloc://Package",
    "hwloc://NUMANode",
    "hwloc://L3Cache",
    "hwloc://L2Cache",
    "hwloc://L1Cache",
    "hwloc://Core",
    "hwloc://PU",
];
/// The hint that asks for those that share memory, as `MPI_COMM_TYPE_SHARED` does.
const SHARED_MEMORY: &[u8] = b"mpi_shared_memory";

/// The hardware that a process is restricted to: for each sort a number that no other piece of
/// hardware of that sort has anywhere in the job; `None` where the process may use several.
pub type Places = [Option<u64>; HARDWARE.len()];

/// The place of a process: the hardware, and the number of the processes with which it can share
/// memory ([`Process::memory`](crate::Process::memory)), which no others have.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The hardware.
    pub hardware: &'a Places,
    /// The number of those that share memory.
    pub memory: u64,
}

/// The way to split.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SplitType {
    /// The caller stays out (`MPI_UNDEFINED`).
    Out,
    /// Splits by shared memory (`MPI_COMM_TYPE_SHARED`).
    Shared,
    /// Splits at the next lower level of hardware, if there is one (`MPI_COMM_TYPE_HW_UNGUIDED`).
    NextLevel,
    /// Splits by a sort of hardware, the hint `mpi_hw_resource_type` (`MPI_COMM_TYPE_HW_GUIDED`,
    /// `MPI_COMM_TYPE_RESOURCE_GUIDED`).
    Hardware(Option<Vec<u8>>),
    /// Splits by a process set, the hint `mpi_pset_name` (`MPI_COMM_TYPE_RESOURCE_GUIDED`).
    ProcessSet(Vec<u8>),
}

impl SplitType {
    /// A number for the way; all ranks that take part must give the same.
    fn number(&self) -> u64 {
        match self {
            SplitType::Out => 0,
            SplitType::Shared => 1,
            SplitType::NextLevel => 2,
            SplitType::Hardware(_) => 3,
            SplitType::ProcessSet(_) => 4,
        }
    }
}

impl Comm {
    /// The communicator of the ranks that share the resource with the caller, ordered by key; and
    /// the sort of hardware if that was left open. `None` if the caller stays out or may use
    /// several such resources, if the resource is not known, or if there is no lower level. An
    /// error in one rank's argument fails the call on all; `MPI_ERR_ARG` if they want to split in
    /// different ways.
    pub fn split_type(
        &self,
        wanted: Result<SplitType>,
        key: i32,
        place: Place,
        exchange: &dyn Exchange,
    ) -> Result<Option<(Comm, Option<&'static str>)>> {
        let places = place.hardware;
        let mine = wanted.as_ref().map(|wanted| contribution(wanted, places)).map_err(Error::clone);
        let table = self.gather(mine, exchange)?;
        let table: Vec<Vec<u64>> = table.iter().map(|bytes| unpack_all(bytes)).collect::<Result<_>>()?;
        let wanted = wanted?;
        let (color, found) = match &wanted {
            _ if !agree(&table) => (Err(different_ways()), None),
            SplitType::NextLevel => {
                let level = next_level(&table);
                (Ok(level.and_then(|level| places[level])), level.map(|level| HARDWARE[level]))
            }
            _ => (Ok(self.color(&wanted, place, exchange)), None),
        };
        Ok(self.split_by(color, key, 0, exchange)?.map(|new| (new, found)))
    }

    fn color(&self, wanted: &SplitType, place: Place, exchange: &dyn Exchange) -> Option<u64> {
        match wanted {
            SplitType::Out | SplitType::NextLevel => None,
            SplitType::Shared => Some(place.memory),
            SplitType::Hardware(name) => match name.as_deref()? {
                SHARED_MEMORY => Some(place.memory),
                name => place.hardware[HARDWARE.iter().position(|known| known.as_bytes() == name)?],
            },
            SplitType::ProcessSet(name) => match &name[..] {
                crate::process_sets::WORLD => Some(identity(self.me(), exchange).job as u64),
                crate::process_sets::SELF => Some(self.rank() as u64),
                _ => None,
            },
        }
    }
}

/// The contribution of a rank: the way, and for each sort of hardware whether it is restricted, and
/// to which.
fn contribution(wanted: &SplitType, places: &Places) -> Vec<u8> {
    let places = places.iter().map(|place| place.filter(|_| *wanted != SplitType::Out));
    let words = places.flat_map(|place| [u64::from(place.is_some()), place.unwrap_or(0)]);
    pack(&[wanted.number()].into_iter().chain(words).collect::<Vec<_>>())
}

fn agree(table: &[Vec<u64>]) -> bool {
    let mut ways =
        table.iter().filter_map(|words| words.first()).filter(|&&way| way != SplitType::Out.number());
    let first = ways.next();
    ways.all(|way| Some(way) == first)
}

/// The outermost sort of hardware that does not hold all ranks in one piece. So the parts are few,
/// and each is smaller than the whole.
fn next_level(table: &[Vec<u64>]) -> Option<usize> {
    let place = |words: &Vec<u64>, level: usize| words.get(1 + 2 * level..3 + 2 * level).map(<[u64]>::to_vec);
    (0..HARDWARE.len()).find(|&level| {
        let first = table.first().and_then(|words| place(words, level));
        table.iter().any(|words| place(words, level) != first)
    })
}

#[cold]
fn different_ways() -> Error {
    Error::new(
        mpi::MPI_ERR_ARG,
        "the processes of a communicator want to split it in different ways",
        "the split types of MPI_Comm_split_type",
        "processes that shall stay out passed another type instead of MPI_UNDEFINED, or the hints differ",
        "give the same type (and the same hints) everywhere, or MPI_UNDEFINED to stay out",
    )
}
