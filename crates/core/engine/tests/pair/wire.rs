//! A wire between two processes whose abilities and failures a test chooses.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use verbena_channel::packet::{HEADER_BYTES, Header, Kind};
use verbena_channel::{
    Access, Channel, Cost, Division, End, Key, Payload, Peer, Reach, RemoteMemory, SendError, Sharing, Sink,
    Started, Streams, Transfer,
};
use verbena_fault::Fault;
use verbena_memory::Region;

/// The way in which memory is read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Memory {
    /// Not offered.
    None,
    /// Done when the call returns.
    AtOnce,
    /// Ends at some later poll.
    Later,
    /// Works this many times, then every try is refused.
    RefusedAfter(usize),
    /// Works this many times, then every one fails in the background.
    FailsLater(usize),
}

/// The abilities that a test can choose.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Abilities {
    pub reach: Reach,
    pub get: Memory,
    pub put: Memory,
    pub get_cost: Cost,
    pub put_cost: Cost,
    /// Packets that the wire holds per direction.
    pub room: usize,
    /// The number of packets still to be taken that are longer than others may be.
    pub whole_room: usize,
}

impl Default for Abilities {
    fn default() -> Abilities {
        let reach = Reach {
            packet_bytes_max: 512,
            eager_bytes_max: 256,
            whole_bytes_max: 0,
            ordered: true,
            get: None,
            put: None,
            in_background: false,
            memory_bytes_min: 300,
            latency_ns: 100,
        };
        Abilities {
            reach,
            get: Memory::None,
            put: Memory::None,
            get_cost: Cost::default(),
            put_cost: Cost::default(),
            room: 64,
            whole_room: 0,
        }
    }
}

struct State {
    abilities: Abilities,
    /// Packets on their way to each side.
    packets: [VecDeque<(Header, Vec<u8>)>; 2],
    /// Ends of transfers that each side is still to be told.
    ends: [VecDeque<(u64, Result<(), Fault>)>; 2],
    exposed: Vec<Option<(Region, Access)>>,
    /// The parts of each division, and how many were taken from either end; `None` when it has
    /// ended.
    divisions: Vec<Option<[u32; 3]>>,
    gets: usize,
    puts: usize,
    /// Packets to each side are held back; how often that began.
    held: [bool; 2],
    holds: usize,
    cut: bool,
    /// A fault with the other side that each side is still to be told.
    faults: [Option<Fault>; 2],
    /// Kinds of all packets sent, with their sender.
    log: Vec<(Peer, Kind)>,
}

/// The wire, shared by its ends and the test.
#[derive(Clone)]
pub(crate) struct Wire(Arc<Mutex<State>>);

impl Wire {
    pub(crate) fn new(mut abilities: Abilities) -> Wire {
        abilities.reach.get = (abilities.get != Memory::None).then_some(abilities.get_cost);
        abilities.reach.put = (abilities.put != Memory::None).then_some(abilities.put_cost);
        Wire(Arc::new(Mutex::new(State {
            abilities,
            packets: Default::default(),
            ends: Default::default(),
            exposed: Vec::new(),
            divisions: Vec::new(),
            gets: 0,
            puts: 0,
            held: [false; 2],
            holds: 0,
            cut: false,
            faults: [None, None],
            log: Vec::new(),
        })))
    }

    /// A wire of packets alone.
    pub(crate) fn packets() -> Wire {
        Wire::new(Abilities::default())
    }

    pub(crate) fn memory(get: Memory, put: Memory) -> Wire {
        Wire::new(Abilities { get, put, ..Abilities::default() })
    }

    /// Makes every send from now on find the peer gone.
    pub(crate) fn cut(&self) {
        self.0.lock().unwrap().cut = true;
    }

    /// The next poll of `side` finds that what connects it to the other side is corrupt.
    pub(crate) fn corrupt(&self, side: usize) {
        self.0.lock().unwrap().faults[side] = Some(fault("the wire is corrupt"));
    }

    pub(crate) fn set_room(&self, room: usize) {
        self.0.lock().unwrap().abilities.room = room;
    }

    pub(crate) fn set_whole_room(&self, packets: usize) {
        self.0.lock().unwrap().abilities.whole_room = packets;
    }

    pub(crate) fn is_idle(&self) -> bool {
        let state = self.0.lock().unwrap();
        state.packets.iter().all(VecDeque::is_empty) && state.ends.iter().all(VecDeque::is_empty)
    }

    /// Returns how many packets of this kind were sent.
    pub(crate) fn count(&self, kind: Kind) -> usize {
        self.0.lock().unwrap().log.iter().filter(|(_, k)| *k == kind).count()
    }

    /// Reads and writes that moved bytes.
    pub(crate) fn transfers(&self) -> (usize, usize) {
        let state = self.0.lock().unwrap();
        (state.gets, state.puts)
    }

    /// Returns how often packets were held back.
    pub(crate) fn holds(&self) -> usize {
        self.0.lock().unwrap().holds
    }

    /// Exposures that were not ended.
    pub(crate) fn exposed(&self) -> usize {
        self.0.lock().unwrap().exposed.iter().flatten().count()
    }

    /// Divisions that were not ended.
    pub(crate) fn divisions(&self) -> usize {
        self.0.lock().unwrap().divisions.iter().flatten().count()
    }

    /// Lets a test reorder, repeat or forge what is on its way to `to`.
    pub(crate) fn meddle(&self, to: usize, with: impl FnOnce(&mut VecDeque<(Header, Vec<u8>)>)) {
        with(&mut self.0.lock().unwrap().packets[to]);
    }
}

/// One end of the wire.
pub(crate) struct WireEnd {
    wire: Wire,
    me: Peer,
    name: &'static str,
}

impl WireEnd {
    pub(crate) fn new(wire: &Wire, me: Peer) -> WireEnd {
        WireEnd::named("wire", wire, me)
    }

    pub(crate) fn named(name: &'static str, wire: &Wire, me: Peer) -> WireEnd {
        WireEnd { wire: wire.clone(), me, name }
    }

    fn transfer(
        &mut self,
        peer: Peer,
        key: &Key,
        offset: u64,
        mine: Region,
        token: u64,
        put: bool,
    ) -> Started {
        assert_eq!(peer, 1 - self.me);
        let mut state = self.wire.0.lock().unwrap();
        if state.cut {
            // Memory is no nearer than packets are, and its owner may have given up.
            return Err(fault("the wire is cut"));
        }
        let index = u64::from_le_bytes(key.0[..8].try_into().unwrap()) as usize;
        let (theirs, access) = state.exposed[index].expect("memory still exposed");
        assert!(if put { access.write } else { access.read }, "exposed for {access:?} only");
        let theirs = theirs.part(offset as usize, mine.len());
        let (how, count) = match put {
            true => (state.abilities.put, state.puts),
            false => (state.abilities.get, state.gets),
        };
        let fails = matches!(how, Memory::RefusedAfter(n) | Memory::FailsLater(n) if count >= n);
        if fails {
            let fault = fault("a transfer of memory failed");
            if matches!(how, Memory::RefusedAfter(_)) {
                return Err(fault);
            }
            state.ends[self.me as usize].push_back((token, Err(fault)));
            return Ok(Transfer::Pending);
        }
        if put {
            theirs.copy_from(mine)
        } else {
            mine.copy_from(theirs)
        }
        *if put { &mut state.puts } else { &mut state.gets } += 1;
        if matches!(how, Memory::Later | Memory::FailsLater(_)) {
            state.ends[self.me as usize].push_back((token, Ok(())));
            return Ok(Transfer::Pending);
        }
        Ok(Transfer::Done)
    }
}

fn fault(what: &str) -> Fault {
    Fault { what: what.into(), on: "the wire".into(), cause: "the test".into(), remedy: "none".into() }
}

impl Channel for WireEnd {
    fn name(&self) -> &'static str {
        self.name
    }

    fn reach(&mut self, peer: Peer) -> Option<Reach> {
        (peer == 1 - self.me).then(|| self.wire.0.lock().unwrap().abilities.reach)
    }

    fn send(&mut self, peer: Peer, header: &Header, payload: Payload<'_>) -> Result<(), SendError> {
        let mut state = self.wire.0.lock().unwrap();
        if state.cut {
            return Err(SendError::Broken(fault("the wire is cut")));
        }
        let reach = state.abilities.reach;
        assert!(payload.len() <= reach.packet_bytes_max.max(reach.whole_bytes_max));
        let is_long = payload.len() > reach.packet_bytes_max;
        let is_full = state.packets[peer as usize].len() >= state.abilities.room;
        if is_full || is_long && state.abilities.whole_room == 0 {
            return Err(SendError::Full);
        }
        state.abilities.whole_room -= usize::from(is_long);
        let mut bytes = vec![0; payload.len()];
        payload.copy_to(&mut bytes);
        let encoded: [u8; HEADER_BYTES] = header.emit();
        state.packets[peer as usize].push_back((Header::parse(&encoded).unwrap(), bytes));
        state.log.push((self.me, header.kind));
        Ok(())
    }

    fn poll(&mut self, sink: &mut dyn Sink) -> usize {
        let me = self.me as usize;
        assert_eq!(self.wire.0.lock().unwrap().held, [false; 2], "nobody released what was held");
        let (packets, ends, fault) = {
            let mut state = self.wire.0.lock().unwrap();
            let state = &mut *state;
            let (packets, ends) = (&mut state.packets[me], &mut state.ends[me]);
            (std::mem::take(packets), std::mem::take(ends), state.faults[me].take())
        };
        let events = packets.len() + ends.len() + fault.iter().count();
        packets.iter().for_each(|(header, bytes)| sink.packet(1 - self.me, header, bytes));
        ends.into_iter().for_each(|(token, outcome)| sink.transferred(token, outcome));
        fault.into_iter().for_each(|fault| sink.broken(1 - self.me, fault));
        events
    }

    fn take_direct(&mut self, _peer: Peer, header: &Header, into: Region) -> Option<usize> {
        let packets = &mut self.wire.0.lock().unwrap().packets[self.me as usize];
        let fits = |(its, bytes): &(Header, Vec<u8>)| header.is_in(&its.emit()) && bytes.len() <= into.len();
        let (_, bytes) = packets.pop_front_if(|front| fits(front))?;
        into.write(0, &bytes);
        Some(bytes.len())
    }

    fn remote_memory(&mut self) -> Option<&mut dyn RemoteMemory> {
        Some(self)
    }

    fn sharing(&mut self) -> Option<&mut dyn Sharing> {
        Some(self)
    }

    fn streams(&mut self) -> Option<&mut dyn Streams> {
        Some(self)
    }
}

impl RemoteMemory for WireEnd {
    fn expose(&mut self, _peer: Peer, region: Region, access: Access) -> Option<Key> {
        let mut state = self.wire.0.lock().unwrap();
        let mut key = Key::default();
        key.0[..8].copy_from_slice(&(state.exposed.len() as u64).to_le_bytes());
        state.exposed.push(Some((region, access)));
        Some(key)
    }

    fn conceal(&mut self, _peer: Peer, key: &Key) {
        let index = u64::from_le_bytes(key.0[..8].try_into().unwrap()) as usize;
        assert!(self.wire.0.lock().unwrap().exposed[index].take().is_some(), "concealed twice");
    }

    fn get(&mut self, peer: Peer, key: &Key, offset: u64, into: Region, token: u64) -> Started {
        self.transfer(peer, key, offset, into, token, false)
    }

    fn put(&mut self, peer: Peer, key: &Key, offset: u64, from: Region, token: u64) -> Started {
        self.transfer(peer, key, offset, from, token, true)
    }
}

impl Sharing for WireEnd {
    fn divide(&mut self, _peer: Peer, parts: u32) -> Option<Division> {
        let mut state = self.wire.0.lock().unwrap();
        assert!(parts >= 2);
        state.divisions.push(Some([parts, 1, 0]));
        Some(Division(state.divisions.len() as u64 - 1))
    }

    fn take_part(&mut self, _peer: Peer, division: Division, from: End) -> Option<u32> {
        let mut state = self.wire.0.lock().unwrap();
        let [parts, first, last] = state.divisions[division.0 as usize].as_mut()?;
        if *first + *last == *parts {
            return None;
        }
        match from {
            End::Front => *first += 1,
            End::Back => *last += 1,
        }
        Some(if from == End::Front { *first - 1 } else { *parts - *last })
    }

    fn end_division(&mut self, _peer: Peer, division: Division) -> u32 {
        let mut state = self.wire.0.lock().unwrap();
        let [_, _, last] = state.divisions[division.0 as usize].take().expect("ended once");
        last
    }

    fn forget_division(&mut self, _peer: Peer, division: Division) {
        let mut state = self.wire.0.lock().unwrap();
        let [parts, first, last] = state.divisions[division.0 as usize].take().expect("ended once");
        assert_eq!(first + last, parts, "forgotten before all parts were taken");
    }
}

impl Streams for WireEnd {
    fn hold(&mut self, peer: Peer) {
        let mut state = self.wire.0.lock().unwrap();
        assert!(!std::mem::replace(&mut state.held[peer as usize], true), "held twice");
        state.holds += 1;
    }

    fn release(&mut self, peer: Peer) {
        let mut state = self.wire.0.lock().unwrap();
        assert!(std::mem::replace(&mut state.held[peer as usize], false), "released but not held");
    }

    fn stream_bytes_max(&mut self, _peer: Peer) -> Option<usize> {
        None
    }
}
