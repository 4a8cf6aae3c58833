//! Tests of the cache with a registrar that only counts, over real memory and the kernel's own
//! word.

use super::watch::KernelWatch;
use super::*;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use verbena_testing::children::end_of_child;
use verbena_testing::{Lack, skip};

/// A registrar that registers nothing, but remembers what was in the memory at that time: so a
/// registration of memory that is gone shows itself.
#[derive(Default)]
struct Fake {
    live: HashMap<u32, (Region, u64)>,
    /// The rights of all registrations that were made.
    rights: Vec<Access>,
    made: u32,
    ended: u32,
    /// The number of bytes that may be registered; no limit if `None`.
    room: Option<u64>,
    /// Keeps the other tests that change watched memory away.
    _turn: Option<MutexGuard<'static, ()>>,
}

/// Held by a test with a watch. There is one watch in the process: while another test unmaps
/// memory, no cache trusts itself, and a lease registers anew what it had.
static TURN: Mutex<()> = Mutex::new(());

impl Registrar for Fake {
    fn register(&mut self, region: Region, access: Access) -> Result<Registration, Fault> {
        let bytes: u64 = self.live.values().map(|(region, _)| region.len() as u64).sum();
        if self.room.is_some_and(|room| bytes + region.len() as u64 > room) {
            return Err(Fault::new("no room", "the fake", "the test", "none"));
        }
        self.made += 1;
        self.rights.push(access);
        self.live.insert(self.made, (region, word(region.address())));
        Ok(Registration { region, local_key: self.made, remote_key: self.made, handle: self.made })
    }

    fn deregister(&mut self, registration: Registration) {
        assert!(self.live.remove(&registration.handle).is_some(), "not registered");
        self.ended += 1;
    }
}

fn word(address: u64) -> u64 {
    // SAFETY: the tests give addresses of mapped pages that they own.
    unsafe { (address as *const u64).read_volatile() }
}

/// The purpose of memory in most of the tests.
const WORK: Purpose = Purpose::Work(Access::READ);
const BYTES: usize = 64 << 10;
const MANY: Bounds = Bounds { bytes_max: 1 << 30, entries_max: 1000 };

fn region(address: u64, len: usize) -> Region {
    // SAFETY: the tests give addresses of mapped pages that they own; nothing but their first words
    // is read.
    unsafe { Region::new(address as *mut u8, len) }
}

/// Maps new private memory where nobody else maps any: no other thread of this process may get what
/// a test unmaps.
fn map(bytes: usize) -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0x1000_0000_0000);
    map_at(NEXT.fetch_add(64 << 20, Ordering::Relaxed), bytes)
}

fn map_at(at: u64, bytes: usize) -> u64 {
    let memory = try_map(at, bytes, libc::MAP_FIXED_NOREPLACE);
    assert_ne!(memory, libc::MAP_FAILED, "{}", std::io::Error::last_os_error());
    memory as u64
}

fn try_map(at: u64, bytes: usize, flags: i32) -> *mut libc::c_void {
    let (rights, flags) =
        (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | flags);
    // SAFETY: at an address at which nobody but the test maps memory.
    unsafe { libc::mmap(at as *mut _, bytes, rights, flags, -1, 0) }
}

/// Moves memory of the test to where it has other memory.
fn move_over(from: u64, bytes: usize, to: u64) {
    let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
    // SAFETY: both are memory of the test.
    let memory = unsafe { libc::mremap(from as *mut _, BYTES, bytes, flags, to) };
    assert_eq!(memory as u64, to);
}

fn unmap(at: u64, bytes: usize) {
    // SAFETY: the tests unmap what they mapped.
    assert_eq!(unsafe { libc::munmap(at as *mut _, bytes) }, 0);
}

/// Makes a cache over the kernel's word. Where the kernel gives none there is nothing to test, and
/// the test says so.
fn watched(bounds: Bounds) -> Option<(Cache, Fake)> {
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    match KernelWatch::start() {
        Ok(watch) => {
            let fake = Fake { _turn: Some(turn), ..Fake::default() };
            Some((Cache::new(bounds, Some(Box::new(watch))), fake))
        }
        Err(reason) => {
            skip(Lack::Kernel, &format!("the kernel tells nothing of memory: {reason}"));
            None
        }
    }
}

/// Runs one operation on the region; returns the handle of the registration that it used. Waits
/// until the cache trusts itself.
fn operate(cache: &mut Cache, fake: &mut Fake, region: Region) -> u32 {
    operate_for(cache, fake, region, WORK)
}

/// Runs one operation as [`operate`] does, for this purpose.
fn operate_for(cache: &mut Cache, fake: &mut Fake, region: Region, purpose: Purpose) -> u32 {
    while !cache.watch.as_ref().is_none_or(|watch| watch.is_settled()) {
        std::thread::yield_now();
    }
    let lease = cache.lease(fake, region, purpose).expect("registered");
    let handle = lease.local_key;
    cache.end(fake, lease);
    handle
}

#[test]
fn memory_is_registered_once() {
    let Some((mut cache, mut fake)) = watched(MANY) else { return };
    let at = map(BYTES);
    let first = operate(&mut cache, &mut fake, region(at, BYTES));
    for part in [region(at, BYTES), region(at + 100, 10), region(at + BYTES as u64 - 1, 1)] {
        assert_eq!(operate(&mut cache, &mut fake, part), first);
    }
    assert_eq!((cache.counts().hits, cache.counts().misses, fake.made), (3, 1, 1));
    cache.clear(&mut fake);
    assert!(fake.live.is_empty() && cache.counts().entries == 0 && cache.counts().bytes == 0);
    unmap(at, BYTES);
}

/// Each of these replaces the registered memory with another.
#[test]
fn memory_given_back_is_registered_anew() {
    let Some((mut cache, mut fake)) = watched(MANY) else { return };
    let half = BYTES as u64 / 2;
    let elsewhere = map(2 * BYTES);
    let changes: [(&str, &dyn Fn(u64)); 6] = [
        ("unmapped and mapped", &|at| {
            unmap(at, BYTES);
            map_at(at, BYTES);
        }),
        ("a page of it unmapped and mapped", &|at| {
            unmap(at + half, 4096);
            map_at(at + half, 4096);
        }),
        ("mapped over", &|at| {
            assert_eq!(try_map(at, BYTES, libc::MAP_FIXED) as u64, at);
        }),
        ("emptied", &|at| {
            // SAFETY: memory of the test.
            assert_eq!(unsafe { libc::madvise((at + half) as *mut _, 4096, libc::MADV_DONTNEED) }, 0);
        }),
        ("moved away", &|at| {
            move_over(at, 2 * BYTES, elsewhere);
            map_at(at, BYTES);
        }),
        ("other memory moved there", &|at| move_over(map(BYTES), BYTES, at)),
    ];
    for (what, change) in changes {
        let at = map(BYTES);
        let before = operate(&mut cache, &mut fake, region(at, BYTES));
        assert_eq!(operate(&mut cache, &mut fake, region(at, BYTES)), before);
        let invalidated = cache.counts().invalidated;
        change(at);
        assert_ne!(operate(&mut cache, &mut fake, region(at, BYTES)), before, "{what}");
        assert!(!fake.live.contains_key(&before) && cache.counts().invalidated > invalidated, "{what}");
        cache.clear(&mut fake);
        unmap(at, BYTES);
    }
    unmap(elsewhere, 2 * BYTES);
}

#[test]
fn memory_given_back_while_in_use_goes_with_its_last_use() {
    let Some((mut cache, mut fake)) = watched(MANY) else { return };
    let at = map(2 * BYTES);
    operate(&mut cache, &mut fake, region(at, 2 * BYTES));
    // An operation on the first half, while the second is given back, and used anew.
    let lease = cache.lease(&mut fake, region(at, BYTES), WORK).unwrap();
    let handle = lease.local_key;
    unmap(at + BYTES as u64, BYTES);
    map_at(at + BYTES as u64, BYTES);
    assert_ne!(operate(&mut cache, &mut fake, region(at + BYTES as u64, BYTES)), handle);
    assert!(fake.live.contains_key(&handle), "in use");
    cache.end(&mut fake, lease);
    assert!(!fake.live.contains_key(&handle));
    cache.clear(&mut fake);
    assert!(fake.live.is_empty());
    unmap(at, 2 * BYTES);
}

/// One thread unmaps; another one gets the same address while the first may still be inside
/// `munmap`, and sends from it.
#[test]
fn an_address_that_another_thread_got_at_once_is_registered_anew() {
    let Some((mut cache, mut fake)) = watched(MANY) else { return };
    let place = map(BYTES);
    let turn = AtomicU64::new(0);
    let (rounds, mut value, mut stale) = (500, 1, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..rounds {
                while turn.load(Ordering::Acquire) != 2 * round + 1 {
                    std::thread::yield_now();
                }
                unmap(place, BYTES);
            }
        });
        for round in 0..rounds {
            // SAFETY: mapped, here and at the end of each round.
            unsafe { (place as *mut u64).write_volatile(value) };
            let lease = cache.lease(&mut fake, region(place, BYTES), WORK).unwrap();
            let (_, registered) = fake.live[&lease.local_key];
            stale += u32::from(registered != value);
            cache.end(&mut fake, lease);
            turn.store(2 * round + 1, Ordering::Release);
            take(place);
            turn.store(2 * round + 2, Ordering::Release);
            value += 1;
        }
    });
    assert_eq!(stale, 0, "stale registrations in {rounds} rounds");
    assert!(cache.counts().invalidated > 0);
    cache.clear(&mut fake);
    unmap(place, BYTES);
}

/// Maps memory at this address as soon as it is free.
fn take(at: u64) {
    while try_map(at, BYTES, libc::MAP_FIXED_NOREPLACE) == libc::MAP_FAILED {
        std::hint::spin_loop();
    }
}

/// Threads allocate and free long memory, all of it registered, while nobody asks the cache for
/// anything: the C library's `free` unmaps and trims with its own locks held.
#[test]
fn nobody_hangs_who_frees_memory() {
    let Some((mut cache, mut fake)) = watched(MANY) else { return };
    for _ in 0..5 {
        let mut blocks: Vec<Vec<u8>> = (0..60).map(|i| vec![i; 20_000 + 10_000 * i as usize]).collect();
        for block in &mut blocks {
            operate(&mut cache, &mut fake, region(block.as_mut_ptr() as u64, block.len()));
        }
        std::thread::scope(|scope| {
            let halves = [blocks.split_off(30), blocks];
            for half in halves {
                scope.spawn(move || {
                    for (i, block) in half.into_iter().enumerate() {
                        drop(block);
                        drop(vec![1u8; 40_000 * i]);
                    }
                    // SAFETY: gives unused memory back to the system.
                    unsafe { libc::malloc_trim(0) };
                });
            }
        });
    }
    assert!(cache.counts().misses >= 60);
    cache.clear(&mut fake);
}

/// The child has its own memory, which nobody watches: it must not wait for a thread that it does
/// not have.
#[test]
fn a_child_unmaps_what_its_parent_registered() {
    let Some((mut cache, mut fake)) = watched(MANY) else { return };
    let at = map(BYTES);
    let before = operate(&mut cache, &mut fake, region(at, BYTES));
    // SAFETY: the child's own copy of a mapping of this test.
    let status = end_of_child(|| unsafe {
        libc::madvise(at as *mut _, BYTES / 2, libc::MADV_DONTNEED);
        libc::munmap(at as *mut _, BYTES)
    });
    assert_eq!(status, 0, "the child hung, or failed");
    assert_eq!(operate(&mut cache, &mut fake, region(at, BYTES)), before, "the parent's memory is the same");
    cache.clear(&mut fake);
    unmap(at, BYTES);
}

#[test]
fn what_can_change_unheard_is_not_kept() {
    let Some((mut cache, mut fake)) = watched(MANY) else { return };
    // SAFETY: new mappings, unmapped at the end.
    let (shared, file) = unsafe {
        let shared =
            libc::mmap(std::ptr::null_mut(), BYTES, 3, libc::MAP_SHARED | libc::MAP_ANONYMOUS, -1, 0);
        let fd = libc::memfd_create(c"test".as_ptr(), libc::MFD_CLOEXEC);
        assert_eq!(libc::ftruncate(fd, BYTES as i64), 0);
        let file = libc::mmap(std::ptr::null_mut(), BYTES, 3, libc::MAP_PRIVATE, fd, 0);
        libc::close(fd);
        (shared as u64, file as u64)
    };
    for at in [shared, file] {
        let first = operate(&mut cache, &mut fake, region(at, BYTES));
        assert_ne!(operate(&mut cache, &mut fake, region(at, BYTES)), first);
        unmap(at, BYTES);
    }
    assert!(fake.live.is_empty());
}

#[test]
fn what_was_unused_longest_makes_room() {
    let bounds = Bounds { bytes_max: 10 * BYTES as u64, entries_max: 3 };
    let Some((mut cache, mut fake)) = watched(bounds) else { return };
    let at: Vec<u64> = (0..4).map(|_| map(8 * BYTES)).collect();
    let mut used = |i: usize, blocks: usize| operate(&mut cache, &mut fake, region(at[i], blocks * BYTES));
    let (a, b, c) = (used(0, 1), used(1, 1), used(2, 1));
    assert_eq!(used(0, 1), a);
    // The fourth registration: b has been unused longest.
    used(3, 1);
    assert_eq!((used(0, 1), used(2, 1)), (a, c));
    assert_ne!(used(1, 1), b);
    // Eight blocks beside three: two of those go.
    let long = used(3, 8);
    assert_eq!(used(3, 8), long);
    let counts = cache.counts();
    assert_eq!((counts.entries, counts.evicted), (3, 3), "{counts:?}");
    // More than the cache may hold at all is not kept, and costs nothing of what is.
    let huge = map(20 * BYTES);
    let first = operate(&mut cache, &mut fake, region(huge, 20 * BYTES));
    assert_ne!(operate(&mut cache, &mut fake, region(huge, 20 * BYTES)), first);
    assert_eq!(cache.counts().entries, 3);
    cache.clear(&mut fake);
    at.into_iter().for_each(|at| unmap(at, 8 * BYTES));
    unmap(huge, 20 * BYTES);
}

#[test]
fn memory_that_cannot_be_locked_is_refused_when_all_was_given_up_for_it() {
    let Some((mut cache, mut fake)) = watched(MANY) else { return };
    fake.room = Some(4 * BYTES as u64);
    let at = map(16 * BYTES);
    let block = |i: usize, blocks: usize| region(at + (i * BYTES) as u64, blocks * BYTES);
    (0..4).for_each(|i| _ = operate(&mut cache, &mut fake, block(i, 1)));
    operate(&mut cache, &mut fake, block(4, 1));
    assert_eq!((cache.counts().evicted, cache.counts().refused), (1, 0));
    let in_use = cache.lease(&mut fake, block(4, 1), WORK).unwrap();
    assert!(cache.lease(&mut fake, block(8, 4), WORK).is_err());
    assert_eq!((cache.counts().evicted, cache.counts().refused, cache.counts().entries), (4, 1, 1));
    cache.end(&mut fake, in_use);
    operate(&mut cache, &mut fake, block(8, 4));
    cache.clear(&mut fake);
    assert!(fake.live.is_empty());
    unmap(at, 16 * BYTES);
}

#[test]
fn without_a_watch_memory_is_registered_for_each_operation() {
    let (mut cache, mut fake) = (Cache::new(MANY, None), Fake::default());
    let at = map(2 * BYTES);
    let first = cache.lease(&mut fake, region(at, BYTES), WORK).unwrap();
    // While its operation is under way the memory cannot change: others may share the registration.
    let shared = cache.lease(&mut fake, region(at + 10, 10), WORK).unwrap();
    assert_eq!(first.local_key, shared.local_key);
    cache.end(&mut fake, first);
    // Now only its second user knows that part of it is still there.
    let other = cache.lease(&mut fake, region(at, BYTES), WORK).unwrap();
    assert_ne!(other.local_key, shared.local_key);
    cache.end(&mut fake, shared);
    cache.end(&mut fake, other);
    assert_eq!((fake.made, fake.ended, cache.counts().entries), (2, 2, 0));
    unmap(at, 2 * BYTES);
}

#[test]
fn a_longer_buffer_replaces_the_registrations_within_it() {
    let Some((mut cache, mut fake)) = watched(MANY) else { return };
    let at = map(4 * BYTES);
    let (low, high) = (region(at, BYTES), region(at + 2 * BYTES as u64, BYTES));
    operate(&mut cache, &mut fake, low);
    let in_use = cache.lease(&mut fake, high, WORK).unwrap();
    let all = operate(&mut cache, &mut fake, region(at, 4 * BYTES));
    assert_eq!((operate(&mut cache, &mut fake, low), operate(&mut cache, &mut fake, high)), (all, all));
    assert_eq!(fake.live.len(), 2, "the one in use is still there");
    cache.end(&mut fake, in_use);
    assert_eq!(fake.live.len(), 1);
    cache.clear(&mut fake);
    unmap(at, 4 * BYTES);
}

/// Under a seccomp filter as containers have it, the watch says why it does not work. Runs in a
/// process of its own.
#[test]
fn a_filter_that_forbids_userfaultfd_is_noticed() {
    use std::os::unix::process::CommandExt;
    const MARK: &str = "CACHE_TEST_FILTERED";
    if std::env::var_os(MARK).is_some() {
        let reason = KernelWatch::start().expect_err("forbidden");
        assert!(reason.contains("seccomp"), "{reason}");
        return;
    }
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "cache::tests::a_filter_that_forbids_userfaultfd_is_noticed"]).env(MARK, "1");
    // SAFETY: makes two system calls.
    unsafe { command.pre_exec(forbid) };
    assert!(command.output().unwrap().status.success());
}

/// Forbids the call, and the ioctl with which root could circumvent that.
fn forbid() -> std::io::Result<()> {
    const DEVICE_NEW: u32 = 0xaa00;
    let step = |code: u32, jt, jf, k| libc::sock_filter { code: code as u16, jt, jf, k };
    let (load, equal, give) =
        (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, libc::BPF_JMP | libc::BPF_JEQ, libc::BPF_RET);
    let refuse = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
    // struct seccomp_data: the call's number at 0, the low half of its second argument at 24.
    let mut filter = [
        step(load, 0, 0, 0),
        step(equal, 3, 0, libc::SYS_userfaultfd as u32),
        step(equal, 0, 3, libc::SYS_ioctl as u32),
        step(load, 0, 0, 24),
        step(equal, 0, 1, DEVICE_NEW),
        step(give, 0, 0, refuse),
        step(give, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: the filter outlives the call, which copies it.
    let outcome = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program)
    };
    if outcome == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

/// A key must give a peer no more rights than it was told the key for, now or later.
#[test]
fn a_registration_serves_what_it_has_the_rights_for() {
    let Some((mut cache, mut fake)) = watched(MANY) else { return };
    let at = map(BYTES);
    let mut use_for = |purpose| operate_for(&mut cache, &mut fake, region(at, BYTES), purpose);
    let sent = use_for(Purpose::Shown(Access::READ));
    assert_eq!(use_for(Purpose::Work(Access::READ)), sent);
    assert_eq!(use_for(Purpose::Work(Access::WRITE)), sent, "nobody is told the key");
    let received = use_for(Purpose::Shown(Access::WRITE));
    assert_ne!(received, sent);
    assert_eq!(use_for(Purpose::Work(Access::WRITE)), received);
    assert_eq!(
        (use_for(Purpose::Shown(Access::READ)), use_for(Purpose::Shown(Access::WRITE))),
        (sent, received)
    );
    let both = use_for(Purpose::Shown(Access::READ_WRITE));
    assert!(both != sent && both != received);
    assert_eq!(fake.rights, [Access::READ, Access::WRITE, Access::READ_WRITE]);
    // When the memory goes, all of them do.
    unmap(at, BYTES);
    operate(&mut cache, &mut fake, region(map(BYTES), BYTES));
    assert_eq!((fake.ended, cache.counts().invalidated), (3, 3));
}
