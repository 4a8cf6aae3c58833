//! A round of a collective access: processes tell those that move the bytes what they access in
//! this round's stretch of the file, and the bytes go to or fro.
//!
//! | message | from, to | what it holds |
//! | --- | --- | --- |
//! | header | each process, each aggregator whose stretch it meets | the number of bytes and of sections, and the sections if they are few |
//! | list | the same | the sections, if they are many |
//! | bytes | to the aggregator (write), from it (read) | the bytes, in the order of the file |

use super::coverage::Coverage;
use super::plan::Plan;
use super::section::{SECTION_WORDS, Section, are_valid, sections};
use crate::coll::Collective;
use crate::coll::plan::{Plan as Steps, Team};
use crate::comm::Comm;
use crate::comm::words::garbled;
use crate::error::Result;
use crate::file::access::Access;
use crate::file::counts::{self, Count};
use crate::file::representation::Direction;
use crate::process::Process;
use verbena_memory::{Buffer, Owned, Region};
use verbena_storage::Extent;

/// Sections that a header has room for.
const HEADER_SECTIONS: usize = 7;
/// Words of a header: bytes, sections, and the sections if they are few.
const HEADER_WORDS: usize = 2 + HEADER_SECTIONS * SECTION_WORDS;

/// The things that all rounds of an access have in common.
pub(super) struct Common<'a> {
    pub comm: &'a Comm,
    pub tag: i32,
    pub plan: &'a Plan,
    pub access: &'a Access,
    /// The bytes of the access, as they are in the file.
    pub buffer: &'a Buffer,
}

/// The bytes of a process in a stretch: a part of its access.
struct Share {
    sections: Vec<Section>,
    offset: usize,
    len: usize,
}

/// A share that another process moves.
struct Outgoing {
    rank: usize,
    offset: usize,
    len: usize,
    header: Owned,
    list: Option<Owned>,
}

/// The share of another process that this one moves.
struct Incoming {
    rank: usize,
    header: Owned,
    list: Option<Owned>,
    sections: Vec<Section>,
    bytes: usize,
    /// The bytes, unless they lie in the stretch's memory at once.
    staged: Option<Owned>,
}

/// The stretch that this process moves.
pub(super) struct Stretch {
    pub extent: Extent,
    pub memory: Owned,
    pub coverage: Coverage,
}

/// The exchanges of a round, in order.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Headers,
    /// The lists of sections, and when writing the bytes.
    Lists,
    /// None: the disk reads or writes.
    Disk,
    /// The bytes when reading.
    Bytes,
}

/// The thing that a round needs next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Messages are under way.
    Wait,
    /// The bytes of the stretch must be read or written.
    Disk,
    /// Nothing.
    Ended,
}

/// A round under way.
pub(super) struct Round {
    step: Step,
    collective: Option<Box<Collective>>,
    outgoing: Vec<Outgoing>,
    own: Option<Share>,
    incoming: Vec<Incoming>,
    pub stretch: Option<Stretch>,
}

/// The part of an access that lies in a stretch.
fn share(access: &Access, stretch: Extent) -> Result<Share> {
    let end = access.start + access.bytes as u64;
    let within = |place: u64| access.view.before(place).clamp(access.start, end);
    let (first, last) = (within(stretch.start), within(stretch.end));
    let (offset, len) = ((first - access.start) as usize, (last - first) as usize);
    Ok(Share { sections: sections(&access.view, first, len)?, offset, len })
}

fn packed(words: impl Iterator<Item = u64>) -> Owned {
    let bytes: Vec<u8> = words.flat_map(|word| word.to_ne_bytes()).collect();
    Owned::from(&bytes[..])
}

impl Outgoing {
    fn new(rank: usize, share: Share) -> Outgoing {
        let Share { sections, offset, len } = share;
        let words = || sections.iter().flat_map(Section::words);
        let is_short = sections.len() <= HEADER_SECTIONS;
        let head = [len as u64, sections.len() as u64].into_iter();
        let inline = words().take(if is_short { usize::MAX } else { 0 });
        let header = packed(head.chain(inline).chain(std::iter::repeat(0)).take(HEADER_WORDS));
        Outgoing { rank, offset, len, header, list: (!is_short).then(|| packed(words())) }
    }
}

impl Incoming {
    fn new(rank: usize) -> Incoming {
        let header = Owned::zeroed(8 * HEADER_WORDS);
        Incoming { rank, header, list: None, sections: Vec::new(), bytes: 0, staged: None }
    }

    /// Reads the header. Returns the number of sections if they come in a list.
    fn read_header(&mut self, stretch: Extent) -> Result<()> {
        let (bytes, count) = (self.header.lend().load::<u64>(0), self.header.lend().load::<u64>(8));
        let longest = stretch.end - stretch.start;
        if bytes > longest || count > bytes {
            return Err(garbled(8 * HEADER_WORDS));
        }
        self.bytes = bytes as usize;
        if count as usize > HEADER_SECTIONS {
            self.list = Some(Owned::stale(8 * SECTION_WORDS * count as usize));
            return Ok(());
        }
        self.take_sections(self.header.lend().part(16, 8 * SECTION_WORDS * count as usize), stretch)
    }

    fn take_sections(&mut self, words: Region, stretch: Extent) -> Result<()> {
        let word = |i: usize| words.load::<u64>(8 * i);
        let count = words.len() / (8 * SECTION_WORDS);
        let section = |i: usize| Section::of_words(std::array::from_fn(|k| word(i * SECTION_WORDS + k)));
        self.sections = (0..count).map(section).collect();
        match are_valid(&self.sections, stretch, self.bytes as u64) {
            true => Ok(()),
            false => Err(garbled(words.len())),
        }
    }

    /// The place of the bytes: the pieces in the stretch's memory themselves, if they are one
    /// section, else memory of their own.
    fn landing(&mut self, stretch: &Stretch) -> Buffer {
        if let [section] = self.sections[..] {
            return section.buffer(stretch.memory.lend(), stretch.extent.start);
        }
        let staged = self.staged.get_or_insert_with(|| Owned::stale(self.bytes));
        Buffer::Contiguous(staged.lend())
    }
}

impl Stretch {
    fn new(extent: Extent) -> Stretch {
        let bytes = extent.end - extent.start;
        Stretch { extent, memory: Owned::stale(bytes as usize), coverage: Coverage::new(bytes) }
    }

    /// Takes the set of bytes out.
    pub(super) fn take_coverage(&mut self) -> Coverage {
        std::mem::replace(&mut self.coverage, Coverage::new(0))
    }

    fn cover(&mut self, sections: &[Section]) {
        for section in sections {
            section.for_each(|at, len| self.coverage.add(at - self.extent.start, len));
        }
    }

    /// Calls `each` with the pieces of every section in memory, and where its bytes begin among
    /// all.
    fn for_each(&self, sections: &[Section], mut each: impl FnMut(Buffer, usize)) {
        let mut done = 0;
        for section in sections {
            let pieces = section.buffer(self.memory.lend(), self.extent.start);
            let len = pieces.len();
            each(pieces, done);
            done += len;
        }
    }
}

impl Round {
    /// Begins a round: this process tells the aggregators its shares.
    pub(super) fn new(common: &Common<'_>, number: u64) -> Result<Round> {
        let me = common.comm.rank() as usize;
        let (mut outgoing, mut own, mut stretch) = (Vec::new(), None, None);
        for (i, &(rank, _)) in common.plan.domains.iter().enumerate() {
            let Some(extent) = common.plan.stretch(i, number) else { continue };
            let share = match common.plan.meets(me, extent) {
                true => Some(share(common.access, extent)?),
                false => None,
            };
            if rank == me {
                (own, stretch) = (share, Some(Stretch::new(extent)));
            } else {
                outgoing.extend(share.map(|share| Outgoing::new(rank, share)));
            }
        }
        let meets = |rank: &usize| {
            *rank != me && stretch.as_ref().is_some_and(|own: &Stretch| common.plan.meets(*rank, own.extent))
        };
        let incoming = (0..common.plan.extents.len()).filter(meets).map(Incoming::new).collect();
        let mut round = Round { step: Step::Headers, collective: None, outgoing, own, incoming, stretch };
        round.begin(common, |steps, round| {
            for incoming in &round.incoming {
                steps.receive(incoming.rank, Buffer::Contiguous(incoming.header.lend()));
            }
            for outgoing in &round.outgoing {
                steps.send(outgoing.rank, Buffer::Contiguous(outgoing.header.lend()));
            }
        });
        Ok(round)
    }

    /// Begins the messages that `fill` writes.
    fn begin(&mut self, common: &Common<'_>, fill: impl FnOnce(&mut Steps<'_, '_>, &mut Round)) {
        let mut collective = Collective::of(common.comm, common.tag);
        let mut steps = Steps::new(collective.schedule(), Team::local(common.comm));
        fill(&mut steps, self);
        steps.fence();
        self.collective = Some(collective);
    }

    /// Goes on until messages or the disk must be waited for.
    pub(super) fn advance(&mut self, mut process: &Process, common: &Common<'_>) -> Result<Next> {
        loop {
            if let Some(collective) = &mut self.collective {
                if !collective.advance(&mut process, None)? {
                    return Ok(Next::Wait);
                }
                self.collective.take().into_iter().for_each(Collective::recycle);
            }
            match (self.step, common.access.direction) {
                (Step::Headers, direction) => {
                    self.read_headers()?;
                    self.step = Step::Lists;
                    self.begin_lists(common, direction);
                }
                (Step::Lists, Direction::Write) => {
                    self.read_lists()?;
                    self.place_bytes(common);
                    self.step = Step::Disk;
                }
                (Step::Lists, Direction::Read) => {
                    self.read_lists()?;
                    self.cover_all();
                    self.step = Step::Disk;
                }
                (Step::Disk, _) => return Ok(Next::Disk),
                (Step::Bytes, _) => return Ok(Next::Ended),
            }
        }
    }

    /// Says that the bytes of the stretch were read: they go to the processes that want them.
    pub(super) fn have_read(&mut self, common: &Common<'_>) {
        self.step = Step::Bytes;
        self.begin(common, |steps, round| {
            for outgoing in round.outgoing.iter().filter(|outgoing| outgoing.len > 0) {
                steps.receive(outgoing.rank, common.buffer.part(outgoing.offset, outgoing.len));
            }
            let Some(stretch) = &round.stretch else { return };
            if let Some(own) = &round.own {
                stretch.for_each(&own.sections, |pieces, at| {
                    common.buffer.part(own.offset + at, pieces.len()).copy_from(&pieces);
                });
            }
            for incoming in round.incoming.iter_mut().filter(|incoming| incoming.bytes > 0) {
                let bytes = incoming.landing(stretch);
                if let Some(staged) = &incoming.staged {
                    stretch.for_each(&incoming.sections, |pieces, at| {
                        pieces.pack(0, staged.lend().part(at, pieces.len()));
                    });
                }
                steps.send(incoming.rank, bytes);
            }
        });
        self.count();
    }

    fn count(&self) {
        let sent: usize = self.outgoing.iter().map(|outgoing| outgoing.len).sum();
        counts::add(Count::BytesExchanged, sent as u64);
        counts::add(Count::Rounds, self.stretch.is_some().into());
    }

    fn read_headers(&mut self) -> Result<()> {
        let Some(stretch) = &self.stretch else { return Ok(()) };
        let extent = stretch.extent;
        self.incoming.iter_mut().try_for_each(|incoming| incoming.read_header(extent))
    }

    /// Begins to send and receive the lists, and the bytes to be written.
    fn begin_lists(&mut self, common: &Common<'_>, direction: Direction) {
        self.begin(common, |steps, round| {
            if let Some(stretch) = &round.stretch {
                for incoming in round.incoming.iter_mut().filter(|incoming| incoming.bytes > 0) {
                    if let Some(list) = &incoming.list {
                        steps.receive(incoming.rank, Buffer::Contiguous(list.lend()));
                    }
                    if direction == Direction::Write {
                        let landing = incoming.landing(stretch);
                        steps.receive(incoming.rank, landing);
                    }
                }
            }
            for outgoing in round.outgoing.iter().filter(|outgoing| outgoing.len > 0) {
                if let Some(list) = &outgoing.list {
                    steps.send(outgoing.rank, Buffer::Contiguous(list.lend()));
                }
                if direction == Direction::Write {
                    steps.send(outgoing.rank, common.buffer.part(outgoing.offset, outgoing.len));
                }
            }
        });
    }

    fn read_lists(&mut self) -> Result<()> {
        let Some(stretch) = &self.stretch else { return Ok(()) };
        let extent = stretch.extent;
        for incoming in &mut self.incoming {
            if let Some(list) = incoming.list.take() {
                incoming.take_sections(list.lend(), extent)?;
            }
        }
        Ok(())
    }

    /// Notes which bytes of the stretch are accessed.
    fn cover_all(&mut self) {
        let Some(stretch) = &mut self.stretch else { return };
        for incoming in &self.incoming {
            stretch.cover(&incoming.sections);
        }
        if let Some(own) = &self.own {
            stretch.cover(&own.sections);
        }
    }

    /// Puts the bytes that came, and this process's own, where they lie in the stretch.
    fn place_bytes(&mut self, common: &Common<'_>) {
        self.cover_all();
        self.count();
        let Some(stretch) = &self.stretch else { return };
        for incoming in &self.incoming {
            if let Some(staged) = &incoming.staged {
                stretch.for_each(&incoming.sections, |pieces, at| {
                    pieces.unpack(0, staged.lend().part(at, pieces.len()));
                });
            }
        }
        if let Some(own) = &self.own {
            stretch.for_each(&own.sections, |pieces, at| {
                pieces.copy_from(&common.buffer.part(own.offset + at, pieces.len()));
            });
        }
    }
}
