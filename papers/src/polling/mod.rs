//! `verbena-papers polling`: the measurements of polling in paper 3, section 3.3, between two
//! nodes: two ranks on one and one on the other, of which two talk at a time.
//!
//! It runs where verbs devices are (`cargo xtask softroce --nodes 2 -- verbena-papers polling`),
//! and without them over `ofi` between network namespaces (`cargo xtask papers --cable -- polling
//! --hosts a,b`), where an empty look is a system call. Latency within the node and over the
//! network is measured by the ratio of polls (figure 2), and the discovery of bursts by the update
//! rate of the dynamic scheme (figure 3), by its history and by its largest ratio. Discovery is
//! timed by stamps of the common clock, with receives that name their sender and from any source.
//! `--model` adds the figures of a model of the paper's costs. [`verbena_lab::experiment`]
//! describes experiments and the result file.
//!
//! | module | job |
//! | --- | --- |
//! | [`experiments`] | what is compared, as data, and what must be true |
//! | [`command`] | the command line |

pub(crate) mod command;
pub(crate) mod experiments;
