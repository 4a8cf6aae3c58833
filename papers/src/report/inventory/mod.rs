//! The measurements of the five papers: every figure, every table and every number that their texts
//! state. Each has its claim and the measurement here that answers it, or why nothing here can.
//!
//! The papers lie before us as text, so a figure's curves are known only where the text tells them.
//! Captions are in our own words.
//!
//! | module | paper |
//! | --- | --- |
//! | [`one`] | J. Liu, J. Wu, D. K. Panda: High Performance RDMA-Based MPI Implementation over InfiniBand (2003) |
//! | [`two`] | J. Liu et al.: Design and Implementation of MPICH2 over InfiniBand with RDMA Support (2004) |
//! | [`three`] | L. Chai et al.: Analysis of Design Considerations for Optimizing Multi-Channel MPI over InfiniBand (2004) |
//! | [`four`] | A. Friedley et al.: Scalable High Performance Message Passing over InfiniBand for Open MPI (2007) |
//! | [`five`] | A. Gray, J. Hein, S. Booth: Improved MPI with RDMA (2005) |

mod five;
mod four;
mod four_at_scale;
mod one;
mod one_applied;
mod over_nodes;
mod three;
mod two;
mod two_channel;
mod two_zero_copy;

use super::pick::Pick;

/// A figure, a table, or a passage with numbers.
#[derive(Clone, Debug)]
pub(super) struct Item {
    /// The paper, 1 to 5.
    pub paper: u8,
    /// The place in the paper, such as `figure 12` or `table 1`; `text` for numbers that only the
    /// text has.
    pub place: &'static str,
    /// The section that describes it.
    pub section: &'static str,
    /// The subject, in our words.
    pub about: &'static str,
    /// The numbers that the paper states.
    pub numbers: Vec<Number>,
    /// The claims of the paper, and what we see.
    pub claims: Vec<Claim>,
    /// The pictures that are drawn of our results.
    pub shows: Vec<Show>,
    /// The reasons why there is nothing of ours, or less than in the paper.
    pub lacks: Vec<&'static str>,
}

/// A number of the paper.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Number {
    /// The quantity that the number states.
    pub what: &'static str,
    /// The value of the number.
    pub value: f64,
    /// The unit of the number.
    pub unit: &'static str,
}

/// A claim, and the places where we look whether it holds.
#[derive(Clone, Debug)]
pub(super) struct Claim {
    /// The two things that are compared, or the thing that is measured.
    pub what: &'static str,
    /// The ratio that the paper claims; none where it only shows.
    pub claimed: Option<Claimed>,
    /// The values of ours.
    pub seen: Vec<Seen>,
}

/// A ratio that is claimed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Claimed {
    /// Within a tenth of this value.
    About(f64),
    /// At least this: as much, or no slower.
    AtLeast(f64),
    /// At most this: as little, or no slower.
    AtMost(f64),
    /// More than this: an equal value is not as claimed.
    Above(f64),
    /// Less than this: an equal value is not as claimed.
    Below(f64),
    /// From the first value to the other.
    Within(f64, f64),
}

/// A value of ours, or the ratio of two.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Seen {
    /// The value.
    pub of: Pick,
    /// The divisor of the value.
    pub to: Option<To>,
    /// More ratios: the row shows the geometric mean of all.
    pub also: Vec<(Pick, Pick)>,
    /// A remark for the reader.
    pub remark: &'static str,
    /// True for a number by which no constant of the simulator's model was chosen, so that it can
    /// contradict the model.
    pub held_out: bool,
    /// The counter that alone tells the two sides apart, where both are to move the same packets;
    /// empty where the packets tell. Without it in the counts of a run nothing can be told.
    pub counter: &'static str,
}

/// The divisor of a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum To {
    /// A value of ours, too.
    Ours(Pick),
    /// A number of the paper, in the value's unit.
    Paper(f64),
}

/// A plot of ours: a metric of an experiment, a line or a bar for each series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Show {
    /// The experiment.
    pub experiment: &'static str,
    /// The metric.
    pub metric: &'static str,
    /// The meaning of the horizontal axis.
    pub axis: &'static str,
}

impl Item {
    fn new(paper: u8, place: &'static str, section: &'static str, about: &'static str) -> Item {
        let (numbers, claims, shows, lacks) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Item { paper, place, section, about, numbers, claims, shows, lacks }
    }

    fn number(mut self, what: &'static str, value: f64, unit: &'static str) -> Item {
        self.numbers.push(Number { what, value, unit });
        self
    }

    fn claim(mut self, what: &'static str, claimed: Claimed, seen: impl Into<Vec<Seen>>) -> Item {
        self.claims.push(Claim { what, claimed: Some(claimed), seen: seen.into() });
        self
    }

    /// Values without a claimed ratio.
    fn ours(mut self, what: &'static str, seen: impl Into<Vec<Seen>>) -> Item {
        self.claims.push(Claim { what, claimed: None, seen: seen.into() });
        self
    }

    fn show(mut self, experiment: &'static str, metric: &'static str) -> Item {
        self.shows.push(Show { experiment, metric, axis: "message size" });
        self
    }

    fn show_over(mut self, axis: &'static str, experiment: &'static str, metric: &'static str) -> Item {
        self.shows.push(Show { experiment, metric, axis });
        self
    }

    fn lacks(mut self, reason: &'static str) -> Item {
        self.lacks.push(reason);
        self
    }
}

/// A value.
fn value(of: Pick) -> Seen {
    Seen { of, to: None, also: Vec::new(), remark: "", held_out: false, counter: "" }
}

/// The ratio of two values.
fn ratio(of: Pick, to: Pick) -> Seen {
    Seen { to: Some(To::Ours(to)), ..value(of) }
}

/// The ratio of a value to a number of the paper, which has the same unit.
fn against(of: Pick, paper: f64) -> Seen {
    Seen { to: Some(To::Paper(paper)), ..value(of) }
}

/// The geometric mean of several ratios.
fn mean(first: (Pick, Pick), also: Vec<(Pick, Pick)>) -> Seen {
    Seen { also, ..ratio(first.0, first.1) }
}

impl Seen {
    fn but(self, remark: &'static str) -> Seen {
        Seen { remark, ..self }
    }

    fn told_by(self, counter: &'static str) -> Seen {
        Seen { counter, ..self }
    }

    fn held_out(self) -> Seen {
        Seen { held_out: true, ..self }
    }
}

/// Returns everything, by paper and place.
pub(super) fn all() -> Vec<Item> {
    [
        one::items(),
        one_applied::items(),
        two::items(),
        two_zero_copy::items(),
        two_channel::items(),
        three::items(),
        four::items(),
        four_at_scale::items(),
        five::items(),
    ]
    .concat()
}

/// The short title of a paper.
pub(super) fn title(paper: u8) -> &'static str {
    match paper {
        1 => "High Performance RDMA-Based MPI Implementation over InfiniBand",
        2 => "MPICH2 over InfiniBand with RDMA Support",
        3 => "Optimizing Multi-Channel MPI over InfiniBand",
        4 => "Open MPI over Unreliable Datagrams",
        _ => "Improved MPI with RDMA (HPCx)",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_figure_and_no_table_is_left_out() {
        let places: BTreeSet<(u8, &str)> = all().iter().map(|item| (item.paper, item.place)).collect();
        for (paper, figures, tables) in [(1, 23, 2), (2, 17, 0), (3, 5, 0), (4, 8, 0), (5, 2, 0)] {
            for number in 1..=figures {
                let place = format!("figure {number}");
                assert!(places.contains(&(paper, place.as_str())), "paper {paper}, {place}");
            }
            for number in 1..=tables {
                let place = format!("table {number}");
                assert!(places.contains(&(paper, place.as_str())), "paper {paper}, {place}");
            }
        }
    }

    #[test]
    fn every_item_has_something_of_ours_or_a_reason() {
        for item in all() {
            let measured = item.claims.iter().any(|claim| !claim.seen.is_empty());
            assert!(measured || !item.lacks.is_empty(), "paper {}, {}", item.paper, item.place);
            let unanswered = item.claims.iter().any(|claim| claim.seen.is_empty());
            assert!(!unanswered || !item.lacks.is_empty(), "paper {}, {}", item.paper, item.place);
        }
    }

    /// A place is answered by a row that can come out against the paper, or it says why not.
    #[test]
    fn every_place_has_a_row_that_can_fail_or_a_reason() {
        for item in all() {
            let judged = |claim: &Claim| claim.claimed.is_some() && !claim.seen.is_empty();
            let can_fail = item.claims.iter().any(judged);
            assert!(can_fail || !item.lacks.is_empty(), "paper {}, {}", item.paper, item.place);
        }
    }

    #[test]
    fn what_is_drawn_is_what_is_compared() {
        for item in all() {
            let compared: BTreeSet<&str> =
                item.claims.iter().flat_map(|claim| &claim.seen).map(|seen| seen.of.experiment).collect();
            for show in &item.shows {
                assert!(compared.contains(show.experiment), "paper {}, {}: {show:?}", item.paper, item.place);
            }
        }
    }
}
