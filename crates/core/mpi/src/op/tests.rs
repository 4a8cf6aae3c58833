//! Every predefined operation on every basic datatype against arithmetic on wider numbers.

use super::*;
use crate::datatype::predefined::{BASICS, PAIRS};
use crate::datatype::{Basic, Family, Float, Form, Int, Representation};
use std::sync::Mutex;

const COUNT: usize = 67;

/// A value of some representation, wide enough for all test values.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Wide {
    Integer(i128),
    Real(f64),
    Complex(f64, f64),
}

fn write_real(float: Float, value: f64, out: &mut [u8]) {
    match float {
        Float::F32 => out.copy_from_slice(&(value as f32).to_ne_bytes()),
        Float::F64 => out.copy_from_slice(&value.to_ne_bytes()),
        other => {
            let (format, _) = soft_format(other);
            let bits = format.convert(soft::DOUBLE, value.to_bits() as u128);
            out.copy_from_slice(&bits.to_le_bytes()[..out.len()]);
        }
    }
}

fn read_real(float: Float, bytes: &[u8]) -> f64 {
    let mut all = [0; 16];
    all[..bytes.len()].copy_from_slice(bytes);
    match float {
        Float::F32 => f32::from_ne_bytes(bytes.try_into().unwrap()) as f64,
        Float::F64 => f64::from_ne_bytes(bytes.try_into().unwrap()),
        other => {
            let (format, bits) = soft_format(other);
            f64::from_bits(soft::DOUBLE.convert(format, u128::from_le_bytes(all) & bits) as u64)
        }
    }
}

fn soft_format(float: Float) -> (soft::Format, u128) {
    match float {
        Float::F16 => (soft::HALF, 0xffff),
        Float::X87 => (soft::EXTENDED, (1 << 80) - 1),
        _ => (soft::QUAD, u128::MAX),
    }
}

fn write(representation: Representation, value: Wide, out: &mut [u8]) {
    match (representation, value) {
        (Representation::Opaque | Representation::Integer(_), Wide::Integer(v)) => {
            out.copy_from_slice(&v.to_le_bytes()[..out.len()]);
        }
        (Representation::Float(float), Wide::Real(v)) => write_real(float, v, out),
        (Representation::Complex(float), Wide::Complex(re, im)) => {
            let (first, second) = out.split_at_mut(float.size());
            write_real(float, re, first);
            write_real(float, im, second);
        }
        other => panic!("{other:?}"),
    }
}

fn read(representation: Representation, bytes: &[u8]) -> Wide {
    let negative = |int: Int| int.is_signed() && bytes[bytes.len() - 1] & 0x80 != 0;
    match representation {
        Representation::Opaque => Wide::Integer(bytes[0].into()),
        Representation::Integer(int) => {
            let mut all = [if negative(int) { 0xff } else { 0 }; 16];
            all[..bytes.len()].copy_from_slice(bytes);
            Wide::Integer(i128::from_le_bytes(all))
        }
        Representation::Float(float) => Wide::Real(read_real(float, bytes)),
        Representation::Complex(float) => {
            let (re, im) = bytes.split_at(float.size());
            Wide::Complex(read_real(float, re), read_real(float, im))
        }
    }
}

/// Makes a small number: sums and products are exact in every format (half precision has 11 bits).
fn sample(representation: Representation, i: usize, salt: usize) -> Wide {
    let number = ((i * 7 + salt * 13) % 23) as i128;
    let signed = number - 11;
    match representation {
        Representation::Opaque => Wide::Integer(number * 11),
        Representation::Integer(int) if !int.is_signed() => Wide::Integer(number % 16),
        Representation::Integer(_) => Wide::Integer(signed),
        Representation::Float(_) => Wide::Real(signed as f64 / 2.0),
        Representation::Complex(_) => Wide::Complex(signed as f64 / 2.0, (number % 5) as f64),
    }
}

fn truth(value: i128) -> bool {
    value != 0
}

fn expected(op: Builtin, a: Wide, b: Wide) -> Wide {
    match (a, b) {
        (Wide::Integer(a), Wide::Integer(b)) => Wide::Integer(match op {
            Builtin::Max => a.max(b),
            Builtin::Min => a.min(b),
            Builtin::Sum => a + b,
            Builtin::Prod => a * b,
            Builtin::Land => (truth(a) && truth(b)).into(),
            Builtin::Lor => (truth(a) || truth(b)).into(),
            Builtin::Lxor => (truth(a) != truth(b)).into(),
            Builtin::Band => a & b,
            Builtin::Bor => a | b,
            Builtin::Bxor => a ^ b,
            other => panic!("{other:?}"),
        }),
        (Wide::Real(a), Wide::Real(b)) => Wide::Real(match op {
            Builtin::Max => a.max(b),
            Builtin::Min => a.min(b),
            Builtin::Sum => a + b,
            _ => a * b,
        }),
        (Wide::Complex(a, b), Wide::Complex(c, d)) if op == Builtin::Sum => Wide::Complex(a + c, b + d),
        (Wide::Complex(a, b), Wide::Complex(c, d)) => Wide::Complex(a * c - b * d, a * d + b * c),
        other => panic!("{other:?}"),
    }
}

/// The table of MPI-5.0, 6.9.2, written down a second time.
fn allowed(op: Builtin, family: Family) -> bool {
    use Builtin::*;
    use Family::*;
    let ops: &[Builtin] = match family {
        CInteger | MultiLanguage => &[Max, Min, Sum, Prod, Land, Lor, Lxor, Band, Bor, Bxor],
        FortranInteger => &[Max, Min, Sum, Prod, Band, Bor, Bxor],
        Floating => &[Max, Min, Sum, Prod],
        Logical => &[Land, Lor, Lxor],
        Family::Complex => &[Sum, Prod],
        Byte => &[Band, Bor, Bxor],
        Other => &[],
    };
    ops.contains(&op)
}

/// Packed values.
fn operand(basic: &Basic, salt: usize) -> Vec<u8> {
    let mut memory = vec![0; basic.size() * COUNT];
    for (i, element) in memory.chunks_exact_mut(basic.size()).enumerate() {
        write(basic.representation, sample(basic.representation, i, salt), element);
    }
    memory
}

/// A copy in memory that is not aligned, kept until the tests end.
fn region(memory: &[u8]) -> Region {
    let scratch = Box::leak(Box::<Scratch>::default());
    let region = scratch.take(memory.len() + 1).part(1, memory.len());
    region.write(0, memory);
    region
}

fn check_result(op: Builtin, basic: &Basic, result: &[u8]) {
    for (i, element) in result.chunks_exact(basic.size()).enumerate() {
        let (a, b) = (sample(basic.representation, i, 1), sample(basic.representation, i, 2));
        let got = read(basic.representation, element);
        assert_eq!(got, expected(op, a, b), "{op:?} on {} of {a:?} and {b:?}", basic.name);
    }
}

#[test]
fn every_operation_on_every_datatype_agrees_with_wide_arithmetic() {
    let mut tried = 0;
    for (builtin, handle, name) in &BUILTINS[..10] {
        let op = Op::predefined(*handle).unwrap();
        for basic in &BASICS {
            let datatype = Datatype::predefined(basic.handle).unwrap();
            assert_eq!(
                op.check(datatype).is_ok(),
                allowed(*builtin, basic.family),
                "{name} on {}",
                basic.name
            );
            let [ra, rb] = [1, 2].map(|salt| region(&operand(basic, salt)));
            let ro = region(&vec![0; rb.len()]);
            if !allowed(*builtin, basic.family) {
                assert_eq!(op.apply(ra, rb, COUNT, datatype).unwrap_err().class, mpi::MPI_ERR_OP);
                continue;
            }
            op.combine(ra, rb, ro, COUNT, datatype).unwrap();
            check_result(*builtin, basic, &ro.to_vec());
            let first = region(&ra.to_vec());
            op.combine(first, rb, first, COUNT, datatype).unwrap();
            check_result(*builtin, basic, &first.to_vec());
            op.apply(ra, rb, COUNT, datatype).unwrap();
            check_result(*builtin, basic, &rb.to_vec());
            tried += 1;
        }
    }
    assert!(tried > 250, "{tried}");
}

/// The bits of any operands, NaN and overflow among them, are those of the plain loop, which single
/// elements take; long operands take the processor's widest instructions, and longer ones others.
#[test]
fn loops_by_wide_instructions_give_the_bits_of_the_plain_loop() {
    let noise = |bytes: usize, seed: u64| -> Vec<u8> {
        let mixed = |i: usize| (i as u64 + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (0..bytes).map(|i| (mixed(i) >> 40) as u8).collect()
    };
    let operations = BUILTINS[..10].iter().map(|(builtin, handle, name)| (*builtin, *handle, name));
    for (builtin, handle, name) in operations {
        let op = Op::predefined(handle).unwrap();
        for basic in BASICS.iter().filter(|basic| allowed(builtin, basic.family)) {
            let datatype = Datatype::predefined(basic.handle).unwrap();
            for bytes in [1000, 34_000] {
                let count = bytes / basic.size();
                let [a, b] = [1, 1 << 20].map(|seed| region(&noise(count * basic.size(), seed)));
                let [out, inout, first] = [&vec![0; a.len()], &b.to_vec(), &a.to_vec()].map(|m| region(m));
                op.combine(a, b, out, count, datatype).unwrap();
                op.apply(a, inout, count, datatype).unwrap();
                op.combine(first, b, first, count, datatype).unwrap();
                let plain = region(&b.to_vec());
                for i in 0..count {
                    let part = |region: Region| region.part(i * basic.size(), basic.size());
                    op.apply(part(a), part(plain), 1, datatype).unwrap();
                }
                for (form, result) in [("three", out), ("two", inout), ("first", first)] {
                    assert!(result.to_vec() == plain.to_vec(), "{name} on {}: {form}, {bytes}", basic.name);
                }
            }
        }
    }
}

/// A program may name one buffer twice, or parts of one that overlap (which MPI forbids, but no
/// check may rely on).
#[test]
fn operands_may_be_the_same_memory_or_overlap() {
    let word = Datatype::predefined(mpi::MPI_UINT32_T).unwrap();
    let all = region(&(0..100u32).flat_map(u32::to_ne_bytes).collect::<Vec<_>>());
    let numbers = || (0..100).map(|i| all.load::<u32>(4 * i)).collect::<Vec<_>>();
    let sum = Op::of(Builtin::Sum);
    sum.apply(all, all, 100, word).unwrap();
    assert_eq!(numbers(), (0..100).map(|i| 2 * i).collect::<Vec<_>>());
    sum.combine(all, all, all, 100, word).unwrap();
    assert_eq!(numbers(), (0..100).map(|i| 4 * i).collect::<Vec<_>>());
    sum.apply(all.part(0, 396), all.part(4, 396), 99, word).unwrap();
    assert_eq!(numbers(), (0..100).map(|i| 2 * i * (i + 1)).collect::<Vec<_>>());
    let pair = Datatype::predefined(mpi::MPI_2INT).unwrap();
    Op::of(Builtin::Maxloc).apply(all, all, 50, pair).unwrap();
    assert_eq!(numbers(), (0..100).map(|i| 2 * i * (i + 1)).collect::<Vec<_>>());
}

#[test]
fn integers_wrap_around() {
    let int = Datatype::predefined(mpi::MPI_INT).unwrap();
    let [a, b] = [i32::MAX, 1].map(|v| region(&v.to_ne_bytes()));
    Op::of(Builtin::Sum).apply(a, b, 1, int).unwrap();
    assert_eq!(b.to_vec(), i32::MIN.to_ne_bytes());
}

/// One pair in memory.
fn pair_bytes(datatype: &Datatype, value: Wide, index: Wide) -> Vec<u8> {
    let pair = datatype.pair().unwrap();
    let mut bytes = vec![0xee; datatype.extent() as usize];
    write(pair.value.representation, value, &mut bytes[..pair.value.size()]);
    write(pair.index.representation, index, &mut bytes[pair.index_at..][..pair.index.size()]);
    bytes
}

#[test]
fn pairs_keep_the_extreme_value_and_the_least_index() {
    let number = |basic: &Basic, v: i32| match basic.representation {
        Representation::Float(_) => Wide::Real(v.into()),
        _ => Wide::Integer(v.into()),
    };
    for entry in &PAIRS {
        let datatype = Datatype::predefined(entry.0).unwrap();
        let pair = datatype.pair().unwrap();
        let make = |(v, i): (i32, i32)| pair_bytes(datatype, number(pair.value, v), number(pair.index, i));
        for (op, a, b, winner) in [
            (Builtin::Maxloc, (5, 9), (3, 1), (5, 9)),
            (Builtin::Maxloc, (3, 1), (5, 9), (5, 9)),
            (Builtin::Maxloc, (5, 2), (5, 7), (5, 2)),
            (Builtin::Maxloc, (5, 7), (5, 2), (5, 2)),
            (Builtin::Minloc, (5, 9), (3, 1), (3, 1)),
            (Builtin::Minloc, (-4, 9), (3, 1), (-4, 9)),
            (Builtin::Minloc, (5, 7), (5, 2), (5, 2)),
        ] {
            let [input, inout] = [a, b].map(|pair| region(&make(pair).repeat(3)));
            let op = Op::of(op);
            op.check(datatype).unwrap();
            op.apply(input, inout, 3, datatype).unwrap();
            assert_eq!(inout.to_vec(), make(winner).repeat(3), "{} {a:?} {b:?}", entry.1);
        }
        assert_eq!(Op::of(Builtin::Sum).check(datatype).unwrap_err().class, mpi::MPI_ERR_OP);
    }
    let int = Datatype::predefined(mpi::MPI_INT).unwrap();
    assert_eq!(Op::of(Builtin::Maxloc).check(int).unwrap_err().class, mpi::MPI_ERR_OP);
}

#[test]
fn operations_for_accumulate_only_are_refused_in_reductions() {
    let int = Datatype::predefined(mpi::MPI_INT).unwrap();
    let row = Arc::new(Datatype::contiguous(Form::Int, 3, int).unwrap());
    for builtin in [Builtin::Replace, Builtin::NoOp] {
        assert_eq!(Op::of(builtin).check(int).unwrap_err().class, mpi::MPI_ERR_OP);
        Op::of(builtin).check_accumulate(&row).unwrap();
    }
    assert_eq!(Op::of(Builtin::Sum).check(&row).unwrap_err().class, mpi::MPI_ERR_OP);
    Op::of(Builtin::Sum).check_accumulate(&row).unwrap();
    let (a, b) = (region(&[1, 2, 3, 4]), region(&[9; 4]));
    Op::of(Builtin::Replace).apply(a, b, 1, int).unwrap();
    assert_eq!(b.to_vec(), [1, 2, 3, 4]);
}

#[test]
fn a_user_function_gets_its_operands_in_order() {
    static CALLS: Mutex<Vec<i64>> = Mutex::new(vec![]);
    // The operands are strings of digits; the operation is "append", which does not commute.
    let append = Op::user(
        Box::new(|input, inout, count, datatype| {
            CALLS.lock().unwrap().push(count);
            assert_eq!(datatype.size(), 8);
            for i in 0..count as usize {
                let number = |r: Region| u64::from_ne_bytes(r.load(i * 8));
                let result = number(input) * 10 + number(inout);
                inout.write(i * 8, &result.to_ne_bytes());
            }
        }),
        false,
    );
    let word = Datatype::predefined(mpi::MPI_UINT64_T).unwrap();
    let memory = |v: u64| [v.to_ne_bytes(), (v + 1).to_ne_bytes()].concat();
    let result = |region: Region| u64::from_ne_bytes(region.load(8));
    let [ra, rb, rc] = [1, 5, 0].map(|v| region(&memory(v)));
    append.combine(ra, rb, rc, 2, word).unwrap();
    assert_eq!((result(ra), result(rb), result(rc)), (2, 6, 26));
    append.combine(ra, rb, ra, 2, word).unwrap();
    assert_eq!((result(ra), result(rb)), (26, 6));
    append.combine(ra, rb, rb, 2, word).unwrap();
    assert_eq!(result(rb), 266);
    assert_eq!(*CALLS.lock().unwrap(), [2, 2, 2]);
}

/// A result that depends on the order of the operands is the same bit by bit wherever it goes.
#[test]
fn the_operands_keep_their_order_wherever_the_result_goes() {
    let values =
        [0.0f64, -0.0, 1.0, f64::from_bits(0x7ff8_0000_0000_0001), f64::from_bits(0xfff8_0000_0000_0002)];
    let pairs = || values.into_iter().flat_map(|a| values.map(|b| (a, b)));
    let bytes = |side: fn((f64, f64)) -> f64, width: usize| -> Vec<u8> {
        let wide = |value: f64| match width {
            4 => (value as f32).to_ne_bytes().to_vec(),
            8 => value.to_ne_bytes().to_vec(),
            // A pair, whose index is the same everywhere, and padding.
            _ => [&value.to_ne_bytes()[..], &[7; 4], &[0; 4]].concat(),
        };
        pairs().flat_map(|pair| wide(side(pair))).collect()
    };
    let count = pairs().count();
    for (handle, width, builtins) in [
        (mpi::MPI_FLOAT, 4, [Builtin::Max, Builtin::Min]),
        (mpi::MPI_DOUBLE, 8, [Builtin::Max, Builtin::Min]),
        (mpi::MPI_DOUBLE_INT, 16, [Builtin::Maxloc, Builtin::Minloc]),
    ] {
        let datatype = Datatype::predefined(handle).unwrap();
        for op in builtins.map(Op::of) {
            let fresh = || [region(&bytes(|pair| pair.0, width)), region(&bytes(|pair| pair.1, width))];
            let [a, b] = fresh();
            let out = region(&vec![0; count * width]);
            op.combine(a, b, out, count, datatype).unwrap();
            let expected = out.to_vec();
            let [a, b] = fresh();
            op.combine(a, b, a, count, datatype).unwrap();
            assert!(a.to_vec() == expected, "{:?} in the first operand", op.builtin());
            op.apply(fresh()[0], b, count, datatype).unwrap();
            assert!(b.to_vec() == expected, "{:?} in the second operand", op.builtin());
        }
    }
}
