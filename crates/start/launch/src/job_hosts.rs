//! All hosts of a job: our own, with our [`LocalRanks`], and the others, with an agent each.

use crate::local_ranks::LocalRanks;
use crate::remote::{Means, News, Remote};
use crate::sys::{Poll, Reaped};
use crate::wire::{Command, Work};
use std::rc::Rc;
use std::time::Instant;
use verbena_fault::Fault;

/// Bytes, and the ranks that all get them.
type Multicast = (Vec<u32>, Rc<[u8]>);

/// The hosts of a job.
#[derive(Debug)]
pub struct JobHosts {
    /// This host.
    pub local: LocalRanks,
    /// This host's name.
    here: String,
    remotes: Vec<Remote>,
    /// The remote of each rank; `None`: on this host.
    remote_of_rank: Vec<Option<usize>>,
    /// Unsent mail for each remote: it may still get more receivers.
    mail: Vec<Option<Multicast>>,
}

impl JobHosts {
    /// Starts with this host only, for a job of `size` ranks.
    pub fn new(local: LocalRanks, here: String, size: u32) -> JobHosts {
        let (remotes, mail) = Default::default();
        JobHosts { local, here, remotes, remote_of_rank: vec![None; size as usize], mail }
    }

    /// Starts an agent on another host and has it start ranks there.
    ///
    /// # Errors
    /// The launcher cannot be run.
    pub fn launch(&mut self, name: &str, means: &Means, work: Work) -> Result<(), Fault> {
        let remote = Remote::launch(name, means, work, self.local.inherited())?;
        self.local.watch(remote.pid());
        for &rank in remote.ranks() {
            self.remote_of_rank[rank as usize] = Some(self.remotes.len());
        }
        self.remotes.push(remote);
        self.mail.push(None);
        Ok(())
    }

    /// The name of a rank's host.
    pub fn host(&self, rank: u32) -> &str {
        self.other_host(rank).unwrap_or(&self.here)
    }

    /// The name of a rank's host; `None` for this one.
    pub fn other_host(&self, rank: u32) -> Option<&str> {
        self.remote_of_rank[rank as usize].map(|remote| self.remotes[remote].name.as_str())
    }

    /// Returns whether no other host takes part.
    pub fn is_alone(&self) -> bool {
        self.remotes.is_empty()
    }

    /// Sends a command to the host of a rank.
    pub fn tell(&mut self, rank: u32, command: Command) {
        match self.remote_of_rank[rank as usize] {
            None => self.local.handle(command),
            Some(remote) => self.remotes[remote].tell(command),
        }
    }

    /// Sends a command to all hosts.
    pub fn tell_all(&mut self, command: &Command) {
        self.tell_others(command);
        self.local.handle(command.clone());
    }

    /// Sends a command to all other hosts.
    pub fn tell_others(&mut self, command: &Command) {
        self.remotes.iter_mut().for_each(|remote| remote.tell(command.clone()));
    }

    /// Sends bytes to a rank's PMI line. The same bytes for several ranks of a host cross the wire
    /// once; the last ones wait for [`JobHosts::send_mail`].
    pub fn post(&mut self, rank: u32, bytes: Rc<[u8]>) {
        let Some(remote) = self.remote_of_rank[rank as usize] else {
            return self.local.handle(Command::Mail { ranks: vec![rank], bytes });
        };
        match &mut self.mail[remote] {
            Some((ranks, waiting)) if Rc::ptr_eq(waiting, &bytes) => ranks.push(rank),
            waiting => {
                if let Some((ranks, bytes)) = waiting.replace((vec![rank], bytes)) {
                    self.remotes[remote].tell(Command::Mail { ranks, bytes });
                }
            }
        }
    }

    /// Sends all mail.
    pub fn send_mail(&mut self) {
        for (remote, mail) in self.remotes.iter_mut().zip(&mut self.mail) {
            if let Some((ranks, bytes)) = mail.take() {
                remote.tell(Command::Mail { ranks, bytes });
            }
        }
    }

    /// Adds its descriptors to the poll set; without `room`, not those of the launchers' messages.
    pub fn gather(&mut self, poll: &mut Poll, room: bool) {
        self.local.gather(poll, true);
        self.remotes.iter_mut().for_each(|remote| remote.gather(poll, room));
    }

    /// Serves the descriptors that are ready.
    pub fn serve(&mut self, poll: &Poll) {
        self.local.serve(poll);
        self.remotes.iter_mut().for_each(|remote| remote.serve(poll));
    }

    /// Takes the next piece of news. The loss of a host comes with its ranks.
    pub fn poll_news(&mut self) -> Option<(News, Vec<u32>)> {
        if let Some(report) = self.local.poll_report() {
            return Some((News::Report(report), Vec::new()));
        }
        self.remotes.iter_mut().find_map(|remote| {
            let news = remote.poll_news()?;
            let lost = if matches!(news, News::Lost { .. }) { remote.ranks().to_vec() } else { Vec::new() };
            Some((news, lost))
        })
    }

    /// The time to call `serve` even if nothing happens.
    pub fn deadline(&self) -> Option<Instant> {
        self.remotes.iter().filter_map(Remote::deadline).min()
    }

    /// Takes note of a child that has ended.
    pub fn handle_death(&mut self, reaped: Reaped) {
        if self.local.handle_death(reaped) {
            return;
        }
        if let Some(remote) = self.remotes.iter_mut().find(|remote| remote.pid() == reaped.pid) {
            self.local.unwatch(reaped.pid);
            remote.handle_death(reaped.exit);
        }
    }

    /// Gives up on agents that have not answered yet, because the job is ending. Returns their
    /// ranks, which will never start.
    pub fn abandon_the_late(&mut self) -> Vec<u32> {
        self.abandon_those(Remote::is_greeting)
    }

    /// Gives up on all agents. Returns their ranks.
    pub fn abandon(&mut self) -> Vec<u32> {
        self.abandon_those(|remote| !remote.is_gone())
    }

    /// Returns whether all agents have gone.
    pub fn others_are_gone(&self) -> bool {
        self.remotes.iter().all(Remote::is_gone)
    }

    /// Returns whether all launchers have ended.
    pub fn launchers_have_ended(&self) -> bool {
        self.remotes.iter().all(Remote::has_ended)
    }

    fn abandon_those(&mut self, which: impl Fn(&Remote) -> bool) -> Vec<u32> {
        let mut given_up = Vec::new();
        for remote in self.remotes.iter_mut().filter(|remote| which(remote)) {
            remote.abandon();
            given_up.extend(remote.ranks());
        }
        given_up
    }
}
