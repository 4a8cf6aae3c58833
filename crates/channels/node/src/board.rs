//! Boards ([`verbena_channel::board`]) in mapped memory.
//!
//! | module | what it does |
//! | --- | --- |
//! | `log` | the protocol of the logs: what is where, who may write when |
//! | `parts` | parts of a collective that any member may do |
//! | `mapped` | a board in mapped memory |
//! | [`heap`] | the members of a board within one process, for the simulator and for tests |

pub mod heap;
mod log;
pub(crate) mod mapped;
mod parts;
