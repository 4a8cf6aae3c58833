//! Buffered sends (MPI-5.0, 3.6): the program's buffer, cut into pieces for messages under way.

mod gaps;

use crate::active::Active;
use crate::error::{Error, Result};
use crate::generated::constants::MPI_ERR_BUFFER;
use crate::process::Process;
use gaps::{Gaps, Piece};
use std::collections::VecDeque;
use verbena_memory::{Buffer, Owned, Region};
use verbena_waiting::lock::Lock;

/// Up to this many messages under way, no look is made at all of them.
const SWEEP_MIN: usize = 64;
/// A send that finds no room makes at most this many rounds of progress, as long as each moves
/// something.
const ROUNDS_FOR_ROOM: u32 = 16;

/// A place for buffered sends: one for the process, one for each communicator or session that has
/// its own.
pub struct BufferedSends {
    state: Lock<State>,
}

struct State {
    attached: Option<Attached>,
    /// The free gaps of the attached buffer.
    gaps: Gaps,
    /// The messages under way, in the order in which they were sent.
    messages: VecDeque<Message>,
    /// The number of messages so far.
    sent: u64,
    /// All messages are looked at when there are more than this.
    sweep_above: usize,
}

#[derive(Clone, Copy)]
enum Attached {
    /// The program's memory, and its address, which a region of no bytes does not keep.
    Given(Region, usize),
    /// `MPI_BUFFER_AUTOMATIC`: the library allocates.
    Automatic,
}

/// A message under way: its bytes in the attached buffer, or on the heap in automatic mode.
struct Message {
    number: u64,
    place: Place,
    active: Active,
}

enum Place {
    Buffer(Piece),
    Heap(#[allow(dead_code, reason = "it keeps the memory")] Owned),
}

impl Default for BufferedSends {
    fn default() -> BufferedSends {
        BufferedSends::new()
    }
}

impl BufferedSends {
    /// Makes a place without a buffer.
    pub const fn new() -> BufferedSends {
        BufferedSends {
            state: Lock::new(State {
                attached: None,
                gaps: Gaps::none(),
                messages: VecDeque::new(),
                sent: 0,
                sweep_above: SWEEP_MIN,
            }),
        }
    }

    /// Attaches the program's buffer with the address that it gave, or `None` for
    /// `MPI_BUFFER_AUTOMATIC`. `MPI_ERR_BUFFER` if one is attached, or if another thread detaches
    /// one and messages are in it yet.
    pub fn attach(&self, given: Option<(Region, usize)>) -> Result<()> {
        let mut state = self.state.lock();
        if state.attached.is_some() || !state.messages.is_empty() {
            return Err(buffer_error(
                "a buffer is attached already",
                "one buffer at a time",
                "detach it first",
            ));
        }
        state.gaps = given.map_or_else(Gaps::none, |(region, _)| Gaps::whole(region.len()));
        state.attached =
            Some(given.map_or(Attached::Automatic, |(region, address)| Attached::Given(region, address)));
        Ok(())
    }

    /// Takes the buffer away from later sends, waits for all messages in it, and gives it back by
    /// its address and its size in bytes: `None` if there is none, `Some(None)` if it was
    /// automatic.
    pub fn detach(&self, process: &Process) -> Option<Option<(usize, usize)>> {
        let mut state = self.state.lock();
        let (attached, sent) = (state.attached.take(), state.sent);
        drop(state);
        self.wait_for(process, sent);
        Some(match attached? {
            Attached::Given(region, address) => Some((address, region.len())),
            Attached::Automatic => None,
        })
    }

    /// Waits for all messages that are in the buffer now.
    pub fn flush(&self, process: &Process) {
        self.wait_for(process, self.sent());
    }

    fn wait_for(&self, process: &Process, sent: u64) {
        process.wait(|process| self.is_flushed(process, sent).then_some(()));
    }

    /// The number of messages that were sent so far.
    pub fn sent(&self) -> u64 {
        self.state.lock().sent
    }

    /// Returns whether the first `sent` messages have all left the buffer.
    pub fn is_flushed(&self, process: &Process, sent: u64) -> bool {
        let mut state = self.state.lock();
        state.reclaim(process);
        state.messages.front().is_none_or(|first| first.number > sent)
    }

    /// Copies `message` into the buffer and sends it from there by `start`. Returns false if no
    /// buffer is attached. `MPI_ERR_BUFFER` if there is no room, even after progress.
    pub fn send(
        &self,
        process: &Process,
        message: &Buffer,
        start: impl Fn(Buffer) -> Active,
    ) -> Result<bool> {
        let mut rounds = 0;
        loop {
            // Progress comes with the lock free: tasks that wait for a flush take it.
            let tried = self.state.lock().send(process, message, &start);
            let whole = match tried {
                Tried::Sent => return Ok(true),
                Tried::NotAttached => return Ok(false),
                Tried::NoRoom(whole) => whole,
            };
            if rounds == ROUNDS_FOR_ROOM {
                return Err(no_room(message.len(), whole));
            }
            let moved = process.progress();
            rounds = if moved { rounds + 1 } else { ROUNDS_FOR_ROOM };
        }
    }
}

/// The end of an attempt to send.
enum Tried {
    Sent,
    NotAttached,
    /// The buffer, of this many bytes, has no room.
    NoRoom(usize),
}

impl State {
    fn send(&mut self, process: &Process, message: &Buffer, start: &impl Fn(Buffer) -> Active) -> Tried {
        self.reclaim(process);
        let len = message.len();
        let (place, region) = match self.attached {
            None => return Tried::NotAttached,
            Some(Attached::Automatic) => {
                let heap = Owned::zeroed(len);
                let region = heap.lend();
                (Place::Heap(heap), region)
            }
            Some(Attached::Given(whole, _)) => {
                let Some(piece) = self.take(process, len) else { return Tried::NoRoom(whole.len()) };
                (Place::Buffer(piece), whole.part(piece.at, len))
            }
        };
        message.pack(0, region);
        self.sent += 1;
        let message = Message { number: self.sent, place, active: start(Buffer::Contiguous(region)) };
        match message.active {
            Active::Done(_) => self.give_back(message.place),
            _ => self.messages.push_back(message),
        }
        Tried::Sent
    }

    /// Forgets messages that have gone: those before the first that has not, and all others only
    /// now and then, so that a message costs no look at all those before it.
    fn reclaim(&mut self, process: &Process) {
        while let Some(message) = self.messages.pop_front_if(|first| first.has_gone(process)) {
            self.give_back(message.place);
        }
        if self.messages.len() > self.sweep_above {
            self.sweep(process);
        }
    }

    /// Forgets all messages that have gone.
    fn sweep(&mut self, process: &Process) {
        for message in std::mem::take(&mut self.messages) {
            match message.has_gone(process) {
                true => self.give_back(message.place),
                false => self.messages.push_back(message),
            }
        }
        self.sweep_above = (2 * self.messages.len()).max(SWEEP_MIN);
    }

    /// Takes a piece of `len` bytes out of the buffer.
    fn take(&mut self, process: &Process, len: usize) -> Option<Piece> {
        self.gaps.take(len).or_else(|| {
            self.sweep(process);
            self.gaps.take(len)
        })
    }

    fn give_back(&mut self, place: Place) {
        if let Place::Buffer(piece) = place {
            self.gaps.give_back(piece);
        }
    }
}

impl Message {
    fn has_gone(&self, process: &Process) -> bool {
        self.active.poll(process).is_some()
    }
}

/// The error of a buffered send of `need` bytes for which no buffer is attached.
#[cold]
pub fn no_buffer(need: usize) -> Error {
    room_error(need, 0, "no buffer is attached")
}

#[cold]
fn no_room(need: usize, whole: usize) -> Error {
    room_error(need, whole, "other buffered messages still fill it")
}

fn room_error(need: usize, whole: usize, cause: &str) -> Error {
    let what =
        format!("a buffered send of {need} bytes found no room in the attached buffer of {whole} bytes");
    buffer_error(&what, cause, "attach a larger buffer (MPI_Buffer_attach), or MPI_BUFFER_AUTOMATIC")
}

#[cold]
fn buffer_error(what: &str, cause: &str, remedy: &str) -> Error {
    Error::new(MPI_ERR_BUFFER, what, "the buffer for buffered sends", cause, remedy)
}
