//! The start of a job: its agents, and its ranks on this host.

use super::Supervisor;
use crate::children::name_of;
use crate::export;
use crate::layout::HostRanks;
use crate::preparation::means;
use crate::sys;
use crate::wire::{Command, Stdin, Work};
use verbena_fault::Fault;

impl Supervisor {
    /// Starts the agents, since they take longer, and then the ranks of this host.
    pub(super) fn start_all(&mut self) {
        let hosts = std::mem::take(&mut self.order.hosts);
        if let Err(fault) = self.prepare_debuggers(&hosts) {
            let ranks: Vec<u32> = (0..self.order.size()).collect();
            return self.not_started(&ranks, fault);
        }
        let (near, far): (Vec<_>, Vec<_>) = hosts.into_iter().partition(|host| host.name.is_none());
        if let Err((fault, ranks)) = self.start_agents(&far) {
            let near = near.iter().flat_map(|host| &host.assignments).map(|assignment| assignment.rank);
            return self.not_started(&ranks.into_iter().chain(near).collect::<Vec<_>>(), fault);
        }
        for host in near {
            let stdin = match sys::is_terminal(0) || self.gives_terminal_away() {
                true => Stdin::Piped,
                false => Stdin::Inherited,
            };
            let work = self.work(host, stdin);
            self.hosts.local.handle(Command::Start(work));
        }
    }

    /// # Errors
    /// The message for the user, and the ranks that will never start.
    fn start_agents(&mut self, far: &[HostRanks]) -> Result<(), (Fault, Vec<u32>)> {
        if far.is_empty() {
            return Ok(());
        }
        let ranks = |hosts: &[HostRanks]| {
            hosts.iter().flat_map(|host| &host.assignments).map(|assignment| assignment.rank).collect()
        };
        let means = means(&self.order).map_err(|fault| (fault, ranks(far)))?;
        let environment = export::variables(&self.order.exports, std::env::vars_os());
        let parts = export::with_directories(&self.order.parts);
        for (i, host) in far.iter().enumerate() {
            let mut work = self.work(host.clone(), Stdin::Piped);
            (work.parts, work.environment) = (parts.clone(), environment.clone());
            let name = host.name.as_deref().unwrap_or_default();
            self.hosts.launch(name, &means, work).map_err(|fault| (fault, ranks(&far[i..])))?;
        }
        Ok(())
    }

    fn work(&mut self, host: HostRanks, stdin: Stdin) -> Work {
        let others = self.order.inherited.load.on(name_of(host.name.as_deref()));
        let assignments = host.assignments;
        if assignments.first().is_some_and(|assignment| assignment.rank == 0) {
            self.stdin = stdin;
        }
        let (job, size) = (self.server.job().to_owned(), self.order.size());
        let (parts, binding) = (self.order.parts.clone(), self.order.binding);
        let parent = self.starter.as_ref().map(|starter| starter.port.clone());
        let room = self.order.universe_size.unwrap_or_else(|| sys::affinity().len() as u32);
        let universe_size = size.max(room);
        let (held, environment) = (self.held_ranks().to_vec(), Vec::new());
        Work {
            job,
            size,
            parts,
            assignments,
            environment,
            stdin,
            binding,
            others,
            universe_size,
            parent,
            held,
        }
    }
}
