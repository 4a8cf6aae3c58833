//! The exchanges of short byte strings that making communicators needs, over schedules.

use super::algorithms::{allgather, bcast};
use super::blocks::{Blocks, Counts};
use super::choose::{Allgather, TABLE};
use super::execute::Collective;
use super::plan::{Plan, Team};
use crate::comm::{Comm, Exchange, Traffic};
use crate::error::Result;
use crate::group::Group;
use crate::process::Process;
use std::sync::Arc;
use verbena_channel::elements::Elements;
use verbena_channel::layout::Layout;
use verbena_channel::memory::{Buffer, Region};

/// Messages that belong together: a context and a tag.
#[derive(Clone, Copy)]
struct Channel {
    context: u64,
    tag: i32,
}

impl Channel {
    fn next(comm: &Comm) -> Channel {
        Channel { context: comm.context(Traffic::Collective), tag: comm.next_collective_tag() }
    }

    /// Runs what `fill` plans for `team`, to its end.
    fn run(self, process: &Process, team: Team<'_>, fill: impl FnOnce(&mut Plan)) -> Result<()> {
        let mut collective = Collective::with_tag(self.context, self.tag);
        fill(&mut Plan::new(collective.schedule(), team));
        let outcome = collective.run(process, None);
        collective.recycle();
        outcome
    }
}

/// Bytes that the library owns, as a message.
fn buffer_of(bytes: &mut [u8]) -> Buffer {
    // SAFETY: callers keep the bytes, and do not look at them, until the exchange has ended.
    Buffer::Contiguous(unsafe { Region::of(bytes) })
}

/// Everybody's bytes in rank order: first their lengths, then all in one.
fn allgather_bytes(process: &Process, channel: Channel, team: Team<'_>, mine: &[u8]) -> Result<Vec<Vec<u8>>> {
    let size = team.size();
    if size == 1 {
        return Ok(vec![mine.to_vec()]);
    }
    let byte = Arc::new(Layout::contiguous(1));
    let mut lengths = vec![0u8; 8 * size];
    let mut own = (mine.len() as u64).to_le_bytes();
    // SAFETY: `lengths` stays until the exchange has ended.
    let elements = unsafe { Elements::new(lengths.as_mut_ptr(), &byte) };
    gather_all(process, channel, team, &mut own, Blocks::Even { elements, count: 8 })?;
    let words = lengths.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("8 bytes")));
    let counts: Vec<i64> = words.map(|length| length as i64).collect();
    let starts: Vec<i64> =
        counts.iter().scan(0, |next, count| Some(std::mem::replace(next, *next + count))).collect();
    let mut all = vec![0u8; counts.iter().sum::<i64>() as usize];
    // SAFETY: `all` stays until the exchange has ended.
    let elements = unsafe { Elements::new(all.as_mut_ptr(), &byte) };
    let (counts, displacements) = (Counts::Large(&counts), Counts::Large(&starts));
    gather_all(
        process,
        channel,
        team,
        &mut mine.to_vec(),
        Blocks::Varied { elements, counts, displacements },
    )?;
    let range = |i: usize| displacements.get(i) as usize..(displacements.get(i) + counts.get(i)) as usize;
    Ok((0..size).map(|i| all[range(i)].to_vec()).collect())
}

fn gather_all(
    process: &Process,
    channel: Channel,
    team: Team<'_>,
    mine: &mut [u8],
    recv: Blocks,
) -> Result<()> {
    let total = (0..team.size()).map(|i| recv.bytes(i)).sum();
    channel.run(process, team, |plan| match TABLE.allgather(plan.size(), total, false) {
        Allgather::Ring => allgather::ring(plan, Some(buffer_of(mine)), recv),
        _ => allgather::bruck(plan, Some(buffer_of(mine)), recv),
    })
}

impl Exchange for Process {
    fn new_context(&self) -> u64 {
        Process::new_context(self)
    }

    fn allgather(&self, comm: &Comm, mine: &[u8]) -> Result<Vec<Vec<u8>>> {
        allgather_bytes(self, Channel::next(comm), Team::local(comm), mine)
    }

    fn bcast(&self, comm: &Comm, root: i32, mut data: Vec<u8>) -> Result<Vec<u8>> {
        let (channel, team) = (Channel::next(comm), Team::local(comm));
        let mut length = (data.len() as u64).to_le_bytes();
        channel.run(self, team, |plan| bcast::binomial(plan, buffer_of(&mut length), root as usize))?;
        if comm.rank() != root {
            data = vec![0; u64::from_le_bytes(length) as usize];
        }
        channel.run(self, team, |plan| bcast::binomial(plan, buffer_of(&mut data), root as usize))?;
        Ok(data)
    }

    fn sendrecv(&self, comm: &Comm, peer: i32, tag: i32, mine: &[u8]) -> Result<Vec<u8>> {
        let channel = Channel { context: comm.context(Traffic::Exchange), tag };
        let (team, peer) = (Team::remote(comm), peer as usize);
        let mut own = (mine.len() as u64).to_le_bytes();
        let mut length = [0; 8];
        channel
            .run(self, team, |plan| plan.exchange(peer, buffer_of(&mut own), peer, buffer_of(&mut length)))?;
        let mut theirs = vec![0; u64::from_le_bytes(length) as usize];
        let mut mine = mine.to_vec();
        channel.run(self, team, |plan| {
            plan.exchange(peer, buffer_of(&mut mine), peer, buffer_of(&mut theirs))
        })?;
        Ok(theirs)
    }

    fn allgather_group(&self, comm: &Comm, members: &[i32], tag: i32, mine: &[u8]) -> Result<Vec<Vec<u8>>> {
        let channel = Channel { context: comm.context(Traffic::Exchange), tag };
        let peers = members.iter().map(|&rank| comm.group().peer(rank)).collect();
        let group = Group::new(peers, self.me());
        let rank = group.rank().expect("only members call") as usize;
        allgather_bytes(self, channel, Team::of(&group, rank), mine)
    }
}
