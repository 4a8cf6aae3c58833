//! Two groups of processes are introduced: afterwards each process of one knows each of the other,
//! whether they belong to one job or to several.
//!
//! Both groups call at once, each over a communicator of its own. Their leaders reach each other
//! ([`Far`]): through a communicator, or through a socket. All else is told by the leaders to their
//! own sides. Each step carries failures, so that all processes of both sides fail together.
//!
//! 1. The leaders swap the identities of their members. Within one job that is all.
//! 2. Each process says whom of the other side it knows already. A pair that knows each other keeps
//!    its channels.
//! 3. If some do not: every process of both sides opens channels as at the start of a job, in which
//!    it has the number of its place in both lists, the first side's before the second's. Cards
//!    travel as identities did.
//! 4. Channels are connected, and each process takes in those whom it did not know. The leaders
//!    swap contexts, which are unique among all jobs.

use super::agree::{heard, said};
use super::words::{garbled, join, pack, part, unpack};
use super::{Comm, Exchange};
use crate::error::{Error, Result};
use crate::generated::constants as mpi;
use crate::process::Process;
use crate::process::foreign::Newcomer;
use crate::process::opening::{Opening, compared};
use crate::tie::{Identity, Tie};
use std::sync::Arc;
use verbena_channel::{Peer, Place};
use verbena_machine::node;

/// The most processes that are taken from another side's word: more is nonsense.
const MEMBERS_MAX: usize = 1 << 24;

/// The way from the leader of one side to that of the other.
pub trait Far {
    /// Gives `mine` to the other leader, who calls at the same time, and returns what it gave.
    ///
    /// # Errors
    /// The other leader is not there any more, or says nothing at all.
    fn swap(&mut self, mine: &[u8]) -> Result<Vec<u8>>;
}

/// The other leader as a rank of a communicator.
pub(super) struct ByRank<'a> {
    pub exchange: &'a dyn Exchange,
    pub comm: &'a Comm,
    pub rank: i32,
    pub tag: i32,
}

impl Far for ByRank<'_> {
    fn swap(&mut self, mine: &[u8]) -> Result<Vec<u8>> {
        self.exchange.sendrecv(self.comm, self.rank, self.tag, mine)
    }
}

impl Comm {
    /// Swaps what rank 0 of each side of an intercommunicator gives, as [`relay`] does.
    pub(super) fn swap(&self, mine: Result<Vec<u8>>, exchange: &dyn Exchange) -> Result<(Vec<u8>, Vec<u8>)> {
        let mut far = ByRank { exchange, comm: self, rank: 0, tag: 0 };
        let far: Option<&mut dyn Far> = if self.rank == 0 { Some(&mut far) } else { None };
        relay((self.inner(), 0), far, mine, exchange)
    }
}

/// Swaps what the leaders of two sides give. The leader of this side, which alone has the way to
/// the other one, tells both to all of its communicator: its own first. The others' argument is
/// ignored, except an error, which all of a side give together. An error of one process fails all
/// of both sides.
fn relay(
    (local, leader): (&Comm, i32),
    far: Option<&mut dyn Far>,
    mine: Result<Vec<u8>>,
    exchange: &dyn Exchange,
) -> Result<(Vec<u8>, Vec<u8>)> {
    let mut failure = None;
    let mut both = Vec::new();
    if let Some(far) = far {
        let ours = said(&mine);
        both = match far.swap(&ours) {
            Ok(theirs) => join(&[ours, theirs]),
            Err(error) => join(&[said(&Err(failure.insert(error).clone()))]),
        };
    }
    let told = exchange.bcast(local, leader, both);
    // Why the leader failed says more than that the others have left because of it.
    mine?;
    if let Some(error) = failure {
        return Err(error);
    }
    match &part(&told?)?[..] {
        [ours, theirs] => Ok((heard(None, ours)?, heard(None, theirs)?)),
        [failed] => Err(heard(None, failed).err().unwrap_or_else(|| garbled(failed.len()))),
        list => Err(garbled(list.len())),
    }
}

/// The members of a group, as they are told to others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Roster(pub Vec<Identity>);

impl Roster {
    /// The members of a group, as this process knows them.
    pub(super) fn of(members: &[Peer], exchange: &dyn Exchange) -> Roster {
        let identity = |peer: &Peer| identity(*peer, exchange);
        Roster(members.iter().map(identity).collect())
    }

    /// The one job of all members, if there is one.
    pub(super) fn job(&self) -> Option<u128> {
        let job = self.0.first()?.job;
        self.0.iter().all(|member| member.job == job).then_some(job)
    }

    /// The numbers that travel: members of one job as the job and their ranks, others one by one.
    pub(super) fn words(&self) -> Vec<u64> {
        match self.job() {
            Some(job) => {
                let ranks = self.0.iter().map(|member| u64::from(member.rank));
                [1, (job >> 64) as u64, job as u64].into_iter().chain(ranks).collect()
            }
            None => std::iter::once(0).chain(self.0.iter().flat_map(Identity::words)).collect(),
        }
    }

    /// The roster of such numbers.
    pub(super) fn of_words(words: &[u64]) -> Result<Roster> {
        let members: Option<Vec<Identity>> = match words {
            [1, high, low, ranks @ ..] if ranks.len() <= MEMBERS_MAX => {
                ranks.iter().map(|rank| Identity::of_words([*high, *low, *rank])).collect()
            }
            [0, rest @ ..] if rest.len() <= 3 * MEMBERS_MAX => {
                let (members, torn) = rest.as_chunks::<3>();
                let members = members.iter().map(|words| Identity::of_words(*words)).collect();
                if torn.is_empty() { members } else { None }
            }
            _ => None,
        };
        members.filter(|members| !members.is_empty()).map(Roster).ok_or_else(nonsense)
    }
}

/// The identity of a process that the caller knows. Where there is no process behind the exchanges
/// (in tests), all belong to one job.
pub(super) fn identity(peer: Peer, exchange: &dyn Exchange) -> Identity {
    exchange.process().map_or(Identity { job: 0, rank: peer }, |process| process.identity(peer))
}

/// The other side after an introduction.
pub(super) struct Met {
    /// The members of the other side, by this process's numbers.
    pub members: Vec<Peer>,
    /// The ties of this process with them.
    pub ties: Vec<Arc<Tie>>,
    /// The context that the first side gave.
    pub context: u64,
    /// A context that this side gave for itself.
    pub inner: u64,
}

/// An introduction under way, on one process.
pub(super) struct Introduction<'a> {
    /// The communicator of this side.
    pub local: &'a Comm,
    pub leader: i32,
    /// The way to the other leader; only the leader has it.
    pub far: Option<&'a mut dyn Far>,
    pub exchange: &'a dyn Exchange,
    /// True on the side whose members come first.
    pub is_first: bool,
    pub ours: Roster,
    pub theirs: Roster,
}

impl Introduction<'_> {
    /// Brings both sides together; both know each other's rosters.
    pub(super) fn run(mut self) -> Result<Met> {
        let exchange = self.exchange;
        let process = exchange.process().ok_or_else(nonsense);
        let prepared = process.and_then(|process| process.go_abroad().map(|()| process));
        // Held from here on, so that nobody whom this process says to know is forgotten.
        let known: Vec<Option<(Peer, Option<Arc<Tie>>)>> = match &prepared {
            Ok(process) => self.theirs.0.iter().map(|member| process.acquaintance(member)).collect(),
            Err(_) => Vec::new(),
        };
        let mine = prepared.as_ref().map(|_| known.iter().map(|one| u8::from(one.is_some())).collect());
        let ours = self.local.gather(mine.map_err(Error::clone), self.exchange);
        let nonce = prepared.as_ref().map_or(0, |process| process.new_context());
        let (ours, theirs) = self.relay(ours.map(|table| join(&[pack(&[nonce]), join(&table)])))?;
        let process = prepared?;
        let (nonces, known_there) = self.acquaintance_of(&ours, &theirs)?;
        let mut ties: Vec<Arc<Tie>> = Vec::new();
        let mut members: Vec<Option<Peer>> = Vec::new();
        for (one, both) in known.into_iter().zip(&known_there.mine) {
            let kept = one.filter(|_| *both);
            members.push(kept.as_ref().map(|(peer, _)| *peer));
            ties.extend(kept.and_then(|(_, tie)| tie));
        }
        let connected = match known_there.all {
            true => Ok(None),
            false => self.connect(process, nonces, &members),
        };
        let connected = self.agreed(connected)?;
        if let Some((tie, newcomers)) = connected {
            ties.push(tie);
            newcomers.into_iter().for_each(|(at, peer)| members[at] = Some(peer));
        }
        let members: Option<Vec<Peer>> = members.into_iter().collect();
        ties.sort_by_key(Arc::as_ptr);
        ties.dedup_by(|a, b| Arc::ptr_eq(a, b));
        let contexts = pack(&[process.new_context(), process.new_context()]);
        let (ours, theirs) = self.relay(Ok(contexts))?;
        let ([our_context, inner], [their_context, _]) = (unpack(&ours)?, unpack(&theirs)?);
        let context = if self.is_first { our_context } else { their_context };
        Ok(Met { members: members.ok_or_else(nonsense)?, ties, context, inner })
    }

    /// Swaps bytes of the leaders, see [`relay`].
    fn relay(&mut self, mine: Result<Vec<u8>>) -> Result<(Vec<u8>, Vec<u8>)> {
        // Written out, since the far leader lives longer than this borrow of it.
        let far: Option<&mut dyn Far> = match &mut self.far {
            Some(far) => Some(&mut **far),
            None => None,
        };
        relay((self.local, self.leader), far, mine, self.exchange)
    }

    /// Lets all of both sides fail if one did.
    fn agreed<T>(&mut self, mine: Result<T>) -> Result<T> {
        let outcome = mine.as_ref().map(|_| Vec::new()).map_err(Error::clone);
        let all = self.local.gather(outcome, self.exchange);
        self.relay(all.map(|_| Vec::new()))?;
        mine
    }

    /// The nonces of both sides, and who knows whom, from what both leaders have said.
    fn acquaintance_of(&self, ours: &[u8], theirs: &[u8]) -> Result<([u64; 2], Acquaintance)> {
        let (our_nonce, ours) = table_of(ours, self.ours.0.len(), self.theirs.0.len())?;
        let (their_nonce, theirs) = table_of(theirs, self.theirs.0.len(), self.ours.0.len())?;
        let both = |here: usize, there: usize| ours[here][there] == 1 && theirs[there][here] == 1;
        let me = self.local.rank() as usize;
        let mine = (0..theirs.len()).map(|there| both(me, there)).collect();
        let all = (0..ours.len()).all(|here| (0..theirs.len()).all(|there| both(here, there)));
        let nonces = if self.is_first { [our_nonce, their_nonce] } else { [their_nonce, our_nonce] };
        Ok((nonces, Acquaintance { mine, all }))
    }

    /// Connects channels between all of both sides. Returns the tie, and whom it is with: places in
    /// the other side's roster, and numbers here; `None` if this process knows all.
    fn connect(
        &mut self,
        process: &Process,
        nonces: [u64; 2],
        members: &[Option<Peer>],
    ) -> Result<Option<Newly>> {
        let (here, there) = (self.ours.0.len(), self.theirs.0.len());
        let offset = |is_mine: bool| {
            if is_mine == self.is_first {
                0
            } else if is_mine {
                there
            } else {
                here
            }
        };
        let (ours_at, theirs_at) = (offset(true), offset(false));
        let me = (ours_at + self.local.rank() as usize) as Peer;
        let job = format!("verbena-introduction-{:016x}{:016x}", nonces[0], nonces[1]);
        let opened = Opening::open(&Place { me, size: (here + there) as u32, job, engines: 0 });
        let mine = opened.as_ref().map(|opening| [own_place(), opening.card()].concat());
        let cards = self.cards_of_all(mine.map_err(Error::clone))?;
        let mut opening = opened?;
        let mut places = Vec::new();
        let mut bodies = Vec::new();
        for card in &cards {
            let (place, body) = card.split_first_chunk::<PLACE_BYTES>().ok_or_else(nonsense)?;
            places.push(*place);
            bodies.push(body.to_vec());
        }
        let fitting = compared(bodies);
        let cards = self.agreed(fitting)?;
        // All come to the same answer.
        let second = opening.second_card(&cards);
        let second = match self.agreed(second)? {
            Some(card) => Some(self.cards_of_all(Ok(card))?),
            None => None,
        };
        let load = opening.load(&cards);
        let wires = opening.connect(&cards, second.as_deref(), &load)?;
        let own_place = own_place();
        let newcomer = |at: usize| Newcomer {
            identity: self.theirs.0[at],
            place: theirs_at + at,
            pid: pid_at(&places[theirs_at + at], &own_place),
        };
        let new: Vec<usize> = (0..there).filter(|at| members[*at].is_none()).collect();
        if new.is_empty() {
            return Ok(None);
        }
        let newcomers: Vec<Newcomer> = new.iter().map(|at| newcomer(*at)).collect();
        let tie = process.admit(&newcomers, wires, &cards)?;
        let number = |at: usize| -> Result<(usize, Peer)> {
            let known = process.acquaintance(&self.theirs.0[at]).ok_or_else(nonsense)?;
            Ok((at, known.0))
        };
        let numbers = new.into_iter().map(number).collect::<Result<_>>()?;
        Ok(Some((tie, numbers)))
    }

    /// Gathers a card of each process of both sides, the first side's first.
    fn cards_of_all(&mut self, mine: Result<Vec<u8>>) -> Result<Vec<Vec<u8>>> {
        let ours = self.local.gather(mine, self.exchange);
        let (ours, theirs) = self.relay(ours.map(|table| join(&table)))?;
        let (ours, theirs) = (part(&ours)?, part(&theirs)?);
        if (ours.len(), theirs.len()) != (self.ours.0.len(), self.theirs.0.len()) {
            return Err(nonsense());
        }
        Ok(if self.is_first { [ours, theirs].concat() } else { [theirs, ours].concat() })
    }
}

/// A tie, and the processes that it is with: places in their roster, and numbers here.
type Newly = (Arc<Tie>, Vec<(usize, Peer)>);

/// The pairs that know each other.
struct Acquaintance {
    /// For each of the other side, whether it and this process know each other.
    mine: Vec<bool>,
    /// True if each process of a side and each of the other know each other.
    all: bool,
}

/// A nonce, and for each of `rows` processes whom of `columns` it knows.
fn table_of(bytes: &[u8], rows: usize, columns: usize) -> Result<(u64, Vec<Vec<u8>>)> {
    let parts = part(bytes)?;
    let [nonce, table] = &parts[..] else { return Err(nonsense()) };
    let table = part(table)?;
    if table.len() != rows || table.iter().any(|row| row.len() != columns) {
        return Err(nonsense());
    }
    Ok((unpack::<1>(nonce)?[0], table))
}

/// Bytes before a card that say where its process can be watched: machine, namespace of process
/// ids, id.
const PLACE_BYTES: usize = 20;

fn own_place() -> Vec<u8> {
    let words = [node::machine(), node::namespace("pid")].map(u64::to_le_bytes).concat();
    [&words[..], &std::process::id().to_le_bytes()].concat()
}

/// The system's number of a process that the one of the place `own` can watch.
fn pid_at(place: &[u8; PLACE_BYTES], own: &[u8]) -> Option<u32> {
    let (where_it_is, pid) = place.split_at(PLACE_BYTES - 4);
    let pid = u32::from_le_bytes(pid.try_into().ok()?);
    // Two processes of which nobody knows where they are need not be in one place.
    let is_known = where_it_is.as_chunks::<8>().0.iter().all(|word| *word != [0; 8]);
    (is_known && own.starts_with(where_it_is)).then_some(pid)
}

#[cold]
pub(super) fn nonsense() -> Error {
    Error::new(
        mpi::MPI_ERR_OTHER,
        "the other side of a connection says what makes no sense",
        "the introduction of two groups of processes",
        "the two programs use different versions of Verbena, or something else speaks on the socket",
        "use one version of Verbena for both programs",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_watched_only_where_both_know_that_they_are_in_one_place() {
        let place = |machine: u64, namespace: u64, pid: u32| -> [u8; PLACE_BYTES] {
            let words = [machine, namespace].map(u64::to_le_bytes).concat();
            [&words[..], &pid.to_le_bytes()].concat().try_into().expect("as many bytes")
        };
        let sees = |there: (u64, u64), here: (u64, u64)| {
            pid_at(&place(there.0, there.1, 7), &place(here.0, here.1, 8)).is_some()
        };
        assert_eq!(pid_at(&place(1, 2, 7), &place(1, 2, 8)), Some(7));
        assert!(sees((1, 2), (1, 2)) && !sees((1, 2), (1, 3)) && !sees((1, 2), (3, 2)));
        // 0: /proc does not say.
        assert!(!sees((1, 0), (1, 0)) && !sees((0, 2), (0, 2)) && !sees((0, 0), (0, 0)));
        assert_eq!(own_place().len(), PLACE_BYTES);
    }

    #[test]
    fn rosters_survive_the_wire() {
        let of =
            |jobs: &[(u128, u32)]| Roster(jobs.iter().map(|&(job, rank)| Identity { job, rank }).collect());
        for roster in [of(&[(5, 0), (5, 9)]), of(&[(1 << 90, 3), (2, 0)])] {
            assert_eq!(Roster::of_words(&roster.words()).unwrap(), roster);
        }
        assert_eq!(of(&[(5, 0), (5, 9)]).job(), Some(5));
        assert_eq!(of(&[(5, 0), (6, 0)]).job(), None);
    }

    #[test]
    fn nonsense_in_place_of_a_roster_is_refused() {
        for words in [&[][..], &[1], &[1, 0, 0], &[0], &[0, 1, 2], &[2, 1, 2, 3], &[1, 0, 0, 1 << 40]] {
            assert!(Roster::of_words(words).is_err(), "{words:?}");
        }
    }

    #[test]
    fn tables_of_the_wrong_form_are_refused() {
        let table = join(&[pack(&[7]), join(&[vec![1, 0], vec![0, 0], vec![1, 1]])]);
        let (nonce, rows) = table_of(&table, 3, 2).unwrap();
        assert_eq!((nonce, rows[2].clone()), (7, vec![1, 1]));
        assert!(table_of(&table, 2, 3).is_err() && table_of(&table, 3, 3).is_err());
        assert!(table_of(&table[..table.len() - 1], 3, 2).is_err() && table_of(&[], 3, 2).is_err());
    }

    #[test]
    fn only_processes_of_this_machine_are_watched() {
        let mut place: [u8; PLACE_BYTES] = own_place().try_into().unwrap();
        assert_eq!(pid_at(&place, &own_place()), Some(std::process::id()));
        place[0] ^= 1;
        assert_eq!(pid_at(&place, &own_place()), None);
    }
}
