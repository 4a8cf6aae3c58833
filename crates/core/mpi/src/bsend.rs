//! Buffered sends (MPI-5.0, 3.6): the program's buffer, cut into pieces for messages under way.

use crate::error::{Error, Result};
use crate::generated::constants::MPI_ERR_BUFFER;
use crate::process::Process;
use crate::request::Active;
use verbena_memory::{Buffer, Owned, Region};
use verbena_waiting::lock::Lock;

/// The overhead of a message in the buffer, in bytes (`MPI_BSEND_OVERHEAD` is larger).
const PIECE_ALIGN: usize = 64;

/// A place for buffered sends: one for the process, one for each communicator or session that has
/// its own.
pub struct BufferedSends {
    state: Lock<State>,
}

struct State {
    attached: Option<Attached>,
    pieces: Vec<Piece>,
}

#[derive(Clone, Copy)]
enum Attached {
    Given(Region),
    /// `MPI_BUFFER_AUTOMATIC`: the library allocates.
    Automatic,
}

/// A message under way: its bytes in the attached buffer, or on the heap in automatic mode.
struct Piece {
    at: usize,
    len: usize,
    /// Keeps the memory of an automatic piece.
    _heap: Option<Owned>,
    active: Active,
}

impl Default for BufferedSends {
    fn default() -> BufferedSends {
        BufferedSends::new()
    }
}

impl BufferedSends {
    /// Makes a place without a buffer.
    pub const fn new() -> BufferedSends {
        BufferedSends { state: Lock::new(State { attached: None, pieces: Vec::new() }) }
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
        state.pieces.is_empty()
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
        let (at, region, heap) = match state.attached {
            None => return Err(no_room(len, 0)),
            Some(Attached::Automatic) => {
                let heap = Owned::zeroed(len);
                (0, heap.lend(), Some(heap))
            }
            Some(Attached::Given(whole)) => {
                let at = state.find(whole.len(), len).ok_or_else(|| no_room(len, whole.len()))?;
                (at, whole.part(at, len), None)
            }
        };
        message.pack(0, region);
        let active = start(Buffer::Contiguous(region));
        if !matches!(active, Active::Done(_)) {
            let place = state.pieces.partition_point(|piece| piece.at < at);
            state.pieces.insert(place, Piece { at, len, _heap: heap, active });
        }
        Ok(())
    }
}

impl State {
    /// Forgets the pieces whose messages have gone.
    fn reclaim(&mut self, process: &Process) {
        self.pieces.retain(|piece| piece.active.poll(process).is_none());
    }

    /// The first gap of `len` bytes between the pieces.
    fn find(&self, whole: usize, len: usize) -> Option<usize> {
        let mut free = 0;
        for piece in &self.pieces {
            if piece.at - free >= len {
                return Some(free);
            }
            free = (piece.at + piece.len).next_multiple_of(PIECE_ALIGN);
        }
        (whole.checked_sub(free)? >= len).then_some(free)
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
