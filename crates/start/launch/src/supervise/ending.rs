//! The end of a job: its agents leave, the last output is written, and the user is told why the job
//! has ended.

use super::Supervisor;
use crate::explain::{Place, explain, signal_name};
use crate::job::Failure;
use crate::wire::Command;
use std::time::{Duration, Instant};
use verbena_fault::Fault;

/// The time that agents have to go after all ranks have ended.
const FAREWELL_TIME_MAX: Duration = Duration::from_secs(5);
/// The time that launchers have to end after their agents.
const LAUNCHER_TIME_MAX: Duration = Duration::from_secs(1);

impl Supervisor {
    /// Ends the job after its last rank: ends leftovers, writes the last of the output, and says
    /// why the job has ended.
    pub(super) fn end(&mut self) {
        self.dismiss_agents();
        self.hosts.local.handle(Command::Finish);
        self.take_signals();
        // From now on signals act as usual: if nobody reads our output, the user can still end us.
        self.signals.before().set();
        while !self.hosts.local.is_drained() {
            self.serve(Some(Duration::from_millis(20)));
        }
        self.hear();
        self.screen.close_all();
        self.hosts.local.dismiss_watcher();
        self.screen.write_all();
        self.note_loss();
        self.conclude();
        self.screen.write_all();
        self.note_loss();
        self.hosts.local.reap_watcher();
    }

    /// Lets all agents end. A slow reader of our output is waited for, unless the user sends a
    /// signal.
    fn dismiss_agents(&mut self) {
        self.hosts.tell_others(&Command::Finish);
        let until = Instant::now() + FAREWELL_TIME_MAX;
        while !self.hosts.others_are_gone() && (Instant::now() < until || self.held != [false; 2]) {
            self.serve(Some(Duration::from_millis(20)));
            if self.job.poll_action().is_some() {
                break;
            }
        }
        self.hosts.abandon();
        let until = Instant::now() + LAUNCHER_TIME_MAX;
        while !self.hosts.launchers_have_ended() && Instant::now() < until {
            self.serve(Some(Duration::from_millis(20)));
        }
    }

    /// Writes the errors that ended ranks, as if the ranks had done so.
    pub(super) fn tell_errors(&mut self) {
        while let Some((rank, text)) = self.errors.poll_text() {
            self.screen.write(rank, 1, format!("{text}\n").as_bytes());
        }
    }

    /// The facts about a rank.
    pub(super) fn place(&self, rank: u32) -> Place<'_> {
        let part = self.server.appnum(rank) as usize;
        let (pid, host) = (self.pids[rank as usize], self.hosts.host(rank));
        let crash = self.crashes.get(&rank).map(String::as_str);
        let core = self.cores.get(&rank).map(String::as_str);
        Place { pid, host, program: &self.order.parts[part].program, crash, core }
    }

    fn conclude(&mut self) {
        self.tell_errors();
        for text in self.errors.repeated() {
            self.screen.say(&format!("mpiexec: {text}"));
        }
        let text = match (self.job.cause(), self.job.user_signal()) {
            (
                Some(Failure::Killed { .. } | Failure::Failed { .. } | Failure::NotFinalised { .. }),
                Some(signal),
            ) => Some(format!(
                "The job was ended by {}, which was passed on to all ranks.",
                signal_name(signal)
            )),
            // The program that wanted it says so.
            (Some(Failure::NotStarted(_)), _) if self.starter.is_some() => None,
            // The report has said why.
            (Some(failure @ Failure::TimedOut { .. }), _) if self.inquiries.has_named_cause() => {
                let fault = explain(failure, |rank| self.place(rank));
                Some(Fault::new(fault.what, fault.on, "", "").to_string())
            }
            (Some(failure), _) => Some(explain(failure, |rank| self.place(rank)).to_string()),
            (None, _) => self
                .job
                .failed_after_finalize()
                .map(|(rank, code)| format!("Rank {rank} exited with code {code} after MPI_Finalize.")),
        };
        for (rank, signal) in self.job.borne() {
            let how = match signal {
                Some(signal) => format!("killed by {}", signal_name(signal)),
                None => format!("lost with host {}", self.hosts.host(rank)),
            };
            self.screen.say(&format!("mpiexec: Rank {rank} was {how}; the others went on without it."));
        }
        let told = matches!(self.job.cause(), Some(Failure::Unwritable(_)));
        let loss = self.job.unwritable().filter(|_| !told).map(Fault::to_string);
        for text in text.into_iter().chain(loss) {
            self.screen.say(&format!("mpiexec: {text}"));
        }
    }
}
