//! Accumulates, fetches and swaps (MPI-5.0, 12.3.4): what changes the target's elements atomically.

use super::apply::{self, Domain, Guard, TargetMemory};
use super::operate::{COMPLETE, Call, Remote};
use super::place::{By, Place};
use super::{Flavor, Win, error};
use crate::datatype::{Datatype, Family};
use crate::error::{Error, Result};
use crate::op::{Builtin, Op};
use crate::process::Process;
use crate::request::Active;
use std::sync::Arc;
use verbena_channel::mark::Mark;
use verbena_channel::neighbor::Neighbor;
use verbena_memory::{Buffer, Owned, Region};

/// The operands of `MPI_Compare_and_swap`: one element each.
#[derive(Clone, Copy)]
pub struct Swap {
    /// The new value.
    pub origin: Region,
    /// The value that the target must have.
    pub compare: Region,
    /// The place for the value that the target had.
    pub result: Region,
}

/// The elements of an origin: none for `MPI_NO_OP`.
pub type Source<'a> = Option<(&'a Buffer, &'a Arc<Datatype>)>;

/// Memory of this process, or mapped here.
struct Mapped {
    region: Region,
    /// The position of its first byte.
    first: i64,
}

impl TargetMemory for Mapped {
    fn read(&self, at: u64, into: &mut [u8]) -> Result<()> {
        self.region.read(at.wrapping_sub(self.first as u64) as usize, into);
        Ok(())
    }

    fn write(&self, at: u64, from: &[u8]) -> Result<()> {
        self.region.write(at.wrapping_sub(self.first as u64) as usize, from);
        Ok(())
    }

    fn region(&self) -> Option<Region> {
        (self.first == 0).then_some(self.region)
    }
}

/// Memory of another process of the node.
struct Other {
    neighbor: Arc<dyn Neighbor>,
    /// The address of position 0.
    base: u64,
}

impl TargetMemory for Other {
    fn read(&self, at: u64, into: &mut [u8]) -> Result<()> {
        let piece = Owned::zeroed(into.len());
        self.neighbor.read(self.base.wrapping_add(at), piece.lend()).map_err(Error::channel)?;
        piece.lend().read(0, into);
        Ok(())
    }

    fn write(&self, at: u64, from: &[u8]) -> Result<()> {
        let piece = Owned::from(from);
        self.neighbor.write(piece.lend(), self.base.wrapping_add(at)).map_err(Error::channel)
    }

    fn region(&self) -> Option<Region> {
        None
    }
}

impl Win {
    /// Combines the origin's elements into the target's (`MPI_Accumulate`, `MPI_Raccumulate`).
    pub fn accumulate(
        &self,
        process: &Process,
        source: (&Buffer, &Arc<Datatype>),
        remote: Remote,
        op: &Arc<Op>,
        request: bool,
    ) -> Result<Active> {
        let call = Call::of(["MPI_Accumulate", "MPI_Raccumulate"], request);
        self.combine(process, Some(source), None, remote, op, call)
    }

    /// Combines the origin's elements into the target's, and copies what was there before to
    /// `former` (`MPI_Get_accumulate`, `MPI_Rget_accumulate`). `source` is `None` for `MPI_NO_OP`.
    pub fn get_accumulate(
        &self,
        process: &Process,
        source: Source,
        former: &Buffer,
        remote: Remote,
        op: &Arc<Op>,
        request: bool,
    ) -> Result<Active> {
        let call = Call::of(["MPI_Get_accumulate", "MPI_Rget_accumulate"], request);
        remote.check_length(former.len() as u64, call.name)?;
        self.combine(process, source, Some(former), remote, op, call)
    }

    /// Does [`Win::get_accumulate`] for one element of a predefined datatype
    /// (`MPI_Fetch_and_op`).
    pub fn fetch_and_op(
        &self,
        process: &Process,
        source: Source,
        former: &Buffer,
        remote: Remote,
        op: &Arc<Op>,
    ) -> Result<Active> {
        let call = Call { name: "MPI_Fetch_and_op", has_request: false };
        check_single(remote.datatype, call.name)?;
        self.combine(process, source, Some(former), remote, op, call)
    }

    fn combine(
        &self,
        process: &Process,
        source: Source,
        former: Option<&Buffer>,
        remote: Remote,
        op: &Arc<Op>,
        call: Call,
    ) -> Result<Active> {
        let is_used = op.builtin() != Some(Builtin::NoOp);
        let source = source.filter(|_| is_used);
        check_operation(op, remote.datatype, call.name)?;
        if let Some((buffer, datatype)) = source {
            remote.check_length(buffer.len() as u64, call.name)?;
            check_alike(datatype, remote.datatype, call.name)?;
        }
        let Some(rank) = self.enter(process, remote.rank, call)? else { return Ok(COMPLETE) };
        if remote.bytes() == 0 {
            return Ok(COMPLETE);
        }
        let Place { position, by } = self.place(process, &remote, rank)?;
        let Some(guard) = self.guard(process, rank).filter(|_| !matches!(by, By::Messages)) else {
            return self.service().accumulate(process, rank, source.map(|it| it.0), former, &remote, op);
        };
        let source = source.map(|(buffer, _)| Packed::of(buffer, true));
        let packed = former.map(|former| Packed::of(former, false));
        let memory = memory_of(by);
        let (source, result) = (source.as_ref().map(Packed::region), packed.as_ref().map(Packed::region));
        let count = remote.count as usize;
        apply::accumulate(op, &*memory, position, count, remote.datatype, source, result, &guard)?;
        if let (Some(former), Some(Packed::Apart(owned))) = (former, &packed) {
            former.unpack(0, owned.lend());
        }
        Ok(COMPLETE)
    }

    /// Stores a new value at the target if that has the value to compare with, and returns the one
    /// that it had (`MPI_Compare_and_swap`). `MPI_ERR_TYPE` unless the element is an integer, a
    /// logical value or a byte.
    pub fn compare_and_swap(&self, process: &Process, swap: Swap, remote: Remote) -> Result<Active> {
        let call = Call { name: "MPI_Compare_and_swap", has_request: false };
        check_swappable(remote.datatype)?;
        let Some(rank) = self.enter(process, remote.rank, call)? else { return Ok(COMPLETE) };
        let Place { position, by } = self.place(process, &remote, rank)?;
        let Some(guard) = self.guard(process, rank).filter(|_| !matches!(by, By::Messages)) else {
            return self.service().compare_and_swap(process, rank, swap, &remote);
        };
        let memory = memory_of(by);
        let [origin, compare] = [swap.origin, swap.compare].map(|region| region.to_vec());
        let mut former = vec![0; origin.len()];
        apply::compare_and_swap(&*memory, position, remote.datatype, &origin, &compare, &mut former, &guard)?;
        swap.result.write(0, &former);
        Ok(COMPLETE)
    }

    /// What keeps changes of the member's elements apart, if this process can use it.
    fn guard(&self, process: &Process, rank: usize) -> Option<Guard> {
        let words = self.target(process, rank).words?;
        Some(Guard::new(self.domain(rank), words.stripes(), process.me()))
    }

    /// The domain of a member's memory; all members see it alike. Memory that only a processor's
    /// atomics change is mapped wherever it is changed: in the heap, or, without one, in its own
    /// process.
    pub(super) fn domain(&self, rank: usize) -> Domain {
        let part = &self.parts[rank];
        let is_mapped = part.memory().is_some() || !part.has_control();
        match is_mapped && self.flavor != Flavor::Dynamic {
            true => Domain::Processor,
            false => Domain::Locked,
        }
    }

}

/// Packed bytes of an origin.
enum Packed {
    /// They lie so in the program's memory.
    There(Region),
    /// They are a copy.
    Apart(Owned),
}

impl Packed {
    fn of(buffer: &Buffer, is_read: bool) -> Packed {
        if let Some(region) = buffer.region() {
            return Packed::There(region);
        }
        let owned = Owned::zeroed(buffer.len());
        if is_read {
            buffer.pack(0, owned.lend());
        }
        Packed::Apart(owned)
    }

    fn region(&self) -> Region {
        match self {
            Packed::There(region) => *region,
            Packed::Apart(owned) => owned.lend(),
        }
    }
}

fn memory_of(by: By) -> Box<dyn TargetMemory> {
    match by {
        By::Mapped(region, first) => Box::new(Mapped { region, first }),
        By::Neighbor(neighbor, base) => Box::new(Other { neighbor, base }),
        By::Messages => unreachable!("messages were taken before"),
    }
}

/// Returns `MPI_ERR_OP` unless the operation is predefined and takes the datatype, `MPI_ERR_TYPE`
/// unless that is made of equal elements.
fn check_operation(op: &Op, datatype: &Datatype, call: &str) -> Result<()> {
    if op.builtin().is_none() {
        return Err(error::user_op(call));
    }
    op.check_accumulate(datatype)?;
    match datatype.size() == 0 || datatype.basic().is_some() || datatype.pair().is_some() {
        true => Ok(()),
        false => Err(error::elements(call, "a datatype with elements of several types")),
    }
}

/// Returns `MPI_ERR_TYPE` if the elements of origin and target are known to differ.
fn check_alike(origin: &Datatype, target: &Datatype, call: &str) -> Result<()> {
    let sort = |datatype: &Datatype| datatype.basic().map_or(Mark::NONE, |basic| Mark(basic.sort));
    match sort(origin).is_unlike(sort(target)) {
        true => Err(error::elements(call, "one datatype at the origin, another at the target")),
        false => Ok(()),
    }
}

fn check_single(datatype: &Datatype, call: &str) -> Result<()> {
    match datatype.as_basic().is_some() || datatype.pair().is_some() {
        true => Ok(()),
        false => Err(error::elements(call, "a derived datatype, where a predefined one is needed")),
    }
}

fn check_swappable(datatype: &Datatype) -> Result<()> {
    use Family::{Byte, CInteger, FortranInteger, Logical, MultiLanguage};
    let takes = |family| matches!(family, Byte | CInteger | FortranInteger | Logical | MultiLanguage);
    match datatype.as_basic().is_some_and(|basic| takes(basic.family)) {
        true => Ok(()),
        false => {
            let what = format!("{}, which is no integer, logical value or byte", datatype.name());
            Err(error::elements("MPI_Compare_and_swap", &what))
        }
    }
}
