//! Collectives over a board: memory that all members of a communicator on one node share
//! ([`verbena_channel::board`]).
//!
//! | file | what it does |
//! | --- | --- |
//! | `handle`, `agreement` | what a communicator holds of its board, and when it gets one |
//! | `short` | short collectives: each member appends a record, the others read it |
//! | `differing` | the errors of members whose calls or lengths do not match |
//! | `exchanges` | what each short collective writes and reads |
//! | `long_bcast` | long broadcasts through slots |
//! | `long_exchange` | long exchanges of blocks through slots |
//! | `rounds` | long reductions of more than two members through slots |
//! | `direct` | long reductions: the members reach into each other's memory |
//! | `addresses` | the records by which they tell each other where their vectors lie |
//! | `operands` | what they keep in slots |
//! | `in_place` | reductions whose operands and results travel in the same cache lines |
//! | `lengths` | the records by which the members of a reduction meet |
//! | `results` | the part of the result that each member gets |
//! | `blocking` | blocking calls that go one of these ways, without a schedule |
//!
//! Only blocking collectives use a board. Each member is in one of them at a time, and all go
//! through them in the same order (MPI-5.0, 6.14), so a board needs no tags. Nonblocking ones may
//! be begun in another order than blocking ones, and go by messages.

mod addresses;
mod agreement;
pub mod blocking;
pub mod differing;
pub mod direct;
pub mod exchanges;
mod handle;
pub mod in_place;
mod lengths;
pub mod long_bcast;
pub mod long_exchange;
mod operands;
pub mod results;
pub mod rounds;
pub mod short;

pub(crate) use blocking::or_lost;
pub(crate) use handle::BoardHandle;
pub use handle::SharedBoard;
