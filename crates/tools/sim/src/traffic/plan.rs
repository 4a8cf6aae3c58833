//! The plan of every rank's actions.

use crate::memory::Shape;
use crate::{Random, Rank};
use verbena_engine::{ANY_SOURCE, ANY_TAG, Mode};

/// Contexts 0 to 3 hold receives of one class each (exact, any source, any tag, any both); this one
/// and all further ones hold all classes.
const MIXED_CONTEXT: u64 = 4;
/// Number of contexts.
pub(super) const CONTEXTS: u64 = 5;
/// Number of tags.
const TAGS: u64 = 4;

/// A message to be sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message {
    /// Number of the message; its bytes follow from it.
    pub id: u64,
    pub to: Rank,
    pub context: u64,
    pub tag: i32,
    pub bytes: usize,
    pub mode: Mode,
    pub shape: Shape,
    /// The request is freed at once.
    pub forgotten: bool,
}

/// The way in which a receive is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    Post,
    ProbeFirst,
    MatchedProbe,
}

/// A message wanted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    pub context: u64,
    pub source: i32,
    pub tag: i32,
    pub room: usize,
    pub shape: Shape,
    pub how: How,
}

/// An action of a rank.
#[derive(Clone, Copy, Debug)]
pub(super) enum Act {
    Send(Message),
    Receive(Wanted),
    /// The rank dies.
    Die,
    /// Cancels one of the rank's own pending operations, chosen by this number.
    Cancel(u64),
}

/// The actions of each rank, in order.
#[derive(Debug)]
pub(super) struct Plan {
    pub acts: Vec<Vec<Act>>,
    /// The longest message.
    pub bytes_max: usize,
}

impl Plan {
    pub(super) fn random(random: &mut Random) -> Plan {
        let ranks = random.between(1, 6);
        let (bytes_max, messages) =
            random.pick(&[(64, 200), (3000, 80), (3000, 80), (40_000, 25), (1 << 20, 5)]);
        let mut plan = Plan { acts: vec![Vec::new(); ranks as usize], bytes_max };
        for id in 0..random.between(1, messages) {
            plan.add(random, id);
        }
        let disorder = random.pick(&[0, 10, 100]);
        plan.acts.iter_mut().for_each(|acts| shuffle(acts, random, disorder));
        if random.percent(20) {
            plan.kill(random);
        }
        plan
    }

    pub(super) fn ranks(&self) -> Rank {
        self.acts.len() as Rank
    }

    /// Lets one rank die somewhere on its way. It cancels nothing: the result of that could not be
    /// known.
    fn kill(&mut self, random: &mut Random) {
        let rank = random.below(self.acts.len() as u64) as usize;
        let acts = &mut self.acts[rank];
        acts.truncate(random.below(acts.len() as u64 + 1) as usize);
        acts.retain(|act| !matches!(act, Act::Cancel(_)));
        acts.push(Act::Die);
    }

    fn add(&mut self, random: &mut Random, id: u64) {
        let ranks = self.acts.len() as u64;
        let (from, to) = (random.below(ranks), random.below(ranks));
        let message = Message {
            id,
            to: to as Rank,
            context: random.below(CONTEXTS),
            tag: random.below(TAGS) as i32,
            bytes: length(random, self.bytes_max),
            mode: if random.percent(30) { Mode::Synchronous } else { Mode::Standard },
            shape: shape(random),
            forgotten: random.percent(5),
        };
        self.acts[from as usize].push(Act::Send(message));
        if random.percent(90) {
            let wanted = want(random, from as i32, &message, self.bytes_max);
            self.acts[to as usize].push(Act::Receive(wanted));
        }
        if random.percent(8) {
            let at = random.pick(&[from, to]);
            self.acts[at as usize].push(Act::Cancel(random.word()));
        }
    }
}

fn want(random: &mut Random, from: i32, message: &Message, bytes_max: usize) -> Wanted {
    let class = if message.context >= MIXED_CONTEXT { random.below(4) } else { message.context };
    Wanted {
        context: message.context,
        source: if class & 1 == 0 { from } else { ANY_SOURCE },
        tag: if class & 2 == 0 { message.tag } else { ANY_TAG },
        room: if random.percent(80) { bytes_max } else { length(random, bytes_max) },
        shape: shape(random),
        how: random.pick(&[How::Post, How::Post, How::Post, How::ProbeFirst, How::MatchedProbe]),
    }
}

fn shape(random: &mut Random) -> Shape {
    if random.percent(20) { Shape::Strided } else { Shape::Contiguous }
}

/// Short lengths are as frequent as long ones; the ends of the range occur.
fn length(random: &mut Random, bytes_max: usize) -> usize {
    let bits = random.below(u64::from(bytes_max.ilog2()) + 2);
    let bytes = random.below((1 << bits) + 1) as usize;
    if random.percent(3) { bytes_max } else { bytes.min(bytes_max) }
}

/// Swaps neighbours at random, so that some receives are posted early and some late.
fn shuffle(acts: &mut [Act], random: &mut Random, swaps_per_act: usize) {
    for _ in 0..acts.len() * swaps_per_act / 10 {
        let at = random.below(acts.len() as u64) as usize;
        let other = (at + random.below(4) as usize).min(acts.len() - 1);
        acts.swap(at, other);
    }
}
