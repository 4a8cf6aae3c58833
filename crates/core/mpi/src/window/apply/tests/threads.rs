//! Threads that change the same elements at the same time.

use super::*;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use verbena_testing::meetings::{THREADS, at_once};

/// Threads add to the same elements of every sort, aligned or not, in each way and by each call.
#[test]
fn no_sum_is_lost() {
    let leaves = [
        mpi::MPI_INT8_T,
        mpi::MPI_INT,
        mpi::MPI_LONG,
        mpi::MPI_DOUBLE,
        mpi::MPI_C_FLOAT_COMPLEX,
        mpi::MPI_C_DOUBLE_COMPLEX,
    ];
    for (handle, at) in leaves.into_iter().flat_map(|leaf| [(leaf, 64), (leaf, 243)]) {
        let leaf = Datatype::predefined(handle).unwrap();
        let representation = leaf.as_basic().unwrap().representation;
        let ones = Owned::from(&number(representation, 1).repeat(12)[..]);
        let rows = Arc::new(Datatype::vector(Form::Int, 4, 3, 4, Unit::Extent, leaf).unwrap());
        for way in WAYS {
            let exposed = Exposed::new(&[0; 1024]);
            let rooms = [(); THREADS].map(|()| Owned::zeroed(ones.len()));
            let calls = at_once(|thread| {
                let former = thread.is_multiple_of(2).then(|| rooms[thread].lend());
                add(&exposed, way, thread, (at, 1, &rows), Some(ones.lend()), former);
            });
            let sum = number(representation, calls);
            let memory = exposed.memory.lend();
            for i in (0..15).filter(|i| i % 4 != 3) {
                let mut found = vec![0; leaf.size()];
                memory.read(at as usize + i * leaf.size(), &mut found);
                assert_eq!(found, sum, "element {i} of {leaf:?} at {at}, {way:?}, {calls} calls");
            }
        }
    }
}

/// Long rows are added to the elements that other threads add to one by one, by either call.
#[test]
fn long_rows_and_single_elements_meet() {
    const ELEMENTS: usize = if cfg!(miri) { 600 } else { 1500 };
    for (handle, way) in [mpi::MPI_DOUBLE, mpi::MPI_LONG]
        .into_iter()
        .flat_map(|handle| [Way::Processor, Way::Locked].map(|way| (handle, way)))
    {
        let leaf = Datatype::predefined(handle).unwrap();
        let representation = leaf.as_basic().unwrap().representation;
        let exposed = Exposed::new(&vec![0; 8 * ELEMENTS + 8]);
        let ones = Owned::from(&number(representation, 1).repeat(ELEMENTS)[..]);
        let rooms = [(); THREADS].map(|()| Owned::zeroed(8));
        let (rows, singles) = (AtomicU64::new(0), AtomicU64::new(0));
        at_once(|thread| {
            let row = || add(&exposed, way, thread, (8, ELEMENTS, leaf), Some(ones.lend()), None);
            if thread == 0 {
                rows.fetch_add(1, Relaxed);
                return row();
            }
            let number = singles.fetch_add(1, Relaxed) as usize;
            let at = 8 + number % ELEMENTS * 8;
            let one = ones.lend().part(0, 8);
            if thread == 1 {
                return add(&exposed, way, thread, (at as i64, 1, leaf), Some(one), None);
            }
            let (memory, guard) = (exposed.memory.lend(), exposed.guard(way, thread as u32));
            fetch_and_op(&Op::of(Builtin::Sum), memory, at, leaf, one, rooms[thread].lend(), &guard).unwrap();
        });
        let (rows, singles) = (rows.into_inner(), singles.into_inner());
        for i in 0..ELEMENTS as u64 {
            let all = rows + singles / ELEMENTS as u64 + u64::from(i < singles % ELEMENTS as u64);
            let found = exposed.memory.lend().part(8 + 8 * i as usize, 8).to_vec();
            assert_eq!(found, self::number(representation, all), "{i} of {leaf:?}, {way:?}, {rows} rows");
        }
    }
}

/// Adds without the check that no stripe is held: other threads hold some.
fn add(
    exposed: &Exposed,
    way: Way,
    thread: usize,
    (at, count, datatype): (i64, usize, &Arc<Datatype>),
    source: Option<Region>,
    former: Option<Region>,
) {
    let (region, guard) = (exposed.memory.lend(), &exposed.guard(way, thread as u32));
    let far = Far(region);
    // Of those under stripes some have the memory mapped and some have not.
    let is_far = way == Way::Far && thread.is_multiple_of(2);
    let memory: &dyn TargetMemory = if is_far { &far } else { &region };
    let at = if is_far { region.address() as i64 + at } else { at };
    let target = Target { memory, at, count, datatype, guard };
    accumulate(&Op::of(Builtin::Sum), &target, source, former).unwrap();
}

/// The number in this representation; a complex one has no imaginary part.
fn number(representation: Representation, number: u64) -> Vec<u8> {
    match representation {
        Representation::Integer(int) => u128::from(number).to_le_bytes()[..int.size()].to_vec(),
        Representation::Float(Float::F32) => (number as f32).to_le_bytes().to_vec(),
        Representation::Float(Float::F64) => (number as f64).to_le_bytes().to_vec(),
        Representation::Complex(part) => {
            [self::number(Representation::Float(part), number), vec![0; part.size()]].concat()
        }
        other => panic!("{other:?}"),
    }
}

/// Fetching and comparing hand out every number once, whoever asks by whichever call.
#[test]
fn every_number_is_handed_out_once() {
    let long = Datatype::predefined(mpi::MPI_LONG).unwrap();
    for way in [Way::Processor, Way::Locked] {
        let (exposed, one) = (Exposed::new(&[0; 64]), Owned::from(&1u64.to_le_bytes()[..]));
        let numbers = [(); THREADS].map(|()| Mutex::new(Vec::new()));
        let rooms = [(); THREADS].map(|()| Owned::zeroed(24));
        let calls = at_once(|thread| {
            let room = rooms[thread].lend();
            let [was, expected, new] = [0, 8, 16].map(|at| room.part(at, 8));
            let (memory, guard) = (exposed.memory.lend(), exposed.guard(way, thread as u32));
            let mut mine = numbers[thread].lock().unwrap();
            if thread.is_multiple_of(2) {
                fetch_and_op(&Op::of(Builtin::Sum), memory, 8, long, one.lend(), was, &guard).unwrap();
                return mine.push(was.load::<u64>(0));
            }
            while {
                new.store(0, expected.load::<u64>(0) + 1);
                compare_and_swap(&memory, 8, long, new, expected, was, &guard).unwrap();
                was.load::<u64>(0) != expected.load::<u64>(0)
            } {
                expected.put(0, was);
            }
            mine.push(expected.load::<u64>(0));
        });
        let mut all: Vec<u64> = numbers.into_iter().flat_map(|mine| mine.into_inner().unwrap()).collect();
        all.sort_unstable();
        assert_eq!(all.len() as u64, calls);
        assert_eq!((0..calls).find(|&i| all[i as usize] != i), None, "{way:?}, {calls} calls");
    }
}
