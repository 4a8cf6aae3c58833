//! Accesses at explicit offsets, at individual and at shared file pointers (MPI-5.0, 14.4).

use super::agree::agree_words;
use super::hints::{WORDS, tuning_of};
use super::representation::{Data, Direction, file_bytes};
use super::view::View;
use super::{File, fault};
use crate::comm::Exchange;
use crate::comm::words::fingerprint;
use crate::error::Result;
use crate::generated::constants as mpi;
use crate::info::Info;
use std::sync::MutexGuard;
use std::sync::atomic::Ordering;

/// A view and the individual file pointer in it, in bytes of the stream.
pub(super) struct Pointer {
    pub view: View,
    pub position: u64,
}

/// The bytes that an access moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moved {
    /// Bytes of memory.
    pub memory: usize,
    /// Bytes of the stream.
    pub file: usize,
}

/// The place of an access in the view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// At this offset in etypes.
    At(i64),
    /// At the individual file pointer, which moves on.
    Individual,
    /// At the shared file pointer, which moves on.
    Shared,
}

/// An access that knows where it goes.
#[derive(Clone)]
pub(super) struct Access {
    pub direction: Direction,
    pub view: View,
    /// The first byte in the stream of the view.
    pub start: u64,
    /// The number of bytes of the stream.
    pub bytes: usize,
    pub data: Data,
}

impl File {
    /// Reads or writes, and returns how many bytes of memory were filled or taken: fewer than there
    /// are where the file ends.
    ///
    /// # Errors
    /// `MPI_ERR_ACCESS`, `MPI_ERR_READ_ONLY` and `MPI_ERR_UNSUPPORTED_OPERATION` by the access
    /// mode, `MPI_ERR_ARG` for an impossible offset, `MPI_ERR_IO` for a part of an etype, else what
    /// the system says.
    pub fn access(&self, direction: Direction, place: Place, data: &Data) -> Result<usize> {
        if place != Place::Individual {
            return Ok(self.carry_out(&self.prepare(direction, place, data)?)?.memory);
        }
        self.check(direction, place)?;
        let mut pointer = self.pointer();
        let bytes = self.checked_bytes(&pointer.view, data)?;
        let (view, start) = (pointer.view.clone(), pointer.position);
        let bytes = limited(&view, direction, start, bytes);
        let Moved { memory, file } =
            self.carry_out(&Access { direction, view, start, bytes, data: data.clone() })?;
        pointer.position += file as u64;
        Ok(memory)
    }

    /// Finds the place of an access. The file pointer moves on by all that is asked for.
    pub(super) fn prepare(&self, direction: Direction, place: Place, data: &Data) -> Result<Access> {
        self.check(direction, place)?;
        let mut pointer = self.pointer();
        let view = pointer.view.clone();
        let bytes = self.checked_bytes(&view, data)?;
        let start = match place {
            Place::At(offset) => view.start(offset)?,
            Place::Individual => {
                let start = pointer.position;
                pointer.position = start.saturating_add(bytes as u64);
                start
            }
            Place::Shared => {
                drop(pointer);
                self.shared.advance(bytes as u64)?
            }
        };
        let bytes = limited(&view, direction, start, bytes);
        Ok(Access { direction, view, start, bytes, data: data.clone() })
    }

    /// Checks whether the access mode allows an access.
    pub(super) fn check(&self, direction: Direction, place: Place) -> Result<()> {
        match direction {
            Direction::Read => self.check_reads()?,
            Direction::Write => self.check_writes()?,
        }
        if place == Place::Shared { Ok(()) } else { self.check_not_sequential() }
    }

    /// The bytes of the stream that an access moves, if they are whole etypes.
    pub(super) fn checked_bytes(&self, view: &View, data: &Data) -> Result<usize> {
        let bytes = file_bytes(&view.representation, data)?;
        match (bytes as u64).is_multiple_of(view.unit()) {
            true => Ok(bytes),
            false => Err(fault::not_whole(bytes, view.unit(), &self.path)),
        }
    }

    /// Moves the individual file pointer (`MPI_File_seek`). `MPI_ERR_ARG` for a place before the
    /// first etype.
    pub fn seek(&self, offset: i64, whence: i32) -> Result<()> {
        self.check_not_sequential()?;
        let mut pointer = self.pointer();
        pointer.position = self.sought(&pointer.view, pointer.position, offset, whence)?;
        Ok(())
    }

    /// The place in the stream to which a pointer moves that is at `position`.
    pub(super) fn sought(&self, view: &View, position: u64, offset: i64, whence: i32) -> Result<u64> {
        let base = match whence {
            mpi::MPI_SEEK_SET => 0,
            mpi::MPI_SEEK_CUR => position as i64,
            mpi::MPI_SEEK_END => view.end(self.size()?) as i64,
            _ => return Err(fault::bad_value("whence", whence.into(), "pass MPI_SEEK_SET, _CUR or _END")),
        };
        let target = offset.checked_mul(view.unit() as i64).and_then(|bytes| bytes.checked_add(base));
        let target = target.and_then(|target| u64::try_from(target).ok());
        target.ok_or_else(|| fault::bad_value("offset", offset, "stay at or behind the first etype"))
    }

    /// The individual file pointer, in etypes (`MPI_File_get_position`).
    pub fn position(&self) -> Result<i64> {
        self.check_not_sequential()?;
        let pointer = self.pointer();
        Ok((pointer.position / pointer.view.unit()) as i64)
    }

    /// The view in use (`MPI_File_get_view`).
    pub fn view(&self) -> View {
        self.pointer().view.clone()
    }

    /// Changes the view and sets the file pointers back to its beginning; takes over the valid
    /// hints. Collective (`MPI_File_set_view`). `MPI_ERR_NOT_SAME` if the processes differ in the
    /// data representation or in the size of an etype.
    pub fn set_view(&self, view: Result<View>, given: Option<&Info>, exchange: &dyn Exchange) -> Result<()> {
        let tuning = given.map_or(Ok(self.hints.tuning()), |given| self.hints.tuning().with(given));
        let both = view.and_then(|view| Ok((view, tuning?)));
        let mut words = vec![self.shared.is_moved().into(), 0, 0];
        match &both {
            Ok((view, tuning)) => {
                words[1] = fingerprint(view.representation.name().bytes());
                words[2] = view.unit();
                words.extend(tuning.words());
            }
            Err(_) => words.extend([0; WORDS]),
        }
        let ((view, _), told) = agree_words(&self.comm, &self.path, both, &words, exchange)?;
        if told.iter().any(|theirs| theirs[1..3] != words[1..3]) {
            return Err(fault::not_same("data representation or etype", &self.path));
        }
        if told.iter().any(|theirs| theirs[0] != 0) {
            let outcome = if self.comm.rank() == 0 { self.shared.set(0) } else { Ok(()) };
            self.agree(outcome, 0, exchange)?;
            self.shared.forget_moves();
        }
        self.hints.set(tuning_of(&told[0][3..])?, given);
        *self.pointer() = Pointer { view, position: 0 };
        Ok(())
    }

    /// The displacement that `MPI_DISPLACEMENT_CURRENT` means: the place of the shared file
    /// pointer. `MPI_ERR_ARG` unless the file is sequential.
    pub fn displacement_current(&self) -> Result<i64> {
        if !self.mode.has(mpi::MPI_MODE_SEQUENTIAL) {
            let displacement = mpi::MPI_DISPLACEMENT_CURRENT;
            let remedy = "pass 0 or more bytes; MPI_DISPLACEMENT_CURRENT is for MPI_MODE_SEQUENTIAL";
            return Err(fault::bad_value("displacement", displacement, remedy));
        }
        Ok(self.view().place(self.shared.get()?)? as i64)
    }

    pub(super) fn pointer(&self) -> MutexGuard<'_, Pointer> {
        // A panic while it is held leaves a valid view behind.
        self.pointer.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Notes that there is something to synchronise.
    pub(super) fn note_written(&self, direction: Direction) {
        if direction == Direction::Write {
            self.is_written.store(true, Ordering::Release);
        }
    }

    fn check_reads(&self) -> Result<()> {
        match self.mode.reads() {
            true => Ok(()),
            false => Err(fault::forbidden(mpi::MPI_ERR_ACCESS, "the file may only be written", &self.path)),
        }
    }
}

/// The bytes of an access. A read ends where the stream of the view does.
fn limited(view: &View, direction: Direction, start: u64, bytes: usize) -> usize {
    match direction {
        Direction::Read => view.readable(start, bytes),
        Direction::Write => bytes,
    }
}
