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
use verbena_storage::Lane;

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

/// A view that the program asks for, or what is wrong with it.
pub enum NewView {
    /// At the displacement that it has.
    At(Result<View>),
    /// At the place of the shared file pointer (`MPI_DISPLACEMENT_CURRENT`).
    AtShared(Result<View>),
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
    /// The number of bytes that the program asked for: more, where the view shows none.
    pub asked: usize,
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
        let access = self.prepare(direction, place, data)?;
        let moved = self.carry_out_in_order(&access);
        if moved.is_err() && place == Place::Individual {
            self.take_back(&access);
        }
        Ok(moved?.memory)
    }

    /// Sets the individual file pointer back to its place before an access at it that failed,
    /// unless another thread has moved it since.
    pub(super) fn take_back(&self, access: &Access) {
        let mut pointer = self.pointer();
        if pointer.position == access.start.saturating_add(access.asked as u64) {
            pointer.position = access.start;
        }
    }

    /// Moves the bytes of an access, of a stream after all that this process began before in this
    /// direction.
    pub(super) fn carry_out_in_order(&self, access: &Access) -> Result<Moved> {
        let is_in_turn = self.disk.is_stream() && access.bytes > 0;
        let _turn = is_in_turn.then(|| self.lane(access.direction).enter());
        self.carry_out(access)
    }

    /// The order of accesses of a stream. Who waits for bytes must be able to send those that are
    /// asked for.
    pub(super) fn lane(&self, direction: Direction) -> &Lane {
        &self.lanes[usize::from(direction == Direction::Write)]
    }

    /// Finds the place of an access. The file pointer moves on by all that is asked for.
    pub(super) fn prepare(&self, direction: Direction, place: Place, data: &Data) -> Result<Access> {
        self.check(direction, place)?;
        // A function of the program may ask for the pointer: nobody holds it meanwhile.
        let view = self.view();
        let asked = self.checked_bytes(&view, direction, data)?;
        let start = match place {
            Place::At(offset) => view.start(offset)?,
            Place::Individual => {
                let mut pointer = self.pointer();
                let start = pointer.position;
                pointer.position = start.saturating_add(asked as u64);
                start
            }
            Place::Shared => self.shared.advance(asked as u64)?,
        };
        let bytes = limited(&view, direction, asked);
        let view = view.of_access(start, bytes);
        Ok(Access { direction, view, start, bytes, asked, data: data.clone() })
    }

    /// Checks whether the access mode allows an access.
    pub(super) fn check(&self, direction: Direction, place: Place) -> Result<()> {
        match direction {
            Direction::Read => self.check_reads()?,
            Direction::Write => self.check_writes()?,
        }
        if place == Place::Shared { Ok(()) } else { self.check_not_sequential() }
    }

    /// The bytes of the stream that an access moves, if they are whole etypes, and as many as those
    /// of memory if nothing converts them.
    pub(super) fn checked_bytes(&self, view: &View, direction: Direction, data: &Data) -> Result<usize> {
        let bytes = file_bytes(&view.representation, data)?;
        if !view.representation.converts(direction) && bytes != data.buffer.len() {
            let representation = view.representation.name();
            return Err(fault::not_converted(bytes, data.buffer.len(), representation, &self.path));
        }
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

    /// The place in the file of an offset in the view (`MPI_File_get_byte_offset`), of a sequential
    /// file too (14.4.3).
    pub fn byte_offset(&self, offset: i64) -> Result<i64> {
        let view = self.view();
        Ok(view.place(view.start(offset)?)? as i64)
    }

    /// Changes the view and sets the file pointers back to its beginning; takes over the valid
    /// hints. Collective (`MPI_File_set_view`). `MPI_ERR_NOT_SAME` if the processes differ in the
    /// data representation or in the size of an etype; `MPI_ERR_ARG` for a view at the shared
    /// file pointer unless the file is sequential, and for any other if it is. What is wrong in one
    /// process fails in all.
    pub fn set_view(
        &self,
        wanted: NewView,
        given: Result<Option<&Info>>,
        exchange: &dyn Exchange,
    ) -> Result<()> {
        let (view, is_at_shared) = match wanted {
            NewView::At(view) => (view, false),
            NewView::AtShared(view) => (view, true),
        };
        let view = view.and_then(|view| self.check_displacement(&view, is_at_shared).map(|()| view));
        let own = self.hints.tuning();
        let both = self.check_no_split().and(view).and_then(|view| {
            self.check_holes(&view)?;
            let given = given?;
            Ok((view, given, given.map_or(Ok(own), |given| own.with(given))?))
        });
        let mut words = vec![self.shared.is_moved().into(), is_at_shared.into(), 0, 0];
        match &both {
            Ok((view, _, tuning)) => {
                words[2] = fingerprint(view.representation.name().bytes());
                words[3] = view.unit();
                words.extend(tuning.words());
            }
            Err(_) => words.extend([0; WORDS]),
        }
        let ((mut view, given, _), told) = agree_words(&self.comm, &self.path, both, &words, exchange)?;
        if told.iter().any(|theirs| theirs[2..4] != words[2..4]) {
            return Err(fault::not_same("data representation or etype", &self.path));
        }
        let any = |word: usize| told.iter().any(|theirs| theirs[word] != 0);
        if any(0) || any(1) {
            // All are here, so nobody moves the pointer.
            let place = if self.comm.rank() == 0 { self.rewind_shared(any(1)) } else { Ok(0) };
            let word = *place.as_ref().unwrap_or(&0);
            let (_, places) = self.agree(place, word, exchange)?;
            self.shared.forget_moves();
            if is_at_shared {
                view.displacement = places[0];
            }
        }
        self.hints.set(tuning_of(&told[0][4..])?, given);
        *self.pointer() = Pointer { view, position: 0 };
        Ok(())
    }

    /// Sets the shared file pointer to the beginning. Returns its former place in the file, if that
    /// is wanted.
    fn rewind_shared(&self, is_wanted: bool) -> Result<u64> {
        let place = if is_wanted { self.view().place(self.shared.get()?)? } else { 0 };
        self.shared.set(0)?;
        Ok(place)
    }

    /// Returns `MPI_ERR_UNSUPPORTED_OPERATION` for a view with holes on a stream: it has no bytes
    /// that could lie there.
    fn check_holes(&self, view: &View) -> Result<()> {
        match self.disk.is_stream() && !view.is_solid() && view.copies_max() > 0 {
            true => Err(fault::holes(&self.path)),
            false => Ok(()),
        }
    }

    /// The displacement of a sequential file is the place of its shared file pointer, and that of
    /// no other file is (14.3).
    fn check_displacement(&self, view: &View, is_at_shared: bool) -> Result<()> {
        let (displacement, remedy) = match (self.mode.has(mpi::MPI_MODE_SEQUENTIAL), is_at_shared) {
            (true, false) => (
                view.displacement as i64,
                "pass MPI_DISPLACEMENT_CURRENT, as MPI_MODE_SEQUENTIAL asks for it",
            ),
            (false, true) => (
                mpi::MPI_DISPLACEMENT_CURRENT,
                "pass 0 or more bytes; MPI_DISPLACEMENT_CURRENT is for MPI_MODE_SEQUENTIAL",
            ),
            _ => return Ok(()),
        };
        Err(fault::bad_value("displacement", displacement, remedy))
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

/// The bytes of an access. There is nothing to read in a view without bytes.
pub(super) fn limited(view: &View, direction: Direction, bytes: usize) -> usize {
    match direction {
        Direction::Read => view.readable(bytes),
        Direction::Write => bytes,
    }
}
