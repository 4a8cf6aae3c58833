//! The cores on which the ranks of a node are, as they reported.

/// The place of a rank, as it reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReportedPlace {
    /// The core.
    pub core: u32,
    /// True if only its progress thread is there: the program computes elsewhere.
    pub helper: bool,
}

/// The other ranks on a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Others {
    /// No rank.
    Nobody,
    /// Only progress threads: they never wait here for long, and their programs are best left alone
    /// elsewhere.
    Helpers,
    /// A rank, or one that has not reported and may be there.
    Rank,
}

/// The cores on which the ranks of a node run, as they reported: when they last waited for long, or
/// their progress thread last woke.
pub trait Whereabouts {
    /// The number of this rank on the node.
    fn me(&self) -> u32;
    /// Reports where this rank is.
    fn report(&self, where_it_is: ReportedPlace);
    /// The place of each rank, by its number; `None` for one that has not reported yet.
    fn reported(&self) -> impl Iterator<Item = Option<ReportedPlace>>;
    /// The number of ranks that do not sleep.
    fn awake(&self) -> u32;
}

/// The other ranks on this core.
pub(crate) fn others_on(ranks: &impl Whereabouts, core: u32) -> Others {
    let others = (0..).zip(ranks.reported()).filter(|(rank, _)| *rank != ranks.me());
    let here = others.map(|(_, place)| match place {
        None => Others::Rank,
        Some(place) if place.core != core => Others::Nobody,
        Some(place) if place.helper => Others::Helpers,
        Some(_) => Others::Rank,
    });
    here.max().unwrap_or(Others::Nobody)
}
