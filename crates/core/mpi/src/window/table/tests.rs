//! The table as its readers see it, short and long, and while it changes.

use super::*;
use verbena_memory::Owned;

fn table() -> (Owned, Table) {
    let owned = Owned::zeroed(BYTES);
    let table = Table(owned.lend());
    (owned, table)
}

fn no_block(_: Ticket) -> Option<Region> {
    panic!("the table has no block")
}

fn attached(address: u64, bytes: u64, ticket: Option<Ticket>) -> Found {
    Found::Attached { address, bytes, ticket }
}

fn lives() -> bool {
    false
}

/// A member that dies in the middle of a change leaves an odd version.
#[test]
fn a_table_whose_member_died_in_a_change_is_torn() {
    let (_owned, table) = table();
    table.tell_short(&[Attached::told(100, 10, None)], 0);
    table.0.word_store(VERSION, table.0.word_load(VERSION) + 1);
    let mut asked = 0;
    let found = table.find(100, 110, no_block, || {
        asked += 1;
        asked == 3
    });
    assert_eq!((found, asked), (Found::Torn, 3));
    // One that goes on is waited for, whoever is lost later.
    let found = table.find(100, 110, no_block, || {
        table.0.word_store(VERSION, table.0.word_load(VERSION) + 1);
        false
    });
    assert_eq!(found, attached(100, 10, None));
}

#[test]
fn attached_memory_is_found() {
    let (_owned, table) = table();
    let entry = |i: u64| Attached::told(100 * i, 10, (i == 2).then_some(Ticket { offset: 7, bytes: 10 }));
    let all: Vec<Attached> = (1..=3).map(entry).collect();
    let find = |low, high| table.find(low, high, no_block, lives);
    assert_eq!(find(100, 101), Found::Nothing);
    table.tell_short(&all, 0);
    assert_eq!(find(105, 110), attached(100, 10, None));
    let ticket = Some(Ticket { offset: 7, bytes: 10 });
    assert_eq!(find(200, 210), attached(200, 10, ticket));
    let outside = [(200, 211), (400, 401), (90, 101), (150, 151), (0, 1), (99, 100)];
    assert!(outside.into_iter().all(|(low, high)| find(low, high) == Found::Nothing));
}

#[test]
fn pieces_side_by_side_are_one() {
    let (_owned, table) = table();
    let ticket = |offset| Some(Ticket { offset, bytes: 10 });
    let piece = |address, offset| Attached::told(address, 10, ticket(offset));
    let all = [piece(90, 0), piece(110, 7), piece(120, 17), piece(130, 99), piece(150, 109)];
    table.tell_short(&all, 0);
    let find = |low, high| table.find(low, high, no_block, lives);
    assert_eq!(find(115, 125), attached(110, 20, Some(Ticket { offset: 7, bytes: 20 })));
    assert_eq!(find(125, 130), attached(120, 10, ticket(17)));
    assert_eq!(find(115, 140), attached(110, 30, None));
    assert_eq!(find(132, 140), attached(130, 10, ticket(99)));
    assert_eq!(find(135, 141), Found::Nothing);
    assert_eq!(find(95, 111), Found::Nothing);
}

/// A long table and its block.
struct Long {
    _words: Owned,
    table: Table,
    blocks: Vec<(Owned, Ticket)>,
    chunks: Chunks,
    words: usize,
}

impl Long {
    fn new() -> Long {
        let (words, table) = table();
        let mut long = Long { _words: words, table, blocks: Vec::new(), chunks: Chunks::default(), words: 0 };
        long.grow(4);
        long
    }

    fn grow(&mut self, chunks: usize) {
        let block = Owned::zeroed(block_bytes(chunks));
        let ticket = Ticket { offset: 4096 + self.blocks.len() as u64, bytes: block.len() as u64 };
        self.words += self.table.move_to(&self.chunks, (block.lend(), ticket));
        self.blocks.push((block, ticket));
    }

    fn attach(&mut self, piece: Attached) {
        let room = block_chunks(self.blocks.last().unwrap().0.len());
        if self.chunks.slots() == room {
            self.grow(2 * room);
        }
        let change = self.chunks.insert(piece).expect("it overlaps none");
        self.tell(&change);
    }

    fn detach(&mut self, address: u64) {
        let change = self.chunks.remove(address).expect("it is attached");
        self.tell(&change);
    }

    fn tell(&mut self, change: &Change) {
        let block = self.blocks.last().unwrap().0.lend();
        self.words += self.table.tell(&self.chunks, change, block);
    }

    fn find(&self, low: u64, high: u64) -> Found {
        let open = |ticket| {
            let block = self.blocks.iter().find(|block| block.1 == ticket);
            block.map(|block| block.0.lend())
        };
        self.table.find(low, high, open, lives)
    }
}

#[test]
fn a_long_table_lies_in_a_block_that_its_readers_open() {
    let mut long = Long::new();
    // Every second one first, then those between.
    let order = (1..=2000).step_by(2).chain((2..=2000).step_by(2));
    order.for_each(|i| long.attach(Attached::told(100 * i, 10, None)));
    for i in [1, 2, 64, 65, 500, 999, 2000] {
        assert_eq!(long.find(100 * i, 100 * i + 10), attached(100 * i, 10, None), "{i}");
        assert_eq!(long.find(100 * i, 100 * i + 11), Found::Nothing, "{i}");
    }
    assert_eq!(long.table.find(105, 110, |_| None, lives), Found::Untold);
    (1..=1990).for_each(|i| long.detach(100 * i));
    assert_eq!(long.find(100, 101), Found::Nothing);
    assert!(matches!(long.find(200_000, 200_001), Found::Attached { .. }));
    (1991..=2000).for_each(|i| long.detach(100 * i));
    assert_eq!(long.find(200_000, 200_001), Found::Nothing);
    assert_eq!(block_chunks(block_bytes(77)), 77);
}

#[test]
fn pieces_side_by_side_are_one_across_chunks() {
    let mut long = Long::new();
    let ticket = |i| Some(Ticket { offset: 10 * i, bytes: 10 });
    (0..1000).for_each(|i| long.attach(Attached::told(5000 + 10 * i, 10, ticket(i))));
    let whole = attached(5000, 10_000, Some(Ticket { offset: 0, bytes: 10_000 }));
    assert_eq!(long.find(5000, 15_000), whole);
    assert_eq!(long.find(5000, 15_001), Found::Nothing);
}

/// A hundred thousand pieces, upwards, downwards and in any order: each takes some hundred
/// words, and not as many as there are pieces.
#[test]
fn a_piece_that_comes_or_goes_moves_few_others() {
    const PIECES: u64 = 100_000;
    let orders: [fn(u64) -> u64; 3] = [|i| i, |i| PIECES - 1 - i, |i| i * 61_843 % PIECES];
    for order in orders {
        let mut long = Long::new();
        (0..PIECES).for_each(|i| long.attach(Attached::told(100 * (1 + order(i)), 10, None)));
        let attached = long.words;
        (0..PIECES).for_each(|i| long.detach(100 * (1 + order(i))));
        let detached = long.words - attached;
        let each = [attached, detached].map(|words| words as u64 / PIECES);
        assert!(each.iter().all(|words| *words < 800), "{each:?} words a piece");
    }
}

/// A member attaches and detaches while another process looks for a piece that is always there.
#[test]
fn a_table_that_changes_gives_no_wrong_answer() {
    let (_owned, table) = table();
    let piece = |address| Attached::told(address, 10, None);
    let (few, many) = ([piece(500)], [piece(100), piece(200), piece(500), piece(900)]);
    table.tell_short(&few, 0);
    let region = table.0;
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for round in 0..20_000 {
                Table(region).tell_short(if round % 2 == 0 { &many } else { &few }, 0);
            }
        });
        for _ in 0..20_000 {
            assert_eq!(table.find(505, 510, no_block, lives), attached(500, 10, None));
            assert_eq!(table.find(300, 301, no_block, lives), Found::Nothing);
        }
    });
}
