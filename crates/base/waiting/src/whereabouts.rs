//! The cores on which the ranks of a node are, as they told.

/// The place of a rank, as it told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
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
    /// A rank, or one that has not told and may be there.
    Rank,
}

/// The cores on which the ranks of a node run, as they told: when they last waited for long, or
/// their progress thread last woke.
pub trait Whereabouts {
    /// The number of this rank on the node.
    fn me(&self) -> u32;
    /// Tells where this rank is.
    fn tell(&self, where_it_is: Told);
    /// The place of each rank, by its number; `None` for one that has not told yet.
    fn told(&self) -> impl Iterator<Item = Option<Told>>;
    /// The number of ranks that do not sleep.
    fn awake(&self) -> u32;
}

/// The other ranks on this core.
pub(crate) fn others_on(ranks: &impl Whereabouts, core: u32) -> Others {
    let others = (0..).zip(ranks.told()).filter(|(rank, _)| *rank != ranks.me());
    let here = others.map(|(_, told)| match told {
        None => Others::Rank,
        Some(told) if told.core != core => Others::Nobody,
        Some(told) if told.helper => Others::Helpers,
        Some(_) => Others::Rank,
    });
    here.max().unwrap_or(Others::Nobody)
}
