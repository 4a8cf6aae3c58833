//! The bytes of an access, between memory and disk.
//!
//! Runs of the view that lie close together are read at once, with the gaps between them (data
//! sieving). Writing so would write the gaps, too, which another process may be writing: that is
//! done on request alone (the hint `romio_ds_write`), and all writes of the file then take locks.

use super::access::{Access, Moved};
use super::hints::Choice;
use super::representation::{Data, Direction};
use super::view::View;
use super::{File, counts};
use crate::error::Result;
use std::io;
use verbena_memory::{Buffer, Owned, Region};
use verbena_storage::{Cut, Disk, Extent, ListCut, Lock, Piece, has_no_locks, read_all, write_all};

/// Bytes of scattered memory that are packed at a time.
const PIECE: usize = 1 << 20;
/// The most runs that are read or written at once.
const RUNS_MAX: usize = 4096;
/// The most bytes of runs that are read or written at once, without gaps.
const LIST_BYTES_MAX: u64 = 64 << 20;
/// The widest gap, in bytes, that is read rather than left out: the time of a call, spent on
/// copying instead. A call to a file system over a network costs more.
const GAP_MAX: u64 = 4 << 10;
const GAP_MAX_SHARED: u64 = 64 << 10;
/// The most bytes that are converted at a time, unless an element has more.
const CONVERTED_BYTES_MAX: usize = if cfg!(test) { 1000 } else { 16 << 20 };

/// A run of bytes of the file, and its place in the memory of the access.
#[derive(Clone, Copy)]
struct Run {
    at: u64,
    len: usize,
    place: usize,
}

impl Run {
    fn end(&self) -> u64 {
        self.at + self.len as u64
    }
}

/// An error of the disk, and the byte of the file where it was met.
struct Stop {
    at: u64,
    error: io::Error,
}

impl Stop {
    fn of(at: u64, cut: Cut) -> Stop {
        Stop { at: at + cut.done as u64, error: cut.error }
    }
}

/// Runs that are read or written together.
struct Group {
    runs: Vec<Run>,
    spans: Vec<Span>,
    limits: Limits,
    /// Bytes of all spans.
    bytes: u64,
}

/// Runs that lie close together: from one of these numbers to the next span's.
#[derive(Clone, Copy)]
struct Span {
    first: usize,
    at: u64,
    end: u64,
}

/// The limits of a group.
#[derive(Clone, Copy)]
struct Limits {
    /// The widest gap within a span, in bytes.
    gap_max: u64,
    /// Bytes of a span with gaps, and of all spans.
    bytes_max: u64,
    /// Number of spans.
    spans_max: usize,
}

impl Limits {
    /// Runs of any length without gaps.
    const SINGLE_RUNS: Limits = Limits { gap_max: 0, bytes_max: LIST_BYTES_MAX, spans_max: RUNS_MAX };
}

impl Group {
    fn new(limits: Limits) -> Group {
        Group { runs: Vec::new(), spans: Vec::new(), limits, bytes: 0 }
    }

    fn clear(&mut self) {
        self.runs.clear();
        self.spans.clear();
        self.bytes = 0;
    }

    /// Takes a run if it fits. A group takes its first run whatever its length.
    fn take(&mut self, run: Run) -> bool {
        let limits = self.limits;
        let (Some(last), Some(span)) = (self.runs.last_mut(), self.spans.last_mut()) else {
            return self.begin_span(run);
        };
        if run.at == last.end() && run.place == last.place + last.len {
            last.len += run.len;
            span.end = run.end();
            self.bytes += run.len as u64;
            return true;
        }
        if self.runs.len() == RUNS_MAX {
            return false;
        }
        let is_close = run.at >= span.end && run.at - span.end <= limits.gap_max;
        if is_close && limits.gap_max > 0 && run.end() - span.at <= limits.bytes_max {
            self.bytes += run.end() - span.end;
            span.end = run.end();
            self.runs.push(run);
            return true;
        }
        let fits = self.spans.len() < limits.spans_max
            && self.bytes.saturating_add(run.len as u64) <= limits.bytes_max;
        fits && self.begin_span(run)
    }

    fn begin_span(&mut self, run: Run) -> bool {
        self.spans.push(Span { first: self.runs.len(), at: run.at, end: run.end() });
        self.bytes += run.len as u64;
        self.runs.push(run);
        true
    }

    /// The spans, each with its runs.
    fn spans(&self) -> impl Iterator<Item = (Span, &[Run])> {
        let ends = self.spans.iter().skip(1).map(|span| span.first).chain([self.runs.len()]);
        self.spans.iter().zip(ends).map(move |(span, end)| (*span, &self.runs[span.first..end]))
    }

    /// The part of the file from the first byte to the last.
    fn extent(&self) -> Extent {
        let (first, last) = (self.spans.first(), self.spans.last());
        Extent { start: first.map_or(0, |span| span.at), end: last.map_or(0, |span| span.end) }
    }
}

/// Calls `each` with the runs of `len` bytes of the stream, in groups, until it returns false.
fn for_each_group(
    view: &View,
    start: u64,
    len: usize,
    limits: Limits,
    mut each: impl FnMut(&Group) -> std::result::Result<bool, Stop>,
) -> Result<std::result::Result<(), Stop>> {
    let (mut group, mut place, mut outcome) = (Group::new(limits), 0, Ok(true));
    view.for_each_run(start, len, |at, len| {
        let run = Run { at, len, place };
        place += len;
        if matches!(outcome, Ok(true)) && !group.take(run) {
            outcome = each(&group);
            group.clear();
            group.take(run);
        }
    })?;
    if matches!(outcome, Ok(true)) && !group.runs.is_empty() {
        outcome = each(&group);
    }
    Ok(outcome.map(|_| ()))
}

/// The error of a list of pieces.
fn stop_of(pieces: &[Piece], failed: ListCut) -> Stop {
    Stop::of(pieces[failed.number].at, failed.cut)
}

/// Reads the runs of a group. Returns how many of their bytes there are before the end of the file.
fn read_group(disk: &dyn Disk, group: &Group, into: Region) -> std::result::Result<usize, Stop> {
    let sieve =
        |(span, runs): (Span, &[Run])| (runs.len() > 1).then(|| Owned::stale((span.end - span.at) as usize));
    let sieves: Vec<Option<Owned>> = group.spans().map(sieve).collect();
    let piece = |((span, runs), sieve): ((Span, &[Run]), &Option<Owned>)| Piece {
        region: sieve.as_ref().map_or_else(|| into.part(runs[0].place, runs[0].len), Owned::lend),
        at: span.at,
    };
    let pieces: Vec<Piece> = group.spans().zip(&sieves).map(piece).collect();
    let read = match pieces[..] {
        [only] => vec![read_all(disk, only.region, only.at).map_err(|cut| Stop::of(only.at, cut))?],
        _ => disk.read_list(&pieces).map_err(|failed| stop_of(&pieces, failed))?,
    };
    let mut done = 0;
    for (((span, runs), sieve), read) in group.spans().zip(&sieves).zip(read) {
        let Some(sieve) = sieve else {
            done += read;
            if read < runs[0].len {
                break;
            }
            continue;
        };
        counts::sieved(Direction::Read);
        let there = take_out(sieve.lend().part(0, read), span.at, runs, into);
        done += there;
        if there < runs.iter().map(|run| run.len).sum::<usize>() {
            break;
        }
    }
    Ok(done)
}

/// Copies runs out of a part of the file that begins at a place. Returns how many of their bytes
/// there are.
fn take_out(from: Region, at: u64, runs: &[Run], into: Region) -> usize {
    let mut done = 0;
    for run in runs {
        let first = ((run.at - at) as usize).min(from.len());
        let there = run.len.min(from.len() - first);
        into.put(run.place, from.part(first, there));
        done += there;
        if there < run.len {
            break;
        }
    }
    done
}

/// Writes the runs of a group, and nothing else.
fn write_runs(disk: &dyn Disk, group: &Group, from: Region) -> std::result::Result<(), Stop> {
    if let [run] = group.runs[..] {
        return write_all(disk, from.part(run.place, run.len), run.at).map_err(|cut| Stop::of(run.at, cut));
    }
    let piece = |run: &Run| Piece { region: from.part(run.place, run.len), at: run.at };
    let pieces: Vec<Piece> = group.runs.iter().map(piece).collect();
    disk.write_list(&pieces).map_err(|failed| stop_of(&pieces, failed))
}

/// Reads the part of the file in which a group lies, puts its runs there, and writes it back. The
/// caller holds a lock.
fn write_sieved(disk: &dyn Disk, group: &Group, from: Region) -> std::result::Result<(), Stop> {
    if group.runs.len() == 1 {
        return write_runs(disk, group, from);
    }
    let extent = group.extent();
    let sieve = Owned::stale((extent.end - extent.start) as usize);
    let stop = |cut| Stop::of(extent.start, cut);
    let read = read_all(disk, sieve.lend(), extent.start).map_err(stop)?;
    sieve.lend().part(read, sieve.len() - read).fill(0);
    for run in &group.runs {
        sieve.lend().put((run.at - extent.start) as usize, from.part(run.place, run.len));
    }
    counts::sieved(Direction::Write);
    write_all(disk, sieve.lend(), extent.start).map_err(stop)
}

impl Access {
    /// The part of the file in which the bytes lie; at least one is asked for.
    pub(super) fn extent(&self) -> Result<Extent> {
        let Access { view, start, bytes, .. } = self;
        if !view.goes_up() {
            // The last byte of the stream need not be the last of the file.
            let (mut first, mut end) = (u64::MAX, 0);
            view.for_each_run(*start, *bytes, |at, len| {
                (first, end) = (first.min(at), end.max(at + len as u64));
            })?;
            return Ok(Extent { start: first, end });
        }
        let last = start.saturating_add(*bytes as u64 - 1);
        Ok(Extent { start: view.place(*start)?, end: view.place(last)?.saturating_add(1) })
    }
}

impl File {
    /// Moves the bytes of an access.
    pub(super) fn carry_out(&self, access: &Access) -> Result<Moved> {
        if access.bytes > 0 {
            // A write that fails may have moved some bytes.
            self.note_written(access.direction);
        }
        let moved = self.in_turn(access, || self.carry_out_unlocked(access))?;
        counts::moved(access.direction, moved.file);
        Ok(moved)
    }

    /// Runs an access, in atomic mode under a lock of its part of the file (MPI-5.0, 14.6.1). The
    /// system's locks keep processes apart, `turn` the threads of this one.
    fn in_turn(&self, access: &Access, move_bytes: impl FnOnce() -> Result<Moved>) -> Result<Moved> {
        if !self.is_atomic() || access.bytes == 0 {
            return move_bytes();
        }
        let _turn = self.turn.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let extent = access.extent()?;
        let lock = match access.direction {
            Direction::Read => Lock::Shared,
            Direction::Write => Lock::Exclusive,
        };
        let disk = &self.disk;
        disk.lock(extent, lock).map_err(|error| self.failed("lock for atomic access", &error))?;
        let outcome = move_bytes();
        disk.unlock(extent).map_err(|error| self.failed("unlock after atomic access", &error))?;
        outcome
    }

    fn carry_out_unlocked(&self, access: &Access) -> Result<Moved> {
        let Access { direction, view, start, bytes, data, .. } = access;
        if !view.representation.converts(*direction) {
            let moved = match direction {
                Direction::Read => self.read_stream(view, *start, &data.buffer)?,
                Direction::Write => self.write_stream(view, *start, &data.buffer)?,
            };
            return Ok(Moved { memory: moved, file: moved });
        }
        // In parts, since there may be no memory for a copy of all. Functions of the program get
        // all elements at once.
        let each = view.representation.bytes(&data.datatype)?;
        let most = match view.representation.calls_program(*direction) {
            true => data.count,
            false => (CONVERTED_BYTES_MAX / each.max(1)).max(1),
        };
        let staged = Owned::stale((*bytes).min(most.saturating_mul(each)));
        let mut all = Moved { memory: 0, file: 0 };
        while all.file < *bytes {
            let part = data.elements(all.file / each.max(1), most);
            let file = staged.lend().part(0, staged.len().min(*bytes - all.file));
            let moved = self.carry_out_converted(access, start + all.file as u64, &part, file)?;
            all = Moved { memory: all.memory + moved.memory, file: all.file + moved.file };
            if moved.file < file.len() {
                break;
            }
        }
        Ok(all)
    }

    /// Moves elements through memory that has room for them as they are in the file.
    fn carry_out_converted(&self, access: &Access, start: u64, data: &Data, staged: Region) -> Result<Moved> {
        let (view, file) = (&access.view, Buffer::Contiguous(staged));
        match access.direction {
            Direction::Read => {
                let read = self.read_stream(view, start, &file)?;
                let memory = view.representation.decode(staged.part(0, read), data)?;
                Ok(Moved { memory, file: read })
            }
            Direction::Write => {
                view.representation.encode(data, staged)?;
                let written = self.write_stream(view, start, &file)?;
                Ok(Moved { memory: data.buffer.len(), file: written })
            }
        }
    }

    /// Reads bytes of the stream; returns how many, fewer at the end of the file.
    fn read_stream(&self, view: &View, start: u64, into: &Buffer) -> Result<usize> {
        if let Some(region) = into.region() {
            return self.read_region(view, start, region);
        }
        let (piece, mut done) = (Owned::stale(PIECE.min(into.len())), 0);
        while done < into.len() {
            let part = piece.lend().part(0, PIECE.min(into.len() - done));
            let bytes = self.read_region(view, start + done as u64, part)?;
            into.unpack(done, part.part(0, bytes));
            done += bytes;
            if bytes < part.len() {
                break;
            }
        }
        Ok(done)
    }

    fn write_stream(&self, view: &View, start: u64, from: &Buffer) -> Result<usize> {
        if let Some(region) = from.region() {
            return self.write_region(view, start, region);
        }
        let (piece, mut done) = (Owned::stale(PIECE.min(from.len())), 0);
        while done < from.len() {
            let part = piece.lend().part(0, PIECE.min(from.len() - done));
            from.pack(done, part);
            done += self.write_region(view, start + done as u64, part)?;
        }
        Ok(done)
    }

    fn read_region(&self, view: &View, start: u64, into: Region) -> Result<usize> {
        let into = into.part(0, view.readable(into.len()));
        let (tuning, mut done) = (self.hints.tuning(), 0);
        let limits = match self.read_gap_max() {
            0 => Limits::SINGLE_RUNS,
            gap_max => Limits { gap_max, bytes_max: tuning.sieve_read_bytes, spans_max: RUNS_MAX },
        };
        let outcome = for_each_group(view, start, into.len(), limits, |group| {
            let wanted: usize = group.runs.iter().map(|run| run.len).sum();
            let read = read_group(&*self.disk, group, into)?;
            done += read;
            Ok(read == wanted)
        })?;
        outcome.map(|()| done).map_err(|stop| self.failed_at("read", Some(stop.at), &stop.error))
    }

    /// The widest gap, in bytes, that is read rather than left out.
    pub(super) fn read_gap_max(&self) -> u64 {
        match self.hints.tuning().sieve_read {
            Choice::Disable => 0,
            Choice::Enable => u64::MAX,
            Choice::Automatic => self.cheap_gap(),
        }
    }

    /// The widest gap, in bytes, over which a call pays for what lies behind it as well.
    pub(super) fn cheap_gap(&self) -> u64 {
        if self.disk.file_system().is_shared { GAP_MAX_SHARED } else { GAP_MAX }
    }

    fn write_region(&self, view: &View, start: u64, from: Region) -> Result<usize> {
        let tuning = self.hints.tuning();
        let sieves = self.sieves_writes();
        let limits = match sieves {
            false => Limits::SINGLE_RUNS,
            true => Limits { gap_max: u64::MAX, bytes_max: tuning.sieve_write_bytes, spans_max: 1 },
        };
        let outcome = for_each_group(view, start, from.len(), limits, |group| {
            match sieves {
                true => self.write_locked(group, from)?,
                false => write_runs(&*self.disk, group, from)?,
            }
            Ok(true)
        })?;
        let written = outcome.map(|()| from.len());
        written.map_err(|stop| self.failed_at("write", Some(stop.at), &stop.error))
    }

    /// Writes a group under a lock, with its gaps. Where the file system has no locks, without
    /// them.
    fn write_locked(&self, group: &Group, from: Region) -> std::result::Result<(), Stop> {
        if self.is_atomic() {
            // The whole access has its lock.
            return write_sieved(&*self.disk, group, from);
        }
        let extent = group.extent();
        let outcome = self.with_lock(extent, |is_locked| match is_locked {
            true => write_sieved(&*self.disk, group, from),
            false => write_runs(&*self.disk, group, from),
        });
        outcome.map_err(|error| Stop { at: extent.start, error })?
    }

    /// Returns whether processes write gaps back with what they read there: then all writes of the
    /// file take locks.
    pub(super) fn sieves_writes(&self) -> bool {
        self.hints.tuning().sieve_write == Choice::Enable && self.mode.reads()
    }

    /// Calls `act` while no other write that takes locks touches this part of the file; with false
    /// where the file system has no locks, and so nobody sieves.
    ///
    /// # Errors
    /// The lock could not be taken, and nothing was done, or not be given back.
    pub(super) fn with_lock<R>(&self, extent: Extent, act: impl FnOnce(bool) -> R) -> io::Result<R> {
        let _turn = self.turn.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        match self.disk.lock(extent, Lock::Exclusive) {
            Ok(()) => {
                let outcome = act(true);
                self.disk.unlock(extent).map(|()| outcome)
            }
            Err(error) if has_no_locks(&error) => Ok(act(false)),
            Err(error) => Err(error),
        }
    }
}
