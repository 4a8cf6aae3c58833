//! The engine of one process, fed by arbitrary packets while messages of all sorts are under way.
//!
//! A peer gone wild may end operations with an error, and may deliver nonsense; it must not bring
//! the engine to a panic, let it write outside a receive's buffer, or keep it busy for ever.

use arbitrary::{Result, Unstructured};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use verbena_channel::mark::Mark;
use verbena_channel::packet::{Header, Kind};
use verbena_channel::{
    Access, Channel, Cost, Key, Landing, Payload, Peer, Reach, RemoteMemory, SendError, Sink, Started,
    Transfer,
};
use verbena_engine::{
    ANY_SOURCE, ANY_TAG, Completion, Engine, Mode, Posted, ReceiveRequest, RequestId, SendRequest, Settings,
};
use verbena_fault::Fault;
use verbena_memory::{Buffer, Region};

/// Processes; the engine is the first.
const PROCESSES: u32 = 3;
/// Matching context of the program's messages.
const CONTEXT: u64 = 7;
/// The longest payload of a packet, in bytes.
const PACKET_BYTES_MAX: usize = 256;
/// Bytes on either side of a buffer that nobody may touch.
const GUARD: usize = 32;
/// Rounds of progress within which the engine comes to rest.
const ROUNDS_MAX: usize = 5000;

/// The things that the channel has seen and is to do.
#[derive(Default)]
struct State {
    arriving: VecDeque<(Peer, Header, Vec<u8>)>,
    ends: VecDeque<(u64, std::result::Result<(), Fault>)>,
    /// Numbers from packets that the engine sent: requests, keys, lengths.
    numbers: Vec<u64>,
    /// The fates of the next transfers of memory.
    fates: VecDeque<u8>,
    exposed: Vec<bool>,
    is_full: bool,
}

#[derive(Clone, Default)]
struct World(Arc<Mutex<State>>);

impl World {
    fn with<R>(&self, act: impl FnOnce(&mut State) -> R) -> R {
        act(&mut self.0.lock().expect("no panic while it is held"))
    }

    fn transfer(&self, token: u64) -> Started {
        self.with(|state| match state.fates.pop_front().unwrap_or(0) % 4 {
            0 => Ok(Transfer::Done),
            1 => Err(fault()),
            fate => {
                state.ends.push_back((token, if fate == 2 { Ok(()) } else { Err(fault()) }));
                Ok(Transfer::Pending)
            }
        })
    }
}

impl World {
    /// Hands a packet over; the longest that are part of a message, to the place that the engine
    /// names, where all of it may not come.
    fn arrive(&self, sink: &mut dyn Sink, peer: Peer, header: &Header, bytes: &[u8]) {
        if header.kind != Kind::Data || bytes.len() < PACKET_BYTES_MAX {
            return sink.packet(peer, header, bytes);
        }
        match sink.landing(peer, header, bytes.len() as u64) {
            Landing::Here(region) => {
                region.write(0, bytes);
                let whole = self.with(|state| state.fates.pop_front().unwrap_or(0)).is_multiple_of(2);
                sink.landed(peer, header, bytes.len() as u64, whole);
            }
            Landing::Scattered => sink.packet(peer, header, bytes),
            Landing::Nowhere => {}
        }
    }
}

fn fault() -> Fault {
    Fault::new("a transfer failed", "the wire", "the fuzzer", "none")
}

impl Channel for World {
    fn name(&self) -> &'static str {
        "wild"
    }

    fn reach(&mut self, _peer: Peer) -> Option<Reach> {
        Some(Reach {
            packet_bytes_max: PACKET_BYTES_MAX,
            eager_bytes_max: 100,
            whole_bytes_max: 0,
            ordered: false,
            get: Some(Cost::default()),
            put: Some(Cost { start_ns: 1, byte_ps: 1 }),
            in_background: false,
            memory_bytes_min: 200,
            latency_ns: 100,
        })
    }

    fn send(
        &mut self,
        _peer: Peer,
        header: &Header,
        payload: Payload<'_>,
    ) -> std::result::Result<(), SendError> {
        assert!(payload.len() <= PACKET_BYTES_MAX);
        let mut bytes = vec![0; payload.len()];
        payload.copy_to(&mut bytes);
        self.with(|state| {
            if state.is_full {
                return Err(SendError::Full);
            }
            state.numbers.extend([header.context, header.length]);
            state.numbers.extend(bytes.as_chunks().0.iter().take(8).map(|word| u64::from_le_bytes(*word)));
            Ok(())
        })
    }

    fn poll(&mut self, sink: &mut dyn Sink) -> usize {
        let (packets, ends) =
            self.with(|state| (std::mem::take(&mut state.arriving), std::mem::take(&mut state.ends)));
        let events = packets.len() + ends.len();
        packets.into_iter().for_each(|(peer, header, bytes)| self.arrive(sink, peer, &header, &bytes));
        ends.into_iter().for_each(|(token, outcome)| sink.transferred(token, outcome));
        events
    }

    fn remote_memory(&mut self) -> Option<&mut dyn RemoteMemory> {
        Some(self)
    }
}

impl RemoteMemory for World {
    fn expose(&mut self, _peer: Peer, _region: Region, _access: Access) -> Option<Key> {
        self.with(|state| {
            let mut key = Key::default();
            key.0[..8].copy_from_slice(&(state.exposed.len() as u64).to_le_bytes());
            state.exposed.push(true);
            Some(key)
        })
    }

    fn conceal(&mut self, _peer: Peer, key: &Key) {
        let number = u64::from_le_bytes(*key.0.first_chunk().expect("eight bytes")) as usize;
        let was = self.with(|state| std::mem::replace(&mut state.exposed[number], false));
        assert!(was, "concealed twice");
    }

    fn get(&mut self, _: Peer, _: &Key, _: u64, into: Region, token: u64) -> Started {
        into.write(0, &vec![0x77; into.len()]);
        self.transfer(token)
    }

    fn put(&mut self, _: Peer, _: &Key, _: u64, _: Region, token: u64) -> Started {
        self.transfer(token)
    }
}

/// Memory of a message, with bytes around it that nobody may touch.
struct Memory(Box<[u8]>);

impl Memory {
    fn new(len: usize) -> Memory {
        Memory(vec![0xee; len + 2 * GUARD].into_boxed_slice())
    }

    fn buffer(&mut self) -> Buffer {
        let middle = GUARD..self.0.len() - GUARD;
        let bytes = &mut self.0[middle];
        // SAFETY: `Run` drops its memories after the engine, and reads them only when that is gone.
        Buffer::Contiguous(unsafe { Region::new(bytes.as_mut_ptr(), bytes.len()) })
    }

    fn check(&self) {
        let (front, back) = (&self.0[..GUARD], &self.0[self.0.len() - GUARD..]);
        assert!(front.iter().chain(back).all(|&byte| byte == 0xee), "a byte outside a buffer was written");
    }
}

/// A run: the engine stands before the memory, which must outlive it.
struct Run {
    engine: Engine,
    world: World,
    memories: Vec<Memory>,
    pending: Vec<(RequestId, usize)>,
    sequences: [u32; PROCESSES as usize],
}

/// Operations and packets as the input says.
pub fn packets(data: &[u8]) {
    let world = World::default();
    let settings = Settings {
        claim_bytes: 512,
        copy_by_both_bytes_min: 2048,
        unexpected_bytes_max: 8192,
        ..Settings::default()
    };
    let engine = Engine::new(0, PROCESSES, vec![Box::new(world.clone())], settings);
    let sequences = [0; PROCESSES as usize];
    let mut run = Run { engine, world, memories: vec![], pending: vec![], sequences };
    let mut input = Unstructured::new(data);
    while !input.is_empty() && run.step(&mut input).is_ok() {}
    run.world.with(|state| state.is_full = false);
    run.rest();
    let Run { engine, memories, .. } = run;
    drop(engine);
    memories.iter().for_each(Memory::check);
}

impl Run {
    fn step(&mut self, input: &mut Unstructured<'_>) -> Result<()> {
        match input.int_in_range(0..=11)? {
            0 | 1 => self.receive(input)?,
            2 | 3 => self.send(input)?,
            4..=7 => self.forge(input)?,
            8 => drop(self.engine.progress()),
            9 => self.rest(),
            10 => self.handle(input)?,
            _ => self.look(input)?,
        }
        Ok(())
    }

    fn memory(&mut self, input: &mut Unstructured<'_>) -> Result<Buffer> {
        let len = *input.choose(&[0, 1, 24, 99, 200, 1000, 3000])?;
        self.memories.push(Memory::new(len));
        Ok(self.memories.last_mut().expect("just made").buffer())
    }

    fn keep(&mut self, posted: Posted, len: usize) {
        match posted {
            Posted::Pending(id) => self.pending.push((id, len)),
            Posted::Done(completion) => judge(&completion, len),
        }
    }

    fn receive(&mut self, input: &mut Unstructured<'_>) -> Result<()> {
        let buffer = self.memory(input)?;
        let len = buffer.len();
        let source = *input.choose(&[ANY_SOURCE, 0, 1, 2])?;
        let tag = *input.choose(&[ANY_TAG, 1, 2])?;
        let peer = (source > 0).then_some(source as u32);
        let posted =
            self.engine.receive(ReceiveRequest { peer, ..ReceiveRequest::new(CONTEXT, source, tag, buffer) });
        self.keep(posted, len);
        Ok(())
    }

    fn send(&mut self, input: &mut Unstructured<'_>) -> Result<()> {
        let buffer = self.memory(input)?;
        let len = buffer.len();
        let mode = if input.arbitrary()? { Mode::Standard } else { Mode::Synchronous };
        let peer = input.int_in_range(1..=PROCESSES - 1)?;
        let posted = self.engine.send(SendRequest {
            peer,
            context: CONTEXT,
            source: 0,
            tag: 1,
            buffer,
            mark: Mark::NONE,
            mode,
        });
        self.keep(posted, len);
        Ok(())
    }

    /// A packet as a peer would send it, with some of its fields made up.
    fn forge(&mut self, input: &mut Unstructured<'_>) -> Result<()> {
        let peer = input.int_in_range(1..=PROCESSES - 1)?;
        let kind = Kind::from_code(input.int_in_range(1..=15)?).expect("a kind");
        let has_number = !matches!(kind, Kind::Moved | Kind::Again);
        let sequence = match input.ratio(1, 12)? {
            true => input.arbitrary()?,
            false => self.sequences[peer as usize],
        };
        if has_number && sequence == self.sequences[peer as usize] {
            self.sequences[peer as usize] += 1;
        }
        let is_message = matches!(kind, Kind::Eager | Kind::EagerSync | Kind::RequestToSend);
        let payload_bytes = *input.choose(&[0, 1, 8, 32, 40, 48, 100, PACKET_BYTES_MAX])?;
        let mut payload = vec![0x55; payload_bytes];
        for word in payload.as_chunks_mut().0.iter_mut().take(6) {
            *word = self.number(input)?.to_le_bytes();
        }
        let length = if input.arbitrary()? { payload.len() as u64 } else { self.number(input)? };
        let context = if is_message { CONTEXT } else { self.number(input)? };
        let (source, tag) = (*input.choose(&[peer as i32, 0, -1])?, *input.choose(&[1, 2, -7])?);
        let flags = if input.arbitrary()? { 0 } else { input.arbitrary()? };
        let header = Header { kind, flags, mark: Mark::NONE, sequence, context, source, tag, length };
        self.world.with(|state| state.arriving.push_back((peer, header, payload)));
        Ok(())
    }

    /// A number that the engine said, or one at an edge, or any.
    fn number(&self, input: &mut Unstructured<'_>) -> Result<u64> {
        Ok(match input.int_in_range(0..=5)? {
            0..=2 => {
                let numbers = self.world.with(|state| state.numbers.clone());
                if numbers.is_empty() { 0 } else { *input.choose(&numbers)? }
            }
            3 => *input.choose(&[0, 1, 100, 200, 1000, u64::MAX, 1 << 63, 1 << 32, u64::MAX - 99])?,
            4 => input.int_in_range(0..=3000)?,
            _ => input.arbitrary()?,
        })
    }

    /// Progress until nothing happens.
    fn rest(&mut self) {
        for _ in 0..ROUNDS_MAX {
            if !self.engine.progress() {
                return;
            }
        }
        panic!("no rest: {:?}", self.engine.describe());
    }

    /// Does what the program does with its requests, and decides what becomes of the wire.
    fn handle(&mut self, input: &mut Unstructured<'_>) -> Result<()> {
        let choice = input.int_in_range(0..=3)?;
        let fates = input.arbitrary::<[u8; 4]>()?;
        self.world.with(|state| {
            state.fates.extend(fates);
            state.is_full = choice == 3 && !state.is_full;
        });
        if self.pending.is_empty() {
            return Ok(());
        }
        let at = input.choose_index(self.pending.len())?;
        let (id, len) = self.pending[at];
        match choice {
            0 => self.engine.cancel(id),
            1 => {
                self.engine.forget(id);
                self.pending.swap_remove(at);
            }
            _ => {
                if let Some(completion) = self.engine.take(id) {
                    judge(&completion, len);
                    self.pending.swap_remove(at);
                }
            }
        }
        Ok(())
    }

    /// Probes, and receives the message that was found.
    fn look(&mut self, input: &mut Unstructured<'_>) -> Result<()> {
        let _ = self.engine.probe(CONTEXT, ANY_SOURCE, ANY_TAG);
        let Some((message, _)) = self.engine.match_probe(CONTEXT, ANY_SOURCE, ANY_TAG) else { return Ok(()) };
        let buffer = self.memory(input).unwrap_or(Buffer::EMPTY);
        let len = buffer.len();
        let posted = self.engine.receive_matched(message, Mark::NONE, buffer);
        self.keep(posted, len);
        Ok(())
    }
}

/// Checks that no completion reports more than there was room for.
fn judge(completion: &Completion, len: usize) {
    assert!(completion.bytes <= len as u64, "{completion:?} of a buffer of {len} bytes");
}
