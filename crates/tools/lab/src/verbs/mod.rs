//! The bare verbs device: a program of two ranks over `verbena_verbs` alone, without MPI and
//! without the engine. It measures what papers 1 and 2 measured below their libraries, and gives
//! the numbers by which the simulator's model of a device is calibrated.
//!
//! The ranks are started by an `mpiexec` and find each other through it (`verbena_boot`). Every row
//! proves that its operations happened: bytes are compared with what was sent, immediate values and
//! completions with what was posted. Work is never inline: the device fetches the bytes, as that of
//! the papers did.
//!
//! | module | job |
//! | --- | --- |
//! | [`outcome`] | the rows, and the result file |
//! | [`command`] | starts the two ranks and collects their rows |
//! | [`worker`] | one rank: which rows, in which order |
//! | [`show`] | the rows as tables |
//! | `session` | what the two ranks share: device, memory, agreement |
//! | `port`, `memory`, `pair`, `waiting` | an open port, registered memory, a connected queue pair, waits that end |
//! | `ways`, `latency` | the ways of sending a message, and half round trips of each |
//! | `one_sided` | work at which the peer takes no part: speed, time to its completion, time of a post |
//! | `sends` | a stream of sends |
//! | `looks` | looks at a completion queue |
//! | `making` | registrations, queue pairs, shared receive queues, receive buffers |
//! | `copying` | copies by the processor, alone and while the device moves bytes |
//!
//! # The result file
//!
//! `--json FILE` holds one [`outcome::Outcome`]:
//!
//! ```json
//! {
//!   "command": "verbena bench verbs", "started_unix_s": 1763800000, "machine": "a processor, 2 usable",
//!   "places": ["rxe0:1, GID ...", "rxe1:1, GID ..."],
//!   "rows": [{
//!     "subject": "latency", "variant": "write with immediate", "at": 64, "unit": "us",
//!     "value": 12.1, "samples": [12.1, 12.0, 12.9], "iterations": 900, "checked": 5412
//!   }]
//! }
//! ```
//!
//! `at` counts bytes, for looks connections; `value` is the median of `samples`; `checked` is the
//! number of bytes, immediate values, completions or objects that were compared and right.

pub mod command;
mod copying;
mod latency;
mod looks;
mod making;
mod memory;
mod one_sided;
pub mod outcome;
mod pair;
mod port;
mod sends;
mod session;
pub mod show;
mod waiting;
mod ways;
pub mod worker;
