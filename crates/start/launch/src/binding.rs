//! The processors that each rank of a host may run on. No I/O.
//!
//! The ranks of a host are seated on areas: in turns, each area filled before the next, or a fixed
//! number on each. Within its area each rank takes the first objects, of the sort that it is bound
//! to, that have the fewest ranks, those of other jobs too. A rank for which its area has no room
//! goes to the one with the fewest, unless a fixed number is ordered. An object that is larger than
//! the area is taken whole.

use crate::load::Load;
use crate::topology::{Object, Topology};
use serde::{Deserialize, Serialize};
use verbena_fault::Fault;

/// The load of a processor above one that comes of rounding: thirds do not add up to one exactly.
const ROUNDING: f64 = 1e-6;

/// The binding of a job's ranks, as the command line orders it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Binding {
    /// The sort of objects that ranks are bound to; `None`: they run wherever `mpiexec` may.
    pub to: Option<Object>,
    /// The number of objects that each rank gets, if not one.
    pub each: Option<u32>,
    /// The sort of objects that are the areas; `None`: the whole host is one.
    pub by: Option<Object>,
    /// The order in which ranks are seated on areas.
    pub seating: Seating,
    /// True if the binding of each rank is reported.
    pub reported: bool,
    /// True if it is wished that ranks share cores.
    pub crowded: bool,
}

/// The order in which ranks are seated on areas.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Seating {
    /// One on each area, in turns.
    #[default]
    Turns,
    /// An even share on the first area, then on the next.
    Filled,
    /// This many on each area, in turns.
    Fixed(u32),
}

impl Seating {
    /// The area of the next rank, if the areas have these numbers of ranks by now, those of other
    /// jobs too.
    fn area(self, seated: &[f64]) -> usize {
        let number = match self {
            Seating::Turns | Seating::Filled => 1,
            Seating::Fixed(number) => number.max(1),
        };
        let rounds = seated.iter().map(|seated| ((seated + ROUNDING) / f64::from(number)) as u64);
        rounds.zip(0..).min().map_or(0, |(_, area)| area)
    }
}

impl Binding {
    /// The processors of each of a host's ranks, where other jobs load it so; nothing for a rank
    /// that is not bound.
    ///
    /// # Errors
    /// The host does not tell of the objects.
    pub fn processors(&self, host: &Topology, ranks: usize, others: &Load) -> Result<Vec<Vec<u32>>, Fault> {
        let Some(to) = self.to else { return Ok(vec![Vec::new(); ranks]) };
        let told = |object| {
            let groups = host.groups(object).filter(|groups| !groups.is_empty());
            groups.ok_or_else(|| unknown(object))
        };
        let objects = told(to)?;
        // Areas of one object each would be the same as one area of all.
        let by = self.by.filter(|&by| by != to || matches!(self.seating, Seating::Fixed(_)));
        let areas = by.map_or_else(|| Ok(vec![host.all()]), told)?;
        let inside: Vec<Vec<&[u32]>> = areas.iter().map(|area| meeting(area, &objects)).collect();
        let units = self.units(host);
        let held = |area: &Vec<u32>| meeting(area, &units).iter().map(|unit| others.mean(unit)).sum::<f64>();
        let mut seated: Vec<f64> = areas.iter().map(|area| held(area) / self.promised()).collect();
        let mut load = others.clone();
        let seat = |_| {
            let (area, seat) = self.seat(&inside, self.seating.area(&seated), &units, &load);
            seated[area] += 1.0;
            load.add(&seat, self.part(&units, &seat));
            (area, seat)
        };
        let mut seats: Vec<(usize, Vec<u32>)> = (0..ranks).map(seat).collect();
        if self.seating == Seating::Filled {
            seats.sort_by_key(|(area, _)| *area);
        }
        Ok(seats.into_iter().map(|(_, seat)| seat).collect())
    }

    /// The load that ranks bound to these processors are.
    pub fn load(&self, host: &Topology, seats: &[Vec<u32>]) -> Load {
        let (units, mut load) = (self.units(host), Load::default());
        seats.iter().for_each(|seat| load.add(seat, self.part(&units, seat)));
        load
    }

    /// Tells for each of a host's ranks, bound to these processors, whether others take from it
    /// what it was promised: the number of cores (or of hardware threads, if ranks are bound to
    /// those) that was asked for, or one. Ranks of other jobs count. Those that may run on several
    /// cores leave it one of those, unless they need all.
    pub fn crowded(&self, host: &Topology, seats: &[Vec<u32>], others: &Load) -> Vec<bool> {
        let is_narrow = matches!(self.to, Some(Object::HardwareThread | Object::Core));
        let mut load = if is_narrow { others.whole(ROUNDING) } else { others.clone() };
        load.add_all(&self.load(host, seats));
        seats.iter().map(|seat| load.mean(seat) > 1.0 + ROUNDING).collect()
    }

    /// The place of a rank, with the number of its area: the planned one if it has room.
    fn seat(
        &self,
        inside: &[Vec<&[u32]>],
        planned: usize,
        units: &[Vec<u32>],
        load: &Load,
    ) -> (usize, Vec<u32>) {
        let has_room = |seat: &[u32]| load.mean(seat) + self.part(units, seat) <= 1.0 + ROUNDING;
        let seat = |area: usize| (area, self.emptiest(&inside[area], load));
        let own = seat(planned);
        if matches!(self.seating, Seating::Fixed(_)) || has_room(&own.1) {
            return own;
        }
        let others = (planned + 1..planned + inside.len()).map(|area| seat(area % inside.len()));
        let lower = |one: (usize, Vec<u32>), other: (usize, Vec<u32>)| {
            if load.mean(&other.1) < load.mean(&one.1) { other } else { one }
        };
        others.fold(own, lower)
    }

    /// The processors of those objects that have the fewest ranks.
    fn emptiest(&self, objects: &[&[u32]], load: &Load) -> Vec<u32> {
        let mut by_load: Vec<(f64, &[u32])> =
            objects.iter().map(|object| (load.mean(object), *object)).collect();
        by_load.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        let taken = by_load.iter().take(self.each.unwrap_or(1).max(1) as usize);
        let mut processors: Vec<u32> = taken.flat_map(|(_, object)| *object).copied().collect();
        processors.sort_unstable();
        processors
    }

    /// The processors of each core, or of each hardware thread if ranks are bound to those. Where
    /// the host does not tell of cores, each processor is one.
    fn units(&self, host: &Topology) -> Vec<Vec<u32>> {
        let cores = host.groups(Object::Core).filter(|_| self.to != Some(Object::HardwareThread));
        cores.or_else(|| host.groups(Object::HardwareThread)).unwrap_or_default()
    }

    /// The number of cores, or of hardware threads, that a rank shall have to itself.
    fn promised(&self) -> f64 {
        let each = match self.to {
            Some(Object::HardwareThread | Object::Core) => self.each,
            _ => None,
        };
        f64::from(each.unwrap_or(1).max(1))
    }

    /// The part of a rank, bound to these processors, that each of them is for.
    fn part(&self, units: &[Vec<u32>], seat: &[u32]) -> f64 {
        self.promised() / meeting(seat, units).len().max(1) as f64
    }
}

/// The objects that have processors in an area.
fn meeting<'a>(area: &[u32], objects: &'a [Vec<u32>]) -> Vec<&'a [u32]> {
    let meets = |object: &&Vec<u32>| object.iter().any(|processor| area.contains(processor));
    objects.iter().filter(meets).map(Vec::as_slice).collect()
}

fn unknown(object: Object) -> Fault {
    Fault::new(
        "The ranks cannot be bound.",
        format!("--bind-to or --map-by {object}"),
        format!("/sys does not tell which processors share a {object}, as in some virtual machines"),
        "choose another, such as core or numa, or leave the option out",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::tests::machine;
    use std::sync::atomic::AtomicU32;
    use std::sync::atomic::Ordering::Relaxed;
    use verbena_testing::files::Folder;

    /// A machine of two packages, eight cores and sixteen processors. These may be used.
    fn host_with(allowed: &[u32]) -> Topology {
        static LAST: AtomicU32 = AtomicU32::new(0);
        let root = Folder::new(&format!("binding-{}", LAST.fetch_add(1, Relaxed)), &[]);
        machine(&root.0);
        Topology::read(&root.0, allowed)
    }

    fn host() -> Topology {
        host_with(&(0..16).collect::<Vec<_>>())
    }

    /// The processors of all ranks.
    fn seats(binding: Binding, ranks: usize) -> Vec<Vec<u32>> {
        binding.processors(&host(), ranks, &Load::default()).unwrap()
    }

    /// The first processors of all ranks.
    fn first(binding: Binding, ranks: usize) -> Vec<u32> {
        seats(binding, ranks).iter().map(|seat| seat[0]).collect()
    }

    /// The first processors of jobs with these bindings and numbers of ranks, each spawned by the
    /// one before, and the number of ranks of the last that share a core.
    fn spawned(jobs: &[(Binding, usize)]) -> (Vec<Vec<u32>>, usize) {
        let (host, mut load, mut crowded) = (host(), Load::default(), 0);
        let seat = |(binding, ranks): &(Binding, usize)| {
            let seats = binding.processors(&host, *ranks, &load).unwrap();
            crowded = binding.crowded(&host, &seats, &load).iter().filter(|crowded| **crowded).count();
            load.add_all(&binding.load(&host, &seats));
            seats.iter().map(|seat| seat[0]).collect()
        };
        (jobs.iter().map(seat).collect(), crowded)
    }

    fn to(object: Object) -> Binding {
        Binding { to: Some(object), ..Binding::default() }
    }

    #[test]
    fn without_an_order_nothing_is_bound() {
        assert_eq!(seats(Binding::default(), 2), [vec![], vec![]]);
    }

    #[test]
    fn ranks_take_the_next_object_and_begin_again() {
        assert_eq!(seats(to(Object::Core), 3), [[0, 8], [1, 9], [2, 10]]);
        assert_eq!(seats(to(Object::Core), 9)[8], [0, 8]);
        assert_eq!(seats(to(Object::HardwareThread), 3), [[0], [8], [1]]);
        assert_eq!(seats(to(Object::L3Cache), 2), [[0, 1, 8, 9], [2, 3, 10, 11]]);
        assert_eq!(seats(to(Object::Package), 3)[2], [0, 1, 2, 3, 8, 9, 10, 11]);
    }

    #[test]
    fn several_objects_for_each_rank() {
        let two = Binding { each: Some(2), ..to(Object::Core) };
        assert_eq!(seats(two, 2), [[0, 1, 8, 9], [2, 3, 10, 11]]);
        let by = Binding { by: Some(Object::Package), ..two };
        assert_eq!(seats(by, 3), [[0, 1, 8, 9], [4, 5, 12, 13], [2, 3, 10, 11]]);
        assert_eq!(seats(Binding { each: Some(99), ..to(Object::Core) }, 1)[0].len(), 16);
    }

    #[test]
    fn areas_in_turns_filled_or_with_a_fixed_number() {
        let by = Binding { by: Some(Object::Package), ..to(Object::Core) };
        assert_eq!(first(by, 5), [0, 4, 1, 5, 2]);
        assert_eq!(first(Binding { seating: Seating::Filled, ..by }, 5), [0, 1, 2, 4, 5]);
        assert_eq!(first(Binding { seating: Seating::Fixed(2), ..by }, 5), [0, 1, 4, 5, 2]);
        let pairs = Binding { by: Some(Object::Core), seating: Seating::Fixed(2), ..to(Object::Core) };
        assert_eq!(first(pairs, 4), [0, 0, 1, 1]);
    }

    #[test]
    fn ranks_that_share_a_core_are_known() {
        let crowded = |binding: Binding, ranks: usize| {
            let (host, none) = (host(), Load::default());
            let seats = binding.processors(&host, ranks, &none).unwrap();
            binding.crowded(&host, &seats, &none).iter().filter(|crowded| **crowded).count()
        };
        assert_eq!(crowded(to(Object::Core), 8), 0);
        assert_eq!(crowded(to(Object::Core), 9), 2);
        assert_eq!(crowded(to(Object::HardwareThread), 16), 0);
        assert_eq!(crowded(to(Object::HardwareThread), 17), 2);
        assert_eq!(crowded(to(Object::Package), 8), 0, "four cores for four ranks on each");
        assert_eq!(crowded(to(Object::Package), 9), 5);
        assert_eq!(crowded(Binding { each: Some(2), ..to(Object::Core) }, 4), 0);
        assert_eq!(crowded(Binding { each: Some(2), ..to(Object::Core) }, 5), 2);
        assert_eq!(crowded(Binding { each: Some(99), ..to(Object::Core) }, 1), 1, "fewer than promised");
        assert_eq!(crowded(Binding::default(), 40), 0);
    }

    #[test]
    fn the_spawned_get_cores_that_their_parents_do_not_have() {
        let core = to(Object::Core);
        let turns = Binding { by: Some(Object::Package), ..core };
        let fill = Binding { seating: Seating::Filled, ..turns };
        let fixed = Binding { seating: Seating::Fixed(2), ..turns };
        let two = Binding { each: Some(2), ..core };
        let thread = to(Object::HardwareThread);
        let package = to(Object::Package);
        for (jobs, last) in [
            // By the same order they go on where the parents end.
            ([(core, 3), (core, 2)], vec![3, 4]),
            ([(turns, 3), (turns, 3)], vec![5, 2, 6]),
            ([(fixed, 2), (fixed, 3)], vec![4, 5, 2]),
            ([(package, 1), (package, 2)], vec![4, 0]),
            // The first cores of each area are taken.
            ([(fill, 2), (fill, 4)], vec![1, 2, 5, 6]),
            ([(fill, 5), (fill, 3)], vec![3, 6, 7]),
            // By another order they take what is left.
            ([(turns, 4), (core, 4)], vec![2, 3, 6, 7]),
            ([(core, 4), (turns, 4)], vec![4, 5, 6, 7]),
            ([(core, 3), (turns, 4)], vec![4, 5, 6, 3]),
            ([(two, 2), (core, 4)], vec![4, 5, 6, 7]),
            ([(turns, 2), (two, 3)], vec![1, 3, 6]),
            ([(thread, 3), (core, 6)], vec![2, 3, 4, 5, 6, 7]),
            ([(core, 7), (thread, 2)], vec![7, 15]),
            ([(core, 1), (package, 1)], vec![4]),
            ([(package, 1), (core, 4)], vec![4, 5, 6, 7]),
        ] {
            let (first, crowded) = spawned(&jobs);
            assert_eq!((&first[1], crowded), (&last, 0), "{jobs:?}: {first:?}");
        }
    }

    #[test]
    fn the_spawned_share_the_cores_with_the_fewest_ranks_if_none_is_free() {
        let core = to(Object::Core);
        let (first, crowded) = spawned(&[(core, 6), (core, 4)]);
        assert_eq!((&first[1][..], crowded), (&[6, 7, 0, 1][..], 2));
        let (first, crowded) = spawned(&[(core, 8), (core, 3), (core, 6)]);
        assert_eq!((&first[2][..], crowded), (&[3, 4, 5, 6, 7, 0][..], 6));
        // Ranks that may run on a whole package leave it all but one core.
        let (_, crowded) = spawned(&[(to(Object::Package), 3), (core, 2)]);
        assert_eq!(crowded, 0);
        let (_, crowded) = spawned(&[(to(Object::Package), 8), (core, 1)]);
        assert_eq!(crowded, 1);
        // Two on each core are what was ordered.
        let pairs = Binding { by: Some(Object::Core), seating: Seating::Fixed(2), ..core };
        let (first, crowded) = spawned(&[(core, 1), (pairs, 2)]);
        assert_eq!((&first[1][..], crowded), (&[0, 1][..], 1));
    }

    /// One core of the first package may be used, and all of the second.
    #[test]
    fn no_rank_shares_while_another_area_has_room() {
        let host = host_with(&[0, 4, 5, 6, 7]);
        let turns = Binding { by: Some(Object::Package), ..to(Object::Core) };
        let first = |binding: Binding, ranks| {
            let seats = binding.processors(&host, ranks, &Load::default()).unwrap();
            seats.iter().map(|seat| seat[0]).collect::<Vec<_>>()
        };
        assert_eq!(first(turns, 6), [0, 4, 5, 6, 7, 0]);
        assert_eq!(first(Binding { seating: Seating::Filled, ..turns }, 4), [0, 4, 5, 6]);
        assert_eq!(first(Binding { seating: Seating::Fixed(2), ..turns }, 4), [0, 0, 4, 5]);
    }

    #[test]
    fn an_object_larger_than_the_area_is_taken_whole() {
        let wide = Binding { by: Some(Object::Core), ..to(Object::Package) };
        let seats = seats(wide, 6);
        assert_eq!(seats[0].len(), 8);
        assert_eq!((seats[0][0], seats[3][0], seats[4][0]), (0, 0, 4));
    }

    #[test]
    fn a_host_that_tells_nothing_is_refused_in_four_parts() {
        let root = Folder::new("binding-bare", &[]);
        let bare = Topology::read(&root.0, &[0, 1]);
        let none = Load::default();
        let fault = to(Object::L3Cache).processors(&bare, 1, &none).unwrap_err();
        assert_eq!(fault.to_string().lines().count(), 4, "{fault}");
        assert!(to(Object::Core).processors(&Topology::read(&root.0, &[]), 1, &none).is_err());
        assert_eq!(to(Object::HardwareThread).processors(&bare, 2, &none), Ok(vec![vec![0], vec![1]]));
    }
}
