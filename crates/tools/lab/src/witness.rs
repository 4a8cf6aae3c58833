//! The circumstances of a point in one job, as a worker tells them (`watch`).

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The circumstances of a point in one job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Witness {
    /// Processors that rank 0 may use.
    pub processors: usize,
    /// Seconds of an iteration: the median of the repetitions; 0 if it is not known.
    #[serde(default)]
    pub iteration_s: f64,
    /// The part of the repetitions' time for which a rank was ready to run and had no processor;
    /// that of the rank with the most. None where the kernel does not tell.
    pub waited: Option<f64>,
    /// The number of times that a rank was made to give up its processor, the most of any rank.
    pub preempted: f64,
    /// The part of the processors' time that a host took for others; none where nobody tells.
    pub stolen: Option<f64>,
    /// The counts for an iteration: the library's, of all ranks together, and with `device` before
    /// its name what the verbs devices of rank 0's node counted.
    pub counted: BTreeMap<String, f64>,
    /// The looks of rank 0 alone for an iteration: where others nap, their looks tell of the naps.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub root_looks: BTreeMap<String, f64>,
}
