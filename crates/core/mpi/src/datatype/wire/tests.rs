//! Datatypes that come back from their bytes, and bytes that are no datatype.

use super::super::array::{Distribution, ORDER_C, ORDER_FORTRAN};
use super::super::construct::Unit;
use super::super::predefined::{BASICS, PAIRS};
use super::super::tests::{Dice, random};
use super::*;

fn predefined(handle: usize) -> Arc<Datatype> {
    Datatype::predefined(handle).unwrap().clone()
}

fn runs(datatype: &Datatype) -> Vec<(isize, usize)> {
    let mut runs = Vec::new();
    datatype.layout().for_each_run(2, 0, 2 * datatype.size(), |at, len| runs.push((at, len)));
    runs
}

/// Sends a datatype through its bytes, and returns how many they are.
fn check(datatype: &Arc<Datatype>, about: &str) -> usize {
    let bytes = encode(datatype).unwrap();
    let again = decode(&bytes).unwrap();
    assert!(again.is_committed(), "{about}");
    assert_eq!(runs(&again), runs(datatype), "{about}");
    assert_eq!(again.signature(), datatype.signature(), "{about}");
    assert_eq!((again.size(), again.extent()), (datatype.size(), datatype.extent()), "{about}");
    assert_eq!((again.lb(), again.true_extent()), (datatype.lb(), datatype.true_extent()), "{about}");
    assert_eq!(format!("{:?}", again.element()), format!("{:?}", datatype.element()), "{about}");
    assert_eq!(encode(&again).unwrap(), bytes, "{about}");
    bytes.len()
}

#[test]
fn predefined_datatypes_come_back_as_themselves() {
    for handle in BASICS.iter().map(|basic| basic.handle).chain(PAIRS.iter().map(|pair| pair.0)) {
        let datatype = predefined(handle);
        let bytes = encode(&datatype).unwrap();
        assert!(bytes.len() <= 3 && Arc::ptr_eq(&decode(&bytes).unwrap(), &datatype), "{handle:#x}");
        let copy = Arc::new(Datatype::duplicate(&datatype).unwrap());
        assert_eq!(encode(&copy).unwrap(), bytes, "a copy of {handle:#x}");
    }
    let chosen = Arc::new(Datatype::f90_real(15, 300).unwrap());
    assert_eq!(encode(&chosen).unwrap(), encode(&predefined(mpi::MPI_REAL8)).unwrap());
}

fn from_every_constructor(form: Form, old: &Arc<Datatype>) -> Vec<Datatype> {
    let (lengths, displacements) = ([2, 0, 3], [7, -1, 40]);
    let byte = predefined(mpi::MPI_BYTE);
    let other = Arc::new(Datatype::contiguous(form, 3, &byte).unwrap());
    let mut made = vec![
        Datatype::contiguous(form, 5, old),
        Datatype::resized(form, -3, 100, old),
        Datatype::structure(form, &lengths, &displacements, &[old.clone(), other, old.clone()]),
        Datatype::structure(form, &[], &[], &[]),
    ];
    for unit in [Unit::Extent, Unit::Byte] {
        made.push(Datatype::vector(form, 3, 2, -70, unit, old));
        made.push(Datatype::indexed(form, &lengths, &displacements, unit, old));
        made.push(Datatype::indexed(form, &[], &[], unit, old));
        made.push(Datatype::indexed_block(form, 2, &displacements, unit, old));
    }
    for order in [ORDER_C, ORDER_FORTRAN] {
        made.push(Datatype::subarray(form, &[5, 6, 7], &[1, 2, 3], &[4, 3, 2], order, old));
        let distribution = Distribution {
            size: 6,
            rank: 4,
            global: &[11, 5, 8],
            how: &[mpi::MPI_DISTRIBUTE_CYCLIC, mpi::MPI_DISTRIBUTE_NONE, mpi::MPI_DISTRIBUTE_BLOCK],
            arguments: &[2, mpi::MPI_DISTRIBUTE_DFLT_DARG, mpi::MPI_DISTRIBUTE_DFLT_DARG],
            grid: &[3, 1, 2],
            order,
        };
        made.push(Datatype::distributed(form, &distribution, old));
    }
    made.into_iter().map(|datatype| datatype.unwrap()).collect()
}

#[test]
fn the_datatypes_of_every_constructor_come_back() {
    for (form, leaf) in [(Form::Int, mpi::MPI_DOUBLE), (Form::Large, mpi::MPI_SHORT_INT)] {
        let made = from_every_constructor(form, &predefined(leaf));
        for (i, datatype) in made.into_iter().enumerate() {
            let (datatype, about) = (Arc::new(datatype), format!("{form:?} {i}"));
            check(&datatype, &about);
            let outer = Datatype::contiguous(form, 2, &datatype).unwrap();
            check(&Arc::new(outer), &format!("{about} within another"));
        }
    }
}

#[test]
fn random_datatypes_come_back() {
    for seed in 1..2000u64 {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let depth = dice.roll(5) as usize;
        check(&random(&mut dice, depth).datatype, &format!("seed {seed}"));
    }
}

#[test]
fn a_column_takes_few_bytes() {
    let double = predefined(mpi::MPI_DOUBLE);
    let column = Datatype::vector(Form::Int, 1000, 1, 1000, Unit::Extent, &double).unwrap();
    assert!(check(&Arc::new(column), "column") <= 16);
}

/// Sixty levels of two each are one node a level, where a tree would have 2^60.
#[test]
fn what_is_used_twice_is_sent_once() {
    let mut datatype = Arc::new(Datatype::contiguous(Form::Int, 0, &predefined(mpi::MPI_INT)).unwrap());
    for _ in 0..60 {
        let two = [datatype.clone(), datatype];
        datatype = Arc::new(Datatype::structure(Form::Int, &[1, 1], &[0, 8], &two).unwrap());
    }
    assert!(check(&datatype, "sixty levels") < 60 * 20);
}

fn nested(levels: usize) -> Arc<Datatype> {
    let old = predefined(mpi::MPI_INT);
    (0..levels)
        .fold(old, |old, _| Arc::new(Datatype::vector(Form::Int, 1, 1, 3, Unit::Extent, &old).unwrap()))
}

#[test]
fn datatypes_too_deep_are_refused_on_both_sides() {
    check(&nested(DEPTH_MAX), "deep");
    assert_eq!(encode(&nested(DEPTH_MAX + 1)).unwrap_err().class, mpi::MPI_ERR_TYPE);
    // What stands behind the leaf's two bytes is one level, on whatever it lies.
    let level = &encode(&nested(1)).unwrap()[2..];
    let bytes = |levels| [&encode(&predefined(mpi::MPI_INT)).unwrap(), &level.repeat(levels)[..]].concat();
    assert_eq!(runs(&decode(&bytes(DEPTH_MAX)).unwrap()), runs(&nested(DEPTH_MAX)));
    assert_eq!(decode(&bytes(DEPTH_MAX + 1)).unwrap_err().class, mpi::MPI_ERR_TYPE);
    // Copies are no levels.
    let copy = |old: Arc<Datatype>, _| Arc::new(Datatype::duplicate(&old).unwrap());
    let copies = (0..2 * DEPTH_MAX).fold(nested(1), copy);
    assert_eq!(encode(&copies).unwrap(), encode(&nested(1)).unwrap());
}

#[test]
fn other_bytes_are_refused() {
    let class = |bytes: &[u8]| decode(bytes).map_or_else(|error| error.class, |_| mpi::MPI_SUCCESS);
    let int = (mpi::MPI_INT - HANDLES) as u8;
    let contiguous = (2 * (mpi::MPI_COMBINER_CONTIGUOUS - mpi::MPI_COMBINER_NAMED)) as u8;
    let dup = (2 * (mpi::MPI_COMBINER_DUP - mpi::MPI_COMBINER_NAMED)) as u8;
    assert_eq!(class(&[0, int]), mpi::MPI_SUCCESS);
    assert_eq!(class(&[0, int, contiguous, 1, 8, 0, 0, 1, 1]), mpi::MPI_SUCCESS);
    for (bytes, about) in [
        (&[][..], "nothing"),
        (&[0], "no handle"),
        (&[0, 0], "the null datatype"),
        (&[0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2], "a number beyond 64 bits"),
        (&[0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1], "a handle beyond the table"),
        (&[0, int, contiguous, 1, 8, 0, 0, 1, 2], "a node before the first"),
        (&[0, int, contiguous, 1, 8, 0, 0, 1, 0], "the node itself"),
        (&[0, int, contiguous, 1, 7, 0, 0, 1, 1], "a negative count"),
        (&[0, int, contiguous, 2, 8, 8, 0, 0, 1, 1], "an argument too many"),
        (&[0, int, contiguous, 0, 0, 0, 1, 1], "an argument too few"),
        (&[0, int, contiguous, 1, 8, 0, 0, 2, 1, 1], "a datatype too many"),
        (&[0, int, contiguous, 1, 8, 0, 0, 0], "a datatype too few"),
        (&[0, int, contiguous, 0x7f, 8, 0, 0, 1, 1], "a list longer than the bytes"),
        (&[0, int, contiguous + 1, 1, 8, 0, 0, 1, 1], "a large form without counts"),
        (&[0, int, dup, 0, 0, 0, 1, 1], "a copy"),
        (&[0, int, 0x7e, 0, 0, 0, 1, 1], "no constructor"),
        (&[0, int, contiguous, 1, 8, 0, 0, 1], "an end within a node"),
    ] {
        assert_eq!(class(bytes), mpi::MPI_ERR_TYPE, "{about}");
    }
}

#[test]
fn a_datatype_made_of_pairs_has_pairs_as_elements() {
    let (pair, int) = (predefined(mpi::MPI_2INT), predefined(mpi::MPI_INT));
    let row = |old: &Arc<Datatype>| Arc::new(Datatype::contiguous(Form::Int, 3, old).unwrap());
    let is_pair = |datatype: &Datatype| matches!(datatype.element(), Some(super::super::Element::Pair(found)) if found.handle == mpi::MPI_2INT);
    assert!(is_pair(&row(&row(&pair))) && !is_pair(&row(&int)));
    assert!(row(&int).element().is_some());
    let of = |lengths: [i64; 2], types: [&Arc<Datatype>; 2]| {
        Datatype::structure(Form::Int, &lengths, &[0, 64], &types.map(Arc::clone)).unwrap()
    };
    assert!(of([1, 1], [&pair, &int]).element().is_none());
    assert!(is_pair(&of([2, 1], [&pair, &row(&pair)])));
    assert!(is_pair(&of([2, 0], [&pair, &int])), "a block of no elements counts for nothing");
    assert!(of([1, 1], [&pair, &predefined(mpi::MPI_2INTEGER)]).element().is_none());
}

/// The bytes of a datatype and those that it is made of, each once, without their layouts and
/// signatures.
fn least(datatype: &Arc<Datatype>, met: &mut Vec<*const Datatype>) -> usize {
    let datatype = original(datatype);
    let Some(contents) = datatype.contents().filter(|_| !met.contains(&Arc::as_ptr(datatype))) else {
        return 0;
    };
    met.push(Arc::as_ptr(datatype));
    let lists = contents.integers.capacity() * size_of::<i32>()
        + (contents.addresses.capacity() + contents.counts.capacity()) * size_of::<i64>()
        + contents.datatypes.capacity() * size_of::<usize>();
    let inside: usize = contents.datatypes.iter().map(|datatype| least(datatype, met)).sum();
    size_of::<Datatype>() + lists + inside
}

#[test]
fn a_description_weighs_no_less_than_its_datatype() {
    let int = predefined(mpi::MPI_INT);
    assert_eq!(weight(&encode(&int).unwrap()), 0);
    for form in [Form::Int, Form::Large] {
        let mut made: Vec<Arc<Datatype>> =
            from_every_constructor(form, &int).into_iter().map(Arc::new).collect();
        let again = made.iter().flat_map(|old| from_every_constructor(form, old)).map(Arc::new);
        made.extend(again.collect::<Vec<_>>());
        for datatype in made {
            let bytes = encode(&datatype).unwrap();
            let decoded = decode(&bytes).unwrap();
            let least = least(&decoded, &mut Vec::new());
            assert!(weight(&bytes) >= least, "{} instead of {least}: {datatype:?}", weight(&bytes));
            assert_eq!(description(&datatype).unwrap().weight, weight(&encode(&decoded).unwrap()));
        }
    }
    // Many blocks weigh little each, and many datatypes much.
    let offsets: Vec<i64> = (0..10_000).map(|i| i * i).collect();
    let blocks = Arc::new(Datatype::indexed_block(Form::Int, 1, &offsets, Unit::Byte, &int).unwrap());
    let weight_of = |datatype| weight(&encode(datatype).unwrap());
    assert!((160_000..600_000).contains(&weight_of(&blocks)), "{}", weight_of(&blocks));
    let parts: Vec<_> =
        (0..1000).map(|i| Arc::new(Datatype::resized(Form::Int, 0, 5 + i, &int).unwrap())).collect();
    let parts = Arc::new(Datatype::structure(Form::Int, &[1; 1000], &offsets[..1000], &parts).unwrap());
    assert!(weight_of(&parts) > 1000 * size_of::<Datatype>());
    assert!(encode(&parts).unwrap().len() * 20 < weight_of(&parts));
}

#[test]
fn what_is_no_description_weighs_too_much() {
    let int = predefined(mpi::MPI_INT);
    let bytes = encode(&Arc::new(Datatype::contiguous(Form::Int, 3, &int).unwrap())).unwrap();
    assert!(weight(&bytes) < usize::MAX);
    assert_eq!([&bytes[..bytes.len() - 1], &[3, 0, 0, 0, 1, 9], &[0x80]].map(weight), [usize::MAX; 3]);
}
