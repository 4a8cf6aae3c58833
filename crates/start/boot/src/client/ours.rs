//! PMI-1 with our extension, as our own `mpiexec` speaks it. See [`crate::wire`] for its three
//! commands.

use super::names::Names;
use crate::card;
use crate::environment::Process;
use crate::error::BootError;
use crate::link::Link;
use crate::spawn::{Order, SpawnError, bits, join};
use crate::wire::{Message, shorten};

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

    /// The name service.
    pub(super) fn names(&mut self) -> Names<'_> {
        Names { link: &mut self.link, line_length_max: usize::MAX }
    }

    /// Has programs started; returns their number at the launcher.
    ///
    /// # Errors
    /// Why none runs.
    pub fn spawn(&mut self, order: &Order) -> Result<u32, SpawnError> {
        let words = order.words().map_err(|why| SpawnError::Refused(Vec::new(), why))?;
        let spawn = Message::new("verbena_spawn").with("words", card::encode(&join(&words)));
        let spawn = spawn.with("parent", &order.parent).with("ranks", card::encode(&bits(&order.ranks)));
        self.link.send(&spawn)?;
        let answer = self.link.answer(&spawn.cmd, "verbena_spawned")?;
        let unexpected = || BootError::Unexpected {
            command: spawn.cmd.clone(),
            expected: "a number, or a reason".into(),
            got: shorten(&format!("{answer:?}")),
        };
        if answer.get("rc") == Some("0") {
            return answer.number("number").ok_or_else(|| unexpected().into());
        }
        let text = answer.get("text").and_then(|text| card::decode(text).ok()).ok_or_else(unexpected)?;
        let ranks = answer.get("ranks").unwrap_or("").split(',').filter_map(|rank| rank.parse().ok());
        Err(SpawnError::Refused(ranks.collect(), String::from_utf8_lossy(&text).into_owned()))
    }

    /// Returns whether the programs with this number have ended.
    ///
    /// # Errors
    /// The launcher went away.
    pub fn have_ended(&mut self, number: u32) -> Result<bool, BootError> {
        let ask = Message::new("verbena_spawn_state").with("number", number);
        Ok(self.link.ask(&ask, "verbena_spawn_state_is")?.get("over") == Some("1"))
    }

    /// See [`crate::Boot::part`].
    pub fn part(&mut self, number: u32) -> Result<(), BootError> {
        self.link.send(&Message::new("verbena_spawn_parted").with("number", number))
    }

    /// See [`crate::Boot::barrier`].
    pub fn barrier(&mut self) -> Result<(), BootError> {
        self.link.ask(&Message::new("barrier_in"), "barrier_out").map(drop)
    }

    /// Tells the launcher that the process calls the job off, and the text for the user, which the
    /// launcher shows.
    pub fn abort(&mut self, code: i32, text: &str) -> Result<(), BootError> {
        let abort = Message::new("abort").with("exitcode", code);
        self.link.send(&abort.with("text", card::encode(text.as_bytes())))
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
