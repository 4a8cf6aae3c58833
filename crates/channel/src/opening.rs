//! How a process opens a channel and meets the others.

use crate::Peer;
use verbena_fault::Fault;
use verbena_machine::cores::Load;

/// What a process knows of itself and its job when channels are opened.
#[derive(Clone, Debug)]
pub struct Place {
    /// This process.
    pub me: Peer,
    /// Number of processes in the job.
    pub size: u32,
    /// The job's identity, the same on all its processes and unlike any other job's.
    pub job: String,
}

/// A channel that is open on this side but has not seen the others yet.
pub trait Opening: Sized {
    /// The channel that it becomes.
    type Channel;

    /// What the others need to know to reach this process: it travels to all of them.
    fn card(&self) -> Vec<u8>;
    /// What they need to know besides, once the cards of all processes are there: only for a channel
    /// that asks for a second round, whose cards [`Opening::connect`] then gets.
    ///
    /// # Errors
    /// What the user asked for by name cannot be.
    fn second_card(&mut self, _cards: &[Option<Vec<u8>>]) -> Result<Vec<u8>, Fault> {
        Ok(Vec::new())
    }
    /// The same channel over other ports, each under a name of its own: they are opened, carried and connected like any other
    /// channel. Asked once.
    fn rails(&mut self) -> Vec<(&'static str, Self)> {
        Vec::new()
    }
    /// All cards in rank order (`None` where that process did not open this channel). Every process of
    /// the job is inside this call at about the same time, so a bounded handshake is allowed. The load is that of the cores that this
    /// process may use.
    ///
    /// # Errors
    /// The other processes cannot be met.
    fn connect(self, cards: &[Option<Vec<u8>>], load: &Load) -> Result<Self::Channel, Fault>;
}
