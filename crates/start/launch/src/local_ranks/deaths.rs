//! Ranks that were killed while the others go on: what the ranks of this host are told of them, and
//! say about them.

use super::LocalRanks;
use super::rank::Rank;
use crate::wire::Report;
use verbena_boot::status::StatusMemory;

impl LocalRanks {
    /// The words that the ranks share.
    pub(super) fn memory(&self) -> Option<&StatusMemory> {
        self.ranks.first().and_then(Rank::memory)
    }

    /// Returns whether the rank at this place, which has ended, and all that run want to go on.
    pub(super) fn all_go_on_without(&self, place: usize) -> bool {
        self.ranks[place].goes_on() && self.ranks.iter().filter(|rank| rank.running).all(Rank::goes_on)
    }

    /// Tells all ranks that this one has died. Reports one of them that does not want to go on, or
    /// cannot be told.
    pub(super) fn bury(&mut self, dead: u32) {
        let is_told = self.memory().is_some_and(|memory| memory.bury(dead));
        let mut running = self.ranks.iter().filter(|rank| rank.running);
        if let Some(rank) = running.find(|rank| !is_told || !rank.goes_on()) {
            self.reports.push_back(Report::Refused { rank: rank.number, dead });
        }
    }

    /// Reports the deaths that were acknowledged, if there are more than before.
    pub(super) fn tell_acknowledged(&mut self) {
        let known = self.memory().map_or(0, StatusMemory::acknowledged);
        if std::mem::replace(&mut self.acknowledged, known) != known {
            let dead = self.memory().map_or_else(Vec::new, StatusMemory::acknowledged_ranks);
            self.reports.push_back(Report::Acknowledged { rank: self.ranks[0].number, dead });
        }
    }
}
