//! Tests of transfers, open files and the pool.

use crate::faulty::{Faults, FaultyDisk, MemoryDisk};
use crate::*;
use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, MutexGuard, PoisonError, mpsc};
use verbena_memory::{Owned, Region};
use verbena_testing::children::end_of_child;

/// The right to make a child. One holds it at a time: a child also has the pipes of other tests,
/// and keeps them open.
pub(crate) struct Children(#[expect(dead_code, reason = "it is held")] MutexGuard<'static, ()>);

pub(crate) fn children() -> Children {
    static TURN: Mutex<()> = Mutex::new(());
    Children(TURN.lock().unwrap_or_else(PoisonError::into_inner))
}

impl Children {
    /// Makes a child, and returns its end: 0 if this holds in it. The child calls nothing but the
    /// system: other threads may have held locks when it was made.
    pub(crate) fn find(&self, check: impl FnOnce() -> bool) -> libc::c_int {
        end_of_child(|| i32::from(!check()))
    }
}

fn bytes(len: usize) -> (Vec<u8>, Owned) {
    let bytes: Vec<u8> = (0..len).map(|i| (i * 7 % 251) as u8).collect();
    let owned = Owned::from(&bytes[..]);
    (bytes, owned)
}

fn opened(name: &str) -> (OpenFile, std::path::PathBuf) {
    let path = std::env::temp_dir().join(format!("verbena-storage-{name}-{}", std::process::id()));
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&path).unwrap();
    (OpenFile::new(file, true).unwrap(), path)
}

#[test]
fn short_and_interrupted_calls_move_everything_all_the_same() {
    let mut faults_met = 0;
    for seed in 0..200 {
        let (expected, owned) = bytes(1000);
        let inner = Arc::new(MemoryDisk::default());
        let faults = Faults { short: 2, interrupted: 3, ..Faults::default() };
        let disk = FaultyDisk::new(inner.clone(), faults, seed);
        write_all(&disk, owned.lend(), 10).unwrap();
        assert_eq!(inner.contents()[10..], expected);
        let back = Owned::zeroed(1200);
        assert_eq!(read_all(&disk, back.lend(), 10).unwrap(), 1000);
        assert_eq!(back.lend().part(0, 1000).to_vec(), expected);
        faults_met += disk.made();
    }
    assert!(faults_met > 200, "{faults_met}");
}

#[test]
fn an_error_tells_how_far_the_transfer_got() {
    let (_, owned) = bytes(100);
    let faults = Faults { full_at: 70, ..Faults::default() };
    let disk = FaultyDisk::new(Arc::new(MemoryDisk::default()), faults, 1);
    let cut = write_all(&disk, owned.lend(), 30).unwrap_err();
    assert_eq!((cut.done, cut.error.kind()), (40, ErrorKind::StorageFull));
    let broken = Faults { broken: 1, ..Faults::default() };
    let disk = FaultyDisk::new(Arc::new(MemoryDisk::default()), broken, 1);
    assert_eq!(read_all(&disk, owned.lend(), 0).unwrap_err().error.raw_os_error(), Some(libc::EIO));
    assert!(write_all(&disk, Region::EMPTY, 0).is_ok(), "nothing to write needs no disk");
    let beyond = write_all(&MemoryDisk::default(), owned.lend(), i64::MAX as u64 + 1).unwrap_err();
    assert_eq!(beyond.error.kind(), ErrorKind::InvalidInput);
}

#[test]
fn a_file_keeps_what_is_written_and_has_a_size() {
    let (disk, path) = opened("keeps");
    let (expected, owned) = bytes(300);
    write_all(&disk, owned.lend(), 5).unwrap();
    let back = Owned::zeroed(400);
    assert_eq!(read_all(&disk, back.lend(), 5).unwrap(), 300);
    assert_eq!(back.lend().part(0, 300).to_vec(), expected);
    assert_eq!(disk.size().unwrap(), 305);
    disk.set_size(100).unwrap();
    disk.reserve(0).unwrap();
    disk.reserve(50).unwrap();
    assert_eq!(disk.size().unwrap(), 100);
    disk.reserve(5000).unwrap();
    assert_eq!(disk.size().unwrap(), 5000);
    disk.sync().unwrap();
    assert_eq!(disk.file_system(), file_system(&path));
    std::fs::remove_file(path).unwrap();
}

#[test]
fn a_lock_keeps_another_open_file_out_until_it_is_given_back() {
    let (disk, path) = opened("locks");
    let other = OpenFile::new(OpenOptions::new().read(true).write(true).open(&path).unwrap(), true).unwrap();
    let part = Extent { start: 10, end: 20 };
    disk.lock(part, Lock::Exclusive).unwrap();
    other.lock(Extent { start: 20, end: 30 }, Lock::Exclusive).unwrap();
    let (said, heard) = mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            other.lock(Extent { start: 19, end: 20 }, Lock::Shared).unwrap();
            said.send(()).unwrap();
        });
        assert!(heard.recv_timeout(std::time::Duration::from_millis(50)).is_err());
        disk.unlock(part).unwrap();
        heard.recv().unwrap();
    });
    std::fs::remove_file(path).unwrap();
}

#[test]
fn a_pipe_is_read_and_written_in_order_whatever_the_places() {
    let (reader, writer) = std::io::pipe().unwrap();
    let [reader, writer] = [std::os::fd::OwnedFd::from(reader), writer.into()]
        .map(|end| OpenFile::new(File::from(end), true).unwrap());
    let (expected, owned) = bytes(64);
    write_all(&writer, owned.lend(), 1000).unwrap();
    let back = Owned::zeroed(64);
    assert_eq!(read_all(&reader, back.lend(), 77).unwrap(), 64);
    assert_eq!(back.lend().to_vec(), expected);
}

/// Pieces of several lengths, some behind the end of the file.
#[test]
fn a_list_is_moved_as_piece_by_piece_through_the_ring_and_without() {
    let folder = std::env::current_dir().unwrap();
    for (number, may_use_ring) in [true, false].into_iter().enumerate() {
        let path = folder.join(format!("storage-list-{}-{number}", std::process::id()));
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&path).unwrap();
        let disk = OpenFile::new(file, may_use_ring).unwrap();
        let (expected, owned) = bytes(30_000);
        let piece = |i: usize| (100 * i, 3 * i % 97);
        let pieces = |memory: Region| -> Vec<Piece> {
            (0..300)
                .map(piece)
                .map(|(at, len)| Piece { region: memory.part(at, len), at: at as u64 })
                .collect()
        };
        disk.write_list(&pieces(owned.lend())).unwrap();
        let back = Owned::zeroed(30_000);
        assert_eq!(
            disk.read_list(&pieces(back.lend())).unwrap(),
            (0..300).map(|i| piece(i).1).collect::<Vec<_>>()
        );
        let back = back.lend().to_vec();
        for (at, len) in (0..300).map(piece) {
            assert_eq!(back[at..at + len], expected[at..at + len]);
        }
        disk.set_size(10_050).unwrap();
        let read = disk.read_list(&pieces(owned.lend())).unwrap();
        assert!(
            (0..300).all(|i| read[i] == piece(i).1.min(10_050_usize.saturating_sub(piece(i).0))),
            "{read:?}"
        );
        std::fs::remove_file(path).unwrap();
    }
}

#[test]
fn a_list_tells_which_piece_failed() {
    let faults = Faults { full_at: 205, ..Faults::default() };
    let disk = FaultyDisk::new(Arc::new(MemoryDisk::default()), faults, 1);
    let (_, owned) = bytes(10);
    let pieces: Vec<Piece> = (0..30).map(|i| Piece { region: owned.lend(), at: 10 * i }).collect();
    let failed = disk.write_list(&pieces).unwrap_err();
    assert_eq!((failed.number, failed.cut.done), (20, 5));
    let only_read = File::open("/dev/null").unwrap();
    let disk = OpenFile::new(only_read, true).unwrap();
    let failed = disk.write_list(&pieces).unwrap_err();
    assert_eq!((failed.number, failed.cut.error.raw_os_error()), (0, Some(libc::EBADF)));
}

#[test]
fn jobs_run_on_threads_and_one_too_many_comes_back() {
    let pool = Pool::new(2, 3);
    let (both, done) = (Arc::new(Barrier::new(3)), Arc::new(AtomicUsize::new(0)));
    for _ in 0..2 {
        let both = both.clone();
        let busy = Box::new(move || {
            both.wait();
            both.wait();
        });
        assert!(pool.submit(busy).is_ok());
    }
    both.wait();
    let count = || {
        let done = done.clone();
        Box::new(move || {
            done.fetch_add(1, Ordering::SeqCst);
        }) as Job
    };
    assert!((0..3).all(|_| pool.submit(count()).is_ok()));
    let Err(back) = pool.submit(count()) else { panic!("the queue is full") };
    back();
    assert_eq!((done.load(Ordering::SeqCst), pool.waiting()), (1, 3));
    both.wait();
    while done.load(Ordering::SeqCst) < 4 {
        std::thread::yield_now();
    }
    assert!(pool.submit(count()).is_ok());
}

/// The jobs of a pool whose threads are all stuck are begun all the same, after a while.
#[test]
fn jobs_behind_stuck_ones_get_a_thread_more() {
    let pool = Pool::new(2, 100);
    let stuck = Arc::new(Barrier::new(6));
    for _ in 0..5 {
        let stuck = stuck.clone();
        let job = Box::new(move || {
            stuck.wait();
        });
        assert!(pool.submit(job).is_ok());
    }
    // Each job waits for all of them, and for this thread.
    stuck.wait();
}

#[test]
fn a_job_that_must_not_wait_for_room_is_taken_however_many_there_are() {
    let (pool, done) = (Pool::new(1, 1), Arc::new(AtomicUsize::new(0)));
    let hold = Arc::new(Barrier::new(2));
    let held = hold.clone();
    let wait = Box::new(move || {
        held.wait();
    });
    assert!(pool.push(wait).is_ok());
    for _ in 0..50 {
        let done = done.clone();
        let count = Box::new(move || {
            done.fetch_add(1, Ordering::SeqCst);
        });
        assert!(pool.push(count).is_ok());
    }
    let Err(_) = pool.submit(Box::new(|| ())) else { panic!("the queue is more than full") };
    assert_eq!(done.load(Ordering::SeqCst), 0);
    hold.wait();
    while done.load(Ordering::SeqCst) < 50 {
        std::thread::yield_now();
    }
}

#[test]
fn a_lane_keeps_the_order_of_jobs_and_threads() {
    let (lane, order) = (Lane::new(Pool::new(4, 1)), Arc::new(std::sync::Mutex::new(Vec::new())));
    let push = |number: usize| {
        let order = order.clone();
        lane.push(Box::new(move || {
            // The later ones are quicker.
            std::thread::sleep(std::time::Duration::from_micros(500 / (number as u64 + 1)));
            order.lock().unwrap().push(number);
        }));
    };
    for number in (0..40).step_by(4) {
        push(number);
        push(number + 1);
        let turn = lane.enter();
        push(number + 3);
        order.lock().unwrap().push(number + 2);
        drop(turn);
    }
    drop(lane.enter());
    assert_eq!(*order.lock().unwrap(), (0..40).collect::<Vec<_>>());
}

/// If each of these jobs called the next, they would overflow the stack.
#[test]
fn a_lane_without_threads_does_all_in_the_callers_one() {
    const JOBS: usize = 200_000;
    let (lane, order) = (Lane::new(Pool::granted(0)), Arc::new(std::sync::Mutex::new(Vec::new())));
    let turn = lane.enter();
    for number in 0..JOBS {
        let order = order.clone();
        lane.push(Box::new(move || order.lock().unwrap().push(number)));
    }
    assert!(order.lock().unwrap().is_empty());
    drop(turn);
    assert_eq!(*order.lock().unwrap(), (0..JOBS).collect::<Vec<_>>());
    drop(lane.enter());
}

/// Two threads at a time hand in jobs to a pool that gets no thread: each gets its own one back.
#[test]
fn a_job_that_gets_no_thread_goes_back_to_who_brought_it() {
    const JOBS: usize = 20_000;
    let (pool, done) = (Pool::granted(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..JOBS {
                    let (said, heard) = mpsc::channel();
                    let Err(job) = pool.push(Box::new(move || said.send(()).unwrap())) else { continue };
                    job();
                    done.fetch_add(usize::from(heard.try_recv().is_ok()), Ordering::SeqCst);
                }
            });
        }
    });
    assert_eq!((done.load(Ordering::SeqCst), pool.waiting()), (2 * JOBS, 0));
}

/// The only thread waits for a pipe that the next job fills.
#[test]
fn a_job_is_not_left_behind_a_stuck_one_if_no_thread_comes() {
    let (reader, writer) = std::io::pipe().unwrap();
    let [reader, writer] = [std::os::fd::OwnedFd::from(reader), writer.into()]
        .map(|end| Arc::new(OpenFile::new(File::from(end), true).unwrap()));
    let (pool, (said, heard)) = (Pool::granted(1), mpsc::channel());
    let begun = Arc::new(Barrier::new(2));
    let is_begun = begun.clone();
    let read = Box::new(move || {
        is_begun.wait();
        let back = Owned::zeroed(64);
        said.send(read_all(&*reader, back.lend(), 0).unwrap()).unwrap();
    });
    assert!(pool.submit(read).is_ok());
    begun.wait();
    let (_, owned) = bytes(32);
    let write = move |writer: &OpenFile| write_all(writer, owned.lend(), 0).unwrap();
    let (first, write) = (writer.clone(), Arc::new(write));
    let again = write.clone();
    let Err(job) = pool.submit(Box::new(move || again(&first))) else { panic!("no thread comes") };
    job();
    Lane::new(pool.clone()).push(Box::new(move || write(&writer)));
    assert_eq!(heard.recv().unwrap(), 64);
}

/// Kept bytes are dropped, and the file stays as it is; a pipe keeps none.
#[test]
fn a_file_is_looked_at_anew() {
    let (disk, path) = opened("anew");
    let (expected, owned) = bytes(300);
    write_all(&disk, owned.lend(), 0).unwrap();
    disk.refresh().unwrap();
    let back = Owned::zeroed(300);
    assert_eq!(read_all(&disk, back.lend(), 0).unwrap(), 300);
    assert_eq!(back.lend().to_vec(), expected);
    std::fs::remove_file(path).unwrap();
    let (reader, _writer) = std::io::pipe().unwrap();
    let pipe = OpenFile::new(File::from(std::os::fd::OwnedFd::from(reader)), true).unwrap();
    assert!(pipe.is_stream() && !disk.is_stream());
    pipe.refresh().unwrap();
}
