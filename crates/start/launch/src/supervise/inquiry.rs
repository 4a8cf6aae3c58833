//! Finding out why nothing moves: all ranks are asked, and the user is told. The job goes on.

use super::Supervisor;
use crate::job::Action;
use crate::pmi;
use crate::wire::Command;
use std::collections::VecDeque;
use std::time::{Duration, Instant};
use verbena_hang::reason::Reason;
use verbena_hang::top::Answer;
use verbena_hang::{Rank, Report, RunState, Stage, explain};

/// The time that ranks have to say what they wait for. One that waits looks up ten times a second.
const ANSWER_TIME: Duration = Duration::from_millis(400);
/// The looks at the answers, if ranks that do not compute have given none: on a crowded machine
/// they get the processor late, and who waits in MPI would be taken for one that does not.
const LOOKS_MAX: u32 = 3;
/// A rank that uses this share of a processor, in percent, computes.
const COMPUTING_PERCENT_MIN: u32 = 50;
/// The time that the hosts have to pass the answers on.
const LOOK_TIME_MAX: Duration = Duration::from_secs(5);
/// After so long without progress a job that the user ends is explained.
const STILL_MIN: Duration = Duration::from_secs(1);

/// The reason for asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Nothing has moved for as long as `VERBENA_HANG_SECONDS` says.
    Still,
    /// The time given with `--timeout` is over.
    TimeLimit,
    /// The user ends the job by this signal, which is passed on afterwards.
    Signal(i32),
    /// `verbena top` asks.
    Top,
}

/// The inquiries of a job, one at a time.
#[derive(Debug, Default)]
pub(super) struct Inquiries {
    waiting: VecDeque<Purpose>,
    current: Option<Inquiry>,
    /// True once a signal was held up.
    has_held_signal: bool,
    /// True once a report has named why nothing moves.
    has_named_cause: bool,
}

/// An inquiry under way.
#[derive(Debug)]
struct Inquiry {
    purpose: Purpose,
    /// The time to look at the answers, or to do without those that have not come.
    until: Instant,
    /// True while the hosts pass the answers on.
    is_looking: bool,
    looks: u32,
    seen: Vec<Rank>,
}

impl Inquiries {
    /// The time to go on.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.current.as_ref().map(|inquiry| inquiry.until)
    }

    /// Returns whether a report has named why nothing moves.
    pub(super) fn has_named_cause(&self) -> bool {
        self.has_named_cause
    }

    /// Takes what a host says of a rank.
    pub(super) fn handle_seen(&mut self, rank: Rank) {
        if let Some(inquiry) = self.current.as_mut().filter(|inquiry| inquiry.is_looking) {
            inquiry.seen.push(rank);
        }
    }
}

impl Supervisor {
    /// Looks whether the ranks get any further, and moves inquiries on.
    pub(super) fn watch_over(&mut self) {
        let now = self.started_at.elapsed();
        if self.stillness.is_pulse_due(now) {
            self.hosts.tell_all(&Command::Pulse);
            self.hear();
        }
        let is_free = self.inquiries.current.is_none() && self.inquiries.waiting.is_empty();
        let is_ending = self.job.cause().is_some() || self.job.user_signal().is_some();
        if is_free && !is_ending && self.stillness.is_due(now, self.server.someone_waits()) {
            self.inquire(Purpose::Still);
        }
        self.step();
    }

    /// The time until [`Supervisor::watch_over`] must be called again.
    pub(super) fn watch_timeout(&self) -> Option<Duration> {
        let pulse = self.stillness.deadline().map(|at| at.saturating_sub(self.started_at.elapsed()));
        let step = self.inquiries.deadline().map(|at| at.saturating_duration_since(Instant::now()));
        [pulse, step].into_iter().flatten().min()
    }

    /// Begins an inquiry, or plans it after the one that is under way.
    pub(super) fn inquire(&mut self, purpose: Purpose) {
        self.inquiries.waiting.push_back(purpose);
        self.step();
    }

    /// Returns whether the user is told what the ranks wait for before this signal ends the job.
    pub(super) fn explains_before(&mut self, signal: i32) -> bool {
        let is_wish = self.job.user_signal() == Some(signal) && self.job.cause().is_none();
        let is_still = self
            .stillness
            .still(self.started_at.elapsed(), self.server.someone_waits())
            .is_some_and(|still| still >= STILL_MIN);
        let is_to_end = [libc::SIGINT, libc::SIGTERM].contains(&signal);
        let explains = is_wish && is_still && is_to_end && self.explains() && !self.stillness.has_reported();
        explains && !std::mem::replace(&mut self.inquiries.has_held_signal, true)
    }

    /// Returns whether the user wants reports of hangs.
    pub(super) fn explains(&self) -> bool {
        self.stillness.deadline().is_some()
    }

    fn step(&mut self) {
        while self.step_once() {}
    }

    /// Makes a step of the inquiry; returns whether there may be another one now.
    fn step_once(&mut self) -> bool {
        let now = Instant::now();
        let has_started = |&rank: &u32| self.pids[rank as usize] != 0 && !self.job.has_ended(rank);
        let asked = (0..self.order.size()).filter(has_started).count();
        let is_late = self.has_late_ranks();
        match &mut self.inquiries.current {
            None => {
                let Some(purpose) = self.inquiries.waiting.pop_front() else { return false };
                let until = now + ANSWER_TIME;
                self.inquiries.current =
                    Some(Inquiry { purpose, until, is_looking: false, looks: 0, seen: Vec::new() });
                self.hosts.tell_all(&Command::Ask);
                false
            }
            Some(inquiry) if !inquiry.is_looking && now >= inquiry.until => {
                (inquiry.is_looking, inquiry.until) = (true, now + LOOK_TIME_MAX);
                inquiry.looks += 1;
                inquiry.seen.clear();
                self.hosts.tell_all(&Command::Look);
                self.hear();
                true
            }
            Some(inquiry)
                if inquiry.is_looking
                    && inquiry.seen.len() >= asked
                    && is_late
                    && inquiry.looks < LOOKS_MAX =>
            {
                (inquiry.is_looking, inquiry.until) = (false, now + ANSWER_TIME);
                false
            }
            Some(inquiry) if inquiry.is_looking && (inquiry.seen.len() >= asked || now >= inquiry.until) => {
                let Inquiry { purpose, seen, .. } = self.inquiries.current.take().expect("it is there");
                self.conclude_inquiry(purpose, seen);
                true
            }
            Some(_) => false,
        }
    }

    /// Returns whether a rank that may wait in MPI has not answered yet.
    fn has_late_ranks(&self) -> bool {
        let is_late = |rank: &Rank| {
            let may_wait = matches!(rank.state, RunState::Running | RunState::Sleeping)
                && rank.processor_percent.unwrap_or(0) < COMPUTING_PERCENT_MIN;
            !rank.is_answered && may_wait && self.server.stage(rank.number) == pmi::Stage::Initialised
        };
        self.inquiries.current.as_ref().is_some_and(|inquiry| inquiry.seen.iter().any(is_late))
    }

    fn conclude_inquiry(&mut self, purpose: Purpose, seen: Vec<Rank>) {
        let (now, starting) = (self.started_at.elapsed(), self.server.someone_waits());
        let ranks = self.complete(seen);
        let still = self.stillness.still(now, starting).filter(|still| *still >= STILL_MIN);
        let report = match purpose {
            Purpose::Top => None,
            _ => explain(&ranks, still.map(|still| still.as_millis() as u64)),
        };
        match purpose {
            Purpose::Still => {
                let is_certain = report.as_ref().is_some_and(|report| report.is_certain);
                if self.stillness.judge(now, starting, is_certain) {
                    self.tell_report(report);
                }
            }
            Purpose::Top => {
                let answer = self.answer(ranks, still);
                self.top.answer(&answer);
            }
            Purpose::TimeLimit => {
                self.tell_report(report.filter(|_| !self.stillness.has_reported()));
                self.job.handle_explained();
            }
            Purpose::Signal(signal) => {
                self.tell_report(report);
                self.pass_on(signal);
            }
        }
    }

    /// Begins an inquiry for those who ask by `verbena top`, unless one is planned.
    pub(super) fn inquire_for_top(&mut self) {
        if !self.inquiries.waiting.contains(&Purpose::Top) {
            self.inquire(Purpose::Top);
        }
    }

    fn answer(&self, ranks: Vec<Rank>, still: Option<Duration>) -> Answer {
        let program = self.order.parts.first().map(|part| part.program.to_string_lossy().into_owned());
        Answer {
            job: self.server.job().to_owned(),
            program: program.unwrap_or_default(),
            ran_ms: self.started_at.elapsed().as_millis() as u64,
            still_ms: still.map(|still| still.as_millis() as u64),
            ranks,
        }
    }

    fn tell_report(&mut self, report: Option<Report>) {
        if let Some(report) = report {
            self.inquiries.has_named_cause |= report.reason != Reason::Unknown;
            self.screen.say(&format!("mpiexec: {report}"));
        }
    }

    /// All ranks, with what we know of them beside what their hosts say.
    fn complete(&self, seen: Vec<Rank>) -> Vec<Rank> {
        let mut ranks: Vec<Rank> = (0..self.order.size())
            .map(|rank| Rank::new(rank, self.hosts.host(rank), self.pids[rank as usize]))
            .collect();
        for one in seen {
            let number = one.number as usize;
            ranks[number] = Rank { host: std::mem::take(&mut ranks[number].host), ..one };
        }
        for rank in &mut ranks {
            rank.stage = match self.server.stage(rank.number) {
                _ if self.job.has_ended(rank.number) => Stage::Ended,
                _ if self.server.is_waiting(rank.number) => Stage::Starting,
                pmi::Stage::Fresh => Stage::Fresh,
                pmi::Stage::Initialised => Stage::Initialised,
                pmi::Stage::Finalised => Stage::Finalised,
            };
        }
        ranks
    }

    /// Sends a signal to all ranks.
    pub(super) fn pass_on(&mut self, signal: i32) {
        self.carry_out(Action::Signal(signal));
    }
}
