//! `verbena tune`: finds the settings that are best on this machine, and writes them into a file
//! that later runs read (`VERBENA_SETTINGS=FILE`; paper 3, section 4).
//!
//! A *knob* is a setting and its candidates. The candidates are a few values, or two ways of moving
//! a message; then the setting is the size from which the second way is better. Candidates take
//! turns, knob after knob, each under the values found before. The better quartiles of their
//! samples decide; the file says why. `--by latency` goes by latency and bandwidth (paper 3,
//! 4.1.1), `--by overlap` by the time that a transfer takes from a computation beside it (4.1.2).
//! `--check FILE` measures again and compares the file with the best candidate at every size,
//! sample by sample of the same round.
//!
//! | module | job |
//! | --- | --- |
//! | [`beforehand`] | the checks before anything is measured |
//! | [`knobs`] | the settings that are tuned, as data |
//! | [`choose`] | the conclusions from the measurements |
//! | [`profile`] | the file |
//! | [`command`] | the command line |

mod beforehand;
mod choose;
pub(crate) mod command;
mod knobs;
mod profile;
