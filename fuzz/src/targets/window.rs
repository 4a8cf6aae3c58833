//! Requests for windows: the bytes of one, and a target to which one origin says anything.

use arbitrary::{Result, Unstructured};
use std::ops::Range;
use std::sync::Arc;
use verbena_channel::mark::Mark;
use verbena_engine::{Mode, SendRequest};
use verbena_memory::{Buffer, Owned, Region};
use verbena_mpi::comm::Traffic;
use verbena_mpi::datatype::wire;
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::op::BUILTINS;
use verbena_mpi::window::apply::{self, Domain, Guard, Target};
use verbena_mpi::window::service::request::{Action, Elements, Request, WITHIN_BYTES_MAX};
use verbena_mpi::window::service::shows::Answer;
use verbena_mpi::window::service::{Exposed, Operation, Place, Service, Touch};
use verbena_mpi::window::stripe::{STRIPES, Stripes, yield_core};
use verbena_mpi::window::{Remote, lock};
use verbena_mpi::{Comm, Datatype, Error, Group, Op};
use verbena_sim::{Cluster, Faults};

/// Bytes of the window, and those on either side that nobody may touch.
const WINDOW: usize = 4096;
const GUARDS: usize = 512;
const UNTOUCHED: u8 = 0xdd;
const CONTEXT: u64 = 8;
/// Steps within which everybody comes to rest.
const STEPS_MAX: u64 = 20_000;

/// A request that was read is written the same way again.
pub fn request(data: &[u8]) {
    let Ok(request) = Request::decode(data) else { return };
    let head = request.encode();
    let within = request.action.elements().filter(|elements| elements.is_within);
    let within = within.map_or(0, |elements| elements.bytes);
    assert!(data.starts_with(&head));
    assert_eq!(data.len(), head.len() + within);
    assert!(within <= WITHIN_BYTES_MAX);
    assert!(request.action.elements().is_none_or(|elements| elements.pieces() > 0));
}

/// An answer about memory that was read is written the same way again.
pub fn answer(data: &[u8]) {
    let Some(bytes) = data.first_chunk() else { return };
    if let Some(answer) = Answer::decode(bytes) {
        assert_eq!(answer.encode(), *bytes);
    }
}

/// An origin gone wild changes nothing outside of the window, brings no target to a panic, and does
/// not hold up another origin.
pub fn service(data: &[u8]) {
    // Input that ends early is fine: the rest is zeros.
    let _ = wild(&mut Unstructured::new(data));
}

struct Window {
    memory: Owned,
    words: Owned,
}

impl Window {
    fn new() -> Window {
        let memory = Owned::zeroed(WINDOW + 2 * GUARDS);
        memory.lend().fill(UNTOUCHED);
        Window { memory, words: Owned::zeroed((STRIPES + 1) * 8) }
    }

    fn guard(&self) -> Guard<'static> {
        let stripes = Stripes::new(self.words.lend().part(8, STRIPES * 8), 1, &yield_core);
        Guard { domain: Domain::Processor, stripes }
    }

    /// Returns whether the bytes beside the window are as they were.
    fn is_guarded(&self) -> bool {
        let bytes = self.memory.lend().to_vec();
        let (before, after) = (&bytes[..GUARDS], &bytes[GUARDS + WINDOW..]);
        before.iter().chain(after).all(|&byte| byte == UNTOUCHED)
    }
}

impl Exposed for Window {
    fn place(
        &self,
        displacement: i64,
        (count, datatype): (usize, &Arc<Datatype>),
        _: Touch,
    ) -> verbena_mpi::Result<Place> {
        let (low, high) = datatype.span(count)?;
        let (low, high) = (low as i64, high as i64);
        let first = displacement.checked_add(low).is_some_and(|first| first >= 0);
        let last = displacement.checked_add(high).is_some_and(|end| end <= WINDOW as i64);
        match first && last {
            true => Ok(Place { region: self.memory.lend().part(GUARDS, WINDOW), at: displacement }),
            false => Err(Error::new(mpi::MPI_ERR_RMA_RANGE, "out of range", "", "", "")),
        }
    }

    fn accumulate(
        &self,
        place: Place,
        op: &Op,
        (count, datatype): (usize, &Arc<Datatype>),
        range: Range<usize>,
        source: Option<Region>,
        former: Option<Region>,
    ) -> verbena_mpi::Result<()> {
        let guard = &self.guard();
        let target = Target { memory: &place.region, at: place.at, count, datatype, guard };
        apply::accumulate_part(op, &target, range, source, former)
    }

    fn compare_and_swap(
        &self,
        place: Place,
        datatype: &Arc<Datatype>,
        [new, compared]: [&[u8]; 2],
        former: &mut [u8],
    ) -> verbena_mpi::Result<()> {
        let (new, compared, result) = (Owned::from(new), Owned::from(compared), Owned::zeroed(former.len()));
        let [new, compared, was] = [&new, &compared, &result].map(Owned::lend);
        apply::compare_and_swap(&place.region, place.at, datatype, new, compared, was, &self.guard())?;
        result.lend().read(0, former);
        Ok(())
    }

    fn lock(&self) -> Region {
        self.words.lend().part(0, 8)
    }

    fn check_lock(&self) -> verbena_mpi::Result<()> {
        Ok(())
    }

    // Nobody waits outside of the service.
    fn note_served(&self, _tickets: usize) {}

    fn note_dead(&self, _member: i32, _claim: lock::Claim) {}

    fn wake_waiting(&self, _: lock::Ticket) {}
}

/// Rank 0 says anything to rank 1, and rank 2 operates on it.
struct Job {
    cluster: Cluster,
    windows: [Window; 3],
    services: [Service; 3],
    /// The messages that rank 0 has sent.
    sent: Vec<Owned>,
}

fn comm(me: u32) -> Comm {
    Comm::new(CONTEXT, Arc::new(Group::new(vec![0, 1, 2], me)), None)
}

impl Job {
    fn say(&mut self, traffic: Traffic, tag: i32, bytes: &[u8]) {
        let bytes = Owned::from(bytes);
        let send = SendRequest {
            peer: 1,
            context: comm(0).context(traffic),
            source: 0,
            tag,
            buffer: Buffer::Contiguous(bytes.lend()),
            mark: Mark::NONE,
            mode: Mode::Standard,
        };
        self.cluster.engine(0).send(send);
        self.sent.push(bytes);
    }

    fn step(&mut self) {
        let rank = self.cluster.step() as usize;
        // Rank 0 hears nothing, so that its answers pile up.
        if rank > 0 && self.services[rank].advance(&mut self.cluster.visit(rank as u32), &self.windows[rank])
        {
            self.cluster.engine(rank as u32);
        }
    }

    fn finish(&mut self, operation: &Operation) {
        for _ in 0..STEPS_MAX {
            if let Some(outcome) = operation.poll(&mut self.cluster.visit(2)) {
                return assert_eq!(outcome.error, None, "an operation of an origin that did nothing wrong");
            }
            self.step();
        }
        panic!("an origin waits for ever:\n{}", self.cluster.describe());
    }
}

fn wild(input: &mut Unstructured<'_>) -> Result<()> {
    let mut job = Job {
        cluster: Cluster::new(1, 3, Faults::none()),
        windows: [0; 3].map(|_| Window::new()),
        services: [0, 1, 2].map(|me| Service::new(&comm(me))),
        sent: Vec::new(),
    };
    for _ in 0..input.int_in_range(1..=12)? {
        match input.int_in_range(0..=5)? {
            0 => {
                let len = input.int_in_range(0..=80)?;
                let bytes: Vec<u8> = (0..len).map(|_| input.arbitrary()).collect::<Result<_>>()?;
                job.say(Traffic::Exchange, 0, &bytes);
            }
            1 => {
                let (tag, len) = (input.int_in_range(0..=8)?, input.int_in_range(0..=6000)?);
                job.say(Traffic::Partitioned, tag, &vec![input.arbitrary()?; len]);
            }
            _ => {
                let bytes = sound(input)?;
                job.say(Traffic::Exchange, 0, &bytes);
            }
        }
        (0..input.int_in_range(0..=20)?).for_each(|_| job.step());
    }
    let data = job.cluster.memory(64, verbena_sim::Shape::Contiguous);
    let datatype = Datatype::predefined(mpi::MPI_BYTE).expect("predefined");
    let remote = Remote { rank: 1, displacement: 100, count: 64, datatype };
    for round in 0..2 {
        let origin = job.services[2].origin();
        let engine = &mut job.cluster.engine(2);
        let operation = match round {
            0 => origin.put(engine, &remote, &data.buffer()),
            _ => origin.get(engine, &remote, &data.buffer()),
        };
        let flush = origin.flush(&mut job.cluster.engine(2), 1);
        job.finish(&operation.expect("a short datatype"));
        job.finish(&flush);
    }
    assert!(job.windows.iter().all(Window::is_guarded), "bytes outside of a window were changed");
    Ok(())
}

/// A request of the right form, most often.
fn sound(input: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let number = input.int_in_range(0..=4)?;
    let predefined =
        [mpi::MPI_BYTE, mpi::MPI_INT32_T, mpi::MPI_DOUBLE, mpi::MPI_DOUBLE_INT, mpi::MPI_SHORT_INT];
    let datatype = Datatype::predefined(input.choose(&predefined).copied()?).expect("predefined");
    let mut described = wire::encode(datatype).expect("a short datatype");
    if input.ratio(1, 8)? {
        described = (0..input.int_in_range(0..=20)?).map(|_| input.arbitrary()).collect::<Result<_>>()?;
    }
    let count =
        if input.ratio(1, 8)? { input.int_in_range(0..=1 << 40)? } else { input.int_in_range(1..=900)? };
    let is_swap = input.ratio(1, 6)?;
    let count = if is_swap { 1 } else { count };
    let mut bytes = datatype.size() * count * if is_swap { 2 } else { 1 };
    if input.ratio(1, 8)? {
        bytes = input.int_in_range(0..=10_000)?;
    }
    let is_within = is_swap || (bytes <= WITHIN_BYTES_MAX && input.ratio(2, 3)?);
    let elements = Elements {
        displacement: if input.ratio(1, 8)? { input.arbitrary()? } else { input.int_in_range(-8..=4096)? },
        count,
        bytes,
        piece: if input.ratio(1, 8)? { input.int_in_range(0..=100)? } else { 0 },
        is_within,
        kept: if input.ratio(1, 4)? { input.int_in_range(1..=4)? } else { 0 },
        datatype: if input.ratio(1, 8)? { &[] } else { &described },
    };
    let op = input.int_in_range(0..=BUILTINS.len() - 1)?;
    let action = match input.int_in_range(0..=7)? {
        _ if is_swap => Action::CompareAndSwap(elements),
        0 | 1 => Action::Put(elements),
        2 => Action::Get(Elements { is_within: false, ..elements }),
        3 => Action::Accumulate { op, elements },
        4 => Action::GetAccumulate { op, elements },
        5 => Action::Lock(if input.arbitrary()? { lock::Kind::Reader } else { lock::Kind::Writer }),
        6 => Action::Unlock,
        _ if number == 3 => Action::Show,
        _ => Action::Flush,
    };
    let mut message = Request { number, action }.encode();
    if action.elements().is_some_and(|elements| elements.is_within) {
        message.resize(message.len() + bytes.min(2 * WITHIN_BYTES_MAX), input.arbitrary()?);
    }
    Ok(message)
}
