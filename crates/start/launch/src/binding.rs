//! The processors that each rank of a host may run on. No I/O.
//!
//! The ranks of a host are seated on areas: in turns, each area filled before the next, or a fixed
//! number on each. Within its area each rank takes the next free objects of the sort that it is
//! bound to, and again from the first when there are no more. An object that is larger than the
//! area is taken whole.

use crate::topology::{Object, Topology};
use serde::{Deserialize, Serialize};
use verbena_fault::Fault;

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
    /// The area of each rank.
    fn areas(self, ranks: usize, areas: usize) -> Vec<usize> {
        let (share, rest) = (ranks / areas, ranks % areas);
        let filled = || (0..areas).flat_map(|area| vec![area; share + usize::from(area < rest)]);
        match self {
            Seating::Turns => (0..ranks).map(|rank| rank % areas).collect(),
            Seating::Filled => filled().collect(),
            Seating::Fixed(number) => (0..ranks).map(|rank| rank / number.max(1) as usize % areas).collect(),
        }
    }
}

impl Binding {
    /// The processors of each of a host's ranks; nothing for a rank that is not bound.
    ///
    /// # Errors
    /// The host does not tell of the objects.
    pub fn processors(&self, host: &Topology, ranks: usize) -> Result<Vec<Vec<u32>>, Fault> {
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
        let mut taken = vec![0; areas.len()];
        let seat = |area: usize| {
            let each = self.each.unwrap_or(1).max(1) as usize;
            let first = taken[area];
            taken[area] += each;
            take(&inside[area], first, each)
        };
        Ok(self.seating.areas(ranks, areas.len()).into_iter().map(seat).collect())
    }
}

impl Binding {
    /// Tells for each of a host's ranks, bound to these processors, whether it shares a core (or a
    /// hardware thread, if ranks are bound to those) with so many others that it does not have to
    /// itself what it was promised: the number of cores that was asked for, or one.
    pub fn crowded(&self, host: &Topology, seats: &[Vec<u32>]) -> Vec<bool> {
        let (unit, each) = match self.to {
            Some(Object::HardwareThread) => (Object::HardwareThread, self.each),
            Some(Object::Core) => (Object::Core, self.each),
            _ => (Object::Core, None),
        };
        let promised = f64::from(each.unwrap_or(1).max(1));
        let units = host.groups(unit).unwrap_or_default();
        let on = |seat: &Vec<u32>| -> Vec<usize> {
            let met = units.iter().enumerate().filter(|(_, unit)| unit.iter().any(|one| seat.contains(one)));
            met.map(|(number, _)| number).collect()
        };
        let places: Vec<Vec<usize>> = seats.iter().map(on).collect();
        let mut load = vec![0.0; units.len()];
        for place in &places {
            place.iter().for_each(|&number| load[number] += promised / place.len() as f64);
        }
        // Shares of a third do not add up to one exactly.
        places.iter().map(|place| place.iter().any(|&number| load[number] > 1.0 + 1e-6)).collect()
    }
}

/// The objects that have processors in an area.
fn meeting<'a>(area: &[u32], objects: &'a [Vec<u32>]) -> Vec<&'a [u32]> {
    let meets = |object: &&Vec<u32>| object.iter().any(|processor| area.contains(processor));
    objects.iter().filter(meets).map(Vec::as_slice).collect()
}

/// The processors of `count` objects from number `first` on.
fn take(objects: &[&[u32]], first: usize, count: usize) -> Vec<u32> {
    let numbers = (first..first + count.min(objects.len())).map(|number| number % objects.len());
    let mut processors: Vec<u32> = numbers.flat_map(|number| objects[number]).copied().collect();
    processors.sort_unstable();
    processors
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
    use verbena_testing::files::Folder;

    /// The first processors of all ranks on the machine of two packages, eight cores and sixteen
    /// processors.
    fn seats(binding: Binding, ranks: usize) -> Vec<Vec<u32>> {
        let name = format!("binding-{binding:?}-{ranks}").replace(|c: char| !c.is_alphanumeric(), "");
        let root = Folder::new(&name, &[]);
        machine(&root.0);
        binding.processors(&Topology::read(&root.0, &(0..16).collect::<Vec<_>>()), ranks).unwrap()
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
        let first = |binding, ranks| seats(binding, ranks).iter().map(|seat| seat[0]).collect::<Vec<_>>();
        assert_eq!(first(by, 5), [0, 4, 1, 5, 2]);
        assert_eq!(first(Binding { seating: Seating::Filled, ..by }, 5), [0, 1, 2, 4, 5]);
        assert_eq!(first(Binding { seating: Seating::Fixed(2), ..by }, 5), [0, 1, 4, 5, 2]);
        let pairs = Binding { by: Some(Object::Core), seating: Seating::Fixed(2), ..to(Object::Core) };
        assert_eq!(first(pairs, 4), [0, 0, 1, 1]);
    }

    #[test]
    fn ranks_that_share_a_core_are_known() {
        let crowded = |binding: Binding, ranks: usize| {
            let name = format!("crowded-{binding:?}-{ranks}").replace(|c: char| !c.is_alphanumeric(), "");
            let root = Folder::new(&name, &[]);
            machine(&root.0);
            let host = Topology::read(&root.0, &(0..16).collect::<Vec<_>>());
            let seats = binding.processors(&host, ranks).unwrap();
            binding.crowded(&host, &seats).iter().filter(|crowded| **crowded).count()
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
        let fault = to(Object::L3Cache).processors(&bare, 1).unwrap_err();
        assert_eq!(fault.to_string().lines().count(), 4, "{fault}");
        assert!(to(Object::Core).processors(&Topology::read(&root.0, &[]), 1).is_err());
        assert_eq!(to(Object::HardwareThread).processors(&bare, 2), Ok(vec![vec![0], vec![1]]));
    }
}
