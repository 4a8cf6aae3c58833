//! Views whose copies of the filetype are mixed: each begins before the one before it has ended.

use super::*;

/// A filetype of these runs, with this extent.
fn runs_in(extent: i64, runs: &[(i64, i64)]) -> Arc<Datatype> {
    let byte = Datatype::predefined(MPI_BYTE).unwrap();
    let (places, lengths): (Vec<i64>, Vec<i64>) = runs.iter().copied().unzip();
    let filetype = Datatype::indexed(Form::Large, &lengths, &places, Unit::Byte, byte).unwrap();
    Arc::new(Datatype::resized(Form::Large, 0, extent, &Arc::new(filetype)).unwrap())
}

fn view_of(filetype: &Arc<Datatype>, writes: bool) -> View {
    View::new(7, Datatype::predefined(MPI_BYTE).unwrap(), filetype, b"native", writes).unwrap()
}

/// The place of a byte of the stream, by the definition (MPI-5.0, 14.3).
fn defined(runs: &[(i64, i64)], extent: i64, byte: usize) -> u64 {
    let tile: Vec<i64> = runs.iter().flat_map(|&(at, len)| at..at + len).collect();
    (7 + (byte / tile.len()) as i64 * extent + tile[byte % tile.len()]) as u64
}

/// A file that is only read may show bytes twice; one that is written, mixed ones once.
#[test]
fn mixed_copies_follow_each_other_where_the_standard_allows_it() {
    for (writes, extent, runs) in [
        (false, 4, &[(0, 4), (8, 4)][..]),
        (false, 1, &[(0, 4)]),
        (false, 20, &[(0, 20), (4096, 4)]),
        (false, 3, &[(1, 2), (2, 5), (2, 1)]),
        (true, 2, &[(0, 1), (3, 1)]),
        (true, 10, &[(0, 3), (13, 2), (28, 2)]),
        (true, 4096, &[(0, 20), (4116, 4), (8222, 1)]),
    ] {
        let view = view_of(&runs_in(extent, runs), writes);
        assert_eq!(view.copies_max(), u64::MAX, "{runs:?}");
        for (start, len) in [(0, 1), (0, 60), (5, 1), (3, 50), (41, 17)] {
            let mut found = Vec::new();
            view.for_each_run(start, len, |at, len| found.extend(at..at + len as u64)).unwrap();
            let expected: Vec<u64> = (0..len).map(|i| defined(runs, extent, start as usize + i)).collect();
            assert_eq!(found, expected, "{runs:?}");
            assert_eq!(view.place(start).unwrap(), expected[0]);
        }
        // The stream of a file ends with its first byte behind the file (MPI_SEEK_END, 14.4.3).
        for bytes in 0..200 {
            let shown = (0..).take_while(|&byte| defined(runs, extent, byte) < bytes).count() as u64;
            assert_eq!(view.end(bytes), shown, "{runs:?}, {bytes} bytes");
        }
    }
}

/// A byte may not be shown twice in a file that is written; and of copies that do not go on, no
/// more than one may be read either.
#[test]
fn other_mixed_copies_end_with_an_error_and_not_short() {
    for (writes, extent, runs) in [
        (true, 4, &[(0, 4), (8, 4)][..]),
        (true, 10, &[(0, 3), (12, 2)]),
        (false, 0, &[(0, 4)]),
        (false, -8, &[(0, 4)]),
    ] {
        let view = view_of(&runs_in(extent, runs), writes);
        let size: u64 = runs.iter().map(|run| run.1 as u64).sum();
        assert_eq!((view.copies_max(), view.readable(100)), (1, 100), "{runs:?}");
        assert_eq!(class(view.for_each_run(size - 1, 1, |_, _| ())), MPI_SUCCESS);
        assert_eq!(class(view.for_each_run(size - 1, 2, |_, _| ())), MPI_ERR_ARG);
    }
}

#[test]
fn all_that_is_asked_for_is_read_and_written_of_mixed_copies() {
    let folder = Folder::new("mixed");
    std::fs::write(folder.file(), (0..40).collect::<Vec<u8>>()).unwrap();
    run(1, |world, fake| {
        let reader = open(world, &folder.file(), MPI_MODE_RDONLY, fake).unwrap();
        reader
            .set_view(NewView::At(Ok(view_of(&runs_in(1, &[(0, 1), (2, 1)]), false))), Ok(None), fake)
            .unwrap();
        assert_eq!(read_at(&reader, 0, 6), [7, 9, 8, 10, 9, 11]);
        assert_eq!(read_at(&reader, 2, 2), [8, 10]);
        reader.seek(0, MPI_SEEK_END).unwrap();
        assert_eq!(reader.position().unwrap() as usize, read_at(&reader, 0, 200).len());
        for hints in [None, Some("enable")] {
            let file = open(world, &folder.file(), MPI_MODE_RDWR, fake).unwrap();
            let info = Info::new();
            hints.iter().for_each(|value| info.set(b"romio_ds_write", value.as_bytes()).unwrap());
            let view = NewView::At(Ok(view_of(&runs_in(2, &[(0, 1), (3, 1)]), true)));
            file.set_view(view, Ok(Some(&info)), fake).unwrap();
            let (region, _owner) = memory(b"abcdefgh");
            assert_eq!(file.write_at(0, &Buffer::Contiguous(region)).unwrap(), 8);
            assert_eq!(read_at(&file, 0, 8), b"abcdefgh");
            assert_eq!(std::fs::read(folder.file()).unwrap()[6..18], *b"\x06a\x08cbedgf\x0fh\x11");
        }
    });
}
