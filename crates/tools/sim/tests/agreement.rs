//! Agreements whose members die at every step: messages come in any order that keeps that of each
//! pair, members die between any two messages, and the news of it comes at any time.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use verbena_channel::loopback::LoopbackChannel;
use verbena_engine::{Engine, Settings};
use verbena_fault::Fault;
use verbena_mpi::agreement::{Machine, Members, Message, Value};
use verbena_mpi::generated::constants::{MPI_ERR_OTHER, MPIX_ERR_PROC_FAILED};
use verbena_mpi::{Comm, Group, Process};
use verbena_sim::Random;
use verbena_waiting::{Step, Waiter};

/// A run of one agreement.
struct Run {
    random: Random,
    machines: Vec<Machine>,
    lives: Vec<bool>,
    /// The messages on their way from one member to another.
    wires: Vec<Vec<VecDeque<Message>>>,
    /// The members that have not heard of a death: who, and whose.
    news: Vec<(usize, usize)>,
    deaths_left: u64,
}

/// The value that a member brings: a bit of its own is missing. It knows these to have failed, and
/// has acknowledged some of them.
fn own(me: usize, size: usize, known: &[usize], random: &mut Random) -> Value {
    let failed = Members::these(size, known.iter().copied());
    let acknowledged = known.iter().copied().filter(|_| random.below(2) == 0).collect::<Vec<_>>();
    let acknowledged = Members::these(size, acknowledged);
    Value { flags: [!(1 << me); 2], failed, acknowledged, contexts: [me as u64 + 1; 3] }
}

impl Run {
    fn new(seed: u64, hasty: bool) -> Run {
        let mut random = Random::new(seed);
        let size = 2 + random.below(6) as usize;
        let mut deaths_left = random.below(size as u64);
        let mut lives = vec![true; size];
        // Some have died before; of each, some know.
        while deaths_left > 0 && random.below(2) == 0 {
            let alive: Vec<usize> = (0..size).filter(|member| lives[*member]).collect();
            lives[alive[random.below(alive.len() as u64) as usize]] = false;
            deaths_left -= 1;
        }
        let dead: Vec<usize> = (0..size).filter(|member| !lives[*member]).collect();
        let mut news = Vec::new();
        let mut machine = |me| {
            let (known, unknown): (Vec<usize>, Vec<usize>) = dead.iter().partition(|_| random.below(2) == 0);
            news.extend(unknown.into_iter().map(|member| (me, member)));
            let known: Vec<usize> = known.into_iter().filter(|member| *member != me).collect();
            let machine = Machine::new(me, size, own(me, size, &known, &mut random), &known);
            if hasty { machine.hasty() } else { machine }
        };
        let machines = (0..size).map(&mut machine).collect();
        Run { machines, lives, wires: vec![vec![VecDeque::new(); size]; size], news, deaths_left, random }
    }

    fn size(&self) -> usize {
        self.machines.len()
    }

    /// Lets a member die now and then; never the last one.
    fn may_kill(&mut self, member: usize) {
        let is_last = self.lives.iter().filter(|lives| **lives).count() == 1;
        if self.deaths_left == 0 || is_last || self.random.below(8) > 0 {
            return;
        }
        self.deaths_left -= 1;
        self.lives[member] = false;
        let others = (0..self.size()).filter(|other| self.lives[*other]);
        self.news.extend(others.map(|other| (other, member)).collect::<Vec<_>>());
    }

    /// Sends what a member has to say. It may die before any of these messages.
    fn speak(&mut self, member: usize) {
        while self.lives[member] {
            self.may_kill(member);
            let said = if self.lives[member] { self.machines[member].poll_message() } else { None };
            let Some((to, message)) = said else { return };
            let message = Message::decode(&message.encode(), self.size()).expect("an own message");
            self.wires[member][to].push_back(message);
        }
    }

    /// Delivers a message or news of a death; `false` if there is nothing.
    fn step(&mut self) -> bool {
        let mut choices = Vec::new();
        for from in 0..self.size() {
            for to in 0..self.size() {
                if self.lives[to] && !self.wires[from][to].is_empty() {
                    choices.push((from, to, false));
                }
            }
        }
        self.news.retain(|(to, _)| self.lives[*to]);
        choices.extend(self.news.iter().map(|(to, dead)| (*dead, *to, true)));
        if choices.is_empty() {
            return false;
        }
        let (from, to, is_death) = choices[self.random.below(choices.len() as u64) as usize];
        match is_death {
            true => {
                self.news.retain(|known| *known != (to, from));
                self.wires[from][to].clear();
                self.machines[to].handle_death(from);
            }
            false => {
                let message = self.wires[from][to].pop_front().expect("one is there");
                self.machines[to].handle(from, message);
            }
        }
        self.speak(to);
        true
    }

    /// Runs to the end.
    ///
    /// # Errors
    /// What is wrong then.
    fn run(mut self) -> Result<(), String> {
        (0..self.size()).for_each(|member| self.speak(member));
        while self.step() {}
        let decisions: Vec<&Value> = self.machines.iter().filter_map(Machine::decision).collect();
        if decisions.windows(2).any(|two| two[0] != two[1]) {
            return Err(format!("decisions differ: {decisions:?}"));
        }
        for member in (0..self.size()).filter(|member| self.lives[*member]) {
            let machine = &self.machines[member];
            let Some(decision) = machine.decision() else { return Err(format!("{member} waits for ever")) };
            if !machine.is_settled() {
                return Err(format!("{member} waits for the end of others"));
            }
            if decision.failed.has(member) || decision.flags[0] >> member & 1 == 1 {
                return Err(format!("{member} lives and was not heard: {decision:?}"));
            }
        }
        Ok(())
    }
}

const SEEDS: u64 = 10_000;

#[test]
fn all_that_decide_decide_alike_and_nobody_waits_for_ever() {
    for seed in 0..SEEDS {
        if let Err(wrong) = Run::new(seed, false).run() {
            panic!("seed {seed}: {wrong}");
        }
    }
}

/// A leader that decides before the others keep its proposal, and dies, may have decided otherwise
/// than they.
#[test]
fn a_hasty_leader_is_found_out() {
    let wrong = (0..SEEDS).find_map(|seed| Run::new(seed, true).run().err());
    assert!(wrong.is_some_and(|wrong| wrong.starts_with("decisions differ")));
}

/// A waiter that only looks.
struct Awake;

impl Waiter for Awake {
    fn idle(&self, _: u32) -> Step {
        Step::Again
    }

    fn sleep(&self, _: Duration) {}

    fn disarm(&self) {}

    fn shares_cores(&self) -> bool {
        false
    }

    fn ring_self(&self) {}
}

/// Process 0 of two, and a communicator of both.
fn one_of_two() -> (Process, Comm) {
    let engine = Engine::new(0, 2, vec![Box::new(LoopbackChannel::new(0))], Settings::default());
    let process = Process::new(0, 2, engine, Arc::new(Awake));
    (process, Comm::new(8, Arc::new(Group::new(vec![0, 1], 0)), None))
}

fn lost() -> Fault {
    Fault::new("lost", "process 1", "a cable", "none")
}

#[test]
fn a_broken_link_decides_nothing() {
    let (process, comm) = one_of_two();
    process.command(|engine| engine.give_up(1, lost()));
    let agreement = comm.agree(&process, 5);
    let undecided = agreement.wait(&process).expect_err("the other may live");
    assert_eq!(undecided.class, MPI_ERR_OTHER);
}

#[test]
fn a_death_that_was_told_decides_also_after_the_link_broke() {
    for broke_first in [false, true] {
        let (process, comm) = one_of_two();
        if broke_first {
            process.command(|engine| engine.give_up(1, lost()));
        }
        let agreement = comm.agree(&process, 5);
        process.command(|engine| engine.bury(1, lost()));
        let agreed = agreement.wait(&process).expect("the other is dead");
        assert_eq!((comm.agreed_flags(&agreed), agreed.failed.has(1)), (5, true));
        assert_eq!(comm.check_agreed(&agreed).map_err(|error| error.class), Err(MPIX_ERR_PROC_FAILED));
        let left = comm.shrunk(&agreed).expect("this process is left").expect("an intracommunicator");
        assert_eq!(left.group().members(), [0]);
    }
}

#[test]
fn a_process_that_the_others_take_for_dead_gets_no_communicator_of_theirs() {
    let (_, comm) = one_of_two();
    let failed = Members::these(2, [0]);
    let agreed = Value { flags: [0; 2], failed, acknowledged: Members::none(2), contexts: [16, 20, 24] };
    assert_eq!(comm.shrunk(&agreed).map(drop).map_err(|error| error.class), Err(MPIX_ERR_PROC_FAILED));
}

#[test]
fn a_process_learns_of_deaths_by_an_agreement() {
    let (process, comm) = one_of_two();
    let failed = Members::these(2, [1]);
    let agreed = Value { flags: [0; 2], failed, acknowledged: Members::none(2), contexts: [16, 20, 24] };
    assert!(comm.failed_members(&process).is_empty());
    assert_eq!(comm.learn_failed(&process, &agreed), [1]);
    assert_eq!(comm.failed_members(&process), [1]);
    assert_eq!(comm.acknowledge(&process, usize::MAX), 1);
}

#[test]
fn each_group_of_an_intercommunicator_gets_the_bits_of_the_other() {
    let agreed = |flags| Value {
        flags,
        failed: Members::none(2),
        acknowledged: Members::none(2),
        contexts: [16, 20, 24],
    };
    let [first, second] = [true, false].map(|is_first| {
        let (local, remote) = (Arc::new(Group::new(vec![0], 0)), Arc::new(Group::new(vec![1], 0)));
        let inner = Arc::new(Comm::new(16, local.clone(), None));
        Comm::new(8, local, Some(verbena_mpi::comm::Remote::new(remote, inner, is_first)))
    });
    let both = agreed([0b01, 0b10]);
    assert_eq!((first.agreed_flags(&both), second.agreed_flags(&both)), (0b10, 0b01));
    let (_, alone) = one_of_two();
    assert_eq!(alone.agreed_flags(&both), 0b01);
}
