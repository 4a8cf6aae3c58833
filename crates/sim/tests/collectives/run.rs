//! Runs jobs on a simulated cluster and checks what came of them.

use crate::job::Job;
use std::sync::Arc;
use verbena_mpi::coll::{Collective, Reduction};
use verbena_mpi::{Comm, Group};
use verbena_sim::{Cluster, Faults, Random};

/// Steps per message or so after which a run counts as stuck.
const STEPS_MAX: u64 = 30_000_000;
/// Context of the communicator.
const CONTEXT: u64 = 8;

/// A rank of the communicator and what it is at.
struct Runner {
    comm: Comm,
    next: usize,
    running: Vec<(usize, Box<Collective>)>,
}

/// Runs all jobs in order on a communicator whose ranks lie on the cluster's processes in any order, several
/// at once; then checks every rank's memory.
pub fn run(random: &mut Random, ranks: usize, faults: Faults, jobs: &mut [Job]) -> Result<(), String> {
    let mut cluster = Cluster::new(random.word(), ranks as u32, faults);
    let members = shuffled(random, ranks);
    let mut runners: Vec<Runner> = (0..ranks as u32).map(|me| Runner::new(&members, me)).collect();
    let at_once = random.between(1, 3) as usize;
    let mut left = ranks * jobs.len();
    while left > 0 {
        let process = cluster.step();
        let runner = &mut runners[process as usize];
        while runner.running.len() < at_once && runner.next < jobs.len() && random.percent(60) {
            runner.start(jobs);
        }
        left -= runner.advance(&mut cluster, process, jobs)?;
        if cluster.steps() > STEPS_MAX {
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
    fn new(members: &[u32], me: u32) -> Runner {
        let comm = Comm::new(CONTEXT, Arc::new(Group::new(members.to_vec(), me)), None);
        Runner { comm, next: 0, running: Vec::new() }
    }

    fn start(&mut self, jobs: &mut [Job]) {
        let mut collective = Collective::on(&self.comm);
        let fill = jobs[self.next].parts[self.comm.rank() as usize].fill.take().expect("not started yet");
        fill(collective.schedule(), &self.comm);
        self.running.push((self.next, collective));
        self.next += 1;
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
            match state.map_err(|error| format!("{}: rank {}: {error}", jobs[job].what, self.comm.rank()))? {
                true => {
                    collective.recycle();
                    ended += 1;
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
