//! The parts of a comparison. An *experiment* is a few points under several *variants*: settings of
//! our library, the bare device (perftest), or another MPI library. The variants of all experiments
//! take turns, round by round, so that a disturbance of the machine affects all alike; a value is
//! the median of all rounds (with `--lossy` the mean over time). Each variant carries the command
//! that measured it.
//!
//! | module | job |
//! | --- | --- |
//! | [`measured`], [`variant`] | the comparisons, as data, and their measurements |
//! | [`between`] | where, and how ranks are started there |
//! | [`device`], [`verb`] | the bare device, by perftest |
//! | [`series`] | the measurements of one variant |
//! | [`goal`] | the goals that they must meet |
//! | [`comparable`] | which samples may be compared |
//! | [`record`] | the result file |
//! | [`command`], [`bar`] | the options that command lines share, and a bar on a terminal |
//! | [`axis`], [`show`] | the axis of the values, and tables |
//!
//! # The result file
//!
//! `--json FILE` has the same form for every comparison, and for `verbena tune`:
//!
//! ```json
//! {
//!   "command": "verbena-papers rc latency", "written_unix_s": 1763800000, "machine": "a processor, 2 usable",
//!   "note": null,
//!   "experiments": [{
//!     "experiment": "latency", "title": "Latency of small messages (paper 1, figure 12)", "axis": null,
//!     "series": [{
//!       "variant": "RDMA eager", "at": null,
//!       "report": {
//!         "command": "VERBENA_CHANNELS=rc mpiexec ...", "started_unix_s": 1763800000, "machine": "a processor, 2 usable",
//!         "library": {"name": "Verbena 0.1.0", "standard": [5, 0], "abi": "standard"},
//!         "entries": [{
//!           "metric": "latency", "bytes": 8, "ranks": 2, "unit": "us",
//!           "value": 32.1, "samples": [32.1, 33.0, 31.9], "iterations": 120, "failure": null
//!         }]
//!       }
//!     }]
//!   }],
//!   "goals": [{"what": "what is compared", "ratio": 1.1, "bound": {"at_most": 1.15}, "met": true}],
//!   "model": {"title": "nothing measured", "tables": [{"title": "", "columns": ["size", "here"], "rows": [{"name": "4 B", "values": [7.4]}]}]}
//! }
//! ```
//!
//! `note` is the text of `--note`, as in "1% loss"; `axis` says how the variants with an `at`
//! differ, and `at` is the variant's place there; a `value` is the median of `samples` (with
//! `--lossy` their mean over time), null if nothing could be measured, and `failure` then says why;
//! `ratio` is null if a part of it was not measured; `model` is null without `--model`.

pub mod axis;
pub mod bar;
pub mod between;
pub mod command;
mod comparable;
pub mod device;
pub mod goal;
mod measured;
pub mod record;
pub mod series;
pub mod show;
pub mod variant;
pub mod verb;

pub use comparable::{comparable, is_one_speed};
pub use measured::{Experiment, Measured, Wanted, check_settings, points};
