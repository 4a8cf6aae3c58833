//! Shared file pointers, the order of ranks, hints and representations.

use super::*;
use crate::info::Info;

fn contiguous(bytes: &[u8]) -> (Data, Owned) {
    let owner = Owned::from(bytes);
    (super::bytes(&Buffer::Contiguous(owner.lend())), owner)
}

#[test]
fn ranks_write_in_their_order_and_the_pointer_moves_for_all() {
    let folder = Folder::new("ordered");
    run(4, |world, fake| {
        let file = open(world, &folder.file(), NEW, fake).unwrap();
        let rank = world.rank();
        let (data, _owner) = contiguous(&vec![rank as u8 + 1; rank as usize + 1]);
        for turn in 1..=2 {
            let written = file.access_ordered(Direction::Write, Ok(data.clone()), fake).unwrap();
            assert_eq!(written, rank as usize + 1);
            fake.allgather(world, &[]).unwrap();
            assert_eq!(file.position_shared().unwrap(), 10 * turn);
            fake.allgather(world, &[]).unwrap();
        }
        file.seek_shared(-3, MPI_SEEK_END, fake).unwrap();
        assert_eq!(file.position_shared().unwrap(), 17);
        assert_eq!(class(file.seek_shared(rank.into(), MPI_SEEK_SET, fake)), MPI_ERR_NOT_SAME);
        assert_eq!(class(file.seek_shared(-1, MPI_SEEK_SET, fake)), MPI_ERR_ARG);
    });
    let once = [1, 2, 2, 3, 3, 3, 4, 4, 4, 4];
    assert_eq!(std::fs::read(folder.file()).unwrap(), [once, once].concat());
}

#[test]
fn what_is_wrong_in_one_rank_fails_an_ordered_access_in_all() {
    let folder = Folder::new("order-wrong");
    run(3, |world, fake| {
        let file = open(world, &folder.file(), NEW, fake).unwrap();
        let (data, _owner) = contiguous(&[1; 4]);
        let wrong = fault::bad_value("count", -1, "pass another");
        let data = if world.rank() == 1 { Err(wrong) } else { Ok(data) };
        assert_eq!(class(file.access_ordered(Direction::Write, data, fake)), MPI_ERR_ARG);
        assert_eq!((file.position_shared().unwrap(), file.size().unwrap()), (0, 0));
    });
}

#[test]
fn every_access_at_the_shared_pointer_gets_bytes_of_its_own() {
    let folder = Folder::new("claims");
    run(4, |world, fake| {
        let file = open(world, &folder.file(), NEW, fake).unwrap();
        let (data, _owner) = contiguous(&[world.rank() as u8; 8]);
        for _ in 0..50 {
            assert_eq!(file.access(Direction::Write, Place::Shared, &data).unwrap(), 8);
        }
    });
    let bytes = std::fs::read(folder.file()).unwrap();
    assert_eq!(bytes.len(), 4 * 50 * 8);
    let mut counts = [0; 4];
    for record in bytes.chunks_exact(8) {
        assert!(record.iter().all(|&byte| byte == record[0]), "{record:?}");
        counts[usize::from(record[0])] += 1;
    }
    assert_eq!(counts, [50; 4]);
}

/// A new view sets both pointers back; the processes must agree on it.
#[test]
fn a_view_is_set_by_all_and_begins_anew() {
    let folder = Folder::new("anew");
    run(2, |world, fake| {
        let file = open(world, &folder.file(), NEW, fake).unwrap();
        let (byte, int) = (Datatype::predefined(MPI_BYTE).unwrap(), Datatype::predefined(MPI_INT).unwrap());
        let (data, _owner) = contiguous(&[5; 12]);
        file.access(Direction::Write, Place::Shared, &data).unwrap();
        fake.allgather(world, &[]).unwrap();
        assert_eq!(file.position_shared().unwrap(), 24);
        fake.allgather(world, &[]).unwrap();
        file.set_view(NewView::At(View::new(4, int, int, b"native", true)), Ok(None), fake).unwrap();
        assert_eq!((file.position().unwrap(), file.position_shared().unwrap()), (0, 0));
        let name: &[u8] = if world.rank() == 0 { b"native" } else { b"external32" };
        assert_eq!(
            class(file.set_view(NewView::At(View::new(0, int, int, name, true)), Ok(None), fake)),
            MPI_ERR_NOT_SAME
        );
        let etype = if world.rank() == 0 { byte } else { int };
        let view = View::new(0, etype, etype, b"native", true);
        assert_eq!(class(file.set_view(NewView::At(view), Ok(None), fake)), MPI_ERR_NOT_SAME);
        assert_eq!(file.view().displacement, 4);
        let current = NewView::AtShared(View::new(0, int, int, b"native", true));
        assert_eq!(class(file.set_view(current, Ok(None), fake)), MPI_ERR_ARG);
        let (odd, _owner) = contiguous(&[1; 7]);
        assert_eq!(class(file.access(Direction::Write, Place::At(0), &odd)), MPI_ERR_IO);
    });
}

#[test]
fn external32_lies_big_endian_in_the_file_and_ends_at_whole_elements() {
    let folder = Folder::new("external");
    run(1, |world, fake| {
        let file = open(world, &folder.file(), NEW, fake).unwrap();
        let long = Datatype::predefined(MPI_LONG).unwrap();
        let every_other = Datatype::vector(Form::Int, 1, 1, 1, Unit::Extent, long).unwrap();
        let filetype = Arc::new(Datatype::resized(Form::Int, 0, 8, &Arc::new(every_other)).unwrap());
        file.set_view(NewView::At(View::new(2, long, &filetype, b"external32", true)), Ok(None), fake)
            .unwrap();
        let owner = Owned::from(&[1_i64, -2].map(i64::to_le_bytes).concat()[..]);
        let data =
            Data { buffer: Buffer::Contiguous(owner.lend()), datatype: long.clone(), count: 2, address: 0 };
        assert_eq!(file.access(Direction::Write, Place::Individual, &data).unwrap(), 16);
        assert_eq!(file.position().unwrap(), 2);
        owner.lend().fill(0);
        assert_eq!(file.access(Direction::Read, Place::At(1), &data).unwrap(), 8, "one is there");
        assert_eq!(owner.lend().load::<i64>(0), -2);
    });
    // A long has four bytes in external32, and the extent of the filetype is in bytes.
    let expected = [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xfe];
    assert_eq!(std::fs::read(folder.file()).unwrap(), expected);
}

/// Many times what is converted at once; the file ends within an element.
#[test]
fn a_long_access_in_external32_is_converted_in_parts() {
    const COUNT: usize = 3001;
    run(1, |world, fake| {
        let disk = Arc::new(faults::unfailing());
        let noted: Arc<dyn Disk> = disk.clone();
        let file = faults::opened_on(fake, world, &noted, MPI_MODE_RDWR, &[]);
        let long = Datatype::predefined(MPI_LONG).unwrap();
        let pair = Arc::new(Datatype::contiguous(Form::Int, 2, long).unwrap());
        let filetype = Arc::new(Datatype::resized(Form::Int, 0, 24, long).unwrap());
        file.set_view(NewView::At(View::new(0, long, &filetype, b"external32", true)), Ok(None), fake)
            .unwrap();
        let values: Vec<u8> = (0..2 * COUNT as i64).flat_map(|i| (i - 9).to_le_bytes()).collect();
        let owner = Owned::from(&values[..]);
        let data =
            Data { buffer: Buffer::Contiguous(owner.lend()), datatype: pair, count: COUNT, address: 0 };
        assert_eq!(file.access(Direction::Write, Place::At(0), &data).unwrap(), values.len());
        owner.lend().fill(0);
        assert_eq!(file.access(Direction::Read, Place::At(0), &data).unwrap(), values.len());
        assert_eq!(owner.lend().to_vec(), values);
        // The last one lacks a byte in the file.
        disk.set_size(disk.size().unwrap() - 1).unwrap();
        owner.lend().fill(0);
        let less = values.len() - 8;
        assert_eq!(file.access(Direction::Read, Place::At(0), &data).unwrap(), less);
        assert_eq!(owner.lend().part(0, less).to_vec(), values[..less]);
    });
}

#[test]
fn the_hints_of_the_first_process_count_for_all() {
    let folder = Folder::new("hints");
    run(3, |world, fake| {
        let given = Info::new();
        given.set(b"cb_nodes", (world.rank() + 1).to_string().as_bytes()).unwrap();
        let file = open_with(world, &folder.file(), NEW, Some(&given), fake).unwrap();
        let value = |key: &[u8]| file.hints().unwrap().get(key).unwrap().unwrap();
        assert_eq!(value(b"cb_nodes"), b"1");
        given.set(b"cb_nodes", (3 - world.rank()).to_string().as_bytes()).unwrap();
        file.set_hints(Ok(Some(&given)), fake).unwrap();
        assert_eq!(value(b"cb_nodes"), b"3");
        let byte = Datatype::predefined(MPI_BYTE).unwrap();
        given.set(b"romio_ds_read", b"disable").unwrap();
        file.set_view(NewView::At(View::new(0, byte, byte, b"native", true)), Ok(Some(&given)), fake)
            .unwrap();
        assert_eq!(value(b"romio_ds_read"), b"disable");
    });
}
