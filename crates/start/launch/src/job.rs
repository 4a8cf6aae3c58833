//! The end of a job: its time, its reason and its exit code. No I/O and no clock: the
//! supervisor tells what happened and when, and asks what to do.
//!
//! Call the `handle_*` methods for what happened, then [`Job::settle`] once, then
//! [`Job::poll_action`] until it is empty. [`Job::deadline`] says when to call [`Job::settle`] even
//! if nothing happens.

mod borne;
mod failure;

use crate::plan::Exit;
use crate::pmi::Stage;
use failure::BROKEN_PIPE;
pub use failure::{Failure, Loss};
use std::collections::VecDeque;
use std::time::Duration;
use verbena_fault::Fault;

/// The time that ranks have between SIGTERM and SIGKILL once the job is lost.
pub const GRACE: Duration = Duration::from_millis(200);
/// The time that the others have once a rank has ended after a signal that the user sent to all.
pub const GRACE_AFTER_USER_SIGNAL: Duration = Duration::from_secs(1);

/// The time that ranks have to end after a SIGTERM to `mpiexec`, unless the user says otherwise.
pub const GRACE_AFTER_TERM: Duration = Duration::from_secs(10);
/// The time after a signal to end when the user hears that ranks have not ended.
pub const REMINDER_AFTER: Duration = Duration::from_secs(1);
/// A signal that comes again within this time is the same request: `timeout` sends it to its child
/// and then to the group.
const ECHO_TIME_MAX: Duration = Duration::from_millis(200);

/// The end of a rank that is lost with its host.
const LOST: Exit = Exit::Signal(libc::SIGKILL);

/// An action that the supervisor must carry out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Send a signal to all ranks that still run.
    Signal(i32),
    /// Stop this process, as the shell expects after Ctrl-Z.
    StopSelf,
    /// Tell the user that ranks still run after this signal, and how to kill them; they are killed
    /// in any case in the time that is left, if any is given.
    Remind {
        /// The signal.
        signal: i32,
        /// The time until they are killed.
        left: Option<Duration>,
    },
    /// Tell the user what the ranks wait for, and then call [`Job::handle_explained`]: the time
    /// limit is over.
    Explain,
}

/// The state of the explanation at the end of the time limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Explanation {
    /// None is wanted, or it was given.
    Unwanted,
    /// One is wanted when the time is over.
    Wanted,
    /// The ranks are being asked.
    UnderWay,
}

/// A job under way.
#[derive(Debug)]
pub struct Job {
    /// The end of each rank that has ended, and its stage then.
    exits: Vec<Option<(Exit, Stage)>>,
    running: u32,
    suspects: Vec<Failure>,
    borne: borne::Borne,
    /// The time before a suspect is judged: news of its cause may still be on its way.
    news_delay: Duration,
    judge_at: Option<Duration>,
    /// Set while a host is being lost: its end is reported soon, and counts before what other ranks
    /// do because of it.
    losing: bool,
    cause: Option<Failure>,
    /// The reason why our output cannot be written, if it cannot.
    loss: Option<Loss>,
    user_signal: Option<i32>,
    /// The user's last request to end: the signal, and when it came.
    asked: Option<(i32, Duration)>,
    /// The time to tell the user that ranks have not ended.
    remind_at: Option<Duration>,
    term_grace: Option<Duration>,
    kill_at: Option<Duration>,
    time_limit: Option<Duration>,
    explanation: Explanation,
    actions: VecDeque<Action>,
}

impl Job {
    /// A job of `size` ranks that have been started.
    pub fn new(size: u32, time_limit: Option<Duration>) -> Job {
        Job {
            exits: vec![None; size as usize],
            running: size,
            suspects: Vec::new(),
            borne: borne::Borne::default(),
            news_delay: Duration::ZERO,
            judge_at: None,
            losing: false,
            cause: None,
            loss: None,
            user_signal: None,
            asked: None,
            remind_at: None,
            term_grace: Some(GRACE_AFTER_TERM),
            kill_at: None,
            time_limit,
            explanation: Explanation::Unwanted,
            actions: VecDeque::new(),
        }
    }

    /// Sets the longest time by which news of a rank's death comes after what other ranks do
    /// because of it: a rank may abort because another was killed.
    pub fn with_news_delay(self, delay: Duration) -> Job {
        Job { news_delay: delay, ..self }
    }

    /// Sets the time that ranks have to end after a SIGTERM; `None`: no limit.
    pub fn with_term_grace(self, term_grace: Option<Duration>) -> Job {
        Job { term_grace, ..self }
    }

    /// Sets whether the user is told what the ranks wait for when the time limit is over, before
    /// they are ended.
    pub fn with_explanation(self, wanted: bool) -> Job {
        Job { explanation: if wanted { Explanation::Wanted } else { Explanation::Unwanted }, ..self }
    }

    /// The number of ranks that have not ended.
    pub fn running(&self) -> u32 {
        self.running
    }

    /// Returns whether a rank has ended.
    pub fn has_ended(&self, rank: u32) -> bool {
        self.exits[rank as usize].is_some()
    }

    /// Notes that the user was told what the ranks wait for.
    pub fn handle_explained(&mut self) {
        self.explanation = Explanation::Unwanted;
    }

    /// Returns whether all ranks have ended.
    pub fn is_over(&self) -> bool {
        self.running == 0
    }

    /// The reason why the job was ended early.
    pub fn cause(&self) -> Option<&Failure> {
        self.cause.as_ref()
    }

    /// Returns whether the job ends for a reason of its own: the user has not asked for that.
    pub fn is_failing(&self) -> bool {
        let is_own = |cause: &Failure| !matches!(cause, Failure::TimedOut { .. });
        self.user_signal.is_none() && self.cause.as_ref().is_some_and(is_own)
    }

    /// The terminating signal that the user sent to the whole job.
    pub fn user_signal(&self) -> Option<i32> {
        self.user_signal
    }

    /// The time since the start when [`Job::settle`] must be called again.
    pub fn deadline(&self) -> Option<Duration> {
        if self.cause.is_some() {
            self.kill_at
        } else {
            let judge_at = self.judge_at.filter(|_| !self.losing);
            let time_limit = self.time_limit.filter(|_| self.explanation != Explanation::UnderWay);
            [self.kill_at, time_limit, judge_at, self.remind_at].into_iter().flatten().min()
        }
    }

    /// Handles the end of a rank; `stage` is its PMI stage.
    pub fn handle_exit(&mut self, rank: u32, exit: Exit, stage: Stage) {
        if !self.strike_off(rank, exit, stage) {
            return;
        }
        match (exit, stage) {
            // SIGPIPE, or a shell's code for it, is how a rank learns that its output goes nowhere.
            (Exit::Signal(libc::SIGPIPE) | Exit::Code(BROKEN_PIPE), _) if self.loss.is_some() => {
                self.suspects.push(self.loss_of(rank));
            }
            (Exit::Signal(signal), _) => self.suspects.push(Failure::Killed { rank, signal }),
            (Exit::Code(0), Stage::Initialised) => self.suspects.push(Failure::NotFinalised { rank }),
            // A rank that has finalized may exit with any code: nobody waits for it.
            (Exit::Code(0), _) | (Exit::Code(_), Stage::Finalised) => {}
            (Exit::Code(code), _) => self.suspects.push(Failure::Failed { rank, code }),
        }
    }

    /// Handles output of ours that cannot be written: the ranks get SIGPIPE when they write.
    pub fn handle_loss(&mut self, loss: Loss) {
        match (&self.loss, &loss) {
            (None, _) | (Some(Loss::NoReader), Loss::Refused(_)) => self.loss = Some(loss),
            _ => {}
        }
    }

    fn loss_of(&self, rank: u32) -> Failure {
        match &self.loss {
            Some(Loss::Refused(fault)) => Failure::Unwritable(fault.clone()),
            _ => Failure::NoReader { rank },
        }
    }

    /// Handles ranks that will never start.
    pub fn handle_not_started(&mut self, ranks: &[u32], fault: Fault) {
        self.handle_gone(ranks);
        self.suspects.push(Failure::NotStarted(fault));
    }

    /// Handles the loss of these ranks' host. Those that have not ended count as killed.
    pub fn handle_lost(&mut self, ranks: &[u32], fault: Fault) {
        self.handle_gone(ranks);
        self.suspects.push(Failure::Lost(fault));
    }

    /// Handles the end of the program that the job was started for.
    pub fn handle_orphaned(&mut self, fault: Fault) {
        self.suspects.push(Failure::Lost(fault));
    }

    fn handle_gone(&mut self, ranks: &[u32]) {
        for &rank in ranks {
            self.strike_off(rank, LOST, Stage::Fresh);
        }
    }

    /// Sets whether the connection to some host is closed and the reason not yet known.
    pub fn set_losing(&mut self, losing: bool) {
        self.losing = losing;
    }

    /// Notes the end of a rank; returns whether it is new.
    fn strike_off(&mut self, rank: u32, exit: Exit, stage: Stage) -> bool {
        let first = self.exits[rank as usize].is_none();
        if first {
            self.exits[rank as usize] = Some((exit, stage));
            self.running -= 1;
        }
        first
    }

    /// Handles a call of `MPI_Abort`.
    pub fn handle_abort(&mut self, rank: u32, code: i32) {
        self.suspects.push(Failure::Aborted { rank, code });
    }

    /// Handles an error in this call, which ended a rank.
    pub fn handle_error(&mut self, rank: u32, code: i32, call: String) {
        self.suspects.push(Failure::Erroneous { rank, code, call });
    }

    /// Handles a message that is not PMI.
    pub fn handle_garbled(&mut self, rank: u32, error: String) {
        self.suspects.push(Failure::Garbled { rank, error });
    }

    /// Handles a signal that is meant for the job, at `now` since the start.
    pub fn handle_signal(&mut self, signal: i32, now: Duration) {
        match signal {
            libc::SIGINT | libc::SIGTERM | libc::SIGHUP | libc::SIGQUIT => self.handle_request(signal, now),
            libc::SIGTSTP => self.actions.extend([Action::Signal(signal), Action::StopSelf]),
            _ => self.actions.push_back(Action::Signal(signal)),
        }
    }

    /// Handles the user's wish to end the job. SIGINT or SIGTERM again kills it hard; after a
    /// SIGTERM, so does time.
    fn handle_request(&mut self, signal: i32, now: Duration) {
        self.user_signal.get_or_insert(signal);
        let can_kill = [libc::SIGINT, libc::SIGTERM].contains(&signal);
        let before = self.asked.filter(|(last, _)| *last == signal && can_kill);
        if before.is_some_and(|(_, at)| now < at + ECHO_TIME_MAX) {
            return;
        }
        self.asked = Some((signal, now));
        if signal == libc::SIGTERM {
            self.kill_at = self.kill_at.or(self.term_grace.map(|grace| now + grace));
        }
        let hard = before.is_some();
        self.remind_at = (can_kill && !hard).then_some(now + REMINDER_AFTER);
        self.actions.push_back(Action::Signal(if hard { libc::SIGKILL } else { signal }));
    }

    /// Draws the conclusions from all that was handled, at `now` since the start. `someone_waits`:
    /// some rank waits at the launcher for all others.
    pub fn settle(&mut self, now: Duration, someone_waits: bool) {
        self.look_for_absent(someone_waits);
        self.look_at_the_time(now);
        self.judge(now);
        self.remind(now);
        if self.kill_at.is_some_and(|at| now >= at) {
            self.kill_at = None;
            self.actions.push_back(Action::Signal(libc::SIGKILL));
        }
    }

    /// Takes the next action.
    pub fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// The job's exit code: of the failure that ended it early, else of the first rank that exited
    /// with a code other than 0. It is 0 only if every rank ended well and all output was written.
    pub fn exit_code(&self) -> i32 {
        let is_killed = |exit: &Option<(Exit, Stage)>| matches!(exit, Some((Exit::Signal(_), _)));
        let killed = (0..).zip(&self.exits).any(|(rank, exit)| is_killed(exit) && !self.borne.has(rank));
        match (&self.cause, self.user_signal) {
            // The user's signal counts, whatever then killed a rank (a second one kills hard).
            (Some(Failure::Killed { .. }), Some(signal)) => return 128 + signal,
            (Some(cause), _) => return cause.code(),
            (None, Some(signal)) if killed => return 128 + signal,
            _ => {}
        }
        let code = self.failed_after_finalize().map_or(0, |(_, code)| code);
        if self.unwritable().is_some() { code.max(1) } else { code }
    }

    /// The reason why our output could not be written, unless its reader did not want it.
    pub fn unwritable(&self) -> Option<&Fault> {
        match &self.loss {
            Some(Loss::Refused(fault)) => Some(fault),
            _ => None,
        }
    }

    /// The first rank that finalized properly and then exited with a code other than 0.
    pub fn failed_after_finalize(&self) -> Option<(u32, i32)> {
        (0..).zip(&self.exits).find_map(|(rank, exit)| match exit {
            Some((Exit::Code(code), _)) if *code != 0 => Some((rank, *code)),
            _ => None,
        })
    }

    /// Notes an ended rank for which another one waits: it would wait for ever.
    fn look_for_absent(&mut self, someone_waits: bool) {
        let ended = (0..).zip(&self.exits).find_map(|(rank, exit)| exit.map(|(_, stage)| (rank, stage)));
        if let (true, Some((rank, stage))) = (someone_waits, ended) {
            self.suspects.push(Failure::Absent { rank, fresh: stage == Stage::Fresh });
        }
    }

    /// Takes the worst suspect as the cause, once no worse one can come.
    fn judge(&mut self, now: Duration) {
        self.look_at_the_borne();
        let Some(worst) = self.suspects.iter().min_by_key(|failure| failure.order()) else { return };
        let judge_at = *self.judge_at.get_or_insert(now + self.news_delay);
        if worst.is_certain() || (now >= judge_at && !self.losing) || self.is_over() {
            let worst = worst.clone();
            self.suspects.clear();
            self.judge_at = None;
            if self.cause.is_none() {
                self.end(worst, now);
            }
        }
    }

    fn remind(&mut self, now: Duration) {
        if self.cause.is_some() || self.is_over() {
            self.remind_at = None;
        }
        let Some((signal, _)) = self.asked.filter(|_| self.remind_at.is_some_and(|at| now >= at)) else {
            return;
        };
        self.remind_at = None;
        let left = self.kill_at.map(|at| at.saturating_sub(now));
        self.actions.push_back(Action::Remind { signal, left });
    }

    fn look_at_the_time(&mut self, now: Duration) {
        let Some(after) = self.time_limit.filter(|limit| now >= *limit && self.running > 0) else { return };
        match self.explanation {
            Explanation::Unwanted => {
                self.suspects.push(Failure::TimedOut { after, running: self.running });
            }
            Explanation::Wanted if self.cause.is_none() => {
                self.explanation = Explanation::UnderWay;
                self.actions.push_back(Action::Explain);
            }
            Explanation::Wanted | Explanation::UnderWay => {}
        }
    }

    fn end(&mut self, failure: Failure, now: Duration) {
        let by_user = self.user_signal.is_some();
        let is_afterwards = matches!(failure, Failure::Unnoticed { .. });
        self.cause = Some(failure);
        if is_afterwards {
            return;
        }
        if !by_user {
            self.actions.push_back(Action::Signal(libc::SIGTERM));
        }
        let kill_at = now + if by_user { GRACE_AFTER_USER_SIGNAL } else { GRACE };
        self.kill_at = Some(self.kill_at.map_or(kill_at, |at| at.min(kill_at)));
    }
}

#[cfg(test)]
mod tests;
