//! Disks that are short, interrupted, full or broken, and data sieving over them.

use super::*;
use crate::info::Info;
use verbena_storage::Disk;
use verbena_storage::faulty::{Faults, FaultyDisk, MemoryDisk};

/// A disk that only notes what it is asked.
pub(in crate::file) fn unfailing() -> FaultyDisk {
    FaultyDisk::new(Arc::new(MemoryDisk::default()), Faults::default(), 1)
}

/// A file on a disk of the test.
fn on_disk(fake: &Fake, world: &Comm, disk: &Arc<dyn Disk>, hints: &[(&str, &str)]) -> File {
    opened_on(fake, world, disk, MPI_MODE_RDWR, hints)
}

/// A file on a disk of the test, opened so.
pub(in crate::file) fn opened_on(
    fake: &Fake,
    world: &Comm,
    disk: &Arc<dyn Disk>,
    amode: i32,
    hints: &[(&str, &str)],
) -> File {
    let info = Info::new();
    for (key, value) in hints {
        info.set(key.as_bytes(), value.as_bytes()).unwrap();
    }
    let word = |_: &Comm| -> Result<Box<dyn Word>> { Ok(Box::new(LocalWord::default())) };
    let made = |_: std::fs::File| -> std::io::Result<Arc<dyn Disk>> { Ok(disk.clone()) };
    let opening = Opening { disk: &made, ..Opening::new(fake, 1, &word) };
    let path = Path::new("/dev/null");
    File::open(world, Ok(path), amode, Ok(Some(&info)), predefined::returning(), &opening).unwrap()
}

/// A filetype with these runs in a tile of `extent` bytes.
pub(super) fn tile(runs: &[(i64, i64)], extent: i64) -> Arc<Datatype> {
    let byte = Datatype::predefined(MPI_BYTE).unwrap();
    let (places, lengths): (Vec<i64>, Vec<i64>) = runs.iter().copied().unzip();
    let runs = Datatype::indexed(Form::Int, &lengths, &places, Unit::Byte, byte).unwrap();
    Arc::new(Datatype::resized(Form::Large, 0, extent, &Arc::new(runs)).unwrap())
}

/// Random numbers that are the same each time.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    fn runs(&mut self) -> (Vec<(i64, i64)>, i64) {
        let (mut runs, mut at) = (Vec::new(), 0);
        for _ in 0..=self.below(6) {
            at += self.below(40) as i64;
            let len = 1 + self.below(20) as i64;
            runs.push((at, len));
            at += len;
        }
        (runs, at + self.below(30) as i64)
    }
}

/// The places of the bytes of a stream.
fn places(displacement: i64, runs: &[(i64, i64)], extent: i64, count: usize) -> Vec<usize> {
    let first = runs[0].0;
    let tile = runs.iter().flat_map(|&(at, len)| at..at + len).collect::<Vec<i64>>();
    let place = |i: usize| displacement + (i / tile.len()) as i64 * extent + tile[i % tile.len()];
    assert!(first >= 0);
    (0..count).map(|i| place(i) as usize).collect()
}

/// Thousands of random views, hints and faults that hinder nothing, against a plain array.
#[test]
fn what_is_written_through_any_view_on_a_bad_disk_is_what_a_plain_array_says() {
    run(1, |world, fake| {
        let (mut random, mut faults_met) = (Random(7), 0);
        for case in 0..2000 {
            let inner = Arc::new(MemoryDisk::default());
            let faults = Faults { short: 1 + random.below(4), interrupted: 2, ..Faults::default() };
            let faulty = Arc::new(FaultyDisk::new(inner.clone(), faults, case));
            let choice = |random: &mut Random| ["automatic", "enable", "disable"][random.below(3) as usize];
            let bytes = (1 << random.below(12)).to_string();
            let hints = [
                ("romio_ds_read", choice(&mut random)),
                ("romio_ds_write", choice(&mut random)),
                ("ind_rd_buffer_size", bytes.as_str()),
                ("ind_wr_buffer_size", bytes.as_str()),
            ];
            let disk: Arc<dyn Disk> = faulty.clone();
            let file = on_disk(fake, world, &disk, &hints);
            let mut plain = Vec::new();
            for _ in 0..3 {
                let ((runs, extent), displacement) = (random.runs(), random.below(50) as i64);
                let byte = Datatype::predefined(MPI_BYTE).unwrap();
                let view = View::new(displacement, byte, &tile(&runs, extent), b"native", true);
                file.set_view(NewView::At(view), Ok(None), fake).unwrap();
                let (start, len) = (random.below(90) as usize, random.below(300) as usize);
                let spots = places(displacement, &runs, extent, 1000);
                let data: Vec<u8> = (0..len).map(|_| random.below(256) as u8).collect();
                let (region, _owner) = memory(&data);
                assert_eq!(file.write_at(start as i64, &Buffer::Contiguous(region)).unwrap(), len);
                for (&place, &byte) in spots[start..].iter().zip(&data) {
                    plain.resize(plain.len().max(place + 1), 0);
                    plain[place] = byte;
                }
                assert_eq!(inner.contents(), plain, "case {case}");
                let back = read_at(&file, start as i64 / 2, start + len + 50);
                let expected = spots[start / 2..].iter().map_while(|&place| plain.get(place).copied());
                assert!(back.iter().copied().eq(expected.take(start + len + 50)), "case {case}");
            }
            faults_met += faulty.made();
        }
        assert!(faults_met > 5000, "{faults_met}");
    });
}

#[test]
fn an_error_names_file_offset_and_file_system_and_the_systems_word() {
    run(1, |world, fake| {
        let faults = Faults { full_at: 70, ..Faults::default() };
        let disk: Arc<dyn Disk> = Arc::new(FaultyDisk::new(Arc::new(MemoryDisk::default()), faults, 1));
        let file = on_disk(fake, world, &disk, &[]);
        let (region, _owner) = memory(&[3; 50]);
        let error = file.write_at(30, &Buffer::Contiguous(region)).unwrap_err();
        assert_eq!(error.class, MPI_ERR_NO_SPACE);
        assert!(error.fault.what.contains("No space left on device"), "{error}");
        for word in ["\"/dev/null\"", "byte 70", "memory"] {
            assert!(error.fault.on.contains(word), "{word}: {error}");
        }
        let faults = Faults { broken: 1, ..Faults::default() };
        let disk: Arc<dyn Disk> = Arc::new(FaultyDisk::new(Arc::new(MemoryDisk::default()), faults, 1));
        let file = on_disk(fake, world, &disk, &[]);
        assert_eq!(class(file.read_at(0, &Buffer::Contiguous(region))), MPI_ERR_IO);
        assert_eq!(class(file.read_at(0, &Buffer::EMPTY)), MPI_SUCCESS);
    });
}

/// Gaps are read with what lies between them if that pays, and never written unless asked to.
#[test]
fn runs_that_lie_close_are_read_at_once_and_gaps_are_written_on_request_alone() {
    run(1, |world, fake| {
        for (choice, writes) in [("automatic", 100), ("disable", 100), ("enable", 2)] {
            let disk = Arc::new(unfailing());
            let file = on_disk(fake, world, &(disk.clone() as Arc<dyn Disk>), &[("romio_ds_write", choice)]);
            let byte = Datatype::predefined(MPI_BYTE).unwrap();
            let view = View::new(0, byte, &tile(&[(0, 4)], 16), b"native", true);
            file.set_view(NewView::At(view), Ok(None), fake).unwrap();
            let (region, _owner) = memory(&[9; 400]);
            assert_eq!(file.write_at(0, &Buffer::Contiguous(region)).unwrap(), 400);
            assert_eq!(disk.calls(), writes, "{choice}");
            assert_eq!(file.read_at(0, &Buffer::Contiguous(region)).unwrap(), 400);
            assert_eq!(disk.calls(), writes + 1, "{choice}");
        }
    });
}
