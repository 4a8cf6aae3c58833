//! Datatypes checked against type maps that are spelt out element by element.

use super::array::{Distribution, ORDER_C, ORDER_FORTRAN};
use super::construct::Unit;
use super::*;
use std::collections::HashSet;

/// A small generator (xorshift), so that a seed replays a failure.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn roll(&mut self, sides: u64) -> i64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides) as i64
    }
}

/// A type map after MPI-5.0, 5.1: basic elements with displacements, and bounds set by markers.
/// Unlike there, an element whose extent was rounded up to its alignment counts with its whole
/// extent.
#[derive(Clone)]
struct Map {
    elements: Vec<(usize, i64)>,
    /// Upper bounds of the elements that the last constructor put together.
    ends: Vec<i64>,
    markers: Vec<(i64, i64)>,
}

impl Map {
    fn of(handle: usize) -> Map {
        Map { elements: vec![(handle, 0)], ends: vec![], markers: vec![] }
    }

    fn size_of(handle: usize) -> i64 {
        predefined::basic_of(handle).unwrap().size() as i64
    }

    /// The lower bound and the extent.
    fn bounds(&self) -> (i64, i64) {
        if !self.markers.is_empty() {
            let lb = self.markers.iter().map(|m| m.0).min().unwrap();
            return (lb, self.markers.iter().map(|m| m.1).max().unwrap() - lb);
        }
        let lb = self.elements.iter().map(|e| e.1).min().unwrap_or(0);
        let ends = self.elements.iter().map(|e| e.1 + Map::size_of(e.0));
        let end = ends.chain(self.ends.iter().copied()).max().unwrap_or(0);
        let align =
            self.elements.iter().map(|e| predefined::basic_of(e.0).unwrap().align()).max().unwrap_or(1);
        (lb, ((end - lb) as usize).next_multiple_of(align) as i64)
    }

    fn shifted(&self, by: i64) -> Map {
        Map {
            elements: self.elements.iter().map(|e| (e.0, e.1 + by)).collect(),
            ends: self.ends.iter().map(|end| end + by).collect(),
            markers: self.markers.iter().map(|m| (m.0 + by, m.1 + by)).collect(),
        }
    }

    fn join(maps: impl IntoIterator<Item = Map>) -> Map {
        let mut all = Map { elements: vec![], ends: vec![], markers: vec![] };
        for map in maps {
            all.elements.extend(map.elements);
            all.ends.extend(map.ends);
            all.markers.extend(map.markers);
        }
        all
    }

    fn row(&self, count: i64, stride: i64) -> Map {
        Map::join((0..count).map(|i| self.shifted(i * stride)))
    }

    fn block(&self, count: i64) -> Map {
        self.row(count, self.bounds().1)
    }

    /// Closes this map: it becomes one element of the next constructor.
    fn closed(self) -> Map {
        let (lb, extent) = self.bounds();
        let ends = if self.elements.is_empty() { vec![] } else { vec![lb + extent] };
        Map { ends, ..self }
    }

    /// The displacement of every packed byte.
    fn bytes(&self) -> Vec<i64> {
        self.elements.iter().flat_map(|e| e.1..e.1 + Map::size_of(e.0)).collect()
    }
}

const LEAVES: [usize; 7] = [
    mpi::MPI_CHAR,
    mpi::MPI_SHORT,
    mpi::MPI_INT,
    mpi::MPI_DOUBLE,
    mpi::MPI_LONG_DOUBLE,
    mpi::MPI_COMPLEX,
    mpi::MPI_BYTE,
];

pub(super) struct Made {
    pub(super) datatype: Arc<Datatype>,
    map: Map,
}

fn made(datatype: Result<Datatype>, map: Map) -> Made {
    Made { datatype: Arc::new(datatype.unwrap()), map: map.closed() }
}

pub(super) fn random(dice: &mut Dice, depth: usize) -> Made {
    if depth == 0 {
        let handle = LEAVES[dice.roll(LEAVES.len() as u64) as usize];
        return Made { datatype: Datatype::predefined(handle).unwrap().clone(), map: Map::of(handle) };
    }
    let old = random(dice, depth - 1);
    match dice.roll(7) {
        0 => {
            let count = dice.roll(4);
            made(Datatype::contiguous(Form::Int, count, &old.datatype), old.map.block(count))
        }
        1 => random_vector(dice, old),
        2 | 3 => random_indexed(dice, old),
        4 => random_struct(dice, depth, old),
        5 => {
            let (lb, extent) = (dice.roll(20) - 10, dice.roll(60) - 10);
            let map = Map { markers: vec![(lb, lb + extent)], ..old.map };
            made(Datatype::resized(Form::Large, lb, extent, &old.datatype), map)
        }
        _ => Made { datatype: Arc::new(Datatype::duplicate(&old.datatype).unwrap()), map: old.map },
    }
}

fn random_vector(dice: &mut Dice, old: Made) -> Made {
    let (count, length, stride) = (dice.roll(4), dice.roll(3), dice.roll(9) - 4);
    let unit = [Unit::Extent, Unit::Byte][dice.roll(2) as usize];
    let scale = if unit == Unit::Byte { 1 } else { old.map.bounds().1 };
    let datatype = Datatype::vector(Form::Int, count, length, stride, unit, &old.datatype);
    made(datatype, old.map.block(length).row(count, stride * scale))
}

fn random_indexed(dice: &mut Dice, old: Made) -> Made {
    let n = dice.roll(6);
    let displacements: Vec<i64> = (0..n).map(|_| dice.roll(30) - 10).collect();
    let lengths: Vec<i64> = (0..n).map(|_| dice.roll(3)).collect();
    let unit = [Unit::Extent, Unit::Byte][dice.roll(2) as usize];
    let scale = if unit == Unit::Byte { 1 } else { old.map.bounds().1 };
    let blocks = displacements.iter().zip(&lengths).map(|(d, &l)| old.map.block(l).shifted(d * scale));
    let map = Map::join(blocks);
    made(Datatype::indexed(Form::Int, &lengths, &displacements, unit, &old.datatype), map)
}

fn random_struct(dice: &mut Dice, depth: usize, old: Made) -> Made {
    let other = random(dice, depth - 1);
    let (lengths, displacements) = ([dice.roll(3), dice.roll(3)], [dice.roll(50) - 10, dice.roll(50)]);
    let map = Map::join([
        old.map.block(lengths[0]).shifted(displacements[0]),
        other.map.block(lengths[1]).shifted(displacements[1]),
    ]);
    made(Datatype::structure(Form::Int, &lengths, &displacements, &[old.datatype, other.datatype]), map)
}

fn check(made: &Made, context: &str) {
    let (datatype, map) = (&made.datatype, &made.map);
    let bytes = map.bytes();
    assert_eq!(datatype.size(), bytes.len(), "{context}");
    assert_eq!((datatype.lb() as i64, datatype.extent() as i64), map.bounds(), "{context}");
    let low = bytes.iter().min().copied().unwrap_or(0);
    let high = bytes.iter().max().map_or(0, |b| b + 1);
    assert_eq!(datatype.true_extent(), (low as isize, (high - low) as isize), "{context}");
    let mut found = vec![];
    datatype
        .layout()
        .for_each_run(1, 0, bytes.len(), |at, len| found.extend(at as i64..at as i64 + len as i64));
    assert_eq!(found, bytes, "{context}");
    let (mut elements, mut end) = (vec![], 0);
    let mut each = |basic: &'static Basic, count: usize| {
        elements.extend(std::iter::repeat_n(basic.handle, count));
        Ok::<_, ()>(())
    };
    datatype.signature().for_each(&mut each).unwrap();
    assert_eq!(elements, map.elements.iter().map(|e| e.0).collect::<Vec<_>>(), "{context}");
    for (i, &handle) in elements.iter().enumerate() {
        assert_eq!(datatype.signature().bytes_of(i as u64), Some(end), "{context}");
        assert_eq!(datatype.elements_in(end), Some(i as u64), "{context}");
        assert!(Map::size_of(handle) == 1 || datatype.elements_in(end + 1).is_none(), "{context}");
        for cut in end..end + Map::size_of(handle) as u64 {
            assert_eq!(datatype.signature().whole_bytes(cut as usize) as u64, end, "{context}");
        }
        end += Map::size_of(handle) as u64;
    }
    check_range(datatype, &elements, context);
    let distinct: HashSet<usize> = elements.iter().copied().collect();
    assert_eq!(datatype.basic().is_some(), distinct.len() == 1, "{context}");
}

/// The elements in a range of a datatype's bytes are those whose bytes lie there.
fn check_range(datatype: &Datatype, elements: &[usize], context: &str) {
    let size = datatype.size();
    let range = size / 3..size - size / 4;
    let mut found = vec![];
    let mut each = |basic: &'static Basic, bytes: std::ops::Range<usize>| {
        assert!(bytes.start < bytes.end && bytes.start >= range.start && bytes.end <= range.end, "{context}");
        found.extend(bytes.map(|at| (at, basic.handle)));
        Ok::<_, ()>(())
    };
    datatype.signature().for_each_in(&range, &mut each).unwrap();
    let bytes =
        elements.iter().flat_map(|&handle| std::iter::repeat_n(handle, Map::size_of(handle) as usize));
    let expected: Vec<_> = bytes.enumerate().filter(|(at, _)| range.contains(at)).collect();
    assert_eq!(found, expected, "{context}");
}

#[test]
fn random_nested_datatypes_have_the_type_map_of_the_standard() {
    for seed in 1..4000u64 {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let depth = dice.roll(4) as usize;
        check(&random(&mut dice, depth), &format!("seed {seed}"));
    }
}

#[test]
fn every_predefined_datatype_has_the_size_in_its_handle() {
    for handle in mpi::MPI_DATATYPE_NULL..mpi::MPI_DATATYPE_NULL + 256 {
        let Some(datatype) = Datatype::predefined(handle) else { continue };
        assert!(datatype.is_committed() && datatype.is_predefined() && datatype.contents().is_none());
        assert_eq!(datatype.handle(), Some(handle));
        assert!(datatype.name().starts_with("MPI_"));
        let fixed = handle >= mpi::MPI_INT8_T || handle == mpi::MPI_BYTE;
        if fixed && datatype.pair().is_none() {
            assert_eq!(datatype.size(), 1 << ((handle >> 3) & 7), "{}", datatype.name());
        }
    }
    assert!(Datatype::predefined(mpi::MPI_DATATYPE_NULL).is_none());
    assert_eq!(predefined::BASICS.len() + predefined::PAIRS.len(), 70);
}

#[test]
fn pairs_are_laid_out_as_in_c() {
    let shape = |handle| {
        let pair = Datatype::predefined(handle).unwrap();
        (pair.size(), pair.extent(), pair.signature().elements())
    };
    assert_eq!(shape(mpi::MPI_DOUBLE_INT), (12, 16, 2));
    assert_eq!(shape(mpi::MPI_SHORT_INT), (6, 8, 2));
    assert_eq!(shape(mpi::MPI_2INT), (8, 8, 2));
    assert_eq!(shape(mpi::MPI_LONG_DOUBLE_INT), (20, 32, 2));
    let short = Datatype::predefined(mpi::MPI_SHORT_INT).unwrap();
    assert_eq!(short.layout().bounds(), (0, 8));
}

fn int() -> Arc<Datatype> {
    Datatype::predefined(mpi::MPI_INT).unwrap().clone()
}

#[test]
fn subarrays_name_the_elements_of_the_box() {
    let (sizes, subsizes, starts) = ([4, 5, 6], [2, 3, 2], [1, 0, 3]);
    for order in [ORDER_C, ORDER_FORTRAN] {
        let datatype = Datatype::subarray(Form::Int, &sizes, &subsizes, &starts, order, &int()).unwrap();
        let mut expected = vec![];
        for (i, j, k) in (0..2).flat_map(|i| (0..3).flat_map(move |j| (0..2).map(move |k| (i, j, k)))) {
            let (i, j, k) = (i + 1, j, k + 3);
            expected.push(if order == ORDER_C { (i * 5 + j) * 6 + k } else { i + 4 * (j + 5 * k) });
        }
        expected.sort();
        let mut found = vec![];
        datatype.layout().for_each_run(1, 0, 48, |at, len| found.extend((at..at + len as isize).step_by(4)));
        assert_eq!(found, expected.iter().map(|e| e * 4).collect::<Vec<isize>>());
        assert_eq!((datatype.lb(), datatype.extent()), (0, 480));
    }
}

/// The process of one dimension that has element `i`.
fn owner(how: i32, argument: i32, global: i64, processes: i64, i: i64) -> i64 {
    let default = argument == mpi::MPI_DISTRIBUTE_DFLT_DARG;
    match how {
        mpi::MPI_DISTRIBUTE_NONE => 0,
        mpi::MPI_DISTRIBUTE_BLOCK if default => i / ((global + processes - 1) / processes),
        mpi::MPI_DISTRIBUTE_BLOCK => i / argument as i64,
        _ => i / if default { 1 } else { argument as i64 } % processes,
    }
}

#[test]
fn distributed_arrays_deal_out_every_element_once() {
    let mut dice = Dice(77);
    for round in 0..600 {
        let default = mpi::MPI_DISTRIBUTE_DFLT_DARG;
        let (mut global, mut how, mut arguments, mut grid) = (vec![], vec![], vec![], vec![]);
        for _ in 0..1 + dice.roll(3) {
            let (g, p) = (1 + dice.roll(9), 1 + dice.roll(3));
            let kind = [mpi::MPI_DISTRIBUTE_BLOCK, mpi::MPI_DISTRIBUTE_CYCLIC, mpi::MPI_DISTRIBUTE_NONE];
            let kind = kind[dice.roll(3) as usize];
            let least = if kind == mpi::MPI_DISTRIBUTE_BLOCK { (g + p - 1) / p } else { 1 };
            global.push(g);
            how.push(kind);
            arguments.push(if dice.roll(2) == 0 { default } else { (least + dice.roll(3)) as i32 });
            grid.push(if kind == mpi::MPI_DISTRIBUTE_NONE { 1 } else { p as i32 });
        }
        let order = [ORDER_C, ORDER_FORTRAN][dice.roll(2) as usize];
        let size = grid.iter().product();
        for rank in 0..size {
            let d = Distribution {
                size,
                rank,
                global: &global,
                how: &how,
                arguments: &arguments,
                grid: &grid,
                order,
            };
            assert_eq!(dealt(&d), expected_share(&d), "round {round} rank {rank} {d:?}");
        }
    }
}

/// The elements, as linear indices, that the datatype names.
fn dealt(d: &Distribution<'_>) -> Vec<isize> {
    let datatype = Datatype::distributed(Form::Large, d, &int()).unwrap();
    assert_eq!(datatype.extent() as i64, d.global.iter().product::<i64>() * 4);
    let mut found = vec![];
    let each = |at: isize, len: usize| found.extend((at..at + len as isize).step_by(4).map(|b| b / 4));
    datatype.layout().for_each_run(1, 0, datatype.size(), each);
    found
}

fn expected_share(d: &Distribution<'_>) -> Vec<isize> {
    let n = d.global.len();
    let total: i64 = d.global.iter().product();
    let mine = |linear: &i64| {
        let (mut rest, mut coordinates) = (*linear, vec![0; n]);
        let fastest: Vec<usize> = if d.order == ORDER_C { (0..n).rev().collect() } else { (0..n).collect() };
        for i in fastest {
            coordinates[i] = rest % d.global[i];
            rest /= d.global[i];
        }
        let place = |i: usize| owner(d.how[i], d.arguments[i], d.global[i], d.grid[i] as i64, coordinates[i]);
        (0..n).fold(0, |rank, i| rank * d.grid[i] as i64 + place(i)) == d.rank as i64
    };
    (0..total).filter(mine).map(|i| i as isize).collect()
}

#[test]
fn contents_tell_the_arguments_in_the_form_of_the_call() {
    let vector = |form| Datatype::vector(form, 3, 2, 40, Unit::Byte, &int()).unwrap();
    let small = vector(Form::Int);
    let contents = small.contents().unwrap();
    assert_eq!(contents.combiner, mpi::MPI_COMBINER_HVECTOR);
    assert_eq!((&contents.integers[..], &contents.addresses[..]), (&[3, 2][..], &[40][..]));
    assert!(contents.counts.is_empty() && contents.check_form(Form::Int).is_ok());
    let large = vector(Form::Large);
    let contents = large.contents().unwrap();
    assert_eq!(contents.counts, [3, 2, 40]);
    assert!(contents.integers.is_empty() && contents.addresses.is_empty());
    assert_eq!(contents.check_form(Form::Int).unwrap_err().class, mpi::MPI_ERR_TYPE);
    assert!(Arc::ptr_eq(&contents.datatypes[0], &int()));
}

#[test]
fn a_type_rebuilt_from_its_contents_is_the_same() {
    for seed in 1..300u64 {
        let made = random(&mut Dice(seed.wrapping_mul(0x2545_f491_4f6c_dd1d)), 3);
        let Some(contents) = made.datatype.contents() else { continue };
        let again = rebuild(contents);
        check(&Made { datatype: Arc::new(again), map: made.map }, &format!("seed {seed}"));
    }
}

/// Makes a datatype anew from the output of `MPI_Type_get_contents`.
fn rebuild(contents: &Contents) -> Datatype {
    let old = &contents.datatypes.first().cloned().unwrap_or_else(int);
    let i: Vec<i64> = contents.integers.iter().map(|&v| v as i64).collect();
    let a: Vec<i64> = contents.addresses.iter().map(|&v| v as i64).collect();
    let n = i.first().map_or(0, |&n| n as usize);
    match contents.combiner {
        mpi::MPI_COMBINER_DUP => Datatype::duplicate(old),
        mpi::MPI_COMBINER_CONTIGUOUS => Datatype::contiguous(Form::Int, i[0], old),
        mpi::MPI_COMBINER_VECTOR => Datatype::vector(Form::Int, i[0], i[1], i[2], Unit::Extent, old),
        mpi::MPI_COMBINER_HVECTOR => Datatype::vector(Form::Int, i[0], i[1], a[0], Unit::Byte, old),
        mpi::MPI_COMBINER_INDEXED => Datatype::indexed(Form::Int, &i[1..=n], &i[n + 1..], Unit::Extent, old),
        mpi::MPI_COMBINER_HINDEXED => Datatype::indexed(Form::Int, &i[1..=n], &a, Unit::Byte, old),
        mpi::MPI_COMBINER_STRUCT => Datatype::structure(Form::Int, &i[1..=n], &a, &contents.datatypes),
        mpi::MPI_COMBINER_RESIZED => {
            Datatype::resized(Form::Large, contents.counts[0], contents.counts[1], old)
        }
        other => panic!("combiner {other}"),
    }
    .unwrap()
}

#[test]
fn wrong_arguments_give_the_standard_classes() {
    let class = |result: Result<Datatype>| result.map(|_| ()).unwrap_err().class;
    assert_eq!(class(Datatype::contiguous(Form::Int, -1, &int())), mpi::MPI_ERR_COUNT);
    assert_eq!(class(Datatype::vector(Form::Int, 1, -1, 1, Unit::Extent, &int())), mpi::MPI_ERR_ARG);
    assert_eq!(class(Datatype::indexed(Form::Int, &[-1], &[0], Unit::Byte, &int())), mpi::MPI_ERR_ARG);
    assert_eq!(class(Datatype::contiguous(Form::Large, i64::MAX, &int())), mpi::MPI_ERR_COUNT);
    assert_eq!(
        class(Datatype::vector(Form::Large, 3, 1, i64::MAX, Unit::Extent, &int())),
        mpi::MPI_ERR_COUNT
    );
    // Found by the fuzz target `datatype`: set bounds hid that the bytes lie too far apart.
    let set = Arc::new(Datatype::resized(Form::Int, 0, 4, &int()).unwrap());
    let apart = [-(1 << 62) - 10, (1 << 62) + 10];
    let far = Datatype::indexed(Form::Large, &[1, 1], &apart, Unit::Byte, &set);
    assert_eq!(class(far), mpi::MPI_ERR_COUNT);
    let wide = Datatype::resized(Form::Large, 0, isize::MAX as i64 - 8, &int()).unwrap();
    assert!(wide.span(2).is_ok());
    let back = Datatype::resized(Form::Large, 0, -(1 << 62), &int()).unwrap();
    assert!(back.span(2).is_ok() && back.span(3).is_err());
    assert_eq!(class(Datatype::subarray(Form::Int, &[4], &[5], &[0], ORDER_C, &int())), mpi::MPI_ERR_ARG);
    assert_eq!(class(Datatype::subarray(Form::Int, &[4], &[2], &[3], ORDER_C, &int())), mpi::MPI_ERR_ARG);
    assert_eq!(class(Datatype::subarray(Form::Int, &[4], &[2], &[0], 99, &int())), mpi::MPI_ERR_ARG);
    for (how, arguments) in [(mpi::MPI_DISTRIBUTE_BLOCK, [19]), (mpi::MPI_DISTRIBUTE_CYCLIC, [1 << 30])] {
        let (how, global, order) = (&[how], &[i64::MAX], ORDER_C);
        let all = Distribution { size: 2, rank: 1, global, how, arguments: &arguments, grid: &[2], order };
        assert_eq!(class(Datatype::distributed(Form::Large, &all, &int())), mpi::MPI_ERR_COUNT);
    }
    assert_eq!(class(Datatype::f90_real(mpi::MPI_UNDEFINED, mpi::MPI_UNDEFINED)), mpi::MPI_ERR_ARG);
    assert_eq!(class(Datatype::f90_integer(99)), mpi::MPI_ERR_ARG);
    assert_eq!(Datatype::match_size(mpi::MPI_TYPECLASS_REAL, 3).unwrap_err().class, mpi::MPI_ERR_ARG);
    assert_eq!(Datatype::match_size(0, 4).unwrap_err().class, mpi::MPI_ERR_ARG);
}

#[test]
fn types_are_chosen_by_precision_size_and_value() {
    assert_eq!(Datatype::f90_real(6, 30).unwrap().as_basic().unwrap().name, "MPI_REAL4");
    assert_eq!(Datatype::f90_real(15, mpi::MPI_UNDEFINED).unwrap().as_basic().unwrap().name, "MPI_REAL8");
    assert_eq!(Datatype::f90_complex(15, 300).unwrap().as_basic().unwrap().name, "MPI_COMPLEX16");
    let integer = Datatype::f90_integer(4).unwrap();
    assert_eq!(integer.as_basic().unwrap().name, "MPI_INTEGER2");
    assert!(integer.is_predefined() && integer.is_committed() && integer.handle().is_none());
    assert_eq!(integer.contents().unwrap().integers, [4]);
    let match_size = |class, size| Datatype::match_size(class, size).unwrap().handle();
    assert_eq!(match_size(mpi::MPI_TYPECLASS_COMPLEX, 16), Some(mpi::MPI_COMPLEX16));
    let of = |handle| Datatype::predefined(handle).unwrap();
    let pair = |v, i| Datatype::value_index(of(v), of(i));
    assert_eq!(pair(mpi::MPI_DOUBLE, mpi::MPI_INT).unwrap().handle(), Some(mpi::MPI_DOUBLE_INT));
    assert!(pair(mpi::MPI_DOUBLE, mpi::MPI_FLOAT).is_none());
    assert!(pair(mpi::MPI_FLOAT, mpi::MPI_INT64_T).is_none());
}
