//! Boards ([`verbena_channel::board`]) in mapped memory.
//!
//! | module | what it does |
//! | --- | --- |
//! | `log` | the protocol of the logs: what is where, who may write when |
//! | `parts` | parts of a collective that any member may do |
//! | `memory` | the measures of a board, and its words and bytes by address |
//! | `mapped` | a member's side of a board in mapped memory |
//! | `words` | the words there by which members say where they are and what they call |
//! | [`heap`] | the members of a board within one process, for the simulator and for tests |

pub mod heap;
mod log;
pub(crate) mod mapped;
pub(crate) mod memory;
mod parts;
mod words;
