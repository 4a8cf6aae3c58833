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
    /// All messages are looked at when there are more than this.
    sweep_above: usize,
}

#[derive(Clone, Copy)]
enum Attached {
    Given(Region),
    /// `MPI_BUFFER_AUTOMATIC`: the library allocates.
    Automatic,
}

/// A message under way: its bytes in the attached buffer, or on the heap in automatic mode.
struct Message {
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
                sweep_above: SWEEP_MIN,
            }),
        }
    }

    /// Attaches the program's buffer, or `None` for `MPI_BUFFER_AUTOMATIC`. `MPI_ERR_BUFFER` if one
    /// is attached.
    pub fn attach(&self, region: Option<Region>) -> Result<()> {
        let mut state = self.state.lock();
        if state.attached.is_some() {
            return Err(buffer_error(
                "a buffer is attached already",
                "one buffer at a time",
                "detach it first",
            ));
        }
        state.gaps = region.map_or_else(Gaps::none, |region| Gaps::whole(region.len()));
        state.attached = Some(region.map_or(Attached::Automatic, Attached::Given));
        Ok(())
    }

    /// Returns whether a buffer is attached.
    pub fn is_attached(&self) -> bool {
        self.state.lock().attached.is_some()
    }

    /// Waits for all messages in the buffer and gives it back: `None` if there is none,
    /// `Some(None)` if it was automatic.
    pub fn detach(&self, process: &Process) -> Option<Option<Region>> {
        self.flush(process);
        Some(match self.state.lock().attached.take()? {
            Attached::Given(region) => Some(region),
            Attached::Automatic => None,
        })
    }

    /// Waits for all messages in the buffer.
    pub fn flush(&self, process: &Process) {
        process.wait(|process| self.is_flushed(process).then_some(()));
    }

    /// Returns whether no message is left in the buffer.
    pub fn is_flushed(&self, process: &Process) -> bool {
        let mut state = self.state.lock();
        state.reclaim(process);
        state.messages.is_empty()
    }

    /// Copies `message` into the buffer and sends it from there by `start`. `MPI_ERR_BUFFER` if
    /// there is no room.
    pub fn send(
        &self,
        process: &Process,
        message: &Buffer,
        start: impl FnOnce(Buffer) -> Active,
    ) -> Result<()> {
        let mut state = self.state.lock();
        state.reclaim(process);
        let len = message.len();
        let (place, region) = match state.attached {
            None => return Err(no_room(len, 0)),
            Some(Attached::Automatic) => {
                let heap = Owned::zeroed(len);
                let region = heap.lend();
                (Place::Heap(heap), region)
            }
            Some(Attached::Given(whole)) => {
                let piece = state.take(process, len).ok_or_else(|| no_room(len, whole.len()))?;
                (Place::Buffer(piece), whole.part(piece.at, len))
            }
        };
        message.pack(0, region);
        let message = Message { place, active: start(Buffer::Contiguous(region)) };
        match message.active {
            Active::Done(_) => state.give_back(message.place),
            _ => state.messages.push_back(message),
        }
        Ok(())
    }
}

impl State {
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

#[cold]
fn no_room(need: usize, whole: usize) -> Error {
    let cause = if whole == 0 { "no buffer is attached" } else { "other buffered messages still fill it" };
    let what =
        format!("a buffered send of {need} bytes found no room in the attached buffer of {whole} bytes");
    buffer_error(&what, cause, "attach a larger buffer (MPI_Buffer_attach), or MPI_BUFFER_AUTOMATIC")
}

#[cold]
fn buffer_error(what: &str, cause: &str, remedy: &str) -> Error {
    Error::new(MPI_ERR_BUFFER, what, "the buffer for buffered sends", cause, remedy)
}
