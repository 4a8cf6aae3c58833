//! PMI-1 with our extension, as our own `mpiexec` speaks it. See [`crate::wire`] for its three
//! commands.

use crate::card;
use crate::environment::Process;
use crate::error::BootError;
use crate::link::Link;
use crate::wire::Message;

/// Our own `mpiexec` at the other end.
#[derive(Debug)]
pub struct Ours {
    link: Link,
}

impl Ours {
    /// Tells the launcher that this process now is an MPI process. There is nothing to wait for.
    pub fn greet(mut link: Link) -> Result<Ours, BootError> {
        link.send(&Message::new("verbena_hello"))?;
        Ok(Ours { link })
    }

    /// Gives the card and gets all of them, in one round trip.
    pub fn exchange(&mut self, process: &Process, mine: &[u8]) -> Result<Vec<Vec<u8>>, BootError> {
        let give = Message::new("verbena_exchange").with("card", card::encode(mine));
        let answer = self.link.ask(&give, "verbena_cards")?;
        let texts: Vec<&str> = answer.get("cards").unwrap_or("").split(',').collect();
        if texts.len() != process.size as usize {
            return Err(BootError::Unexpected {
                command: give.cmd,
                expected: format!("{} cards", process.size),
                got: format!("{} cards", texts.len()),
            });
        }
        let decode = |(rank, text)| card::decode(text).map_err(|why| BootError::BadCard { rank, why });
        (0..).zip(texts).map(decode).collect()
    }

    /// See [`crate::Boot::barrier`].
    pub fn barrier(&mut self) -> Result<(), BootError> {
        self.link.ask(&Message::new("barrier_in"), "barrier_out").map(drop)
    }

    /// See [`crate::Boot::abort`].
    pub fn abort(&mut self, code: i32, message: &str) -> Result<(), BootError> {
        self.link.send(&Message::new("abort").with("exitcode", code).with("message", message))
    }

    /// Tells the launcher that an error ended this process, in which call, and the text for the
    /// user, which the launcher shows.
    pub fn fail(&mut self, code: i32, call: &str, text: &str) -> Result<(), BootError> {
        let abort = Message::new("abort").with("exitcode", code);
        self.link.send(
            &abort.with("call", card::encode(call.as_bytes())).with("text", card::encode(text.as_bytes())),
        )
    }

    /// Says good-bye, without an answer: the launcher reads all there is before it judges an exit.
    pub fn finalize(mut self) -> Result<(), BootError> {
        self.link.send(&Message::new("verbena_bye"))
    }
}
