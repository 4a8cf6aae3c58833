//! One rank of the bare device's program: the hidden command `bench-verbs`, started by an
//! `mpiexec`. Rank 0 writes one JSON document a line to standard output.

use super::one_sided::Operation;
use super::outcome::{Row, Subject};
use super::session::Session;
use super::ways::Way;
use super::{copying, latency, looks, making, one_sided, sends};
use crate::output;
use crate::timing::Effort;
use anyhow::{Context, Result};
use clap::Args;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Lengths of messages.
const SIZES: [usize; 8] = [8, 64, 256, 1 << 10, 2 << 10, 4 << 10, 16 << 10, 64 << 10];
const SIZES_QUICK: [usize; 3] = [8, 1 << 10, 16 << 10];
/// The longest message that goes to a receive buffer.
const RECEIVED_BYTES_MAX: usize = 64 << 10;
/// The longest work whose post is timed.
const POSTED_BYTES_MAX: usize = 64 << 10;
/// Lengths of one-sided work besides.
const LONG: [usize; 4] = [32 << 10, 128 << 10, 256 << 10, 1 << 20];
const LONG_QUICK: [usize; 2] = [64 << 10, 1 << 20];
/// Connections on a completion queue.
const CONNECTIONS: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];
const CONNECTIONS_QUICK: [usize; 3] = [1, 8, 64];
/// Lengths of registered memory.
const REGISTERED: [usize; 5] = [4 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20];
const REGISTERED_QUICK: [usize; 2] = [4 << 10, 1 << 20];
/// Lengths of copies.
const COPIED: [usize; 2] = [16 << 10, 256 << 10];

/// The worker's command line, written by [`super::command`].
#[derive(Args, Debug)]
pub struct VerbsWorkerArgs {
    /// Time of all repetitions of one row, in milliseconds
    #[arg(long, default_value_t = 60)]
    point_ms: u64,
    /// Repetitions of one row
    #[arg(long, default_value_t = 5)]
    repetitions: usize,
    /// Few sizes
    #[arg(long)]
    quick: bool,
    /// Only rows of these subjects
    #[arg(long, value_enum)]
    only: Vec<Subject>,
    /// The number of the run among several
    #[arg(long, default_value_t = 0)]
    turn: usize,
}

/// A line of rank 0's output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
pub(super) enum Line {
    /// The devices of both ranks are open.
    Places {
        /// The devices in words.
        places: Vec<String>,
    },
    /// A row was measured.
    Row(Row),
    /// Nothing can be measured here.
    Refused {
        /// The reason, in words.
        reason: String,
    },
}

/// Something to measure, which gives one row or several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    Latency(Way, usize),
    OneSided(Subject, Operation, usize),
    Sends(usize),
    Looks(usize),
    Registration(usize),
    Pair,
    Receives,
    Copies(usize),
}

/// Runs one rank.
///
/// # Errors
/// The launcher does not answer, the device refuses or fails, or bytes did not arrive.
pub fn run(args: &VerbsWorkerArgs) -> Result<()> {
    // A rank whose launcher was killed would otherwise spin for ever on a core.
    nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL)
        .context("cannot tie this rank to its launcher")?;
    let effort = Effort {
        point: Duration::from_millis(args.point_ms),
        repetitions: args.repetitions.max(1),
        window: 1,
    };
    let mut session = match Session::open(effort)? {
        Ok(session) => session,
        // Each rank may write it: the reader takes the first.
        Err(reason) => return emit(&Line::Refused { reason }),
    };
    if session.is_first() {
        emit(&Line::Places { places: session.places.clone() })?;
    }
    let tasks = in_turn(about(tasks(args.quick), &args.only), args.turn);
    // Kernel and launcher are still busy with the start: the first row is measured twice, and only
    // the second time counts.
    for task in &tasks[..1] {
        task.run(&mut session).with_context(|| format!("warming up by {task:?}"))?;
    }
    for task in tasks {
        let rows = task.run(&mut session).with_context(|| format!("measuring {task:?}"))?;
        for row in rows.into_iter().filter(|_| session.is_first()) {
            emit(&Line::Row(row))?;
        }
    }
    session.close()
}

fn emit(line: &Line) -> Result<()> {
    output::line(&serde_json::to_string(line)?)
}

/// Returns all that is measured, in order.
fn tasks(quick: bool) -> Vec<Task> {
    let sizes: &[usize] = if quick { &SIZES_QUICK } else { &SIZES };
    let long: &[usize] = if quick { &LONG_QUICK } else { &LONG };
    let connections: &[usize] = if quick { &CONNECTIONS_QUICK } else { &CONNECTIONS };
    let registered: &[usize] = if quick { &REGISTERED_QUICK } else { &REGISTERED };
    let mut all = Vec::new();
    for way in Way::ALL {
        let fits = |bytes: &usize| way.takes(*bytes) && (!way.receives() || *bytes <= RECEIVED_BYTES_MAX);
        all.extend(sizes.iter().copied().filter(fits).map(|bytes| Task::Latency(way, bytes)));
    }
    for (subject, bytes_max) in [
        (Subject::Completed, usize::MAX),
        (Subject::Bandwidth, usize::MAX),
        (Subject::Post, POSTED_BYTES_MAX),
    ] {
        for operation in Operation::ALL {
            let lengths = sizes.iter().chain(long).copied().filter(|&bytes| bytes <= bytes_max);
            all.extend(lengths.map(|bytes| Task::OneSided(subject, operation, bytes)));
        }
    }
    all.extend(sizes.iter().map(|&bytes| Task::Sends(bytes)));
    all.extend(connections.iter().map(|&count| Task::Looks(count)));
    all.extend(registered.iter().map(|&bytes| Task::Registration(bytes)));
    all.extend([Task::Pair, Task::Receives]);
    all.extend(COPIED.map(Task::Copies));
    all
}

/// Returns the tasks of these subjects; all if there are none.
fn about(mut tasks: Vec<Task>, only: &[Subject]) -> Vec<Task> {
    tasks.retain(|task| only.is_empty() || only.contains(&task.subject()));
    tasks
}

/// Runs of which each begins elsewhere.
const TURNS: usize = 5;

/// Returns the tasks in the order of a run: each begins a fifth further on than the one before,
/// and every other one goes backwards.
fn in_turn(mut tasks: Vec<Task>, turn: usize) -> Vec<Task> {
    let first = turn % TURNS * tasks.len() / TURNS;
    tasks.rotate_left(first);
    if turn % 2 == 1 {
        tasks.reverse();
    }
    tasks
}

impl Task {
    fn subject(self) -> Subject {
        match self {
            Task::Latency(..) => Subject::Latency,
            Task::OneSided(subject, ..) => subject,
            Task::Sends(_) => Subject::Bandwidth,
            Task::Looks(_) => Subject::Look,
            Task::Registration(_) => Subject::Registration,
            Task::Pair => Subject::Pair,
            Task::Receives => Subject::Receive,
            Task::Copies(_) => Subject::Copy,
        }
    }

    fn run(self, session: &mut Session) -> Result<Vec<Row>> {
        match self {
            Task::Latency(way, bytes) => latency::run(session, way, bytes).map(one),
            Task::OneSided(subject, operation, bytes) => {
                one_sided::run(session, subject, operation, bytes).map(one)
            }
            Task::Sends(bytes) => sends::run(session, bytes).map(one),
            Task::Looks(connections) => looks::run(session, connections),
            Task::Registration(bytes) => making::registration(session, bytes),
            Task::Pair => making::pair(session),
            Task::Receives => making::receives(session),
            Task::Copies(bytes) => copying::run(session, bytes),
        }
    }
}

fn one(row: Row) -> Vec<Row> {
    vec![row]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verbs::memory::MESSAGE_BYTES_MAX;
    use clap::ValueEnum;
    use std::collections::BTreeSet;

    #[test]
    fn each_turn_has_all_tasks_and_begins_with_another() {
        let all = tasks(true);
        assert_eq!(in_turn(all.clone(), 0), all);
        let mut firsts = Vec::new();
        for turn in 0..TURNS {
            let turned = in_turn(all.clone(), turn);
            assert!(turned.len() == all.len() && all.iter().all(|task| turned.contains(task)), "{turn}");
            assert!(!firsts.contains(&turned[0]), "{turn} begins as another: {firsts:?}");
            firsts.push(turned[0]);
        }
    }

    #[test]
    fn a_run_of_some_subjects_has_all_of_their_tasks() {
        let all = tasks(true);
        let some = about(all.clone(), &[Subject::Look, Subject::Bandwidth]);
        let looks = some.iter().filter(|task| task.subject() == Subject::Look).count();
        let sends = some.iter().filter(|task| matches!(task, Task::Sends(_))).count();
        assert_eq!((looks, sends), (CONNECTIONS_QUICK.len(), SIZES_QUICK.len()));
        assert!(some.len() < all.len() && about(all.clone(), &[]) == all);
    }

    #[test]
    fn words_of_subjects_are_those_of_the_command_line() {
        let named = |subject: &Subject| subject.to_possible_value().expect("a word").get_name().to_string();
        assert!(Subject::ALL.iter().all(|subject| named(subject) == subject.word()));
    }

    #[test]
    fn nothing_is_measured_twice_and_all_fits_the_memory() {
        for quick in [false, true] {
            let all = tasks(quick);
            let names: BTreeSet<String> = all.iter().map(|task| format!("{task:?}")).collect();
            assert_eq!(names.len(), all.len());
        }
        assert!(SIZES.iter().chain(&LONG).all(|&bytes| bytes <= MESSAGE_BYTES_MAX));
    }
}
