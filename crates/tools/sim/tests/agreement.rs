//! Agreements whose members die at every step: messages come in any order that keeps that of each
//! pair, members die between any two messages, and the news of it comes at any time.

use std::collections::VecDeque;
use verbena_mpi::agreement::{Machine, Members, Message, Value};
use verbena_sim::Random;

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

/// The value that a member brings: a bit of its own is missing.
fn own(me: usize, size: usize) -> Value {
    let contexts = [me as u64 + 1; 3];
    Value { flags: !(1 << me), failed: Members::none(size), acknowledged: Members::none(size), contexts }
}

impl Run {
    fn new(seed: u64, hasty: bool) -> Run {
        let mut random = Random::new(seed);
        let size = 2 + random.below(6) as usize;
        let machine = |me| {
            let machine = Machine::new(me, size, own(me, size), &[]);
            if hasty { machine.hasty() } else { machine }
        };
        Run {
            machines: (0..size).map(machine).collect(),
            lives: vec![true; size],
            wires: vec![vec![VecDeque::new(); size]; size],
            news: Vec::new(),
            deaths_left: random.below(size as u64),
            random,
        }
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
            if decision.failed.has(member) || decision.flags >> member & 1 == 1 {
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
