//! Runs jobs on a simulated cluster and checks what came of them.

use crate::arena::Arena;
use crate::job::{Job, shuffle};
use std::sync::Arc;
use verbena_channel::mark::Mark;
use verbena_mpi::coll::{Collective, Reduction};
use verbena_mpi::comm::Remote;
use verbena_mpi::{Comm, Group};
use verbena_sim::{Cluster, Faults, Random};

/// Steps without a step of any collective after which a run counts as stuck.
const STEPS_MAX: u64 = 500_000;
/// Context of the communicator.
const CONTEXT: u64 = 8;

/// Percentage of chances to move on that a collective gets: the program looks for them in any
/// order.
const LOOK_PERCENT: u32 = 80;

/// The form in which the ranks run a job.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Blocking, counted with its like.
    Blocking,
    /// Nonblocking or persistent, run this many times.
    Nonblocking { rounds: u32 },
}

impl Form {
    fn random(random: &mut Random) -> Form {
        match random.below(3) {
            0 => Form::Blocking,
            1 => Form::Nonblocking { rounds: 1 },
            _ => Form::Nonblocking { rounds: random.between(2, 3) as u32 },
        }
    }
}

/// A job that a rank is at.
struct Running {
    job: usize,
    /// The number of times it is still to be run.
    rounds_left: u32,
    collective: Box<Collective>,
}

/// A rank of the communicator and what it is at.
struct Runner {
    comm: Comm,
    /// The number of its part in a job.
    part: usize,
    /// The jobs not begun yet, last first: blocking ones, and the others.
    waiting: [Vec<usize>; 2],
    /// True if it mixes the two sorts as it likes: only if it waits for none before it begins the
    /// next.
    is_free: bool,
    running: Vec<Running>,
}

/// An intracommunicator whose ranks lie on the cluster's processes in any order: each process's
/// communicator and the number of its part in a job.
pub(crate) fn intra(random: &mut Random, ranks: usize) -> Vec<(Comm, usize)> {
    let members = shuffled(random, ranks);
    let comm = |me| Comm::new(CONTEXT, Arc::new(Group::new(members.clone(), me)), None);
    (0..ranks as u32)
        .map(comm)
        .map(|comm| (comm.rank() as usize, comm))
        .map(|(part, comm)| (comm, part))
        .collect()
}

/// Like [`intra`], an intercommunicator of `first` ranks and the others. Parts of the first group
/// come first.
pub(crate) fn inter(random: &mut Random, ranks: usize, first: usize) -> Vec<(Comm, usize)> {
    let members = shuffled(random, ranks);
    let side = |me: u32| {
        let (left, right) = members.split_at(first);
        let is_first = left.contains(&me);
        let (own, other) = if is_first { (left, right) } else { (right, left) };
        let (own, other) = (Group::new(own.to_vec(), me), Group::new(other.to_vec(), me));
        let own = Arc::new(own);
        let inner = Arc::new(Comm::new(CONTEXT + if is_first { 4 } else { 8 }, own.clone(), None));
        let comm = Comm::new(CONTEXT, own, Some(Remote::new(Arc::new(other), inner, is_first)));
        let part = comm.rank() as usize + if is_first { 0 } else { first };
        (comm, part)
    };
    (0..ranks as u32).map(side).collect()
}

/// Runs all jobs, several at once and each in some form; then checks every rank's memory.
pub(crate) fn run(
    random: &mut Random,
    comms: Vec<(Comm, usize)>,
    faults: Faults,
    jobs: &mut [Job],
) -> Result<(), String> {
    let mut cluster = Cluster::new(random.word(), comms.len() as u32, faults);
    let mut left = comms.len() * jobs.len();
    let forms: Vec<Form> = jobs.iter().map(|_| Form::random(random)).collect();
    let at_once = random.between(1, 6) as usize;
    let runner = |comm| Runner::new(comm, &forms, at_once >= jobs.len());
    let mut runners: Vec<Runner> = comms.into_iter().map(runner).collect();
    let mut moved_at = 0;
    while left > 0 {
        let process = cluster.step();
        let runner = &mut runners[process as usize];
        while runner.running.len() < at_once && runner.is_waiting() && random.percent(60) {
            runner.start(random, jobs, &forms);
        }
        let begun = runner.begun();
        left -= runner.advance(random, &mut cluster, process, jobs)?;
        if runner.begun() != begun {
            moved_at = cluster.steps();
        }
        if cluster.steps() > moved_at + STEPS_MAX {
            return Err(format!("stuck:\n{}", cluster.describe()));
        }
    }
    if !cluster.settle(STEPS_MAX) {
        return Err(format!("no rest after the end:\n{}", cluster.describe()));
    }
    if let Some(violation) = cluster.violations().first() {
        return Err(violation.clone());
    }
    jobs.iter().try_for_each(|job| (0..job.parts.len()).try_for_each(|part| job.check(part)))
}

fn shuffled(random: &mut Random, ranks: usize) -> Vec<u32> {
    let mut members: Vec<u32> = (0..ranks as u32).collect();
    shuffle(random, &mut members);
    members
}

impl Runner {
    fn new((comm, part): (Comm, usize), forms: &[Form], is_free: bool) -> Runner {
        let (blocking, others) =
            (0..forms.len()).rev().partition(|job: &usize| forms[*job] == Form::Blocking);
        Runner { comm, part, waiting: [blocking, others], is_free, running: Vec::new() }
    }

    fn is_waiting(&self) -> bool {
        self.waiting.iter().any(|sort| !sort.is_empty())
    }

    /// Starts the next job of either sort.
    fn start(&mut self, random: &mut Random, jobs: &mut [Job], forms: &[Form]) {
        let next = |sort: usize| self.waiting[sort].last().copied().unwrap_or(usize::MAX);
        let sort = match [next(0), next(1)] {
            [blocking, other] if self.is_free && blocking.max(other) < usize::MAX => random.below(2) as usize,
            [blocking, other] => usize::from(other < blocking),
        };
        let job = self.waiting[sort].pop().expect("a job waits");
        let (tag, rounds) = match forms[job] {
            Form::Blocking => (self.comm.next_collective_tag(), 1),
            Form::Nonblocking { rounds } => (self.comm.next_nonblocking_tag(), rounds),
        };
        let mut collective = Collective::of(&self.comm, tag);
        // Every message says which job it is of, so one that another job receives is noticed.
        collective.set_call(Mark((job as u16 + 1) << 5));
        let fill = jobs[job].parts[self.part].fill.take().expect("not started yet");
        fill(collective.schedule(), &self.comm);
        self.running.push(Running { job, rounds_left: rounds - 1, collective });
    }

    /// Tells whether it moved.
    fn begun(&self) -> (usize, u32, usize) {
        let rounds = self.running.iter().map(|running| running.rounds_left).sum();
        (self.running.len(), rounds, self.running.iter().map(|running| running.collective.begun()).sum())
    }

    /// Moves on with some of what is running, in any order. Returns how many collectives ended.
    fn advance(
        &mut self,
        random: &mut Random,
        cluster: &mut Cluster,
        process: u32,
        jobs: &mut [Job],
    ) -> Result<usize, String> {
        let mut ended = 0;
        shuffle(random, &mut self.running);
        for running in std::mem::take(&mut self.running) {
            if !random.percent(LOOK_PERCENT) {
                self.running.push(running);
                continue;
            }
            match self.advance_one(running, cluster, process, jobs)? {
                None => ended += 1,
                Some(running) => self.running.push(running),
            }
        }
        Ok(ended)
    }

    /// Moves on with one. `None` once its last round has ended.
    fn advance_one(
        &self,
        mut running: Running,
        cluster: &mut Cluster,
        process: u32,
        jobs: &mut [Job],
    ) -> Result<Option<Running>, String> {
        let (job, begun) = (&mut jobs[running.job], running.collective.begun());
        let reduction = job.reducing.as_ref().map(|r| Reduction { op: &r.op, datatype: r.datatype });
        let state = running.collective.advance(&mut cluster.visit(process), reduction);
        if running.collective.begun() != begun {
            cluster.engine(process);
        }
        if !state.map_err(|error| format!("{}: part {}: {error}", job.what, self.part))? {
            return Ok(Some(running));
        }
        job.check_barrier()?;
        job.check(self.part)?;
        if running.rounds_left == 0 {
            running.collective.recycle();
            return Ok(None);
        }
        running.rounds_left -= 1;
        running.collective.rewind();
        job.parts[self.part].arenas.iter_mut().for_each(Arena::restore);
        cluster.engine(process);
        Ok(Some(running))
    }
}
