//! `verbena bench polling`: what paper 3, section 3.3, measured of polling, on two nodes with two ranks each.
//!
//! It runs where verbs devices are (`cargo xtask softroce --nodes 2 -- verbena bench polling`): latency within the node and over the
//! network by the ratio of polls (figure 2), and the discovery of bursts by the update rate of the dynamic scheme (figure 3).
//! All variants take turns, round by round. `--model` adds the figures of a model of the paper's costs.
//!
//! | module | job |
//! | --- | --- |
//! | [`variants`] | what is compared, as data |
//! | [`command`] | the command line |
//! | [`show`] | tables, plots and goals |

pub mod command;
mod show;
mod variants;
