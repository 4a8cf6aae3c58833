//! Runs jobs on a simulated cluster and checks what came of them.

use crate::job::Job;
use std::sync::Arc;
use verbena_mpi::coll::{Collective, Reduction};
use verbena_mpi::comm::Remote;
use verbena_mpi::{Comm, Group};
use verbena_sim::{Cluster, Faults, Random};

/// Steps without a step of any collective after which a run counts as stuck.
const STEPS_MAX: u64 = 500_000;
/// Context of the communicator.
const CONTEXT: u64 = 8;

/// A rank of the communicator and what it is at.
struct Runner {
    comm: Comm,
    /// Its part in a job.
    part: usize,
    next: usize,
    running: Vec<(usize, Box<Collective>)>,
}

/// An intracommunicator whose ranks lie on the cluster's processes in any order: each process's communicator
/// and the number of its part in a job.
pub fn intra(random: &mut Random, ranks: usize) -> Vec<(Comm, usize)> {
    let members = shuffled(random, ranks);
    let comm = |me| Comm::new(CONTEXT, Arc::new(Group::new(members.clone(), me)), None);
    (0..ranks as u32)
        .map(comm)
        .map(|comm| (comm.rank() as usize, comm))
        .map(|(part, comm)| (comm, part))
        .collect()
}

/// As [`intra`], an intercommunicator of `first` ranks and the others. Parts of the first group come first.
pub fn inter(random: &mut Random, ranks: usize, first: usize) -> Vec<(Comm, usize)> {
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

/// Runs all jobs in order, several at once; then checks every rank's memory.
pub fn run(
    random: &mut Random,
    comms: Vec<(Comm, usize)>,
    faults: Faults,
    jobs: &mut [Job],
) -> Result<(), String> {
    let mut cluster = Cluster::new(random.word(), comms.len() as u32, faults);
    let mut left = comms.len() * jobs.len();
    let mut runners: Vec<Runner> = comms.into_iter().map(Runner::new).collect();
    let at_once = random.between(1, 3) as usize;
    let mut moved_at = 0;
    while left > 0 {
        let process = cluster.step();
        let runner = &mut runners[process as usize];
        while runner.running.len() < at_once && runner.next < jobs.len() && random.percent(60) {
            runner.start(jobs);
        }
        let begun = runner.begun();
        left -= runner.advance(&mut cluster, process, jobs)?;
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
    jobs.iter().try_for_each(check)
}

fn shuffled(random: &mut Random, ranks: usize) -> Vec<u32> {
    let mut members: Vec<u32> = (0..ranks as u32).collect();
    for i in (1..ranks).rev() {
        members.swap(i, random.below(i as u64 + 1) as usize);
    }
    members
}

impl Runner {
    fn new((comm, part): (Comm, usize)) -> Runner {
        Runner { comm, part, next: 0, running: Vec::new() }
    }

    fn start(&mut self, jobs: &mut [Job]) {
        let mut collective = Collective::of(&self.comm, self.comm.next_collective_tag());
        let fill = jobs[self.next].parts[self.part].fill.take().expect("not started yet");
        fill(collective.schedule(), &self.comm);
        self.running.push((self.next, collective));
        self.next += 1;
    }

    /// Tells whether it moved.
    fn begun(&self) -> (usize, usize) {
        (self.running.len(), self.running.iter().map(|(_, collective)| collective.begun()).sum())
    }

    /// Moves on with what is running. Returns how many ended.
    fn advance(&mut self, cluster: &mut Cluster, process: u32, jobs: &[Job]) -> Result<usize, String> {
        let mut ended = 0;
        for (job, mut collective) in std::mem::take(&mut self.running) {
            let begun = collective.begun();
            let reduction =
                jobs[job].reducing.as_ref().map(|r| Reduction { op: &r.op, datatype: r.datatype });
            let state = collective.advance(&mut cluster.visit(process), reduction);
            if collective.begun() != begun {
                cluster.engine(process);
            }
            match state.map_err(|error| format!("{}: part {}: {error}", jobs[job].what, self.part))? {
                true => {
                    collective.recycle();
                    ended += 1;
                    jobs[job].check_barrier()?;
                }
                false => self.running.push((job, collective)),
            }
        }
        Ok(ended)
    }
}

fn check(job: &Job) -> Result<(), String> {
    for (rank, part) in job.parts.iter().enumerate() {
        for (i, arena) in part.arenas.iter().enumerate() {
            if !arena.is_as_expected() {
                let name = ["send", "receive"][i.min(1)];
                return Err(format!("{}: rank {rank}: wrong bytes in the {name} buffer", job.what));
            }
        }
    }
    Ok(())
}
