//! The settings that are tuned.
//!
//! | module | job |
//! | --- | --- |
//! | [`node`] | messages between two ranks of a node |
//! | [`network`] | messages between nodes |
//! | [`collectives`] | collectives |

mod collectives;
mod network;
mod node;

use clap::ValueEnum;
use verbena_lab::experiment::variant::{Place, Set, Variant, set};
use verbena_lab::experiment::{Experiment, goal, points};
use verbena_lab::metric::{Metric, Point};
use verbena_settings::{Kind, Setting};

/// The settings are judged by one of these measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum By {
    /// Latency and bandwidth
    Latency,
    /// The time that a transfer takes from a computation beside it
    Overlap,
}

/// The way in which the value of a setting follows from its candidates.
#[derive(Clone, Copy, Debug)]
pub(super) enum KnobKind {
    /// A threshold between two ways.
    Threshold {
        /// Both ways in words: the one for the less, and the one for the more.
        ways: [&'static str; 2],
        /// The side of the threshold on which the setting is.
        edge: Edge,
        /// The quantity that the setting counts.
        counts: Counts,
    },
    /// The best of these values.
    Values(&'static [&'static str]),
}

/// The side of a threshold on which a setting is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edge {
    /// The least that goes the second way.
    From,
    /// The most that goes the first way.
    UpTo,
}

/// The quantity that a threshold counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counts {
    /// Bytes of a message, or of a block.
    Bytes,
    /// Bytes by the ranks: the share of each.
    Share,
    /// Bytes times the ranks: all blocks together.
    Total,
    /// Ranks.
    Ranks,
}

impl Counts {
    /// Returns what the setting counts at a point with this many ranks.
    pub(super) fn of(self, point: Point, ranks: usize) -> usize {
        match self {
            Counts::Bytes => point.bytes,
            Counts::Share => point.bytes / ranks,
            Counts::Total => point.bytes * ranks,
            Counts::Ranks => ranks,
        }
    }
}

/// A setting to be found.
pub(super) struct Knob {
    /// The name of the setting without `VERBENA_`.
    pub setting: &'static str,
    /// The choice that the setting decides.
    pub what: &'static str,
    /// The metric to measure.
    pub metric: Metric,
    /// The sizes to measure, ascending.
    pub sizes: Vec<usize>,
    /// The numbers of ranks; several, ascending, only for a setting that counts ranks.
    pub ranks: Vec<usize>,
    /// True for a knob between two nodes.
    pub network: bool,
    /// The way in which its value follows.
    pub kind: KnobKind,
    /// The settings that it needs besides, so that it decides at all.
    fixed: Vec<Set>,
}

/// Messages in flight in the window tests.
const WINDOW: usize = 16;

/// A size larger than any message.
const NEVER: u64 = 1 << 40;

fn sizes(from: u32, to: u32) -> Vec<usize> {
    (from..=to).map(|power| 1 << power).collect()
}

/// A threshold of bytes: the shortest message that goes the second way.
fn from(ways: [&'static str; 2]) -> KnobKind {
    KnobKind::Threshold { ways, edge: Edge::From, counts: Counts::Bytes }
}

/// A threshold of bytes: the longest message that goes the first way.
fn up_to(ways: [&'static str; 2]) -> KnobKind {
    KnobKind::Threshold { ways, edge: Edge::UpTo, counts: Counts::Bytes }
}

/// The knobs, for the most ranks that may take part in a collective.
pub(super) fn knobs(by: By, network: bool, ranks_max: usize) -> Vec<Knob> {
    let mut knobs = match by {
        By::Latency => node::by_latency(),
        By::Overlap => node::by_overlap(),
    };
    if by == By::Latency {
        knobs.extend(collectives::on_a_node());
        knobs.extend(collectives::by_messages(network));
    }
    if network {
        knobs.extend(match by {
            By::Latency => network::by_latency(),
            By::Overlap => network::by_overlap(),
        });
    }
    knobs.into_iter().filter_map(|knob| knob.within(ranks_max)).collect()
}

/// The knobs that need more ranks.
pub(super) fn beyond(by: By, network: bool, ranks_max: usize) -> Vec<&'static str> {
    let has = knobs(by, network, ranks_max);
    let all = knobs(by, network, usize::MAX).into_iter().map(|knob| knob.setting);
    all.filter(|setting| has.iter().all(|knob| knob.setting != *setting)).collect()
}

impl Knob {
    /// Restricts the knob to this many ranks; `None` if it decides nothing then.
    fn within(mut self, ranks_max: usize) -> Option<Knob> {
        self.ranks.retain(|&ranks| ranks <= ranks_max.max(2));
        let needed = if self.counts_ranks() { 2 } else { 1 };
        (self.ranks.len() >= needed).then_some(self)
    }

    /// Returns whether it is a threshold of ranks.
    pub(super) fn counts_ranks(&self) -> bool {
        matches!(self.kind, KnobKind::Threshold { counts: Counts::Ranks, .. })
    }

    /// Returns the points to measure.
    pub(super) fn points(&self) -> Vec<Point> {
        points(self.metric, &self.sizes)
    }

    /// The values of the candidates, and their names.
    pub(super) fn values(&self) -> Vec<(String, String)> {
        match self.kind {
            KnobKind::Threshold { ways: [below, from], .. } => {
                let [never, always] = self.extremes().map(|value| value.to_string());
                vec![(never, below.into()), (always, from.into())]
            }
            KnobKind::Values(values) => {
                values.iter().map(|value| (value.to_string(), value.to_string())).collect()
            }
        }
    }

    /// The values with which everything goes the first way, and the second.
    fn extremes(&self) -> [i64; 2] {
        let range = self.range();
        [*range.end(), *range.start()]
    }

    /// The setting's range.
    ///
    /// # Panics
    /// If it is no number, which a test makes sure of.
    pub(super) fn range(&self) -> std::ops::RangeInclusive<i64> {
        match &self.of_table().kind {
            Kind::Number { range, .. } => range.clone(),
            other => panic!("{} is no number but {other:?}", self.setting),
        }
    }

    fn of_table(&self) -> &'static Setting {
        let named = |setting: &&Setting| setting.about.name == format!("VERBENA_{}", self.setting);
        verbena_settings::all().find(named).unwrap_or_else(|| panic!("there is no setting {}", self.setting))
    }

    /// Returns the experiment: one variant for each value, all under the values found before. If
    /// there is a profile, all run under it, and a last variant leaves the value to it.
    pub(super) fn experiment(&self, found: &[Set], profile: Option<&str>) -> Experiment {
        let place = if self.network { Place::Nodes } else { Place::Node };
        let is_free = |set: &&Set| set.0 != self.setting && self.fixed.iter().all(|fixed| fixed.0 != set.0);
        let file = profile.map(|file| set("SETTINGS", file));
        let common: Vec<Set> =
            self.fixed.iter().chain(found.iter().filter(is_free)).chain(&file).cloned().collect();
        let variant = |name: &str, more: Option<Set>| {
            Variant::ours(name, place, common.iter().cloned().chain(more).collect())
        };
        let values =
            self.values().into_iter().map(|(value, name)| variant(&name, Some(set(self.setting, value))));
        let profile = profile.map(|_| variant("profile", None));
        Experiment {
            name: self.setting,
            title: self.what,
            ranks: self.ranks.clone(),
            window: WINDOW,
            points: self.points(),
            variants: values.chain(profile).collect(),
            axis: None,
            goals: goal::none,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use verbena_lab::experiment::check_settings;
    use verbena_lab::experiment::variant::How;

    #[test]
    fn every_setting_exists_and_takes_its_values() {
        for by in [By::Latency, By::Overlap] {
            for knob in knobs(by, true, 64) {
                check_settings(&knob.experiment(&[], None));
                assert!(
                    knob.sizes.is_sorted() && knob.sizes.len() * knob.ranks.len() >= 3,
                    "{}",
                    knob.setting
                );
                if let KnobKind::Threshold { .. } = knob.kind {
                    assert!(
                        knob.range().contains(&(knob.sizes[0] as i64)) || knob.counts_ranks(),
                        "{}",
                        knob.setting
                    );
                }
            }
        }
    }

    /// The settings of a way that only the program's own operations go, which nothing here
    /// measures: predefined ones go in place.
    const OF_OWN_OPERATIONS: [&str; 2] = ["COLL_BOARD_EXCHANGE_BYTES_MIN", "COLL_BOARD_EXCHANGE_PIECE_BYTES"];

    /// Every threshold of collectives and long messages in the table can be tuned.
    #[test]
    fn every_threshold_of_the_collectives_is_a_knob() {
        let all = knobs(By::Latency, true, 64);
        for setting in verbena_settings::all() {
            let name = setting.about.name.trim_start_matches("VERBENA_");
            let known = all.iter().any(|knob| knob.setting == name);
            let untold = OF_OWN_OPERATIONS.contains(&name);
            assert!(known != untold || !name.starts_with("COLL_"), "{name}: tuned {known}");
        }
    }

    /// No knob turns off what its ranks do by default, to measure what they would do instead.
    #[test]
    fn a_knob_measures_the_way_that_its_ranks_go() {
        for knob in knobs(By::Latency, false, 64) {
            let never = |set: &&Set| set.0 == "COLL_IN_PLACE_BYTES_MIN" && set.1 == NEVER.to_string();
            assert_eq!(knob.fixed.iter().find(never), None, "{}", knob.setting);
            assert!(!knob.setting.starts_with("COLL_DIRECT_") || knob.ranks[0] > 2, "{}", knob.setting);
        }
    }

    #[test]
    fn what_was_found_counts_unless_the_knob_says_otherwise() {
        let all = knobs(By::Latency, false, 2);
        let knob = all.iter().find(|knob| knob.setting == "CMA_BYTES_MIN").expect("a knob");
        let found = [set("CLAIM_BYTES", 4096), set("CHANNELS", "rc"), set("CMA_BYTES_MIN", 7)];
        for variant in knob.experiment(&found, Some("/file")).variants {
            let How::Ours(_, settings) = variant.how else { panic!("ours") };
            assert!(settings.contains(&found[0]) && settings.contains(&set("SETTINGS", "/file")));
            assert!(!settings.contains(&found[1]) && !settings.contains(&found[2]));
        }
    }

    #[test]
    fn what_needs_more_ranks_is_left_out_and_named() {
        assert!(knobs(By::Latency, false, 2).iter().all(|knob| knob.ranks == [2]));
        let left = beyond(By::Latency, false, 2);
        assert!(left.contains(&"COLL_SHORT_MANY_BYTES_MAX") && !left.contains(&"CMA_BYTES_MIN"), "{left:?}");
    }
}
