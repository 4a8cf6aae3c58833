//! The time of a message, point by point: paper 1's breakdown of latency (section 6.3.2 and figure
//! 16).
//!
//! | component | from | to |
//! | --- | --- | --- |
//! | `s_mpitoadi` | [`enter`]: the program called MPI | [`in_engine`] |
//! | `s_protocol` | [`in_engine`]: the engine has the message | [`posting`] |
//! | `s_post` | [`posting`]: the packet is built, as far as it is before the device or the ring gets it | [`posted`] |
//! | `IBA` | [`posted`] | [`looking`] of the receiver, or what it saw during that look |
//! | `r_completion` | [`looking`], [`seen`]: the receiver finds the packet | its engine gets it ([`Traced`]) |
//! | `r_protocol` | the engine gets it | the engine has delivered it |
//! | `r_aditompi` | the engine has delivered it | [`leave`]: the program goes on |
//!
//! Beside these, it has what a timeline of the job is made of:
//!
//! | module | records |
//! | --- | --- |
//! | [`calls`] | every call of MPI, and the lengths of the matching queues behind it |
//! | [`messages`] | when a message left, when it came, and when the receive that took it ended |
//! | [`one_sided`] | the calls of one-sided communication, with the way that each went |
//!
//! It is switched on by the setting `VERBENA_TRACE` before the channels open; then every channel
//! with packets is wrapped in a [`Traced`]. Without it nothing is wrapped, and the points outside
//! the channels are one branch each, off the fast paths; with it the fast paths step aside. All
//! stamps are of a clock that the processes of a machine (or of nodes in one guest) have in common
//! ([`clock`]): across machines `IBA` says nothing.

pub mod calls;
mod clock;
pub mod messages;
pub mod one_sided;
mod records;
mod traced;

pub use records::{Log, Received, Sent, Way, read};
pub use traced::Traced;

use crate::Peer;
use crate::packet::Header;
use records::Recorder;
use std::cell::Cell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use verbena_fault::Fault;

static ON: AtomicBool = AtomicBool::new(false);
static RECORDER: Mutex<Option<Recorder>> = Mutex::new(None);

/// A thread's knowledge of the message that it is sending, and of the packet that it is taking.
#[derive(Clone, Copy, Default)]
struct Now {
    entered: u64,
    engine: u64,
    posting: u64,
    posted: u64,
    way_out: Way,
    looked: u64,
    seen: u64,
    way_in: Way,
}

const NOTHING: Now = Now {
    entered: 0,
    engine: 0,
    posting: 0,
    posted: 0,
    way_out: Way::Other,
    looked: 0,
    seen: 0,
    way_in: Way::Other,
};

thread_local! {
    static NOW: Cell<Now> = const { Cell::new(NOTHING) };
}

/// Returns whether messages are traced.
#[inline(always)]
pub fn is_on() -> bool {
    ON.load(Ordering::Relaxed)
}

/// Begins to trace if the settings say so; the channels are then to be wrapped. The number `job` is
/// that of no other job.
///
/// # Errors
/// The file of this process cannot be written. So that is known before the program has run for
/// hours.
pub fn start(me: Peer, job: u128) -> Result<(), Fault> {
    let Some(name) = verbena_settings::TRACE.get() else { return Ok(()) };
    let path = path(&name, me);
    let opened = std::fs::OpenOptions::new().create(true).append(true).open(&path);
    opened.map_err(|error| unwritable(path, &error))?;
    clock::choose();
    *RECORDER.lock().unwrap() = Some(Recorder::new(verbena_settings::TRACE_RECORDS_MAX.get(), job));
    ON.store(true, Ordering::Relaxed);
    Ok(())
}

/// The file of a process.
fn path(name: &str, me: Peer) -> String {
    format!("{name}.{me}.json")
}

fn unwritable(path: String, error: &std::io::Error) -> Fault {
    Fault {
        what: "the trace of this process could not be written".into(),
        on: path,
        cause: error.to_string(),
        remedy: "let VERBENA_TRACE name files in a folder that is there, has room, and may be written to"
            .into(),
    }
}

/// Writes the trace of this process to its file, if it traces.
///
/// # Errors
/// If the file cannot be written.
pub fn finish(me: Peer) -> Result<(), Fault> {
    let (Some(name), Some(recorder)) = (verbena_settings::TRACE.get(), &mut *RECORDER.lock().unwrap()) else {
        return Ok(());
    };
    let path = path(&name, me);
    // The call that ends MPI is still under way.
    if let Some(call) = calls::under_way() {
        recorder.call(call);
    }
    recorder.write(&path, me).map_err(|error| unwritable(path, &error))
}

/// Changes the thread's notes. Out of line, so that the fast paths do not ask for their place.
#[cold]
#[inline(never)]
fn update(change: impl FnOnce(&mut Now, u64)) {
    NOW.with(|cell| {
        let mut now = cell.get();
        change(&mut now, clock::ticks());
        cell.set(now);
    });
}

/// Stamps that the program has called MPI.
#[inline]
pub fn enter() {
    if is_on() {
        update(|now, ticks| *now = Now { entered: ticks, ..NOTHING });
    }
}

/// Stamps that MPI returns from this call, which gets the messages delivered during it.
#[inline]
pub fn leave(call: &str) {
    if is_on() {
        let left = clock::ticks();
        NOW.set(NOTHING);
        let receives = matches!(call, "MPI_Recv" | "MPI_Wait");
        with(|recorder| recorder.left(left, receives));
    }
}

/// Stamps that the engine has got a message to send.
#[inline]
pub fn in_engine() {
    if is_on() {
        update(|now, ticks| now.engine = ticks);
    }
}

/// Stamps that the packet is handed to the device, or put into memory that the receiver reads.
#[inline]
pub fn posting(way: Way) {
    if is_on() {
        update(|now, ticks| (now.posting, now.posted, now.way_out) = (ticks, 0, way));
    }
}

/// Stamps that the device has taken it, or it is there.
#[inline]
pub fn posted() {
    if is_on() {
        update(|now, ticks| now.posted = ticks);
    }
}

/// Stamps that the receiver begins to look for packets.
#[inline]
pub fn looking(way: Way) {
    if is_on() {
        update(|now, ticks| (now.looked, now.seen, now.way_in) = (ticks, 0, way));
    }
}

/// Stamps that the receiver has found a packet.
#[inline]
pub fn seen(way: Way) {
    if is_on() {
        update(|now, ticks| (now.seen, now.way_in) = (ticks, way));
    }
}

/// Records a message that left in one packet. Only one that the program gave in the call under way
/// can be told apart from others.
fn sent(peer: Peer, header: &Header) {
    let now = NOW.get();
    if now.entered == 0 || now.engine == 0 {
        return;
    }
    NOW.set(Now { engine: 0, ..now });
    with(|recorder| {
        recorder.sent(Sent {
            peer,
            sequence: header.sequence,
            bytes: header.length,
            way: now.way_out,
            entered: now.entered,
            engine: now.engine,
            posting: now.posting,
            posted: now.posted,
        });
    });
}

/// Records a message of one packet that the engine got at that time and has delivered just now.
fn delivered(peer: Peer, header: &Header, handed: u64) {
    let (now, delivered) = (NOW.get(), clock::ticks());
    NOW.set(Now { looked: delivered, seen: 0, ..now });
    with(|recorder| {
        recorder.received(Received {
            peer,
            sequence: header.sequence,
            bytes: header.length,
            way: now.way_in,
            looked: now.looked,
            seen: if now.seen == 0 { handed } else { now.seen },
            handed,
            delivered,
            left: 0,
            awaited: false,
        });
    });
}

fn with(act: impl FnOnce(&mut Recorder)) {
    if let Some(recorder) = &mut *RECORDER.lock().unwrap() {
        act(recorder);
    }
}
