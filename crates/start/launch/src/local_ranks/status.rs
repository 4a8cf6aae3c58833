//! The words of a rank about itself, and those of the system about it.

use crate::asleep::{self, RESUMED, Sleeper};
use crate::process_facts::ProcessFacts;
use crate::symbols::{Symbols, is_in_python};
use crate::sys;
use std::rc::Rc;
use std::time::Instant;
use verbena_boot::status::{ERROR, Pulse, StatusMemory, now_ms};
use verbena_hang::{Place, Rank, RunState, Snapshot, traceback};

/// The place of a rank in the memory that this host's ranks share with us.
#[derive(Debug)]
pub struct RankStatus {
    memory: Rc<StatusMemory>,
    place: usize,
    /// The processor time that it had used at the last question, and when that was.
    used: Option<(u64, Instant)>,
    /// The sleep outside of waits in MPI when it was asked.
    asleep: Option<Sleep>,
}

/// The system call in which a rank sleeps, and its return addresses.
type Sleep = (String, Vec<u64>);

impl RankStatus {
    /// The place of this number.
    pub fn new(memory: Rc<StatusMemory>, place: usize) -> RankStatus {
        RankStatus { memory, place, used: None, asleep: None }
    }

    /// Asks the rank what it does; its first process is `pid`, if that still runs. Returns a
    /// process that is to be asked by a signal, if that ends no call ([`asleep::signal_running`]).
    pub fn ask(&mut self, pid: Option<i32>, symbols: &mut Symbols) -> Option<i32> {
        // One question is for all ranks of the memory: the first one asks it.
        if self.place == 0 {
            self.memory.ask();
        }
        let before = self.asleep.take();
        let process = self.process(pid?);
        let facts = ProcessFacts::of(process);
        self.used = facts.map(|facts| (facts.processor_ms, Instant::now()));
        if self.pulse().waits > 0 {
            // It answers by itself.
            return None;
        }
        match facts?.state {
            RunState::Running => Some(process).filter(|_| self.memory.offers_frames(self.place)),
            RunState::Sleeping => {
                let mut sleeper = asleep::look(process)?;
                if let Some((call, _)) = before.filter(|_| sleeper.call == RESUMED) {
                    sleeper.call = call;
                }
                self.note_sleep(process, sleeper, symbols);
                None
            }
            _ => None,
        }
    }

    /// Notes the system call in which a process of the rank sleeps, and its place. It asks by a
    /// signal if that cuts no sleep short: the interpreter of Python goes on, unless a signal is
    /// what it waits for.
    pub fn note_sleep(&mut self, process: i32, sleeper: Sleeper, symbols: &mut Symbols) {
        let addresses = symbols.addresses_of_sleeper(process, &sleeper);
        let is_python = addresses.first().is_some_and(|&address| is_in_python(process, address));
        if is_python && !sleeper.waits_for_signal() && self.memory.offers_frames(self.place) {
            sys::signal_process(process, libc::SIGURG);
        }
        self.asleep = Some((sleeper.call, addresses));
    }

    /// The rank's signs of life.
    pub fn pulse(&self) -> Pulse {
        self.memory.pulse(self.place)
    }

    /// Returns whether the rank wants to go on when others die.
    pub fn goes_on(&self) -> bool {
        self.memory.goes_on(self.place)
    }

    /// The memory.
    pub fn memory(&self) -> &StatusMemory {
        &self.memory
    }

    /// The places of the program where an error of an MPI call has ended the rank; `None` if none
    /// has.
    pub fn error_places(&self, symbols: &mut Symbols) -> Option<Vec<Place>> {
        let (_, bytes) = self.memory.crash(self.place).filter(|(own, _)| *own == ERROR as u64)?;
        Some(symbols.of_crash(&String::from_utf8_lossy(&bytes)))
    }

    /// The places of the program where the rank crashed; none if it did not, or nothing is known.
    pub fn crash_places(&self, signal: i32, symbols: &mut Symbols) -> Vec<Place> {
        match self.memory.crash(self.place) {
            Some((own, bytes)) if own == signal as u64 => symbols.of_crash(&String::from_utf8_lossy(&bytes)),
            _ => Vec::new(),
        }
    }

    /// The rank's process that called `MPI_Init`; that which we started if it is not known.
    fn process(&self, pid: i32) -> i32 {
        // In a container the number may mean another process.
        let own = i32::try_from(self.pulse().pid).unwrap_or(0);
        if own > 0 && sys::process_group(own) == pid { own } else { pid }
    }

    /// The words and doings of the rank; `rank` holds what is known before.
    pub fn look(&self, rank: Rank, symbols: &mut Symbols) -> Rank {
        let pulse = self.pulse();
        let pid = self.process(rank.pid);
        let facts = ProcessFacts::of(pid);
        let said = self.memory.read(self.place);
        let is_answered = said.as_ref().is_some_and(|(_, is_answered)| *is_answered);
        let mut snapshot = said.and_then(|(bytes, _)| Snapshot::decode(&bytes));
        if let Some(snapshot) = snapshot.as_mut().filter(|_| !is_answered || pulse.waits == 0) {
            // It has gone on since.
            snapshot.waits.clear();
        }
        let waits = snapshot.iter().flat_map(|snapshot| &snapshot.waits);
        let mut places: Vec<Vec<Place>> = waits.map(|wait| symbols.places(pid, &wait.frames)).collect();
        let asleep = self.asleep.as_ref().filter(|_| places.is_empty());
        if places.is_empty() {
            let told = || Symbols::behind_c_library(pid, self.memory.frames(self.place));
            let frames = asleep.map_or_else(told, |(_, frames)| frames.clone());
            places.push(program_places(symbols.places(pid, &frames)));
        }
        let traceback = self.memory.traceback(self.place);
        Rank {
            pid,
            state: facts.map_or(RunState::Unknown, |facts| facts.state),
            processor_percent: facts.and_then(|facts| self.percent(&facts)),
            memory_bytes: facts.map_or(0, |facts| facts.memory_bytes),
            beats: pulse.beats,
            now_ms: now_ms(),
            snapshot,
            is_answered,
            asleep_in: asleep.map(|(call, _)| call.clone()),
            places,
            python: traceback::lines(&String::from_utf8_lossy(&traceback)),
            ..rank
        }
    }

    /// The share of a processor since the last question, in percent.
    fn percent(&self, facts: &ProcessFacts) -> Option<u32> {
        let (before, at) = self.used?;
        let passed = at.elapsed().as_millis() as u64;
        (passed > 0).then(|| (facts.processor_ms.saturating_sub(before) * 100 / passed) as u32)
    }
}

/// The places from the MPI function on that the program called, if it is in one.
fn program_places(mut places: Vec<Place>) -> Vec<Place> {
    let is_call = |place: &Place| place.function.starts_with("MPI_") || place.function.starts_with("PMPI_");
    let call = places.iter().rposition(is_call);
    places.drain(..call.unwrap_or(0));
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_that_polls_is_in_its_call() {
        let place = |function: &str| Place { function: function.into(), line: None };
        let places = ["verbena_engine::poll", "PMPI_Test", "main"].map(place).to_vec();
        assert_eq!(program_places(places), ["PMPI_Test", "main"].map(place));
        assert_eq!(program_places(vec![place("step")]), [place("step")]);
    }
}
