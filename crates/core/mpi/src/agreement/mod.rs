//! Agreement among the members of a communicator that are left (ULFM's `MPIX_Comm_agree` and
//! `MPIX_Comm_shrink`).
//!
//! | file | what it does |
//! | --- | --- |
//! | `value` | what is agreed on, and its bytes |
//! | `machine` | the protocol, without messages and clocks |
//! | `run` | the protocol over the messages of the engine, as a task |

mod machine;
mod run;
mod value;

pub use machine::{Kept, Machine, Message};
pub use run::{Agreement, start};
pub use value::{Members, Value};
