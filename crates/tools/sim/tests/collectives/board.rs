//! Collectives over a board whose records and posts are seen late, between ranks of very different
//! speed: one after the other on the same board with short logs, so that a generation that is taken
//! for another one is noticed.

use crate::direct::{self, Access};
use crate::element::word;
use crate::in_place::{self, Giving};
use crate::job::plan;
use crate::jobs::{Errors, Job, Jobs, Kind, Odd};
use crate::late::{Late, Wrong};
use crate::waiting::drive;
use crate::{rounds, seeds};
use std::sync::Arc;
use verbena_channel::board::{Board, Way};
use verbena_channel::mark::Mark;
use verbena_memory::elements::Elements;
use verbena_memory::{Buffer, Owned, Region};
use verbena_mpi::coll::algorithms::by_posts;
use verbena_mpi::coll::board::SharedBoard;
use verbena_mpi::coll::board::direct::suits_any_results;
use verbena_mpi::coll::board::exchanges::{Allgather, Alltoall, Barrier, Bcast, Fold, Gather, Scatter};
use verbena_mpi::coll::board::long_bcast::LongBcast;
use verbena_mpi::coll::board::long_exchange::{self, LongExchange};
use verbena_mpi::coll::board::short::{Exchange, Short};
use verbena_mpi::coll::operations::Operands;
use verbena_mpi::coll::{Blocks, Collective, Reduction};
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::{Comm, Group, Op, Result};
use verbena_node::board::heap;
use verbena_sim::{Cluster, Faults, Random};
use verbena_waiting::lock::Lock;

/// Seeds that a test run tries.
const SEEDS: u64 = 400;
/// Steps after which a run counts as stuck.
const STEPS_MAX: u64 = 40_000_000;

/// The word `i` that `rank` contributes.
fn contribution(job: Job, rank: usize, i: usize) -> u32 {
    (job.number as u32 * 7919 + rank as u32 * 104_729 + i as u32).wrapping_mul(2_654_435_761)
}

/// The next action of a rank in a collective; true when it has ended.
pub(crate) type Advance = Box<dyn FnMut(&mut Cluster, u32) -> Result<bool>>;

/// A rank in a collective: what it does next, what it gives, and where the result is.
struct Part {
    step: Advance,
    send: Region,
    out: Region,
    expected: Option<Vec<u32>>,
}

/// Opens the board for a job. Every record says which job it belongs to, so one that is taken for
/// another's is noticed.
pub(crate) fn open(board: &mut dyn Board, job: Job) {
    board.open(job.number as u32 + 1);
    let way = match job.kind {
        Kind::LongBcast(_) => Way::Slots,
        Kind::Long(_) => Way::Messages,
        _ => Way::Records,
    };
    board.tell_call(mark(job), 4 * job.words as u64, way);
}

fn mark(job: Job) -> Mark {
    Mark((job.number as u16 + 1) << 5)
}

fn short(board: &SharedBoard, job: Job, exchange: impl Exchange + 'static) -> Advance {
    open(&mut **board.lock(), job);
    let mut next = drive(board, Short::new(exchange));
    Box::new(move |_, _| next())
}

/// An exchange of up to `bytes` bytes of each rank: in every other job through slots, if they fit.
fn exchange(board: &SharedBoard, job: Job, bytes: usize, exchange: impl Exchange + 'static) -> Advance {
    if job.number.is_multiple_of(2) || bytes > long_exchange::room(&**board.lock()) {
        return short(board, job, exchange);
    }
    open(&mut **board.lock(), job);
    let long = LongExchange::new(&**board.lock(), exchange);
    let mut next = drive(board, long);
    Box::new(move |_, _| next())
}

pub(crate) fn reduction() -> Reduction<'static> {
    Reduction { op: Op::predefined(mpi::MPI_SUM).expect("a predefined operation"), datatype: word() }
}

/// Memory that a test leaks, as words.
fn words(values: impl Iterator<Item = u32>) -> Region {
    let bytes: Vec<u8> = values.flat_map(u32::to_le_bytes).collect();
    let owned = std::mem::ManuallyDrop::new(Owned::zeroed(bytes.len().max(1)));
    owned.lend().write(0, &bytes);
    owned.lend()
}

pub(crate) fn elements(region: Region) -> Elements<'static> {
    Elements::at_origins(region, word().layout())
}

/// The part of rank `me` of `ranks` in a job.
fn part(job: Job, comm: &Comm, board: &SharedBoard) -> Part {
    let (me, ranks, n, root) = (comm.rank() as usize, comm.size() as usize, job.words, job.root);
    let send = words((0..n * ranks).map(|i| contribution(job, me, i)));
    let out = words((0..n * ranks).map(|_| 0));
    let own = Buffer::Contiguous(send.part(0, 4 * n));
    let blocks = |region| Blocks::Even { elements: elements(region), count: n };
    let sum = |from: usize, to: usize| -> Vec<u32> {
        (0..n).map(|i| (from..to).map(|rank| contribution(job, rank, i)).fold(0, u32::wrapping_add)).collect()
    };
    let fold = |from: std::ops::Range<usize>, has_result: bool| Fold {
        send: elements(send),
        count: n,
        from,
        part: (0, n),
        recv: has_result.then(|| elements(out)),
        reduction: reduction(),
        first: None,
    };
    let own_words = |rank: usize| (0..n).map(move |i| contribution(job, rank, i));
    let (step, expected) = match job.kind {
        Kind::Barrier => (short(board, job, Barrier), None),
        Kind::Bcast => {
            let place = if me == root { send } else { out };
            let buffer = Box::leak(Box::new(Buffer::Contiguous(place.part(0, 4 * n))));
            (short(board, job, Bcast { buffer, root, me }), (me != root).then(|| own_words(root).collect()))
        }
        Kind::Allreduce => (short(board, job, fold(0..ranks, true)), Some(sum(0, ranks))),
        Kind::Reduce => (short(board, job, fold(0..ranks, me == root)), (me == root).then(|| sum(0, ranks))),
        Kind::Scan => (short(board, job, fold(0..me + 1, true)), Some(sum(0, me + 1))),
        Kind::Allgather => {
            let gather = Allgather { mine: own, recv: blocks(out), me };
            let all =
                (0..ranks).flat_map(|rank| if rank == me { vec![0; n] } else { own_words(rank).collect() });
            (exchange(board, job, 4 * n, gather), Some(all.collect()))
        }
        Kind::Gather => {
            let recv = (me == root).then(|| blocks(out));
            let exchange = Gather { mine: own, block: 4 * n, recv, root };
            let all =
                (0..ranks).flat_map(|rank| if rank == root { vec![0; n] } else { own_words(rank).collect() });
            (short(board, job, exchange), (me == root).then(|| all.collect()))
        }
        Kind::Scatter => {
            let send = (me == root).then(|| blocks(send));
            let mine = Buffer::Contiguous(out.part(0, 4 * n));
            let exchange = Scatter { send, block: 4 * n, mine, ranks, root, me };
            let block = (me * n..(me + 1) * n).map(|i| contribution(job, root, i)).collect();
            (short(board, job, exchange), (me != root).then_some(block))
        }
        Kind::Alltoall => {
            let alltoall = Alltoall { send: blocks(send), recv: blocks(out), block: 4 * n, ranks, me };
            let all = (0..ranks).flat_map(|rank| match rank == me {
                true => vec![0; n],
                false => (me * n..(me + 1) * n).map(|i| contribution(job, rank, i)).collect(),
            });
            (exchange(board, job, 4 * n * (ranks - 1), alltoall), Some(all.collect()))
        }
        Kind::LongBcast(piece) => {
            let place = if me == root { send } else { out };
            let step = long_bcast(board, Buffer::Contiguous(place.part(0, 4 * n)), job, piece);
            (step, (me != root).then(|| own_words(root).collect()))
        }
        Kind::Direct(..) | Kind::InPlace(..) | Kind::Rounds(..) | Kind::ScanInRounds(..) => {
            reduced(job, board, (send, out), |end| sum(0, end))
        }
        Kind::Long(piece) => (long(comm, board, (send, out), job, piece), Some(sum(0, ranks))),
    };
    Part { step, send, out, expected }
}

/// A reduction in slots or in each other's memory, and what a rank gets of all results. `sum` adds
/// what so many ranks give.
fn reduced(
    job: Job,
    board: &SharedBoard,
    vectors: (Region, Region),
    sum: impl Fn(usize) -> Vec<u32>,
) -> (Advance, Option<Vec<u32>>) {
    let (me, ranks) = {
        let board = board.lock();
        (board.me(), board.ranks())
    };
    let of = |giving: Giving| {
        let (first, len) = giving.result((me, ranks, job.root), job.words);
        sum(ranks)[first..first + len].to_vec()
    };
    match job.kind {
        Kind::Direct(piece, access, giving) => {
            let gives = matches!(access, Access::Granted | Access::InPlace);
            let suits = suits_any_results(&**board.lock(), 4 * job.words, piece, 4);
            let giving = if suits { giving } else { Giving::All };
            (direct::begin(board, vectors, job, (piece, giving), access), gives.then(|| of(giving)))
        }
        Kind::InPlace(piece, giving, over) => {
            open(&mut **board.lock(), job);
            let what = (giving, job.root, over);
            let mut next = in_place::begin(board, vectors, job.words, reduction(), what, piece);
            (Box::new(move |_, _| next()), Some(of(giving)))
        }
        Kind::Rounds(piece, giving, over) => {
            open(&mut **board.lock(), job);
            let what = (giving, job.root, over);
            let mut next = rounds::begin(board, vectors, job.words, reduction(), what, piece);
            (Box::new(move |_, _| next()), Some(of(giving)))
        }
        Kind::ScanInRounds(piece, is_inclusive, over) => {
            open(&mut **board.lock(), job);
            let what = (is_inclusive, over);
            let mut next = rounds::begin_scan(board, vectors, job.words, reduction(), what, piece);
            // The first rank gets no result of an exclusive scan.
            let all = (is_inclusive || me > 0).then(|| sum(me + usize::from(is_inclusive)));
            (Box::new(move |_, _| next()), all)
        }
        other => unreachable!("{other:?} goes another way"),
    }
}

/// A broadcast over slots.
fn long_bcast(board: &SharedBoard, message: Buffer, job: Job, piece: usize) -> Advance {
    let message = Box::leak(Box::new(message));
    open(&mut **board.lock(), job);
    let bcast = LongBcast::new(&**board.lock(), mark(job), message, job.root, piece);
    let mut next = drive(board, bcast);
    Box::new(move |_, _| next())
}

/// An allreduce over slots, as a schedule.
fn long(comm: &Comm, board: &SharedBoard, (send, out): (Region, Region), job: Job, piece: usize) -> Advance {
    open(&mut **board.lock(), job);
    let (count, mut collective) = (job.words, Collective::of(comm, comm.next_collective_tag()));
    collective.set_call(mark(job));
    collective.schedule().lend(board);
    let plan = &mut plan(collective.schedule(), comm);
    let (from, to) = (elements(send), elements(out));
    match comm.size() {
        2 => by_posts::exchange(plan, from, to, count, piece),
        _ => {
            let operands = Operands { send: Some(from), recv: Some(to), count, commutative: true };
            by_posts::reduce_and_gather(plan, operands, piece);
        }
    }
    Box::new(move |cluster, rank| collective.advance(&mut cluster.visit(rank), Some(reduction())))
}

fn is_right(part: &Part) -> bool {
    let Some(expected) = &part.expected else { return true };
    let bytes: Vec<u8> = expected.iter().flat_map(|word| word.to_le_bytes()).collect();
    part.out.part(0, bytes.len()).to_vec() == bytes
}

/// A rank: its communicator, its board, and how far it has come.
struct Runner {
    comm: Comm,
    board: SharedBoard,
    next: usize,
    at: Option<Part>,
    /// The steps of the job under way.
    steps: u32,
    /// The number of jobs that ended in an error.
    failed: usize,
    /// The memory that it gave to these, which is its own again.
    own: Vec<Region>,
}

impl Runner {
    /// Uses the memory of a job that has ended in an error for something else.
    fn reuse(&mut self) {
        self.failed += 1;
        let Some(Part { send, out, .. }) = self.at.take() else { return };
        for region in [send, out] {
            region.write(0, &vec![OTHER; region.len()]);
            self.own.push(region);
        }
    }

    /// Returns whether nobody has written to that memory.
    fn owns_all(&self) -> bool {
        self.own.iter().all(|region| region.to_vec().iter().all(|&byte| byte == OTHER))
    }
}

/// The byte that ranks write over the memory of jobs that have ended in an error.
const OTHER: u8 = 0xa5;

fn runner(comm: Comm, inner: Box<dyn Board>, random: &mut Random, wrong: Wrong) -> Runner {
    let hidden_percent = random.pick(&[0, 10, 50, 90]);
    let late: Box<dyn Board> = Box::new(Late::new(inner, random.fork(), hidden_percent, wrong));
    Runner { comm, board: Arc::new(Lock::new(late)), next: 0, at: None, steps: 0, failed: 0, own: vec![] }
}

/// Runs a seed in which ranks err in some jobs; the parts of ranks in jobs, and how many of them
/// failed.
fn try_seed(seed: u64, wrong: Wrong, errors: Errors) -> std::result::Result<[usize; 2], String> {
    direct::forget();
    let mut random = Random::new(seed);
    let ranks = random.pick(&[2, 2, 3, 4, 5, 9]);
    let log_bytes = random.pick(&[512, 1024, 4096]);
    let sides = heap::sides(ranks, log_bytes, random.pick(&[4, 5, 8]), 128);
    let record_bytes_max = sides[0].record_bytes_max();
    let jobs = Jobs::random(&mut random, 40, ranks, record_bytes_max, errors);
    let mut cluster = Cluster::new(random.word(), ranks as u32, Faults::none());
    let comm = |me| Comm::new(8, Arc::new(Group::new((0..ranks as u32).collect(), me)), None);
    let mut runners: Vec<Runner> =
        (0..).zip(sides).map(|(me, side)| runner(comm(me), side, &mut random, wrong)).collect();
    let parts = ranks * jobs.all.len();
    let (mut steps, mut left) = (0, parts);
    while left > 0 {
        let rank = random.below(ranks as u64) as usize;
        // Now and then a rank runs as far ahead as it can.
        for _ in 0..random.pick(&[1, 1, 3, 200]) {
            left -= usize::from(advance(&mut runners[rank], rank, &jobs, &mut cluster)?);
            steps += 1;
        }
        if steps > STEPS_MAX {
            let at: Vec<_> =
                (0..).zip(&runners).map(|(rank, runner)| (runner.next, jobs.of(runner.next, rank))).collect();
            return Err(format!("stuck: {at:?}"));
        }
    }
    if let Some(rank) = runners.iter().position(|runner| !runner.owns_all()) {
        return Err(format!("the memory of rank {rank} was used after an error"));
    }
    Ok([parts, runners.iter().map(|runner| runner.failed).sum()])
}

/// Runs one step of a rank; true if a collective ended.
fn advance(
    runner: &mut Runner,
    rank: usize,
    jobs: &Jobs,
    cluster: &mut Cluster,
) -> std::result::Result<bool, String> {
    let Some((job, odd)) = jobs.of(runner.next, rank) else { return Ok(false) };
    let ended = match odd {
        Some(Odd::Skips { tells }) => {
            if tells {
                let mut board = runner.board.lock();
                board.open(job.number as u32 + 1);
                board.skip();
            }
            None
        }
        Some(Odd::Leaves { steps }) if runner.steps == steps => {
            runner.board.lock().give_up();
            None
        }
        _ => {
            let at = runner.at.get_or_insert_with(|| part(job, &runner.comm, &runner.board));
            runner.steps += 1;
            match (at.step)(cluster, rank as u32) {
                Ok(false) => return Ok(false),
                // Whatever the others did, what succeeds is right.
                Ok(true) if !is_right(at) => {
                    let odd = &jobs.odd[..=job.number];
                    return Err(format!("{job:?}, rank {rank}: wrong result after {odd:?}"));
                }
                ended => Some(ended),
            }
        }
    };
    match ended {
        Some(Ok(_)) => {}
        // A job after one in which a rank errs may fail too.
        Some(Err(error)) if jobs.odd[..=runner.next].iter().all(Option::is_none) => {
            return Err(format!("{job:?}, rank {rank}: {error}"));
        }
        _ => runner.reuse(),
    }
    (runner.at, runner.steps) = (None, 0);
    runner.next += 1;
    Ok(true)
}

#[test]
fn a_board_gives_what_a_naive_computation_gives() {
    for seed in seeds(SEEDS) {
        let tried = try_seed(seed, Wrong::Nothing, Errors::NONE);
        tried.unwrap_or_else(|problem| panic!("VERBENA_SIM_SEED={seed}: {problem}"));
    }
}

/// Runs seeds in which ranks err; the parts of ranks in jobs, and how many of them failed.
fn try_errors(errors: Errors) -> [usize; 2] {
    seeds(SEEDS).into_iter().fold([0, 0], |[parts, failures], seed| {
        let tried = try_seed(seed, Wrong::Nothing, errors);
        let [some, failed] = tried.unwrap_or_else(|problem| panic!("VERBENA_SIM_SEED={seed}: {problem}"));
        [parts + some, failures + failed]
    })
}

/// A rank goes another way through some collectives, with another length: all ranks end all of
/// them, most with the right result.
#[test]
fn nobody_waits_for_ever_after_collectives_in_which_ranks_differ() {
    let [parts, failures] = try_errors(Errors { percent: 10, of_all_sorts: false });
    assert!((parts / 50..parts / 4).contains(&failures), "{failures} of {parts}");
}

/// A rank also skips some collectives, or gives them up: nobody gets a wrong result.
#[test]
fn nobody_gets_a_wrong_result_after_collectives_that_a_rank_left() {
    let [parts, failures] = try_errors(Errors { percent: 15, of_all_sorts: true });
    assert!((parts / 50..parts / 4).contains(&failures), "{failures} of {parts}");
}

/// Seeds that once failed: slots used too early (1202), a hang (1494), and a slot in which its
/// owner put operands of an earlier collective after the root of a later one had filled it (2543).
#[test]
fn seeds_that_once_failed() {
    for seed in [1202, 1494, 2543] {
        let tried = try_seed(seed, Wrong::Nothing, Errors { percent: 15, of_all_sorts: true });
        tried.unwrap_or_else(|problem| panic!("VERBENA_SIM_SEED={seed}: {problem}"));
    }
}

#[test]
fn a_board_that_repeats_records_is_noticed() {
    let noticed = (0..20).filter(|&seed| try_seed(seed, Wrong::Repeats, Errors::NONE).is_err());
    assert!(noticed.count() >= 15);
}

#[test]
fn a_board_that_shows_posts_early_is_noticed() {
    let noticed = (0..20).filter(|&seed| try_seed(seed, Wrong::Early, Errors::NONE).is_err());
    assert!(noticed.count() >= 15);
}
