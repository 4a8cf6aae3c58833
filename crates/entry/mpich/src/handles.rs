//! Handles: 32-bit integers here, 64-bit words on the standard face.
//!
//! A predefined handle is looked up in tables made from `api/mpich/constants.toml`;
//! `verbena_faces::mpich` describes the bits of any other. A receive of the engine is found by its
//! index and the lowest bits of its generation, since the library knows the rest. For other handles
//! a table remembers the last one with this index that the program was given. The way back is one
//! look-up, without a lock, and the library still checks the whole handle. So a freed handle is
//! noticed, unless its slot was reused 16 times (or a multiple) since.

use crate::generated::constants::{self, FACE_OF};
use crate::table::entries;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};
use verbena_faces::mpich::{self, GENERATION_SHIFT, GENERATIONS, INDEX, KIND_SHIFT, MADE, SENT};
use verbena_faces::standard::{self, KIND_SHIFT as NATIVE_KIND_SHIFT, Kind};

const CHUNK_ENTRIES: usize = 1024;
const CHUNKS: usize = (INDEX as usize + 1) / CHUNK_ENTRIES;

/// A kind of handle.
pub trait Handle {
    /// The C type of the handle on this face.
    type Face: Copy;

    /// The handle on the standard face; what is no handle becomes one that is wrong there, too.
    fn native(handle: Self::Face) -> usize;

    /// The handle on this face.
    fn face(handle: usize) -> Self::Face;
}

macro_rules! integers {
    ($($(#[$doc:meta])* $name:ident $predefined:ident;)*) => { $(
        $(#[$doc])*
        pub enum $name {}

        impl $name {
            /// The handle on the standard face, if it is predefined.
            #[inline(always)]
            pub fn predefined(handle: i32) -> Option<usize> {
                constants::$predefined(handle)
            }
        }

        impl Handle for $name {
            type Face = i32;

            #[inline(always)]
            fn native(handle: i32) -> usize {
                match $name::predefined(handle) {
                    Some(native) => native,
                    None => made(Kind::$name as usize, handle as u32),
                }
            }

            #[inline(always)]
            fn face(handle: usize) -> i32 {
                match FACE_OF.get(handle) {
                    Some(&face) => face,
                    None => remember(handle),
                }
            }
        }
    )* };
}

integers! {
    /// `MPI_Comm`.
    Comm comm;
    /// `MPI_Group`.
    Group group;
    /// `MPI_Datatype`.
    Datatype datatype;
    /// `MPI_Op`.
    Op op;
    /// `MPI_Errhandler`.
    Errhandler errhandler;
    /// `MPI_Info`.
    Info info;
    /// `MPI_Session`.
    Session session;
    /// `MPI_Win`.
    Win win;
    /// `MPI_Message`.
    Message message;
}

/// `MPI_COMM_WORLD`, the communicator that nearly every program uses.
pub const COMM_WORLD: i32 = 0x4400_0000;
/// The handle of `MPI_COMM_WORLD` on the standard face.
pub const WORLD: usize = 0x101;

impl Comm {
    /// The handle on the standard face, if it is `MPI_COMM_WORLD` or was made by the program.
    #[inline(always)]
    pub fn quick(handle: i32) -> Option<usize> {
        match handle {
            COMM_WORLD => Comm::predefined(handle),
            // The highest bit is set.
            negative if negative < 0 => Some(made(Kind::Comm as usize, handle as u32)),
            _ => None,
        }
    }

    /// Guesses the handle on the standard face: it is the second number if the first one is 0, that
    /// is, for `MPI_COMM_WORLD`. To look up another takes more registers than six arguments leave
    /// free.
    #[inline(always)]
    pub fn guess(handle: i32) -> (u32, usize) {
        ((handle ^ COMM_WORLD) as u32, WORLD)
    }
}

impl Datatype {
    /// The handle on the standard face, if it is a predefined datatype's.
    #[inline(always)]
    pub fn quick(handle: i32) -> Option<usize> {
        Datatype::predefined(handle)
    }

    /// Guesses the handle on the standard face: it is the second number if the first one is 0, that
    /// is, for a predefined datatype.
    #[inline(always)]
    pub fn guess(handle: i32) -> (u32, usize) {
        constants::datatype_guess(handle)
    }
}

/// `MPI_Request`: an object, or a send or a receive of the engine.
pub enum Request {}

impl Handle for Request {
    type Face = i32;

    #[inline(always)]
    fn native(handle: i32) -> usize {
        if let Some(native) = constants::request(handle) {
            return native;
        }
        if handle == SENT {
            return standard::SENT;
        }
        // The library knows the whole generation of a receive, so this handle need not be
        // remembered.
        if let Some((index, generation)) = mpich::receive_in(handle) {
            let native = (entries().services.receive)(index, generation);
            return if native == 0 { wrong(handle as u32) } else { native };
        }
        made((handle as u32 >> KIND_SHIFT & 15) as usize, handle as u32)
    }

    #[inline(always)]
    fn face(handle: usize) -> i32 {
        match FACE_OF.get(handle) {
            Some(&face) => face,
            None if handle == standard::SENT => SENT,
            None if handle >> NATIVE_KIND_SHIFT & 15 == Kind::EngineReceive as usize => {
                let form = form_of(handle);
                mpich::receive(form & INDEX, form >> GENERATION_SHIFT)
            }
            None => remember(handle),
        }
    }
}

/// `MPI_File`: a pointer here, null for `MPI_FILE_NULL`. The standard face's handles fit.
pub enum File {}

impl Handle for File {
    type Face = usize;

    #[inline]
    fn native(handle: usize) -> usize {
        match handle {
            0 => constants::FILE_NULL,
            small if small < FACE_OF.len() => wrong(small as u32),
            other => other,
        }
    }

    #[inline]
    fn face(handle: usize) -> usize {
        if handle == constants::FILE_NULL { 0 } else { handle }
    }
}

/// A handle that the program was given, and its form on this face.
struct Entry {
    handle: AtomicUsize,
    form: AtomicU32,
}

type Chunk = [Entry; CHUNK_ENTRIES];

/// The given handles, by kind and index. Pages that no kind uses are never touched.
static GIVEN: [[AtomicPtr<Chunk>; CHUNKS]; 16] =
    [const { [const { AtomicPtr::new(std::ptr::null_mut()) }; CHUNKS] }; 16];

/// The handle that was given to the program in this form. The kind is part of the form: a handle of
/// another kind is not found, or the library finds and refuses it.
// No calls in here: with none before that of the library, no register needs to be saved.
#[inline(always)]
fn made(kind: usize, form: u32) -> usize {
    let chunk = GIVEN[kind][(form & INDEX) as usize / CHUNK_ENTRIES].load(Ordering::Acquire);
    if chunk.is_null() {
        return wrong(form);
    }
    // SAFETY: chunks are complete when they are published, and never freed.
    let entry = unsafe { &(*chunk)[form as usize % CHUNK_ENTRIES] };
    if entry.form.load(Ordering::Acquire) == form {
        entry.handle.load(Ordering::Relaxed)
    } else {
        wrong(form)
    }
}

/// A word that is no handle on the standard face; its low half shows what the program passed.
#[inline(always)]
fn wrong(form: u32) -> usize {
    0xffff_ffff_8000_0000 | form as usize
}

/// The form on this face of a handle for the program.
#[inline(always)]
fn form_of(handle: usize) -> u32 {
    let (kind, index) = (handle >> NATIVE_KIND_SHIFT & 15, handle & ((1 << NATIVE_KIND_SHIFT) - 1));
    let index = if index <= mpich::PLAIN_INDEX as usize { index } else { index_of_further(index) };
    let generation = (handle >> 32) as u32 & GENERATIONS;
    MADE | (kind as u32) << KIND_SHIFT | generation << GENERATION_SHIFT | index as u32
}

/// The index on this face of an operation of a further engine.
#[cold]
fn index_of_further(index: usize) -> usize {
    mpich::index_of(index as u32).map_or_else(|| too_many(), |index| index as usize)
}

/// The form of a handle that must be remembered; remembers it.
#[inline]
fn remember(handle: usize) -> i32 {
    let form = form_of(handle);
    let (kind, index) = (handle >> NATIVE_KIND_SHIFT & 15, (form & INDEX) as usize);
    let chunk = match GIVEN[kind].get(index / CHUNK_ENTRIES) {
        Some(place) => {
            let chunk = place.load(Ordering::Acquire);
            if chunk.is_null() { make_chunk(place) } else { chunk }
        }
        None => too_many(),
    };
    // SAFETY: as in `made`.
    let entry = unsafe { &(*chunk)[index % CHUNK_ENTRIES] };
    entry.handle.store(handle, Ordering::Relaxed);
    entry.form.store(form, Ordering::Release);
    form as i32
}

#[cold]
fn make_chunk(place: &AtomicPtr<Chunk>) -> *mut Chunk {
    let entry = || Entry { handle: AtomicUsize::new(0), form: AtomicU32::new(0) };
    let chunk: Box<[Entry]> = (0..CHUNK_ENTRIES).map(|_| entry()).collect();
    let chunk = Box::into_raw(chunk).cast::<Chunk>();
    match place.compare_exchange(std::ptr::null_mut(), chunk, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => chunk,
        Err(other) => {
            // SAFETY: another thread was first, so nobody has seen this one, which was made above.
            drop(unsafe { Box::from_raw(chunk) });
            other
        }
    }
}

/// Ends the program: an index is too large.
#[cold]
pub extern "C" fn too_many() -> ! {
    let fault = verbena_fault::Fault::new(
        "a handle does not fit into 32 bits",
        format!("more than {} MPI objects of one kind, or pending operations", mpich::PLAIN_INDEX),
        "the program starts operations, or makes objects, without ever completing or freeing them",
        "free what is no longer needed, or build the program for the standard ABI, whose handles are wider",
    );
    verbena_fault::complain(format!("verbena: {fault}"));
    std::process::abort()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made_handle(kind: usize, index: usize, generation: usize) -> usize {
        generation << 32 | kind << NATIVE_KIND_SHIFT | index
    }

    #[test]
    fn predefined_handles_go_there_and_back() {
        assert_eq!((Comm::native(COMM_WORLD), Comm::face(WORLD)), (WORLD, COMM_WORLD));
        assert_eq!((Datatype::native(0x4c00_0405), Datatype::face(0x209)), (0x209, 0x4c00_0405));
        assert_eq!((Datatype::native(0x8c00_0001u32 as i32)), 0x229);
        assert_eq!((File::native(0), File::face(0x118)), (0x118, 0));
        for (native, &face) in FACE_OF.iter().enumerate().filter(|(_, face)| **face != 0) {
            let back = [Comm::native(face), Group::native(face), Datatype::native(face), Op::native(face)];
            let more =
                [Errhandler::native(face), Info::native(face), Session::native(face), Win::native(face)];
            let rest = [Message::native(face), constants::request(face).unwrap_or(0)];
            assert!([&back[..], &more, &rest].concat().contains(&native), "{native:#x}");
        }
    }

    #[test]
    fn made_handles_go_there_and_back() {
        for handle in [made_handle(1, 0, 0), made_handle(1, 5000, 77), made_handle(1, 5001, 0xffff_ffff)] {
            let form = Comm::face(handle);
            assert_eq!((form as u32 >> 30, Comm::native(form)), (3, handle));
            assert_eq!(Datatype::native(form), wrong(form as u32), "of another kind");
        }
    }

    #[test]
    fn an_old_handle_of_a_reused_slot_is_wrong() {
        let old = Op::face(made_handle(4, 9, 1));
        let new = Op::face(made_handle(4, 9, 2));
        assert_eq!((Op::native(old), Op::native(new)), (wrong(old as u32), made_handle(4, 9, 2)));
    }

    #[test]
    fn what_is_no_handle_stays_wrong() {
        for garbage in [0, 1, -1, 0x4400_0002, 0x4c00_ff05, 0x0c00_0000, 0x7fff_ffff, i32::MIN] {
            assert_eq!(Comm::native(garbage) >> 31, (1 << 33) - 1, "{garbage:#x}");
        }
    }
}
