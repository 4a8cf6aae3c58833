//! Accumulates, fetches and swaps (MPI-5.0, 12.3.4): what changes the target's elements atomically.

use super::apply::{self, Domain, Guard, TargetMemory};
use super::counts::{self, Kind, Way};
use super::operate::{COMPLETE, Call};
use super::place::{Place, Remote};
use super::stripe::Stripes;
use super::{Win, copied, error};
use crate::datatype::Datatype;
use crate::error::Result;
use crate::op::{Builtin, Op};
use crate::process::Process;
use crate::request::Active;
use std::sync::Arc;
use verbena_channel::Peer;
use verbena_channel::mark::Mark;
use verbena_channel::neighbor::{Neighbor, Refusal};
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

/// Memory of another process of the node, the target of this rank and number. Its places are
/// addresses of that process.
struct Other<'a>(&'a dyn Neighbor, (i32, Peer));

impl Other<'_> {
    fn done(&self, copied: std::result::Result<(), Refusal>) -> Result<()> {
        copied.map_err(|refusal| error::refused(self.1, refusal))
    }
}

impl TargetMemory for Other<'_> {
    fn read(&self, at: u64, into: Region) -> Result<()> {
        self.done(self.0.read(at, into))
    }

    fn write(&self, at: u64, from: Region) -> Result<()> {
        self.done(self.0.write(from, at))
    }

    fn read_pieces(&self, pieces: &[(u64, usize)], into: Region) -> Result<()> {
        self.done(copied::read_runs(self.0, pieces, into))
    }

    fn write_pieces(&self, pieces: &[(u64, usize)], from: Region) -> Result<()> {
        self.done(self.0.write_list(&[from], pieces))
    }

    fn region(&self) -> Option<Region> {
        None
    }
}

impl Win {
    /// Combines the origin's elements into the target's (`MPI_Accumulate`, `MPI_Raccumulate`).
    /// `MPI_ERR_OP` for `MPI_NO_OP`.
    pub fn accumulate(
        &self,
        process: &Process,
        source: (&Buffer, &Arc<Datatype>),
        remote: Remote,
        op: &Arc<Op>,
        request: bool,
    ) -> Result<Active> {
        let call = Call::of(Kind::Accumulate, ["MPI_Accumulate", "MPI_Raccumulate"], request);
        if op.builtin() == Some(Builtin::NoOp) {
            return Err(error::no_op(call.name));
        }
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
        let call = Call::of(Kind::Accumulate, ["MPI_Get_accumulate", "MPI_Rget_accumulate"], request);
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
        let call = Call { kind: Kind::Fetch, name: "MPI_Fetch_and_op", has_request: false };
        check_single(remote.datatype, call.name)?;
        let origin = source.map_or(Some(Region::EMPTY), |(buffer, _)| buffer.region());
        let (Some(origin), Some(result)) = (origin, former.region()) else {
            return self.combine(process, source, Some(former), remote, op, call);
        };
        check_operation(op, &remote, call.name)?;
        let Some(rank) = self.enter(process, remote.rank, call)? else { return Ok(COMPLETE) };
        if let Place::Mapped(region, at) = self.place(process, &remote, rank)?
            && let Some(guard) = self.guard(process, rank)
        {
            counts::operation(call.kind, Way::Mapped);
            apply::fetch_and_op(op, region, at as usize, remote.datatype, origin, result, &guard)?;
            return Ok(COMPLETE);
        }
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
        check_operation(op, &remote, call.name)?;
        if let Some((buffer, datatype)) = source {
            remote.check_length(buffer.len() as u64, call.name)?;
            check_alike(datatype, &remote, call.name)?;
        }
        let Some(rank) = self.enter(process, remote.rank, call)? else { return Ok(COMPLETE) };
        if remote.bytes() == 0 {
            return Ok(COMPLETE);
        }
        let place = self.place(process, &remote, rank)?;
        let Some(guard) = self.guard_at(process, rank, &place) else {
            self.by_messages(process, &remote)?;
            counts::operation(call.kind, Way::Messages);
            let source = source.map(|(buffer, _)| buffer);
            return self.service.accumulate(process, source, former, &remote, op);
        };
        place.count(call.kind);
        let source = source.map(|(buffer, _)| Packed::of(buffer, true));
        let packed = former.map(|former| Packed::of(former, false));
        let operands = [source.as_ref(), packed.as_ref()].map(|packed| packed.map(Packed::region));
        self.at_place(&place, &remote, |memory, at| {
            let count = remote.count as usize;
            let target = apply::Target { memory, at, count, datatype: remote.datatype, guard: &guard };
            apply::accumulate(op, &target, operands[0], operands[1])
        })?;
        if let (Some(former), Some(Packed::Apart(owned))) = (former, &packed) {
            former.unpack(0, owned.lend());
        }
        Ok(COMPLETE)
    }

    /// Stores a new value at the target if that has the value to compare with, and returns the one
    /// that it had (`MPI_Compare_and_swap`). `MPI_ERR_TYPE` unless the element is an integer, a
    /// logical value or a byte.
    pub fn compare_and_swap(&self, process: &Process, swap: Swap, remote: Remote) -> Result<Active> {
        let call = Call { kind: Kind::Swap, name: "MPI_Compare_and_swap", has_request: false };
        check_swappable(remote.datatype)?;
        let Some(rank) = self.enter(process, remote.rank, call)? else { return Ok(COMPLETE) };
        let place = self.place(process, &remote, rank)?;
        let Some(guard) = self.guard_at(process, rank, &place) else {
            self.by_messages(process, &remote)?;
            counts::operation(call.kind, Way::Messages);
            return self.service.compare_and_swap(process, swap, &remote);
        };
        place.count(call.kind);
        self.at_place(&place, &remote, |memory, at| {
            let Swap { origin, compare, result } = swap;
            apply::compare_and_swap(memory, at, remote.datatype, origin, compare, result, &guard)
        })?;
        Ok(COMPLETE)
    }

    /// Calls `act` with the memory of a place at the target, and the elements' place in it.
    fn at_place(
        &self,
        place: &Place,
        remote: &Remote,
        act: impl FnOnce(&dyn TargetMemory, i64) -> Result<()>,
    ) -> Result<()> {
        match place {
            Place::Mapped(region, at) => act(region, *at),
            Place::Pieces(place) => {
                let (memory, at) = self.local.memory_at(place, remote.elements())?;
                act(memory, at)
            }
            Place::Neighbor(neighbor, address) => {
                let peer = self.group().peer(remote.rank);
                act(&Other(&**neighbor, (remote.rank, peer)), *address as i64)
            }
            Place::Messages => unreachable!("messages were taken before"),
        }
    }

    /// The means to change elements at a place here; `None` if messages must do it.
    fn guard_at<'a>(&self, process: &'a Process, rank: usize, place: &Place) -> Option<Guard<'a>> {
        self.guard(process, rank).filter(|guard| changes_here(place, guard.domain))
    }

    /// The means to keep changes of a member's elements apart, if this process has them.
    fn guard<'a>(&self, process: &'a Process, rank: usize) -> Option<Guard<'a>> {
        let target = self.target(process, rank);
        let stripes = Stripes::new(target.words?.stripes(), process.me(), process);
        Some(Guard { domain: target.part.domain(self.flavor), stripes })
    }
}

/// Returns whether elements at a place may be changed from here: memory that others change by a
/// processor's atomics is not copied forth and back, though it could not be mapped here.
fn changes_here(place: &Place, domain: Domain) -> bool {
    match place {
        Place::Mapped(..) | Place::Pieces(_) => true,
        Place::Neighbor(..) => domain == Domain::Locked,
        Place::Messages => false,
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

/// Returns `MPI_ERR_OP` unless the operation is predefined and takes the elements, if there are
/// any.
fn check_operation(op: &Op, remote: &Remote, call: &str) -> Result<()> {
    match op.builtin() {
        None => Err(error::user_op(call)),
        Some(_) if remote.bytes() == 0 => Ok(()),
        Some(_) => op.check_accumulate(remote.datatype),
    }
}

/// Returns `MPI_ERR_TYPE` if there are elements, and those of origin and target are known to
/// differ.
fn check_alike(origin: &Datatype, target: &Remote, call: &str) -> Result<()> {
    let sort = |datatype: &Datatype| datatype.basic().map_or(Mark::NONE, |basic| Mark(basic.sort));
    match target.bytes() > 0 && sort(origin).is_unlike(sort(target.datatype)) {
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
    match apply::width_to_compare(datatype).is_some() {
        true => Ok(()),
        false => {
            let what = format!("{}, which is no integer, logical value or byte", datatype.name());
            Err(error::elements("MPI_Compare_and_swap", &what))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Nobody;

    impl Neighbor for Nobody {
        fn read(&self, _: u64, _: Region) -> std::result::Result<(), Refusal> {
            Ok(())
        }

        fn write(&self, _: Region, _: u64) -> std::result::Result<(), Refusal> {
            Ok(())
        }

        fn read_list(&self, _: &[(u64, usize)], _: &[Region]) -> std::result::Result<(), Refusal> {
            Ok(())
        }

        fn write_list(&self, _: &[Region], _: &[(u64, usize)]) -> std::result::Result<(), Refusal> {
            Ok(())
        }
    }

    #[test]
    fn what_processors_change_is_changed_where_it_is_mapped() {
        let copied = Place::Neighbor(Arc::new(Nobody), 0);
        assert!(changes_here(&copied, Domain::Locked) && !changes_here(&copied, Domain::Processor));
        let mapped = Place::Mapped(Region::EMPTY, 0);
        assert!(changes_here(&mapped, Domain::Locked) && changes_here(&mapped, Domain::Processor));
        assert!(!changes_here(&Place::Messages, Domain::Locked));
    }
}
