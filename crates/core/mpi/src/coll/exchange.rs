//! The exchanges of short byte strings that are needed to make communicators, over schedules.

use super::algorithms::{allgather, bcast};
use super::blocks::{Blocks, Counts};
use super::call::{Call, Kind, Members};
use super::choose::{Allgather, TABLE};
use super::execute::{Collective, tell_on};
use super::plan::{Plan, Team};
use super::tags::{tag_of_blocking, tag_of_step};
use crate::comm::{Comm, Exchange, Traffic};
use crate::error::Result;
use crate::group::Group;
use crate::process::Process;
use std::cell::RefCell;
use std::sync::Arc;
use verbena_channel::mark::Mark;
use verbena_memory::elements::Elements;
use verbena_memory::layout::Layout;
use verbena_memory::{Buffer, Owned};

/// Messages that belong together: a context and a tag.
#[derive(Clone)]
struct Channel {
    context: u64,
    tag: i32,
    /// The mark of the call; empty where the messages cannot meet those of other collectives.
    call: Mark,
    /// The tag of the collective that the messages belong to, if that is another one.
    told_as: Option<i32>,
    /// True if some of the communicator's members alone take part: the deaths of others are no
    /// matter of theirs.
    is_partial: bool,
    /// The contexts and tags of the call's earlier exchanges: a rank may have left in one of them.
    earlier: Vec<(u64, i32)>,
}

impl Channel {
    /// A channel of all members, for messages that say that they are of this call.
    fn new((context, tag): (u64, i32), call: Mark) -> Channel {
        Channel { context, tag, call, told_as: None, is_partial: false, earlier: Vec::new() }
    }

    /// Runs to its end what `fill` plans for `team`.
    fn run(&self, process: &Process, team: Team<'_>, fill: impl FnOnce(&mut Plan)) -> Result<()> {
        let mut collective = Collective::with_tag(self.context, self.tag);
        collective.set_call(self.call);
        if self.is_partial {
            collective.set_concerned(team.members());
        }
        collective.set_earlier(&self.earlier);
        collective.set_members(Members { me: team.rank(), ranks: team.size(), is_first_group: None });
        fill(&mut Plan::new(collective.schedule(), team));
        let outcome = collective.run_told_as(process, None, self.told_as.unwrap_or(self.tag));
        if let Some(mark) = collective.left() {
            process.command(|engine| tell_on(engine, (self.context, self.tag), team, mark));
        }
        collective.recycle();
        outcome
    }
}

/// The channel of messages between some members, which say that they are of this call.
fn of_some(comm: &Comm, tag: i32, call: Mark, is_partial: bool) -> Channel {
    Channel { is_partial, ..Channel::new((comm.context(Traffic::Exchange), tag), call) }
}

/// Bytes that the library owns, as messages see them.
struct Bytes(Owned);

impl Bytes {
    fn new(len: usize) -> Bytes {
        Bytes(Owned::zeroed(len))
    }

    fn of(bytes: &[u8]) -> Bytes {
        Bytes(Owned::from(bytes))
    }

    fn length_of(bytes: &[u8]) -> Bytes {
        Bytes::of(&(bytes.len() as u64).to_le_bytes())
    }

    fn buffer(&self) -> Buffer {
        Buffer::Contiguous(self.0.lend())
    }

    fn elements<'a>(&self, byte: &'a Arc<Layout>) -> Elements<'a> {
        Elements::at_origins(self.0.lend(), byte)
    }

    fn part(&self, first: usize, len: usize) -> Vec<u8> {
        self.0.lend().part(first, len).to_vec()
    }

    /// The `i`-th number in it.
    fn number(&self, i: usize) -> usize {
        u64::from_le_bytes(self.0.lend().load(8 * i)) as usize
    }
}

/// Gathers everybody's bytes in rank order: first their lengths, then all in one.
fn allgather_bytes(
    process: &Process,
    channel: &Channel,
    team: Team<'_>,
    mine: &[u8],
) -> Result<Vec<Vec<u8>>> {
    let size = team.size();
    if size == 1 {
        return Ok(vec![mine.to_vec()]);
    }
    let byte = Arc::new(Layout::contiguous(1));
    let lengths = Bytes::new(8 * size);
    let blocks = Blocks::Even { elements: lengths.elements(&byte), count: 8 };
    gather_all(process, channel, team, &Bytes::length_of(mine), blocks)?;
    let counts: Vec<i64> = (0..size).map(|i| lengths.number(i) as i64).collect();
    let starts: Vec<i64> =
        counts.iter().scan(0, |next, count| Some(std::mem::replace(next, *next + count))).collect();
    let all = Bytes::new(counts.iter().sum::<i64>() as usize);
    let (counts, displacements) = (Counts::Large(&counts), Counts::Large(&starts));
    let blocks = Blocks::Varied { elements: all.elements(&byte), counts, displacements };
    gather_all(process, channel, team, &Bytes::of(mine), blocks)?;
    Ok((0..size).map(|i| all.part(displacements.get(i) as usize, counts.get(i) as usize)).collect())
}

fn gather_all(
    process: &Process,
    channel: &Channel,
    team: Team<'_>,
    mine: &Bytes,
    recv: Blocks,
) -> Result<()> {
    let total = (0..team.size()).map(|i| recv.bytes(i)).sum();
    channel.run(process, team, |plan| match TABLE.allgather(plan.size(), total, false) {
        Allgather::Ring => allgather::ring(plan, Some(mine.buffer()), recv),
        _ => allgather::bruck(plan, Some(mine.buffer()), recv),
    })
}

/// Broadcasts the root's bytes: first their length.
fn bcast_bytes(
    process: &Process,
    channel: &Channel,
    comm: &Comm,
    root: i32,
    data: Vec<u8>,
) -> Result<Vec<u8>> {
    let send = |bytes: &Bytes| {
        channel.run(process, Team::local(comm), |plan| bcast::binomial(plan, bytes.buffer(), root as usize))
    };
    let length = Bytes::length_of(&data);
    send(&length)?;
    let bytes = if comm.rank() == root { Bytes::of(&data) } else { Bytes::new(length.number(0)) };
    send(&bytes)?;
    Ok(bytes.part(0, length.number(0)))
}

/// Tells the others the `word` of rank 0, or that there is none, once in a communicator's life. The
/// tag lies above those that are counted. So a rank that calls this one collective later than the
/// others, since one failed there, still gets it; and where a call is repeated after a death, its
/// one message may be taken for that of the first.
pub(crate) fn tell_once(process: &Process, comm: &Comm, word: Option<u64>) -> Result<Option<u64>> {
    let told_as = Some(tag_of_blocking(u64::from(comm.collectives_begun())));
    let context = comm.context(Traffic::Collective);
    let channel = Channel { told_as, ..Channel::new((context, 1 << 30), Mark::NONE) };
    let told = Bytes::of(&[u64::from(word.is_some()), word.unwrap_or(0)].map(u64::to_le_bytes).concat());
    channel.run(process, Team::local(comm), |plan| bcast::binomial(plan, told.buffer(), 0))?;
    Ok((told.number(0) != 0).then(|| told.number(1) as u64))
}

/// The exchanges of a process in one call of this kind. Other ranks find out if they call another.
///
/// All exchanges over a communicator count as one collective of it. So a rank that leaves the call
/// early, since a process has died, still counts as the others do.
pub struct Making<'p> {
    process: &'p Process,
    kind: Kind,
    /// The contexts and tags of all exchanges so far.
    used: RefCell<Vec<(u64, i32)>>,
}

impl<'p> Making<'p> {
    /// The exchanges of a call that begins.
    pub fn new(process: &'p Process, kind: Kind) -> Making<'p> {
        Making { process, kind, used: RefCell::default() }
    }

    /// The channel of the next exchange over this communicator.
    fn channel(&self, comm: &Comm) -> Channel {
        let context = comm.context(Traffic::Collective);
        let earlier = self.used.borrow().clone();
        // Those over the same communicator that come right before this one.
        let step = earlier.iter().rev().take_while(|(known, _)| *known == context).count();
        let first = if step == 0 { comm.next_collective_tag() } else { earlier[earlier.len() - step].1 };
        let key = (context, tag_of_step(first, step as u32));
        self.used.borrow_mut().push(key);
        Channel { earlier, ..Channel::new(key, Call::new(self.kind, comm).mark()) }
    }
}

/// The exchanges of a process in calls that have no kind of their own.
impl Exchange for Process {
    fn new_context(&self) -> u64 {
        Process::new_context(self)
    }

    fn process(&self) -> Option<&Process> {
        Some(self)
    }

    fn allgather(&self, comm: &Comm, mine: &[u8]) -> Result<Vec<Vec<u8>>> {
        Making::new(self, Kind::Creation).allgather(comm, mine)
    }

    fn bcast(&self, comm: &Comm, root: i32, data: Vec<u8>) -> Result<Vec<u8>> {
        Making::new(self, Kind::Creation).bcast(comm, root, data)
    }

    fn sendrecv(&self, comm: &Comm, peer: i32, tag: i32, mine: &[u8]) -> Result<Vec<u8>> {
        Making::new(self, Kind::Creation).sendrecv(comm, peer, tag, mine)
    }

    fn allgather_group(&self, comm: &Comm, members: &[i32], tag: i32, mine: &[u8]) -> Result<Vec<Vec<u8>>> {
        Making::new(self, Kind::Creation).allgather_group(comm, members, tag, mine)
    }
}

impl Exchange for Making<'_> {
    fn new_context(&self) -> u64 {
        self.process.new_context()
    }

    fn process(&self) -> Option<&Process> {
        Some(self.process)
    }

    fn allgather(&self, comm: &Comm, mine: &[u8]) -> Result<Vec<Vec<u8>>> {
        allgather_bytes(self.process, &self.channel(comm), Team::local(comm), mine)
    }

    fn bcast(&self, comm: &Comm, root: i32, data: Vec<u8>) -> Result<Vec<u8>> {
        bcast_bytes(self.process, &self.channel(comm), comm, root, data)
    }

    fn sendrecv(&self, comm: &Comm, peer: i32, tag: i32, mine: &[u8]) -> Result<Vec<u8>> {
        let channel = of_some(comm, tag, Mark::NONE, false);
        let (team, peer) = (Team::remote(comm), peer as usize);
        let swap = |own: &Bytes, other: &Bytes| {
            channel.run(self.process, team, |plan| plan.exchange(peer, own.buffer(), peer, other.buffer()))
        };
        let length = Bytes::new(8);
        swap(&Bytes::length_of(mine), &length)?;
        let theirs = Bytes::new(length.number(0));
        swap(&Bytes::of(mine), &theirs)?;
        Ok(theirs.part(0, length.number(0)))
    }

    fn allgather_group(&self, comm: &Comm, members: &[i32], tag: i32, mine: &[u8]) -> Result<Vec<Vec<u8>>> {
        let channel = of_some(comm, tag, Call::new(self.kind, comm).mark(), true);
        let peers = members.iter().map(|&rank| comm.group().peer(rank)).collect();
        let group = Group::new(peers, self.process.me());
        let rank = group.rank().expect("only members call") as usize;
        allgather_bytes(self.process, &channel, Team::of(&group, rank), mine)
    }
}
