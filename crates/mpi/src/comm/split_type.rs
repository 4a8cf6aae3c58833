//! Splitting by hardware and resources (`MPI_Comm_split_type`; MPI-5.0, 7.4.2).
//!
//! One level of hardware is known: the node, whose processes share memory.

use super::{Comm, Exchange};
use crate::error::Result;

/// Name of the level of hardware that shares memory, in `mpi_hw_resource_type`.
pub const SHARED_MEMORY: &[u8] = b"mpi_shared_memory";

/// How to split.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SplitType {
    /// The caller stays out (`MPI_UNDEFINED`).
    Out,
    /// By shared memory (`MPI_COMM_TYPE_SHARED`).
    Shared,
    /// To the next lower level of hardware, if there is one (`MPI_COMM_TYPE_HW_UNGUIDED`).
    NextLevel,
    /// By the hints (`MPI_COMM_TYPE_HW_GUIDED`, `MPI_COMM_TYPE_RESOURCE_GUIDED`).
    Guided(Guide),
}

/// What a guided split goes by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Guide {
    /// The hint `mpi_hw_resource_type`.
    pub hardware: Option<Vec<u8>>,
    /// The hint `mpi_pset_name`: of resource-guided splits only.
    pub process_set: Option<Vec<u8>>,
}

impl Comm {
    /// The communicator of those that share the resource with the caller, ordered by key; `None` if it stays
    /// out, or the resource is not known, or there is no lower level. `node` is a number of the caller's node, unlike
    /// other nodes'.
    pub fn split_type(
        &self,
        split_type: &SplitType,
        key: i32,
        node: u64,
        exchange: &dyn Exchange,
    ) -> Result<Option<Comm>> {
        let color = match split_type {
            SplitType::Out => None,
            SplitType::Shared | SplitType::NextLevel => Some(node),
            SplitType::Guided(guide) => self.guided_color(guide, node),
        };
        let new = self.split_by(color, key, exchange)?;
        let lower_only = *split_type == SplitType::NextLevel;
        Ok(new.filter(|new| !lower_only || new.size() < self.size()))
    }

    fn guided_color(&self, guide: &Guide, node: u64) -> Option<u64> {
        if guide.hardware.as_deref() == Some(SHARED_MEMORY) {
            return Some(node);
        }
        match guide.process_set.as_deref()? {
            crate::session::WORLD => Some(0),
            crate::session::SELF => Some(u64::from(self.me())),
            _ => None,
        }
    }
}
