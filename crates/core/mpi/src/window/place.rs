//! The bytes that an access names at a target, checked against what the target exposes.

use super::error::{self, Access};
use super::table::Found;
use super::target::{Target, Way};
use super::{Flavor, Win, runs, service};
use crate::datatype::Datatype;
use crate::error::{Error, Result};
use crate::process::{Process, failure_error};
use std::ops::Range;
use std::sync::Arc;
use verbena_channel::neighbor::Neighbor;
use verbena_memory::elements::Elements;
use verbena_memory::{Buffer, Region};

/// Elements at a target: `count` of `datatype`, the first at this displacement in the target's
/// units (or at this address, in a dynamic window).
#[derive(Clone, Copy)]
pub struct Remote<'a> {
    /// The target's rank, or `MPI_PROC_NULL`.
    pub rank: i32,
    /// The displacement of the first element.
    pub displacement: i64,
    /// Number of elements.
    pub count: i64,
    /// The datatype of an element.
    pub datatype: &'a Arc<Datatype>,
}

impl Remote<'_> {
    /// Packed bytes of all elements.
    #[inline]
    pub(super) fn bytes(&self) -> u64 {
        (self.datatype.size() as u64).saturating_mul(self.count as u64)
    }

    /// The number of elements, and the datatype of each.
    pub(super) fn elements(&self) -> (usize, &Datatype) {
        (self.count as usize, self.datatype)
    }

    /// Returns `MPI_ERR_TYPE` unless the elements are as long as those of the origin.
    #[inline]
    pub(super) fn check_length(&self, origin: u64, call: &str) -> Result<()> {
        match self.bytes() {
            bytes if bytes == origin => Ok(()),
            bytes => Err(error::lengths(call, origin, bytes)),
        }
    }
}

/// The place of an access's first element.
pub(super) enum Place {
    /// In memory that is mapped here, so many bytes behind its first byte.
    Mapped(Region, i64),
    /// In several pieces of memory of this process.
    Pieces(service::Place),
    /// At this address of another process of the node.
    Neighbor(Arc<dyn Neighbor>, u64),
    /// At a target that messages reach.
    Messages,
}

/// The elements of an access in mapped memory, `at` bytes behind its first byte.
#[inline]
pub(super) fn elements(region: Region, at: i64, remote: &Remote) -> Buffer {
    let elements = Elements::at_origins(region, remote.datatype.layout());
    elements.displaced(at as isize).buffer(0, remote.count as usize)
}

/// Finds elements that lie in several pieces of attached memory, as `find` tells of each: all
/// together they have no ticket.
fn in_pieces(remote: &Remote, find: impl Fn(u64, u64) -> Found) -> Found {
    let mut last = Found::Nothing;
    let piece = |run: &Range<u64>| {
        last = find(run.start, run.end);
        match last {
            Found::Attached { address, bytes, .. } => Some(address..address.saturating_add(bytes)),
            _ => None,
        }
    };
    runs::lie_in_pieces(remote.displacement as u64, remote.elements(), piece);
    match last {
        Found::Attached { address, bytes, .. } => Found::Attached { address, bytes, ticket: None },
        other => other,
    }
}

impl Win {
    /// Finds the place of an access that has bytes. `MPI_ERR_RMA_RANGE` if they are not all
    /// exposed, as far as this process knows.
    #[inline]
    pub(super) fn place(&self, process: &Process, remote: &Remote, rank: usize) -> Result<Place> {
        let (low, high) = remote.datatype.span(remote.count as usize)?;
        let span = (low as i64, high as i64);
        let target = self.target(process, rank);
        if self.flavor == Flavor::Dynamic {
            return self.attached_place(process, remote, (rank, target), span);
        }
        let part = &target.part;
        let at = part.offset(remote.displacement, span);
        let at = at.ok_or_else(|| error::range(self.access(remote, span), part))?;
        Ok(match &target.way {
            Way::Mapped(region) => Place::Mapped(*region, at),
            // Nothing overtakes an accumulate, which messages carry if there are no words.
            Way::Neighbor(_) if target.words.is_none() && self.service.is_busy_with(process, rank) => {
                self.by_messages(process, remote)?
            }
            Way::Neighbor(neighbor) => Place::Neighbor(neighbor.clone(), part.base.wrapping_add_signed(at)),
            Way::Messages => self.by_messages(process, remote)?,
        })
    }

    /// The place at a target that messages reach, if its service runs.
    pub(super) fn by_messages(&self, process: &Process, remote: &Remote) -> Result<Place> {
        match self.serving {
            Some(_) => Ok(Place::Messages),
            None => Err(self.unreachable(process, remote.rank)),
        }
    }

    /// The error of a member that this process cannot reach by itself, where no service runs.
    #[cold]
    pub(super) fn unreachable(&self, process: &Process, rank: i32) -> Error {
        let peer = self.group().peer(rank);
        process.poll();
        match process.look(|engine| engine.loss_of(peer)) {
            Some(failure) => failure_error(failure),
            None if self.local.lives(rank) => error::unreachable(rank),
            None => error::ended(rank, peer),
        }
    }

    /// Finds the place of an access to a dynamic window, whose displacements are addresses.
    fn attached_place(
        &self,
        process: &Process,
        remote: &Remote,
        (rank, target): (usize, &Target),
        span: (i64, i64),
    ) -> Result<Place> {
        let unattached = || error::unattached(self.access(remote, span));
        if rank == self.rank() as usize {
            let attachments = self.local.attachments.lock();
            let (place, _) =
                attachments.place(remote.displacement, remote.elements(), span).ok_or_else(unattached)?;
            return Ok(match place.holds(span) {
                true => Place::Mapped(place.region, place.at),
                false => Place::Pieces(place),
            });
        }
        let address = remote.displacement as u64;
        let low = address.checked_add_signed(span.0).ok_or_else(unattached)?;
        let high = address.checked_add_signed(span.1).ok_or_else(unattached)?;
        let open = |ticket| process.heap()?.at(ticket);
        let find = |low, high| match target.words {
            Some(words) => words.table().find(low, high, open, || self.is_lost(process, remote.rank)),
            None => Found::Untold,
        };
        let mut found = find(low, high);
        if found == Found::Nothing {
            found = in_pieces(remote, find);
        }
        match found {
            Found::Torn => Err(error::torn_table(remote.rank)),
            Found::Nothing => Err(unattached()),
            Found::Untold => self.by_messages(process, remote),
            // Nothing overtakes an accumulate that went by a message when the table told nothing.
            Found::Attached { .. } if self.service.is_busy_with(process, rank) => {
                self.by_messages(process, remote)
            }
            Found::Attached { address: start, ticket, .. } => {
                let region = ticket.and_then(open);
                Ok(match (region, &target.way) {
                    (Some(region), _) => Place::Mapped(region, address.wrapping_sub(start) as i64),
                    (None, Way::Neighbor(neighbor)) => Place::Neighbor(neighbor.clone(), address),
                    (None, _) => self.by_messages(process, remote)?,
                })
            }
        }
    }

    /// Returns whether a member is lost, as far as a round of progress tells.
    #[cold]
    fn is_lost(&self, process: &Process, rank: i32) -> bool {
        process.poll();
        process.look(|engine| engine.loss_of(self.group().peer(rank))).is_some()
    }

    #[cold]
    fn access(&self, remote: &Remote, span: (i64, i64)) -> Access {
        Access { rank: remote.rank, displacement: remote.displacement, span }
    }
}
