//! Blocking collectives over the board, without a schedule. Each function returns `None` if the
//! call must go another way: there is no board, it is too long, or not all members know its sizes.
//! All members decide alike.

mod reductions;

use super::differing::{differing_ways, left_behind, sent_elsewise, sign};
use super::exchanges::{Allgather, Alltoall, Barrier, Bcast, Gather, Scatter};
use super::handle::SharedBoard;
use super::long_bcast::LongBcast;
use super::long_exchange::{self, LongExchange};
use super::short::{Exchange, Short};
use crate::coll::Blocks;
use crate::coll::call::{self, Members, name};
use crate::coll::choose::{OnBoard, TABLE};
use crate::coll::execute::copy;
use crate::coll::is_round_to_look;
use crate::coll::tags::{numbered, tag_of_blocking};
use crate::comm::{Comm, Traffic};
use crate::error::{Error, Result};
use crate::generated::constants::MPI_ERR_OTHER;
use crate::process::{Process, failure_error};
pub use reductions::{allreduce, exscan, reduce, reduce_scatter, scan};
use verbena_channel::board::{Board, Way};
use verbena_channel::mark::Mark;
use verbena_engine::{Engine, Envelope};
use verbena_hang::Awaited;
use verbena_memory::Buffer;

/// The number of looks at the board before the first round of progress, where every rank has a
/// core: about half a microsecond.
const LOOKS: u32 = 100;
/// After this many collectives progress is made even if none of them had to wait, for other
/// traffic's sake.
const PROGRESS_EVERY: u32 = 64;

/// The result of a call; `None` if it did not go over the board.
pub type Done = Option<Result<()>>;

/// The communicator's board, if a record of `bytes` goes over it.
#[inline]
fn board<'c>(process: &Process, comm: &'c Comm, bytes: usize) -> Result<Option<&'c SharedBoard>> {
    let board = comm.board_handle().board(process, comm)?;
    Ok(board.filter(|_| TABLE.record_on_board(comm.size() as usize, bytes) == OnBoard::Record))
}

/// Runs the exchange on the board that `$board` finds, or returns `None`.
macro_rules! on_board {
    ($process:expr, $comm:expr, $call:expr, $bytes:expr, $exchange:expr) => {
        match board($process, $comm, $bytes) {
            Ok(None) => None,
            Ok(Some(board)) => Some(run($process, $comm, ($call, $bytes), board, $exchange)),
            Err(error) => Some(Err(error)),
        }
    };
}

/// A collective over a board, as a loop drives it.
trait Drive {
    /// The result when it ends.
    type Outcome;
    /// The number of looks at the board before the first round of progress.
    const LOOKS: u32 = LOOKS;
    /// Goes on until it would have to wait; `None` if it must be called again.
    fn drive(&mut self, board: &mut dyn Board) -> Result<Option<Self::Outcome>>;
    /// Looks elsewhere for what it waits for, in an idle round.
    fn seek(&mut self, board: &mut dyn Board);
    /// Returns whether it waits for what `rank` does in it.
    fn awaits(&self, board: &dyn Board, rank: usize) -> bool;
    /// Returns whether it stopped, before it had to wait, to let other communication progress.
    #[inline]
    fn has_paused(&self) -> bool {
        false
    }
}

/// Drives a collective until it would have to wait.
#[inline]
fn go_on<D: Drive>(
    process: &Process,
    board: &mut dyn Board,
    collective: &mut D,
) -> Result<Option<D::Outcome>> {
    loop {
        let state = collective.drive(board);
        if !matches!(state, Ok(None)) || !collective.has_paused() {
            return state;
        }
        process.progress();
    }
}

impl<E: Exchange> Drive for Short<E> {
    type Outcome = ();
    #[inline]
    fn drive(&mut self, board: &mut dyn Board) -> Result<Option<()>> {
        self.advance(board).map(|done| done.then_some(()))
    }
    #[inline]
    fn seek(&mut self, board: &mut dyn Board) {
        Short::seek(self, board);
    }
    fn awaits(&self, _: &dyn Board, rank: usize) -> bool {
        Short::awaits(self, rank)
    }
}

impl<E: Exchange> Drive for LongExchange<E> {
    type Outcome = ();
    fn drive(&mut self, board: &mut dyn Board) -> Result<Option<()>> {
        self.advance(board).map(|done| done.then_some(()))
    }
    fn seek(&mut self, board: &mut dyn Board) {
        LongExchange::seek(self, board);
    }
    fn awaits(&self, _: &dyn Board, rank: usize) -> bool {
        LongExchange::awaits(self, rank)
    }
}

impl Drive for LongBcast<'_> {
    type Outcome = ();
    fn drive(&mut self, board: &mut dyn Board) -> Result<Option<()>> {
        self.advance(board).map(|done| done.then_some(()))
    }
    /// Does nothing: posts are always in the same place.
    fn seek(&mut self, _: &mut dyn Board) {}
    fn awaits(&self, board: &dyn Board, rank: usize) -> bool {
        LongBcast::awaits(self, board, rank)
    }
    fn has_paused(&self) -> bool {
        LongBcast::has_paused(self)
    }
}

#[inline]
fn run(
    process: &Process,
    comm: &Comm,
    (call, bytes): (Mark, usize),
    board: &SharedBoard,
    exchange: impl Exchange,
) -> Result<()> {
    let mut board = board.lock();
    open(&mut **board, comm, (call, bytes, Way::Records));
    drive(process, comm, call, &mut **board, Short::new(exchange))
}

/// Opens the board for the collective that this member is in, and says which call it is and how
/// many bytes it has ([`Board::tell_call`]).
#[inline]
fn open(board: &mut dyn Board, comm: &Comm, (call, bytes, way): (Mark, usize, Way)) {
    board.open(comm.collectives_begun());
    board.tell_call(call, bytes as u64, way);
}

/// Drives a collective to its end on a board that is open for it.
#[inline]
fn drive<D: Drive>(
    process: &Process,
    comm: &Comm,
    call: Mark,
    board: &mut dyn Board,
    mut collective: D,
) -> Result<D::Outcome> {
    if comm.collectives_begun().is_multiple_of(PROGRESS_EVERY) {
        process.progress();
    }
    let looks = if process.may_spin() { D::LOOKS } else { 1 };
    let mut failure = None;
    for _ in 0..looks {
        match go_on(process, board, &mut collective) {
            Ok(None) => {}
            Ok(Some(outcome)) => return Ok(outcome),
            Err(error) => {
                failure = Some(or_lost(process, comm, error));
                break;
            }
        }
    }
    let (mut rounds, mut slept) = (0_u32, process.slept());
    let awaited = |_: &Process| Awaited::Collective(awaited(comm, call));
    process.wait_for(awaited, |_| {
        if failure.is_none() {
            let mut state = go_on(process, board, &mut collective);
            if let Ok(None) = state {
                collective.seek(board);
                rounds = rounds.wrapping_add(1);
                let sleeps = process.slept();
                let has_slept = std::mem::replace(&mut slept, sleeps) != sleeps;
                if has_slept || is_round_to_look(rounds) {
                    state = look(process, comm, call, board, &mut collective);
                }
            }
            match state {
                Ok(None) => return None,
                Ok(Some(outcome)) => return Some(Ok(outcome)),
                Err(error) => failure = Some(or_lost(process, comm, error)),
            }
        }
        if is_in_use(process, comm, board) { None } else { failure.take().map(Err) }
    })
}

/// Looks at what the others do instead of their part in a collective in which this member waits.
#[cold]
fn look<D: Drive>(
    process: &Process,
    comm: &Comm,
    call: Mark,
    board: &mut dyn Board,
    collective: &mut D,
) -> Result<Option<D::Outcome>> {
    let outcome = match mismatch(process, comm, call, board) {
        Some(error) => give_up(process, board, collective, |_, _| Some(error)),
        None => give_up_if_left(process, board, collective),
    };
    if let Some(outcome) = outcome {
        return outcome.map(Some);
    }
    // Other communication may keep it awake, so it does not ask after sleeps alone.
    match lost_member(process, comm) {
        None => Ok(None),
        Some(error) => {
            // All that the lost one did before its end is seen by now, and may have been enough.
            collective.seek(board);
            if let Some(outcome) = go_on(process, board, collective)? {
                return Ok(Some(outcome));
            }
            board.abandon();
            Err(error)
        }
    }
}

/// The error of another member that is in another collective, or goes another way through this
/// one.
#[cold]
fn mismatch(process: &Process, comm: &Comm, call: Mark, board: &dyn Board) -> Option<Error> {
    sign(board).or_else(|| by_message(process, comm, call, board))
}

/// The error of another member that has sent this one a message of this collective, in which this
/// one neither sends nor receives any.
fn by_message(process: &Process, comm: &Comm, call: Mark, board: &dyn Board) -> Option<Error> {
    let tag = tag_of_blocking(comm.collectives_begun().into());
    let find = |engine: &mut Engine| engine.find_marked(comm.context(Traffic::Collective), tag, |_| true);
    let (Envelope { source, bytes, .. }, theirs) = process.look(find)?;
    let members = Members::of(comm);
    Some(match call.is_unlike(theirs) {
        true => call::mismatch(&members, &members.sender(source), [call, theirs], &numbered(tag)),
        false => sent_elsewise(&members.sender(source), bytes, board.told_bytes(), &numbered(tag)),
    })
}

/// Leaves a collective with the error that there is after another look, unless it ends after all:
/// the others that are through may be in the next one, or in the messages that follow a reduction
/// which was refused. `None` if there is no error then.
#[cold]
fn give_up<D: Drive>(
    process: &Process,
    board: &mut dyn Board,
    collective: &mut D,
    error: impl FnOnce(&D, &dyn Board) -> Option<Error>,
) -> Option<Result<D::Outcome>> {
    collective.seek(board);
    match go_on(process, board, collective) {
        Ok(None) => {
            let error = error(collective, board)?;
            board.give_up();
            Some(Err(error))
        }
        Ok(Some(outcome)) => Some(Ok(outcome)),
        Err(error) => Some(Err(error)),
    }
}

/// Leaves a collective in which this member waits for one that has gone on, unless it ends after
/// all. `None` if there is no such member.
#[cold]
fn give_up_if_left<D: Drive>(
    process: &Process,
    board: &mut dyn Board,
    collective: &mut D,
) -> Option<Result<D::Outcome>> {
    let rank = left_behind(board, |rank| collective.awaits(board, rank))?;
    give_up(process, board, collective, |collective, board| {
        collective.awaits(board, rank).then(|| differing_ways(board, rank))
    })
}

/// The collective that is under way, for reports of programs that hang.
#[cold]
fn awaited(comm: &Comm, call: Mark) -> verbena_hang::Collective {
    verbena_hang::Collective {
        context: comm.context(Traffic::Point),
        call: name(call).into(),
        number: comm.collectives_begun(),
        nonblocking: false,
    }
}

/// The error if a member was lost, about which a board says nothing.
#[cold]
fn lost_member(process: &Process, comm: &Comm) -> Option<Error> {
    comm.check_usable().err().or_else(|| lost_peer(process, comm))
}

/// Returns whether a member that lives may be using this one's memory in a collective that this one
/// has abandoned or given up.
#[cold]
fn is_in_use(process: &Process, comm: &Comm, board: &dyn Board) -> bool {
    let mut members = (0..).zip(comm.targets().members());
    members.any(|(rank, &peer)| {
        rank != board.me()
            && board.does_parts(rank)
            && process.look(|engine| engine.loss(0, Some(peer)).is_none())
    })
}

fn lost_peer(process: &Process, comm: &Comm) -> Option<Error> {
    let mut members = comm.targets().members().iter();
    // The context counts only where no process is named.
    let loss = process.look(|engine| members.find_map(|&peer| engine.loss(0, Some(peer))));
    loss.map(failure_error)
}

/// The error of a collective: the loss of a member, if that is behind it. Who has heard of a death
/// is in another collective sooner than others, or cannot reach its memory.
#[cold]
pub(crate) fn or_lost(process: &Process, comm: &Comm, error: Error) -> Error {
    let lost = (error.class == MPI_ERR_OTHER).then(|| process.await_death(|| lost_member(process, comm)));
    lost.flatten().unwrap_or(error)
}

/// `MPI_Barrier`.
#[inline]
pub fn barrier(process: &Process, comm: &Comm, call: Mark) -> Done {
    on_board!(process, comm, call, 0, Barrier)
}

/// Lets all members meet, if they have a board already.
pub fn meet(process: &Process, comm: &Comm, call: Mark) -> Done {
    if comm.board_handle().has_board() { barrier(process, comm, call) } else { None }
}

/// `MPI_Bcast`.
#[inline]
pub fn bcast(process: &Process, comm: &Comm, call: Mark, buffer: &Buffer, root: i32) -> Done {
    let exchange = Bcast { buffer, root: root as usize, me: comm.rank() as usize };
    match TABLE.bcast_on_board(comm.size() as usize, buffer.len()) {
        OnBoard::Slots(piece) => long_bcast(process, comm, call, buffer, root, piece).transpose(),
        _ => on_board!(process, comm, call, buffer.len(), exchange),
    }
}

/// Broadcasts a long message; `Ok(None)` if the call must go another way.
fn long_bcast(
    process: &Process,
    comm: &Comm,
    call: Mark,
    buffer: &Buffer,
    root: i32,
    piece: usize,
) -> Result<Option<()>> {
    let Some(board) = comm.board_handle().board(process, comm)? else { return Ok(None) };
    let mut board = board.lock();
    open(&mut **board, comm, (call, buffer.len(), Way::Slots));
    let collective = LongBcast::new(&**board, call, buffer, root as usize, piece);
    drive(process, comm, call, &mut **board, collective).map(Some)
}

/// Runs an exchange in which each member has up to `bytes` bytes for the others, through slots;
/// `Ok(None)` if the call must go another way.
fn long(
    process: &Process,
    comm: &Comm,
    call: Mark,
    bytes: usize,
    exchange: impl Exchange,
) -> Result<Option<()>> {
    if TABLE.exchange_on_board(comm.size() as usize, bytes) != OnBoard::WholeSlots {
        return Ok(None);
    }
    let Some(board) = comm.board_handle().board(process, comm)? else { return Ok(None) };
    let mut board = board.lock();
    if bytes > long_exchange::room(&**board) {
        return Ok(None);
    }
    open(&mut **board, comm, (call, bytes, Way::Records));
    let collective = LongExchange::new(&**board, exchange);
    drive(process, comm, call, &mut **board, collective).map(Some)
}

/// Handles this member's own block, once its part in the exchange is done.
fn own_block(done: Done, own: impl FnOnce() -> Result<()>) -> Done {
    done.map(|outcome| outcome.and_then(|()| own()))
}

/// `MPI_Allgather` and `MPI_Allgatherv`.
pub fn allgather(process: &Process, comm: &Comm, call: Mark, mine: Option<&Buffer>, recv: Blocks) -> Done {
    if comm.is_inter() {
        return None;
    }
    let (me, ranks) = (comm.rank() as usize, comm.size() as usize);
    let longest = recv.longest(ranks);
    let exchange = || Allgather { mine: mine.cloned().unwrap_or_else(|| recv.buffer(me)), recv, me };
    let done = on_board!(process, comm, call, longest, exchange())
        .or_else(|| long(process, comm, call, longest, exchange()).transpose());
    own_block(done, || mine.map_or(Ok(()), |mine| copy(mine, &recv.buffer(me))))
}

/// `MPI_Gather`.
pub fn gather(
    process: &Process,
    comm: &Comm,
    call: Mark,
    mine: Option<&Buffer>,
    recv: Option<Blocks>,
    root: i32,
) -> Done {
    if comm.is_inter() {
        return None;
    }
    let root = root as usize;
    let block = recv.map_or_else(|| mine.map_or(0, Buffer::len), |recv| recv.bytes(root));
    let exchange = Gather { mine: mine.cloned().unwrap_or(Buffer::EMPTY), block, recv, root };
    let done = on_board!(process, comm, call, block, exchange);
    own_block(done, || match (mine, recv) {
        (Some(mine), Some(recv)) => copy(mine, &recv.buffer(root)),
        _ => Ok(()),
    })
}

/// `MPI_Scatter`.
pub fn scatter(
    process: &Process,
    comm: &Comm,
    call: Mark,
    send: Option<Blocks>,
    mine: Option<&Buffer>,
    root: i32,
) -> Done {
    if comm.is_inter() {
        return None;
    }
    let (me, ranks, root) = (comm.rank() as usize, comm.size() as usize, root as usize);
    let block = send.map_or_else(|| mine.map_or(0, Buffer::len), |send| send.bytes(root));
    let own = mine.cloned().unwrap_or(Buffer::EMPTY);
    let exchange = Scatter { send, block, mine: own, ranks, root, me };
    let done = on_board!(process, comm, call, block.saturating_mul(ranks), exchange);
    own_block(done, || match (send, mine) {
        (Some(send), Some(mine)) => copy(&send.buffer(root), mine),
        _ => Ok(()),
    })
}

/// `MPI_Alltoall`.
pub fn alltoall(process: &Process, comm: &Comm, call: Mark, send: Option<Blocks>, recv: Blocks) -> Done {
    if comm.is_inter() {
        return None;
    }
    let (me, ranks, block) = (comm.rank() as usize, comm.size() as usize, recv.bytes(0));
    let (exchange, bytes) =
        (|| Alltoall { send: send.unwrap_or(recv), recv, block, ranks, me }, block.saturating_mul(ranks - 1));
    let done = on_board!(process, comm, call, bytes, exchange())
        .or_else(|| long(process, comm, call, bytes, exchange()).transpose());
    own_block(done, || send.map_or(Ok(()), |send| copy(&send.buffer(me), &recv.buffer(me))))
}
