//! Puts and gets (MPI-5.0, 12.3), and what all operations begin with.

use super::counts::Kind;
use super::place::{Place, Remote, elements};
use super::{Win, copied, error};
use crate::error::{Error, Result};
use crate::process::Process;
use crate::request::{Active, Outcome};
use crate::window::epoch::Entry;
use verbena_channel::neighbor::Refusal;
use verbena_memory::Buffer;

/// The kind and the name of a call, and whether it gives a request.
#[derive(Clone, Copy)]
pub(super) struct Call {
    pub kind: Kind,
    pub name: &'static str,
    pub has_request: bool,
}

impl Call {
    /// A call without a request (`names.0`) or with one (`names.1`).
    pub(super) fn of(kind: Kind, names: [&'static str; 2], has_request: bool) -> Call {
        Call { kind, name: names[usize::from(has_request)], has_request }
    }
}

/// An operation that is complete.
pub(super) const COMPLETE: Active = Active::Done(Outcome::EMPTY);

impl Win {
    /// Begins an operation: the target's rank, once the target may be accessed. `None` for
    /// `MPI_PROC_NULL`.
    #[inline]
    pub(super) fn enter(&self, process: &Process, rank: i32, call: Call) -> Result<Option<usize>> {
        let Some(member) = self.member(rank)? else { return Ok(None) };
        let entry = match call.has_request {
            false => self.epochs.lock().enter(rank, call.name),
            true => self.epochs.lock().enter_passive(rank, call.name),
        };
        match entry? {
            Entry::Ready => (),
            entry => self.meet(process, member, entry, call.name)?,
        }
        if !matches!(call.kind, Kind::Put | Kind::Get) {
            self.await_device(process, member)?;
        }
        Ok(Some(member))
    }

    /// Does the work that comes before the first operation on a member; other threads wait for it.
    #[cold]
    pub(super) fn meet(&self, process: &Process, member: usize, mut entry: Entry, call: &str) -> Result<()> {
        let rank = member as i32;
        while entry == Entry::AwaitThread {
            let awaited = |_: &Process| self.awaited_epoch(&[rank]);
            process.wait_for(awaited, |_| self.epochs.lock().is_met(rank).then_some(()));
            entry = self.epochs.lock().enter(rank, call)?;
        }
        let met = match entry {
            Entry::Ready | Entry::AwaitThread => return Ok(()),
            Entry::AwaitPost => self.await_post(process, rank),
            Entry::TakeLock => self.take_shared(process, member),
        };
        self.epochs.lock().met(rank, met.is_ok());
        process.notify();
        met
    }

    /// Copies from the origin to the target (`MPI_Put`, `MPI_Rput`).
    pub fn put(&self, process: &Process, origin: &Buffer, remote: Remote, request: bool) -> Result<Active> {
        let call = Call::of(Kind::Put, ["MPI_Put", "MPI_Rput"], request);
        remote.check_length(origin.len() as u64, call.name)?;
        let Some(rank) = self.enter(process, remote.rank, call)? else { return Ok(COMPLETE) };
        if origin.is_empty() {
            return Ok(COMPLETE);
        }
        let place = self.place(process, &remote, rank)?;
        if let Some(begun) = self.by_device(process, call.kind, &place, origin, &remote)? {
            return Ok(begun);
        }
        place.count(call.kind);
        match place {
            Place::Mapped(region, at) => elements(region, at, &remote).copy_from(origin),
            Place::Pieces(place) => elements(place.region, place.at, &remote).copy_from(origin),
            Place::Neighbor(neighbor, address) => {
                let written = copied::write(&*neighbor, origin, address, &remote);
                written.map_err(|refusal| self.refused(&remote, refusal))?;
            }
            Place::Messages => return self.service.put(process, origin, &remote),
        }
        Ok(COMPLETE)
    }

    /// The error of a copy between the processes that the kernel refused.
    #[cold]
    fn refused(&self, remote: &Remote, refusal: Refusal) -> Error {
        error::refused((remote.rank, self.group().peer(remote.rank)), refusal)
    }

    /// Copies from the target to the origin (`MPI_Get`, `MPI_Rget`).
    pub fn get(&self, process: &Process, origin: &Buffer, remote: Remote, request: bool) -> Result<Active> {
        let call = Call::of(Kind::Get, ["MPI_Get", "MPI_Rget"], request);
        remote.check_length(origin.len() as u64, call.name)?;
        let Some(rank) = self.enter(process, remote.rank, call)? else { return Ok(COMPLETE) };
        if origin.is_empty() {
            return Ok(COMPLETE);
        }
        let place = self.place(process, &remote, rank)?;
        if let Some(begun) = self.by_device(process, call.kind, &place, origin, &remote)? {
            return Ok(begun);
        }
        place.count(call.kind);
        match place {
            Place::Mapped(region, at) => origin.copy_from(&elements(region, at, &remote)),
            Place::Pieces(place) => origin.copy_from(&elements(place.region, place.at, &remote)),
            Place::Neighbor(neighbor, address) => {
                let read = copied::read(&*neighbor, origin, address, &remote);
                read.map_err(|refusal| self.refused(&remote, refusal))?;
            }
            Place::Messages => return self.service.get(process, origin, &remote),
        }
        Ok(COMPLETE)
    }
}
