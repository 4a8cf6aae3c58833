//! Collectives over a board: memory that all members of a communicator on one node share
//! ([`verbena_channel::board`]).
//!
//! | file | what it does |
//! | --- | --- |
//! | `seat` | when a communicator gets a board, and what it holds of it |
//! | `short` | short collectives: each member appends a record, the others read it |
//! | `exchanges` | what each short collective writes and reads |
//! | `long_bcast` | long broadcasts through slots |
//! | `direct` | long reductions: the members reach into each other's memory |
//! | `places` | the records by which they tell each other where their vectors lie |
//! | `rooms` | what they keep in slots |
//! | `blocking` | blocking calls that go one of these ways, without a schedule |
//!
//! Only blocking collectives use a board. Each member is in one of them at a time, and all go
//! through them in the same order (MPI-5.0, 6.14), so a board needs no tags. Nonblocking ones may
//! be begun in another order than blocking ones, and go by messages.

pub mod blocking;
pub mod direct;
pub mod exchanges;
pub mod long_bcast;
mod places;
mod rooms;
mod seat;
pub mod short;

pub(crate) use seat::Seat;
pub use seat::SharedBoard;
