//! Ranks that end, and ranks that were killed while the others want to go on.

use super::Supervisor;
use crate::explain;
use crate::plan::Exit;
use crate::pmi::Stage;
use crate::wire::Command;
use verbena_boot::status::RANKS_MAX;

impl Supervisor {
    /// Notes the end of a rank. If the others want to go on without it, all hear of it instead, and
    /// the user at once.
    pub(super) fn note_end(&mut self, rank: u32, exit: Exit, borne: bool) {
        let stage = self.server.stage(rank);
        match exit {
            Exit::Signal(signal) if borne && self.can_go_on(stage) && self.job.bear(rank, exit) => {
                let text = explain::borne(rank, signal, &self.place(rank)).to_string();
                self.screen.say(&format!("mpiexec: {text}"));
                self.hosts.tell_all(&Command::Bury(rank));
            }
            _ => self.job.handle_exit(rank, exit, stage),
        }
    }

    /// Returns whether the job can go on without a rank in this stage: the others can be told. The
    /// ranks do not want to if they know processes of other jobs that would not see the death.
    fn can_go_on(&self, stage: Stage) -> bool {
        stage == Stage::Initialised && self.order.size() as usize <= RANKS_MAX
    }

    /// Tells all ranks once every one of them has left MPI, or is dead: those that finalize after a
    /// death wait for it.
    pub(super) fn let_part(&mut self) {
        let gone = self.server.finalised() + self.job.borne_count();
        if gone >= self.server.size() && !self.parted {
            self.parted = true;
            self.hosts.tell_all(&Command::Part);
        }
    }
}
