//! Datatypes that travel with operations: each is told once, whatever its length.

use crate::exposed::UNIT;
use crate::misuse::{BYTES, Pair};
use std::sync::Arc;
use verbena_mpi::Datatype;
use verbena_mpi::datatype::construct::Unit;
use verbena_mpi::datatype::{Form, wire};
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::window::Remote;

fn byte() -> &'static Arc<Datatype> {
    Datatype::predefined(mpi::MPI_BYTE).expect("predefined")
}

/// Blocks of one byte, every second one.
fn blocks(count: i64) -> Arc<Datatype> {
    let made = Datatype::vector(Form::Int, count, 1, 2, Unit::Extent, byte()).expect("a sound vector");
    made.commit();
    Arc::new(made)
}

/// Puts `rounds` times with each datatype in turn, and flushes.
fn put_in_turn(pair: &mut Pair, datatypes: &[Arc<Datatype>], rounds: u8) {
    for round in 1..=rounds {
        for datatype in datatypes {
            let data = pair.filled(&vec![round; datatype.size()]);
            let remote = Remote { rank: 1, displacement: 0, count: 1, datatype };
            let (origin, engine) = (pair.services[0].origin(), &mut pair.cluster.engine(0));
            origin.put(engine, &remote, &data.buffer()).expect("a sound datatype");
        }
    }
    let flush = pair.services[0].origin().flush(&mut pair.cluster.engine(0), 1);
    assert_eq!(pair.finish(&flush), None);
}

#[test]
fn datatypes_that_come_in_turn_are_read_once() {
    for kinds in 1..=4 {
        let mut pair = Pair::new();
        let datatypes: Vec<Arc<Datatype>> = (1..=kinds).map(|i| blocks(100 * i)).collect();
        put_in_turn(&mut pair, &datatypes, 50);
        assert_eq!(pair.services[1].counts().datatypes, kinds as u64);
        // Made anew, they are the same to the target.
        let again: Vec<Arc<Datatype>> = (1..=kinds).map(|i| blocks(100 * i)).collect();
        put_in_turn(&mut pair, &again, 50);
        assert_eq!(pair.services[1].counts().datatypes, kinds as u64);
        let window = pair.windows[1].bytes().to_vec();
        assert!((0..200).all(|at| window[at] == if at % 2 == 0 { 50 } else { 0 }));
    }
}

/// Each block at an offset of five bytes: a description beyond 32 MiB.
#[test]
fn a_datatype_of_very_many_blocks_is_told() {
    const BLOCKS: usize = 7 << 20;
    const FAR: i64 = 1 << 30;
    let offsets: Vec<i64> = (0..BLOCKS as i64).map(|i| FAR + 2 * i).collect();
    let made = Datatype::indexed_block(Form::Int, 1, &offsets, Unit::Byte, byte());
    let made = Arc::new(made.expect("a sound datatype"));
    made.commit();
    let told = wire::description(&made).expect("its description is long, and not too long").bytes.len();
    assert!(told > 32 << 20 && 2 * BLOCKS <= BYTES, "{told}");
    let mut pair = Pair::new();
    let data = pair.filled(&vec![7; BLOCKS]);
    let remote = Remote { rank: 1, displacement: -FAR / UNIT, count: 1, datatype: &made };
    let (origin, engine) = (pair.services[0].origin(), &mut pair.cluster.engine(0));
    origin.put(engine, &remote, &data.buffer()).expect("a sound datatype");
    let flush = pair.services[0].origin().flush(&mut pair.cluster.engine(0), 1);
    assert_eq!(pair.finish(&flush), None);
    let window = pair.windows[1].bytes().to_vec();
    assert!(
        window[..2 * BLOCKS].iter().enumerate().all(|(at, byte)| *byte == if at % 2 == 0 { 7 } else { 0 })
    );
}
