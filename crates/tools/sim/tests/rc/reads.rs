//! Short reads, which come to memory of the library: more at once than that has places, and a
//! connection that breaks while they are under way.

use super::rig::{Rig, settings};
use verbena_channel::{Access, Channel, Key, Peer, RemoteMemory, Transfer};
use verbena_memory::{Owned, Region};
use verbena_sim::over_rc::keep_registrations;
use verbena_sim::verbs::DeviceFaults;

/// More than there are places.
const READS: usize = 150;
const PLACES: usize = 64;
/// Bytes of the longest of them.
const BYTES: usize = 256;
const UNTOUCHED: u8 = 0xee;

/// Rank 0 with connections to two others, which show it memory.
struct Reader {
    // The channels go first, which use the memory.
    rig: Rig,
    keys: [Key; 2],
    theirs: [Owned; 2],
    mine: Owned,
}

impl Reader {
    fn new(seed: u64) -> Reader {
        let mut rig = Rig::new(3, seed, &settings(), DeviceFaults::NONE);
        rig.channels.iter_mut().for_each(keep_registrations);
        for peer in [1, 2] {
            rig.send(0, peer, 0, 10);
            rig.send(peer, 0, 1, 10);
        }
        rig.await_packets(0, 2);
        [1, 2].into_iter().for_each(|peer| rig.await_packets(peer, 1));
        let theirs = [1u8, 2].map(|peer| {
            let bytes: Vec<u8> = (0..READS * BYTES).map(|at| (at / 7) as u8 ^ peer << 7).collect();
            Owned::from(&bytes[..])
        });
        let mut show = |peer: usize| {
            let region = theirs[peer - 1].lend();
            rig.channels[peer].expose(0, region, Access::READ).expect("it is connected")
        };
        let keys = [show(1), show(2)];
        let mine = Owned::zeroed(READS * BYTES);
        mine.lend().write(0, &[UNTOUCHED; READS * BYTES]);
        Reader { rig, keys, theirs, mine }
    }

    /// The memory of a read, here.
    fn place(&self, read: usize) -> Region {
        self.mine.lend().part(read * BYTES, len(read))
    }

    fn begin(&mut self, peer: Peer, read: usize) {
        let (place, key) = (self.place(read), self.keys[peer as usize - 1]);
        let begun = self.rig.channels[0].get(peer, &key, (read * BYTES) as u64, place, read as u64);
        assert_eq!(begun.expect("begun"), Transfer::Pending);
    }

    /// Waits until so many have ended, each once. Returns whether each was done.
    fn ends(&mut self, reads: usize) -> Vec<bool> {
        self.rig.until("reads", |rig| rig.logs[0].ended.len() >= reads);
        let mut ended = std::mem::take(&mut self.rig.logs[0].ended);
        ended.sort_unstable();
        let tokens: Vec<u64> = ended.iter().map(|it| it.0).collect();
        assert_eq!(tokens, (0..reads as u64).collect::<Vec<u64>>());
        ended.iter().map(|it| it.1).collect()
    }

    /// Checks that a read has its bytes from this peer, or that nothing came.
    fn check(&self, peer: usize, read: usize, is_done: bool) {
        let theirs = self.theirs[peer - 1].lend().part(read * BYTES, len(read)).to_vec();
        let expected = if is_done { theirs } else { vec![UNTOUCHED; len(read)] };
        assert_eq!(self.place(read).to_vec(), expected, "read {read}, which is done: {is_done}");
    }

    /// Registrations that were made for reads.
    fn registered(&self) -> u64 {
        self.rig.channels[0].counts().registrations.misses
    }
}

fn len(read: usize) -> usize {
    1 + read * 13 % BYTES
}

#[test]
fn more_short_reads_than_places_end_with_their_bytes() {
    for seed in 0..20 {
        let mut reader = Reader::new(seed);
        let before = reader.registered();
        for read in 0..READS {
            reader.begin(1 + read as Peer % 2, read);
        }
        assert!(reader.registered() > before, "no more than {PLACES} come to places of the library");
        let done = reader.ends(READS);
        for (read, is_done) in done.into_iter().enumerate() {
            assert!(is_done);
            reader.check(1 + read % 2, read, true);
        }
        assert_eq!(reader.rig.subnet.violations(), Vec::<String>::new());
    }
}

/// Reads of a broken connection end with an error and have written nothing; their places are there
/// for reads from others.
#[test]
fn short_reads_under_way_end_with_their_connection() {
    let mut failed = 0;
    for seed in 0..20 {
        let mut reader = Reader::new(seed);
        (0..PLACES).for_each(|read| reader.begin(1, read));
        reader.rig.steps(1 + seed as usize);
        reader.rig.subnet.kill(1);
        let done = reader.ends(PLACES);
        failed += done.iter().filter(|is_done| !**is_done).count();
        for (read, is_done) in done.into_iter().enumerate() {
            reader.check(1, read, is_done);
        }
        assert_eq!(reader.rig.logs[0].broken.len(), 1);
        // What comes late, if anything did, would be seen here.
        reader.rig.steps(500);
        reader.mine.lend().write(0, &[UNTOUCHED; READS * BYTES]);
        let before = reader.registered();
        (0..PLACES).for_each(|read| reader.begin(2, read));
        assert_eq!(reader.registered(), before, "all places were given back");
        let done = reader.ends(PLACES);
        for (read, is_done) in done.into_iter().enumerate() {
            assert!(is_done);
            reader.check(2, read, true);
        }
    }
    assert!(failed >= 100, "{failed} reads have failed");
}

/// A connection may be given back while memory is moved over it: whoever waits for the end hears of
/// it, and nothing is written from then on.
#[test]
fn reads_under_way_end_when_their_connection_is_given_back() {
    let mut failed = 0;
    for seed in 0..20 {
        let mut reader = Reader::new(seed);
        (0..READS).for_each(|read| reader.begin(1, read));
        reader.rig.steps(seed as usize);
        reader.rig.channels[0].connections().expect("rc has connections").leave(1);
        let before = reader.mine.lend().to_vec();
        let done = reader.ends(READS);
        failed += done.iter().filter(|is_done| !**is_done).count();
        reader.rig.steps(500);
        assert!(reader.mine.lend().to_vec() == before);
        for (read, is_done) in done.into_iter().enumerate().filter(|(_, is_done)| *is_done) {
            reader.check(1, read, is_done);
        }
        assert!(reader.rig.logs[0].broken.is_empty());
        (0..PLACES).for_each(|read| reader.begin(2, read));
        assert!(reader.ends(PLACES).into_iter().all(|is_done| is_done));
    }
    assert!(failed >= 1000, "{failed} reads have failed");
}

/// A reader that waits hears of it in the next poll, though that brings something else.
#[test]
fn reads_of_a_connection_that_was_given_back_end_under_traffic() {
    for seed in 0..20 {
        let mut reader = Reader::new(seed);
        let rig = &mut reader.rig;
        // Afterwards the other connection has nothing to say but its packets.
        for number in 2..40 {
            rig.send(2, 0, number, 10);
            rig.await_packets(0, number as usize + 1);
        }
        rig.steps(100);
        (0..READS).for_each(|read| reader.begin(1, read));
        let rig = &mut reader.rig;
        rig.channels[0].connections().expect("rc has connections").leave(1);
        rig.send(2, 0, 40, 10);
        let now_ns = rig.subnet.now_ns();
        rig.subnet.run_until(now_ns + 50_000);
        rig.poll(0);
        assert_eq!(rig.logs[0].packets.len(), 41, "the poll brings something");
        assert_eq!(rig.logs[0].ended.len(), READS);
    }
}
