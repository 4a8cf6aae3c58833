//! Opening a channel and meeting the other processes.

use crate::Peer;
use verbena_fault::Fault;
use verbena_machine::cores::Load;

/// A process's knowledge of itself and its job when channels are opened.
#[derive(Clone, Debug)]
pub struct Place {
    /// The number of this process.
    pub me: Peer,
    /// The number of processes in the job.
    pub size: u32,
    /// The job's identity, the same on all its processes and unlike any other job's.
    pub job: String,
    /// The number of engines beside its first one that this process wants, so that threads which
    /// communicate do not wait for each other. It has them for processes of its node, if all of
    /// those want them.
    pub engines: u32,
}

/// A channel that is open on this side but has not seen the others yet.
pub trait Opening: Sized {
    /// The connected channel that this becomes.
    type Channel;

    /// The card of this process: the others need it to reach this one, and it travels to all of
    /// them.
    fn card(&self) -> Vec<u8>;
    /// The second card, once the first cards of all processes are there. Only a channel that asks
    /// for a second round has one; [`Opening::connect`] then gets these.
    ///
    /// # Errors
    /// The user asked by name for something that cannot be.
    fn second_card(&mut self, _cards: &[Option<Vec<u8>>]) -> Result<Vec<u8>, Fault> {
        Ok(Vec::new())
    }
    /// This channel over other ports, each under a name of its own: they are opened, carried
    /// and connected like any other channel. Asked once.
    fn rails(&mut self) -> Vec<(&'static str, Self)> {
        Vec::new()
    }
    /// Connects, given all cards in rank order (`None` where that process did not open this
    /// channel). Every process of the job is inside this call at about the same time, so a bounded
    /// handshake is allowed. The load is that of the cores that this process may use.
    ///
    /// # Errors
    /// The other processes cannot be met.
    fn connect(self, cards: &[Option<Vec<u8>>], load: &Load) -> Result<Self::Channel, Fault>;
}
