//! Every operation on every datatype against the kernels of reductions, in every sort of memory;
//! and what is refused.

mod threads;

use super::*;
use crate::datatype::construct::Unit;
use crate::datatype::predefined::{BASICS, PAIRS};
use crate::datatype::{Float, Form, Representation};
use crate::op::BUILTINS;
use crate::window::stripe::{STRIPES_BYTES, yield_core};
use verbena_memory::Owned;
use verbena_memory::elements::Elements;

/// The memory of a target with its stripes.
struct Exposed {
    memory: Owned,
    stripes: Owned,
}

/// Memory that is not mapped, under its addresses.
struct Far(Region);

impl TargetMemory for Far {
    /// Reads, and gives others a chance to come in before the bytes are written.
    fn read(&self, at: u64, into: Region) -> Result<()> {
        TargetMemory::read(&self.0, at - self.0.address(), into)?;
        std::thread::yield_now();
        Ok(())
    }

    fn write(&self, at: u64, from: Region) -> Result<()> {
        TargetMemory::write(&self.0, at - self.0.address(), from)
    }

    fn region(&self) -> Option<Region> {
        None
    }
}

/// The ways in which an origin changes elements.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    /// Mapped memory, by processors.
    Processor,
    /// Mapped memory, under stripes.
    Locked,
    /// Memory that is not mapped.
    Far,
}

const WAYS: [Way; 3] = [Way::Processor, Way::Locked, Way::Far];

impl Exposed {
    fn new(bytes: &[u8]) -> Exposed {
        Exposed { memory: Owned::from(bytes), stripes: Owned::zeroed(STRIPES_BYTES) }
    }

    fn guard(&self, way: Way, me: u32) -> Guard<'static> {
        let domain = if way == Way::Processor { Domain::Processor } else { Domain::Locked };
        Guard { domain, stripes: Stripes::new(self.stripes.lend(), me, &yield_core) }
    }

    fn accumulate(
        &self,
        way: Way,
        op: Builtin,
        (at, count, datatype): (i64, usize, &Arc<Datatype>),
        source: Option<Region>,
        former: Option<Region>,
    ) -> Result<()> {
        let (region, guard) = (self.memory.lend(), &self.guard(way, 1));
        let far = Far(region);
        let (memory, base): (&dyn TargetMemory, i64) = match way {
            Way::Far => (&far, region.address() as i64),
            _ => (&region, 0),
        };
        let target = Target { memory, at: base + at, count, datatype, guard };
        let outcome = accumulate(&Op::of(op), &target, source, former);
        assert!(self.stripes.lend().to_vec().iter().all(|&byte| byte == 0), "a stripe is held");
        outcome
    }
}

/// A small generator (xorshift).
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number of some format between 1 and 2, or an integer of any bits.
    fn element(&mut self, representation: Representation) -> Vec<u8> {
        let mut bytes = || self.roll().to_le_bytes();
        let any: Vec<u8> = (0..2).flat_map(|_| bytes()).collect();
        let float = |float: Float, any: &[u8]| {
            let mut bytes = any[..float.size()].to_vec();
            let (at, top): (usize, &[u8]) = match float {
                Float::F16 => (1, &[0x3c]),
                Float::F32 => (2, &[0x80, 0x3f]),
                Float::F64 => (6, &[0xf0, 0x3f]),
                Float::X87 => (7, &[0xc0, 0xff, 0x3f, 0, 0, 0, 0, 0, 0]),
                Float::F128 => (14, &[0xff, 0x3f]),
            };
            bytes[at..].copy_from_slice(top);
            bytes
        };
        match representation {
            Representation::Opaque => any[..1].to_vec(),
            Representation::Integer(int) => any[..int.size()].to_vec(),
            Representation::Float(format) => float(format, &any),
            Representation::Complex(format) => [float(format, &any), float(format, &any)].concat(),
        }
    }

    fn packed(&mut self, element: Element, count: usize) -> Vec<u8> {
        let sorts = match element {
            Element::Basic(basic) => vec![basic],
            Element::Pair(pair) => vec![pair.value, pair.index],
        };
        (0..count)
            .flat_map(|_| sorts.iter().flat_map(|b| self.element(b.representation)).collect::<Vec<_>>())
            .collect()
    }
}

fn predefined() -> impl Iterator<Item = &'static Arc<Datatype>> {
    let handles = BASICS.iter().map(|basic| basic.handle).chain(PAIRS.iter().map(|pair| pair.0));
    handles.map(|handle| Datatype::predefined(handle).unwrap())
}

/// The packed result of a reduction of the packed elements of a predefined datatype.
fn reduced(op: Builtin, datatype: &Arc<Datatype>, source: &[u8], target: &[u8]) -> Vec<u8> {
    let (mut scratch, count) = (Scratch::default(), source.len() / datatype.size());
    let mut result = target.to_vec();
    let [from, to] = [source, target].map(|packed| {
        let elements = Elements::in_scratch(&mut scratch, datatype.layout(), count);
        elements.buffer(0, count).copy_in(0, packed);
        elements
    });
    Op::of(op).apply(from.origins(count), to.origins(count), count, datatype).unwrap();
    to.buffer(0, count).copy_out(0, &mut result);
    result
}

/// The places of the packed bytes.
fn places(at: usize, count: usize, datatype: &Datatype) -> Vec<usize> {
    let mut places = Vec::new();
    let bytes = datatype.size() * count;
    datatype.layout().for_each_run(count, 0, bytes, |run, len| {
        let first = at.strict_add_signed(run);
        places.extend(first..first + len);
    });
    places
}

/// Datatypes of elements of one sort, some with gaps.
fn derived(old: &Arc<Datatype>) -> Vec<Arc<Datatype>> {
    let wide = Datatype::resized(Form::Int, 0, old.extent() as i64 + 8, old).unwrap();
    let places = [7, 0, 2];
    vec![
        old.clone(),
        Arc::new(Datatype::vector(Form::Int, 3, 2, 5, Unit::Extent, old).unwrap()),
        Arc::new(Datatype::indexed(Form::Int, &[1, 2, 4], &places, Unit::Extent, old).unwrap()),
        Arc::new(Datatype::contiguous(Form::Int, 3, &Arc::new(wide)).unwrap()),
    ]
}

/// Accumulates some elements in all ways at some places, and compares every byte.
fn check(op: Builtin, datatype: &Arc<Datatype>, leaf: &Arc<Datatype>, count: usize, dice: &mut Dice) {
    let (element, bytes) = (leaf.element().unwrap(), count * datatype.size());
    let elements = bytes / leaf.size();
    let source = dice.packed(element, elements);
    let odd = Owned::from(&[&[0], &source[..]].concat()[..]);
    let input = odd.lend().part(1, bytes);
    for (way, at) in WAYS.into_iter().flat_map(|way| [64, 69, 250].map(|at| (way, at))) {
        let places = places(at, count, datatype);
        let mut expected = vec![0xee; 1024.max(places.iter().max().unwrap() + 70)];
        let before = dice.packed(element, elements);
        places.iter().zip(&before).for_each(|(&place, &byte)| expected[place] = byte);
        let exposed = Exposed::new(&expected);
        let after = reduced(op, leaf, &source, &before);
        places.iter().zip(&after).for_each(|(&place, &byte)| expected[place] = byte);
        let room = Owned::zeroed(bytes + 3);
        let keep = room.lend().part(3, bytes);
        let former = dice.roll().is_multiple_of(2).then_some(keep);
        let name = leaf.name();
        let target = (at as i64, count, datatype);
        exposed.accumulate(way, op, target, Some(input), former).unwrap();
        let found = exposed.memory.lend().to_vec();
        let wrong = (0..found.len()).find(|&i| found[i] != expected[i]);
        assert_eq!(wrong, None, "{op:?} of {count} {name} at {at}, {way:?}");
        let kept = if former.is_some() { before } else { vec![0; bytes] };
        assert_eq!(keep.to_vec(), kept, "former {name} of {op:?} at {at}, {way:?}");
    }
}

#[test]
fn every_operation_on_every_datatype_agrees_with_reductions() {
    let (mut dice, mut tried) = (Dice(88172645463325252), 0);
    for leaf in predefined() {
        for op in BUILTINS.map(|builtin| builtin.0) {
            for datatype in derived(leaf) {
                if Op::of(op).check(leaf).is_err() && !matches!(op, Builtin::Replace | Builtin::NoOp) {
                    let error = Op::of(op).check_accumulate(&datatype).unwrap_err();
                    assert_eq!(error.class, mpi::MPI_ERR_OP, "{op:?} on {leaf:?}");
                    let exposed = Exposed::new(&[0; 4096]);
                    let source = Owned::zeroed(datatype.size());
                    let outcome =
                        exposed.accumulate(Way::Locked, op, (0, 1, &datatype), Some(source.lend()), None);
                    assert_eq!(outcome.unwrap_err(), error);
                    continue;
                }
                [1, 5].into_iter().for_each(|count| check(op, &datatype, leaf, count, &mut dice));
                tried += 1;
            }
        }
    }
    assert!(tried > 4 * 350, "{tried}");
}

#[test]
fn long_rows_are_changed_piece_by_piece() {
    let mut dice = Dice(77);
    for (handle, op) in [
        (mpi::MPI_DOUBLE, Builtin::Sum),
        (mpi::MPI_BYTE, Builtin::Replace),
        (mpi::MPI_C_LONG_DOUBLE_COMPLEX, Builtin::Prod),
        (mpi::MPI_DOUBLE_INT, Builtin::Maxloc),
        (mpi::MPI_SHORT_INT, Builtin::Minloc),
    ] {
        let leaf = Datatype::predefined(handle).unwrap();
        check(op, leaf, leaf, 1 + 3 * COPIED_BYTES_MAX / leaf.size(), &mut dice);
    }
}

/// A call on one element leaves what an accumulate of it leaves, at every alignment.
#[test]
fn fetching_one_element_agrees_with_accumulating_it() {
    let mut dice = Dice(5);
    for (leaf, op) in predefined().flat_map(|leaf| BUILTINS.map(|builtin| (leaf, builtin.0))) {
        let element = leaf.element().unwrap();
        let [before, source] = [(); 2].map(|()| dice.packed(element, 1));
        let origin = Owned::from(&source[..]);
        for (way, at) in [(Way::Processor, 64), (Way::Processor, 69), (Way::Locked, 64)] {
            let mut bytes = [0xee; 160];
            let places = places(at, 1, leaf);
            places.iter().zip(&before).for_each(|(&place, &byte)| bytes[place] = byte);
            let [single, double] = [(); 2].map(|()| Exposed::new(&bytes));
            let [one, two] = [(); 2].map(|()| Owned::zeroed(leaf.size()));
            let outcome =
                double.accumulate(way, op, (at as i64, 1, leaf), Some(origin.lend()), Some(two.lend()));
            let (memory, guard) = (single.memory.lend(), single.guard(way, 1));
            let fetched = fetch_and_op(&Op::of(op), memory, at, leaf, origin.lend(), one.lend(), &guard);
            assert_eq!(fetched, outcome, "{op:?} of {leaf:?}");
            assert_eq!(memory.to_vec(), double.memory.lend().to_vec(), "{op:?} of {leaf:?} at {at}");
            assert_eq!(one.lend().to_vec(), two.lend().to_vec(), "{op:?} of {leaf:?} at {at}");
            assert_eq!(outcome.is_ok(), one.lend().to_vec() == before, "{op:?} of {leaf:?} at {at}");
        }
    }
}

#[test]
fn elements_are_swapped_if_they_compare_equal() {
    for leaf in predefined() {
        let width = leaf.size();
        let (origin, room) = (Owned::from(&[9; 64][..width.min(64)]), Owned::zeroed(width));
        for (way, at) in [(Way::Processor, 16), (Way::Processor, 21), (Way::Locked, 16), (Way::Far, 16)] {
            for (compare, now) in [([7; 64], 9), ([8; 64], 7)] {
                let exposed = Exposed::new(&[7; 64]);
                let (region, guard) = (exposed.memory.lend(), exposed.guard(way, 1));
                let compare = Owned::from(&compare[..width]);
                let operands = (origin.lend(), compare.lend(), room.lend());
                let (memory, base): (&dyn TargetMemory, _) = match way {
                    Way::Far => (&Far(region), region.address() as i64),
                    _ => (&region, 0),
                };
                let (origin, compare, result) = operands;
                let outcome = compare_and_swap(memory, base + at, leaf, origin, compare, result, &guard);
                if width_is_refused(leaf) {
                    assert_eq!(outcome.unwrap_err().class, mpi::MPI_ERR_TYPE, "{leaf:?}");
                    continue;
                }
                outcome.unwrap();
                let mut expected = [7; 64];
                expected[at as usize..at as usize + width].fill(now);
                assert_eq!(region.to_vec(), expected, "{leaf:?} {way:?}");
                assert_eq!(room.lend().to_vec(), vec![7; width], "{leaf:?} {way:?}");
            }
        }
    }
}

fn width_is_refused(leaf: &Datatype) -> bool {
    let Some(basic) = leaf.as_basic() else { return true };
    let integer = matches!(basic.representation, Representation::Integer(_)) || leaf.name() == "MPI_BYTE";
    !integer || leaf.name() == "MPI_WCHAR"
}

#[test]
fn elements_of_several_sorts_are_replaced_and_read() {
    let leaf = |handle| Datatype::predefined(handle).unwrap().clone();
    let types = [leaf(mpi::MPI_INT), leaf(mpi::MPI_DOUBLE), leaf(mpi::MPI_SHORT_INT)];
    let structure = Datatype::structure(Form::Int, &[2, 1, 3], &[0, 8, 17], &types).unwrap();
    let structure = Arc::new(structure);
    assert!(structure.element().is_none());
    let (count, bytes) = (3, 3 * structure.size());
    let source: Vec<u8> = (0..bytes as u8).map(|i| i + 100).collect();
    let input = Owned::from(&source[..]);
    for way in WAYS {
        let exposed = Exposed::new(&[1; 512]);
        let room = Owned::zeroed(bytes);
        let target = (40, count, &structure);
        exposed.accumulate(way, Builtin::Replace, target, Some(input.lend()), Some(room.lend())).unwrap();
        assert_eq!(room.lend().to_vec(), vec![1; bytes]);
        let mut expected = vec![1; 512];
        places(40, count, &structure).into_iter().zip(&source).for_each(|(at, &byte)| expected[at] = byte);
        assert_eq!(exposed.memory.lend().to_vec(), expected);
        exposed.accumulate(way, Builtin::NoOp, target, None, Some(room.lend())).unwrap();
        assert_eq!(room.lend().to_vec(), source);
        let sum = exposed.accumulate(way, Builtin::Sum, target, Some(input.lend()), None);
        assert_eq!(sum.unwrap_err().class, mpi::MPI_ERR_OP);
    }
}

#[test]
fn elements_outside_of_the_memory_and_operands_of_another_length_are_refused() {
    let int = Datatype::predefined(mpi::MPI_INT).unwrap();
    let vector = Arc::new(Datatype::vector(Form::Int, 2, 1, -2, Unit::Extent, int).unwrap());
    let exposed = Exposed::new(&[0; 64]);
    let owner = Owned::zeroed(8);
    let source = owner.lend();
    let class = |at, count, datatype, source: Option<Region>, op| {
        let outcome = exposed.accumulate(Way::Processor, op, (at, count, datatype), source, None);
        outcome.map_or_else(|error| error.class, |()| mpi::MPI_SUCCESS)
    };
    let sum = Builtin::Sum;
    assert_eq!(class(56, 2, int, Some(source), sum), mpi::MPI_SUCCESS);
    assert_eq!(class(57, 2, int, Some(source), sum), mpi::MPI_ERR_RMA_RANGE);
    assert_eq!(class(-4, 2, int, Some(source), sum), mpi::MPI_ERR_RMA_RANGE);
    assert_eq!(class(i64::MAX, 2, int, Some(source), sum), mpi::MPI_ERR_RMA_RANGE);
    assert_eq!(class(8, 1, &vector, Some(source), sum), mpi::MPI_SUCCESS);
    assert_eq!(class(7, 1, &vector, Some(source), sum), mpi::MPI_ERR_RMA_RANGE);
    assert_eq!(class(0, 1, int, Some(source), sum), mpi::MPI_ERR_TYPE);
    assert_eq!(class(0, 2, int, None, sum), mpi::MPI_ERR_TYPE);
    assert_eq!(class(0, 2, int, None, Builtin::NoOp), mpi::MPI_SUCCESS);
    assert_eq!(class(i64::MIN, 0, int, Some(Region::EMPTY), sum), mpi::MPI_SUCCESS);
    let (memory, guard) = (exposed.memory.lend(), exposed.guard(Way::Processor, 1));
    let op = Op::of(sum);
    for at in [61, usize::MAX, usize::MAX - 3] {
        let outcome = fetch_and_op(&op, memory, at, int, source.part(0, 4), source.part(4, 4), &guard);
        assert_eq!(outcome.unwrap_err().class, mpi::MPI_ERR_RMA_RANGE);
        let outcome = compare_and_swap(&memory, at as i64, int, source, source, source, &guard);
        assert_eq!(outcome.unwrap_err().class, mpi::MPI_ERR_RMA_RANGE);
    }
    let short = fetch_and_op(&op, memory, 0, int, source.part(0, 3), source.part(4, 4), &guard);
    assert_eq!(short.unwrap_err().class, mpi::MPI_ERR_TYPE);
    let short = compare_and_swap(&memory, 0, int, source, source.part(0, 3), source, &guard);
    assert_eq!(short.unwrap_err().class, mpi::MPI_ERR_TYPE);
}
