//! Ranks that end, and ranks that were killed, or lost with their host, while the others want to
//! go on.

use super::Supervisor;
use crate::explain;
use crate::plan::Exit;
use crate::pmi::{Reason, Stage};
use crate::remote::JOB_ENDS;
use crate::wire::Command;
use verbena_boot::status::RANKS_MAX;
use verbena_fault::Fault;

impl Supervisor {
    /// Notes the end of a rank. If the others want to go on without it, all hear of it instead, and
    /// the user at once.
    pub(super) fn note_end(&mut self, rank: u32, exit: Exit, borne: bool) {
        let stage = self.server.stage(rank);
        self.server.forget_names(rank);
        match exit {
            Exit::Signal(signal) if borne && self.can_go_on(stage) && self.job.bear(rank, exit) => {
                let text = explain::borne(rank, signal, &self.place(rank)).to_string();
                self.screen.say(&format!("mpiexec: {text}"));
                self.children.bury(rank);
                self.hosts.tell_all(&Command::Bury(rank));
            }
            _ => self.job.handle_exit(rank, exit, stage),
        }
    }

    /// Notes that a rank has ended the job.
    pub(super) fn note_abort(&mut self, rank: u32, code: i32, reason: Option<Reason>) {
        let call = reason.and_then(|reason| {
            let places = self.crashes.get(&rank).filter(|places| !places.is_empty());
            let places = places.map_or(String::new(), |places| format!("\n  in the program: {places}"));
            self.errors.add(rank, reason.text + &places);
            reason.call
        });
        match call {
            Some(call) => self.job.handle_error(rank, code, call),
            None => self.job.handle_abort(rank, code),
        }
    }

    /// Notes the loss of a host with these ranks. If the others want to go on without those of them
    /// that had not ended, all hear of their deaths, and the user at once.
    pub(super) fn note_lost(&mut self, ranks: &[u32], fault: Fault) {
        let dead: Vec<u32> = ranks.iter().copied().filter(|rank| !self.job.has_ended(*rank)).collect();
        dead.iter().for_each(|rank| self.server.forget_names(*rank));
        let can_go_on = dead.iter().all(|rank| self.can_go_on(self.server.stage(*rank)));
        if !can_go_on || !self.job.bear_lost(ranks, &fault) {
            return self.job.handle_lost(ranks, fault);
        }
        self.children.avoid(self.hosts.host(ranks[0]));
        let what = fault.what.trim_end_matches(JOB_ENDS);
        let fault = Fault { what: format!("{what}; the others go on."), ..fault };
        self.screen.say(&format!("mpiexec: {fault}"));
        for rank in dead {
            self.children.bury(rank);
            self.hosts.tell_all(&Command::Bury(rank));
        }
    }

    /// Returns whether the job can go on without a rank in this stage: the others can be told. The
    /// ranks do not want to if they know processes of other jobs that would not see the death.
    fn can_go_on(&self, stage: Stage) -> bool {
        stage == Stage::Initialised && self.order.size() as usize <= RANKS_MAX
    }

    /// Tells all ranks once every one of them has left MPI, or is dead: those that finalize after a
    /// death wait for it. Nobody is connected with other jobs then.
    pub(super) fn let_part(&mut self) {
        let gone = self.server.finalised() + self.job.borne_count();
        if gone >= self.server.size() && !self.parted {
            self.parted = true;
            self.children.part_all();
            self.hosts.tell_all(&Command::Part);
        }
    }
}
