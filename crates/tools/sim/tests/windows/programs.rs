//! Ranks that are whole processes on the simulated fabric, each with a program that calls and
//! waits. The programs run in threads of their own, but one at a time: a rank that has nothing to
//! do hands over, and the cluster says whose turn it is. So a seed gives one run.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;
use verbena_fault::Fault;
use verbena_mpi::{Error, Process};
use verbena_sim::{Cluster, Faults, Random};
use verbena_waiting::{Step, Waiter};

/// Turns after which a job counts as stuck.
const TURNS_MAX: u64 = 400_000;

/// The holder of the turn.
#[derive(Clone, Copy, PartialEq)]
enum Turn {
    Cluster,
    Rank(usize),
    /// Everybody ends.
    Nobody,
}

/// The reason for which a rank's program failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A call failed, as it may if a rank dies.
    Call(Error),
    /// Something is wrong.
    Wrong(String),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Call(error)
    }
}

/// The turn, and how the programs have ended.
struct State {
    turn: Turn,
    ended: Vec<Option<Result<(), Failure>>>,
}

struct Baton {
    state: Mutex<State>,
    passed: Condvar,
}

/// The payload with which the thread of a job that is over ends.
struct Over;

impl Baton {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no thread panics while it holds the baton")
    }

    /// Passes the turn on, and waits until it is at `me` or at nobody.
    fn pass(&self, to: Turn, me: Turn) -> Turn {
        let mut state = self.lock();
        if state.turn != Turn::Nobody {
            state.turn = to;
            self.passed.notify_all();
        }
        while state.turn != me && state.turn != Turn::Nobody {
            state = self.passed.wait(state).expect("no thread panics while it holds the baton");
        }
        state.turn
    }
}

/// A rank's waiter: an idle round passes the turn on.
struct Idle {
    rank: usize,
    baton: Arc<Baton>,
}

impl Waiter for Idle {
    fn idle(&self, _: u32) -> Step {
        if self.baton.pass(Turn::Cluster, Turn::Rank(self.rank)) == Turn::Nobody {
            resume_unwind(Box::new(Over));
        }
        Step::Again
    }

    fn sleep(&self, _: Duration) {
        panic!("nobody is to sleep");
    }

    fn disarm(&self) {}

    fn shares_cores(&self) -> bool {
        false
    }

    fn ring_self(&self) {}
}

/// A rank that dies: at which turn, and at which the others hear of it.
#[derive(Clone, Copy)]
pub(crate) struct Death {
    pub(crate) rank: usize,
    pub(crate) at: u64,
    pub(crate) told_at: u64,
}

/// The end of a job.
#[derive(Debug, PartialEq)]
pub(crate) enum End {
    /// All programs have ended.
    Done,
    /// A call failed, which ends a job.
    Failed,
}

/// Runs a program on each of `ranks` ranks. Without a death no call may fail.
pub(crate) fn run(
    random: &mut Random,
    ranks: u32,
    faults: Faults,
    death: Option<Death>,
    program: impl Fn(&Process, usize) -> Result<(), Failure> + Sync,
) -> Result<End, String> {
    let mut cluster = Cluster::new(random.word(), ranks, faults);
    let ended = (0..ranks).map(|_| None).collect();
    let state = Mutex::new(State { turn: Turn::Cluster, ended });
    let baton = Arc::new(Baton { state, passed: Condvar::new() });
    let engines = cluster.take_engines().into_iter().enumerate();
    let processes: Vec<Process> = engines
        .map(|(rank, engine)| {
            let waiter = Arc::new(Idle { rank, baton: baton.clone() });
            Process::new(rank as u32, ranks, engine, waiter)
        })
        .collect();
    let end = std::thread::scope(|scope| {
        for (rank, process) in processes.iter().enumerate() {
            let (baton, program) = (&baton, &program);
            scope.spawn(move || live(rank, process, baton, program));
        }
        let end = conduct(&mut cluster, &processes, &baton, death);
        baton.lock().turn = Turn::Nobody;
        baton.passed.notify_all();
        end
    })?;
    // One that dies leaves others in the middle of something.
    let violation = cluster.violations().into_iter().next().filter(|_| end == End::Done);
    violation.map_or(Ok(end), Err)
}

/// A rank's life: its program, and then progress for the others.
fn live(
    rank: usize,
    process: &Process,
    baton: &Baton,
    program: &(impl Fn(&Process, usize) -> Result<(), Failure> + Sync),
) {
    if baton.pass_to(rank) == Turn::Nobody {
        return;
    }
    let ran = catch_unwind(AssertUnwindSafe(|| program(process, rank)));
    let ended = match ran {
        Ok(ended) => ended,
        Err(payload) if payload.is::<Over>() => return,
        Err(payload) => Err(Failure::Wrong(text_of(&*payload))),
    };
    baton.lock().ended[rank] = Some(ended);
    // Others may still need this one's progress.
    let _ = catch_unwind(AssertUnwindSafe(|| process.wait(|_| None::<()>)));
}

fn text_of(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    format!("a panic: {}", text.or(payload.downcast_ref::<&str>().copied()).unwrap_or("of some sort"))
}

impl Baton {
    /// Waits for the first turn of a rank.
    fn pass_to(&self, rank: usize) -> Turn {
        let mut state = self.lock();
        while state.turn != Turn::Rank(rank) && state.turn != Turn::Nobody {
            state = self.passed.wait(state).expect("no thread panics while it holds the baton");
        }
        state.turn
    }
}

/// Gives the ranks their turns until the job is over.
fn conduct(
    cluster: &mut Cluster,
    processes: &[Process],
    baton: &Baton,
    mut death: Option<Death>,
) -> Result<End, String> {
    let victim = death.map(|death| death.rank);
    for turn in 0..TURNS_MAX {
        if let Some(Death { rank, at, told_at }) = death {
            if turn == at {
                cluster.kill(rank as u32);
            }
            if turn == told_at {
                tell_death(processes, rank);
                death = None;
            }
        }
        if let Some(rank) = cluster.begin_turn() {
            if baton.pass(Turn::Rank(rank as usize), Turn::Cluster) != Turn::Cluster {
                return Err("a thread has ended the job".into());
            }
            cluster.end_turn(rank, false);
        }
        if let Some(end) = end_of(&baton.lock().ended, victim)? {
            return Ok(end);
        }
    }
    let waiting: Vec<_> = (0..processes.len()).filter(|&rank| baton.lock().ended[rank].is_none()).collect();
    let lines = waiting.iter().flat_map(|&rank| {
        let lines = processes[rank].look(|engine| engine.describe());
        lines.into_iter().map(move |line| format!("\n  rank {rank}: {line}"))
    });
    Err(format!("stuck: {waiting:?} wait{}", lines.collect::<String>()))
}

fn tell_death(processes: &[Process], rank: usize) {
    for (_, process) in processes.iter().enumerate().filter(|other| other.0 != rank) {
        let fault = Fault::new("the peer has died", format!("rank {rank}"), "", "");
        process.command(|engine| engine.give_up(rank as u32, fault));
    }
}

/// The end of a job, if it has come.
fn end_of(ended: &[Option<Result<(), Failure>>], victim: Option<usize>) -> Result<Option<End>, String> {
    for (rank, end) in ended.iter().enumerate() {
        match end {
            Some(Err(Failure::Wrong(what))) => return Err(format!("rank {rank}: {what}")),
            Some(Err(Failure::Call(error))) if victim.is_none() => {
                return Err(format!("rank {rank}: {error}"));
            }
            _ => {}
        }
    }
    if ended.iter().any(|end| matches!(end, Some(Err(_)))) {
        return Ok(Some(End::Failed));
    }
    let mut others = ended.iter().enumerate().filter(|other| Some(other.0) != victim);
    Ok(others.all(|other| other.1.is_some()).then_some(End::Done))
}
