//! Known bytes of the external32 representation; and packed elements come back when unpacked.

use super::external::{check_name, pack_external, size, unpack_external};
use super::predefined::BASICS;
use super::*;
use verbena_memory::elements::Elements;
use verbena_memory::scratch::Scratch;

fn of(handle: usize) -> Arc<Datatype> {
    Datatype::predefined(handle).unwrap().clone()
}

/// Elements in memory of their own, with these bytes from the first origin on.
fn load<'a>(scratch: &mut Scratch, datatype: &'a Datatype, count: usize, memory: &[u8]) -> Elements<'a> {
    let elements = Elements::in_scratch(scratch, datatype.layout(), count);
    let end = datatype.span(count).unwrap().1 as usize;
    elements.origins(count).write(0, &memory[..end]);
    elements
}

fn packed(datatype: &Datatype, count: usize, memory: &[u8]) -> Result<Vec<u8>> {
    let mut scratch = Scratch::default();
    let elements = load(&mut scratch, datatype, count, memory);
    let room = scratch.take(size(datatype, count)? + 3);
    let end = pack_external(&elements.buffer(0, count), datatype, count, room, 3)?;
    assert_eq!(end, room.len());
    Ok(room.to_vec()[3..].to_vec())
}

fn unpacked(datatype: &Datatype, count: usize, external: &[u8], memory: &mut [u8]) {
    let mut scratch = Scratch::default();
    let elements = load(&mut scratch, datatype, count, memory);
    let room = scratch.take(external.len());
    room.write(0, external);
    let end = unpack_external(room, 0, &elements.buffer(0, count), datatype, count).unwrap();
    assert_eq!(end, external.len());
    let span = datatype.span(count).unwrap().1 as usize;
    elements.origins(count).read(0, &mut memory[..span]);
}

#[test]
fn known_values_have_the_bytes_of_the_standard() {
    let check = |handle, native: &[u8], external: &[u8]| {
        let datatype = of(handle);
        assert_eq!(packed(&datatype, 1, native).unwrap(), external, "{datatype:?}");
        let mut back = vec![0; native.len()];
        unpacked(&datatype, 1, external, &mut back);
        assert_eq!(back, native, "{datatype:?}");
    };
    check(mpi::MPI_INT, &0x0102_0304i32.to_le_bytes(), &[1, 2, 3, 4]);
    check(mpi::MPI_LONG, &(-2i64).to_le_bytes(), &[0xff, 0xff, 0xff, 0xfe]);
    check(mpi::MPI_UNSIGNED_LONG, &0xffff_fffeu64.to_le_bytes(), &[0xff, 0xff, 0xff, 0xfe]);
    check(mpi::MPI_LONG_LONG, &5i64.to_le_bytes(), &[0, 0, 0, 0, 0, 0, 0, 5]);
    check(mpi::MPI_WCHAR, &0x20aci32.to_le_bytes()[..], &[0x20, 0xac]);
    check(mpi::MPI_DOUBLE, &1.5f64.to_le_bytes(), &[0x3f, 0xf8, 0, 0, 0, 0, 0, 0]);
    let complex = [1f32.to_le_bytes(), (-2f32).to_le_bytes()].concat();
    check(mpi::MPI_COMPLEX, &complex, &[0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0]);
    let pair = [1.5f32.to_le_bytes(), 7i32.to_le_bytes()].concat();
    check(mpi::MPI_FLOAT_INT, &pair, &[0x3f, 0xc0, 0, 0, 0, 0, 0, 7]);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn long_double_becomes_a_quad() {
    let mut three = [0; 16];
    three[..10].copy_from_slice(&0x4000_c000_0000_0000_0000u128.to_le_bytes()[..10]);
    let external = packed(&of(mpi::MPI_LONG_DOUBLE), 1, &three).unwrap();
    assert_eq!(external, [0x40, 0, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    let mut back = [0; 16];
    unpacked(&of(mpi::MPI_LONG_DOUBLE), 1, &external, &mut back);
    assert_eq!(back, three);
}

#[test]
fn values_that_do_not_fit_are_an_error() {
    for value in [1i64 << 31, i64::MIN, -(1 << 31) - 1] {
        let error = packed(&of(mpi::MPI_LONG), 1, &value.to_le_bytes()).unwrap_err();
        assert_eq!(error.class, mpi::MPI_ERR_CONVERSION, "{value}");
    }
    let error = packed(&of(mpi::MPI_UNSIGNED_LONG), 1, &(1u64 << 32).to_le_bytes()).unwrap_err();
    assert_eq!(error.class, mpi::MPI_ERR_CONVERSION);
}

#[test]
fn every_basic_datatype_comes_back() {
    for basic in &BASICS {
        let datatype = of(basic.handle);
        // Fills with bytes of small positive values: they fit everywhere, and are normal numbers or
        // subnormal ones.
        let mut memory: Vec<u8> = (0..2000 * basic.size()).map(|i| (i % basic.size() == 0) as u8).collect();
        if let Representation::Float(Float::X87) | Representation::Complex(Float::X87) = basic.representation
        {
            memory.fill(0);
        }
        let external = packed(&datatype, 2000, &memory).unwrap();
        assert_eq!(external.len(), 2000 * basic.external, "{}", basic.name);
        let mut back = vec![0xee; memory.len()];
        unpacked(&datatype, 2000, &external, &mut back);
        assert_eq!(back, memory, "{}", basic.name);
    }
}

#[test]
fn derived_datatypes_are_converted_element_by_element() {
    let record =
        Datatype::structure(Form::Int, &[2, 3], &[8, 0], &[of(mpi::MPI_SHORT), of(mpi::MPI_CHAR)]).unwrap();
    let record = Arc::new(record);
    let mut memory = vec![0u8; record.extent() as usize * 2 + 8];
    memory[8..12].copy_from_slice(&[1, 2, 3, 4]);
    memory[..3].copy_from_slice(b"abc");
    let external = packed(&record, 1, &memory).unwrap();
    assert_eq!(external, [2, 1, 4, 3, b'a', b'b', b'c']);
    let mut back = vec![0; memory.len()];
    unpacked(&record, 1, &external, &mut back);
    assert_eq!(back, memory);
}

#[test]
fn other_names_and_short_buffers_are_refused() {
    assert!(check_name("external32").is_ok());
    assert_eq!(check_name("native").unwrap_err().class, mpi::MPI_ERR_UNSUPPORTED_DATAREP);
    let mut scratch = Scratch::default();
    let room = scratch.take(3);
    let int = of(mpi::MPI_INT);
    let one = load(&mut scratch, &int, 1, &1i32.to_le_bytes()).buffer(0, 1);
    assert_eq!(pack_external(&one, &int, 1, room, 0).unwrap_err().class, mpi::MPI_ERR_TRUNCATE);
    assert_eq!(pack::pack(&one, room, 1).unwrap_err().class, mpi::MPI_ERR_TRUNCATE);
    assert_eq!(pack::unpack(room, 9, &one).unwrap_err().class, mpi::MPI_ERR_TRUNCATE);
}
