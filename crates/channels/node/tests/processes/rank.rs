//! The work of a rank in each scenario.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;
use verbena_channel::heap::{Block, Heap, TICKET_BYTES, Ticket};
use verbena_channel::packet::{Header, Kind};
use verbena_channel::{
    Access, Channel, Key, Opening, Payload, Peer, Place, RemoteMemory, SendError, Sink, Transfer,
};
use verbena_fault::Fault;
use verbena_machine::cores::Load;
use verbena_memory::Region;
use verbena_node::cma::{self, CmaChannel};
use verbena_node::shm::{self, ShmChannel};
use verbena_waiting::{Step, Waiter};

/// A connected rank.
struct Rank {
    me: Peer,
    size: u32,
    shm: ShmChannel,
    cma: CmaChannel,
    waiter: Arc<dyn Waiter>,
    inbox: Inbox,
    round: u32,
}

/// The arrived packets: those of each peer are checked as they come.
struct Inbox {
    next: Vec<u32>,
    keys: Vec<Option<Key>>,
}

impl Sink for Inbox {
    fn packet(&mut self, peer: Peer, header: &Header, payload: &[u8]) {
        if header.kind == Kind::RequestToSend {
            self.keys[peer as usize] = Some(Key(payload.try_into().unwrap()));
            return;
        }
        let next = &mut self.next[peer as usize];
        assert_eq!(header.sequence, *next, "from {peer}");
        assert_eq!(payload, pattern(peer, *next, header.length as usize), "from {peer}");
        *next += 1;
    }

    fn transferred(&mut self, _token: u64, _outcome: Result<(), Fault>) {
        panic!("nothing was started that ends later");
    }

    fn broken(&mut self, peer: Peer, fault: Fault) {
        panic!("process {peer}: {fault}");
    }
}

fn pattern(from: Peer, sequence: u32, len: usize) -> Vec<u8> {
    (0..len as u32)
        .map(|i| (i.wrapping_mul(7) ^ from.wrapping_mul(131) ^ sequence.wrapping_mul(29)) as u8)
        .collect()
}

pub(crate) fn main(args: Vec<String>) {
    verbena_settings::load();
    let (me, size) = (args[1].parse().unwrap(), args[2].parse().unwrap());
    match (args[0].as_str(), connect(me, size)) {
        ("findings", result) => findings(result),
        (role, result) => {
            let rank = result.unwrap_or_else(|fault| panic!("rank {me}: {fault}"));
            match role {
                "exchange" => rank.exchange(400),
                "barrier" => rank.barriers(50),
                "memory" => rank.memory(),
                "heap" => rank.use_heap(),
                "heir" => rank.inherit(),
                "chatter" => rank.chatter(),
                "survivor" => rank.survive(),
                _ => panic!("no role {role}"),
            }
        }
    }
}

fn say(line: &str) {
    println!("{line}");
    std::io::stdout().flush().unwrap();
}

fn connect(me: Peer, size: u32) -> Result<Rank, Fault> {
    let place = Place { me, size, job: "test".into(), engines: 0 };
    let (shm, cma) = (shm::open(&place)?.expect("of use"), cma::open(&place)?.expect("of use"));
    let hex = |card: Vec<u8>| card.iter().map(|b| format!("{b:02x}")).collect::<String>();
    say(&format!("{}:{}", hex(shm.card()), hex(cma.card())));
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    let cards = |which: usize| -> Vec<Option<Vec<u8>>> {
        line.split_whitespace().map(|pair| pair.split(':').nth(which).map(unhex)).collect()
    };
    let load = Load::measure(size);
    let (shm, cma) = (shm.connect(&cards(0), &load)?, cma.connect(&cards(1), &load)?);
    let inbox = Inbox { next: vec![0; size as usize], keys: vec![None; size as usize] };
    Ok(Rank { me, size, waiter: shm.shared().waiter.expect("shm wakes"), shm, cma, inbox, round: 0 })
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).unwrap()).collect()
}

fn findings(result: Result<Rank, Fault>) {
    match result {
        Ok(rank) => say(&rank.shm.report().findings.join("; ")),
        Err(fault) => {
            say(&fault.to_string().replace('\n', ";"));
            std::process::exit(3);
        }
    }
}

impl Rank {
    /// Makes one round of progress, with waiting as the library does it.
    fn progress(&mut self) {
        if self.shm.poll(&mut self.inbox) > 0 {
            self.round = 0;
        } else if self.waiter.idle(self.round) == Step::Again {
            self.round += 1;
        } else if self.shm.poll(&mut self.inbox) > 0 {
            self.waiter.disarm();
        } else {
            self.waiter.sleep(verbena_waiting::SLEEP_MAX);
        }
    }

    fn others(&self) -> Vec<Peer> {
        (0..self.size).filter(|&peer| peer != self.me).collect()
    }

    fn send(&mut self, to: Peer, sequence: u32, len: usize) {
        let header = Header { sequence, length: len as u64, ..Header::new(Kind::Eager) };
        let payload = pattern(self.me, sequence, len);
        while let Err(error) = self.shm.send(to, &header, Payload::Bytes(&payload)) {
            assert!(matches!(error, SendError::Full), "{error:?}");
            self.progress();
        }
    }

    /// Sends `count` packets of all sizes to every rank, then waits for all that comes.
    fn exchange(mut self, count: u32) {
        let max = self.shm.reach((self.me + 1) % self.size).unwrap().packet_bytes_max;
        for sequence in 0..count {
            for to in self.others() {
                let len = (sequence as usize * 7919 + to as usize * 61) % (max + 1);
                self.send(to, sequence, if sequence % 4 == 0 { len } else { len % 100 });
            }
        }
        while self.others().iter().any(|&peer| self.inbox.next[peer as usize] < count) {
            self.progress();
        }
    }

    /// Runs barriers by dissemination: in step k each rank tells the one 2^k further on, and waits
    /// for the one as far back.
    fn barriers(mut self, count: u32) {
        let start = std::time::Instant::now();
        let steps = || (0..).map(|k| 1u32 << k).take_while(|&distance| distance < self.size);
        let distances: Vec<u32> = steps().collect();
        for barrier in 0..count {
            for distance in &distances {
                self.send((self.me + distance) % self.size, barrier, 8);
                let from = (self.me + self.size - distance) % self.size;
                while self.inbox.next[from as usize] <= barrier {
                    self.progress();
                }
            }
        }
        say(&format!("{}", (start.elapsed() / count).as_micros()));
    }

    /// Reads and writes every rank's memory, by keys that travel in packets.
    fn memory(mut self) {
        const PART: usize = 100_000;
        // One part to be read, then one for each writer.
        let mut memory = vec![self.me as u8 + 1; PART * (1 + self.size as usize)];
        // SAFETY: `memory` lives until the end, when all have finished with it.
        let region = unsafe { Region::of(&mut memory) };
        for to in self.others() {
            let key = self.cma.expose(to, region, Access::READ_WRITE).expect("single copy works here");
            self.shm.send(to, &Header::new(Kind::RequestToSend), Payload::Bytes(&key.0)).unwrap();
        }
        while self.others().iter().any(|&peer| self.inbox.keys[peer as usize].is_none()) {
            self.progress();
        }
        for peer in self.others() {
            self.use_memory_of(peer, PART);
            self.send(peer, 0, 0);
        }
        while self.others().iter().any(|&peer| self.inbox.next[peer as usize] == 0) {
            self.progress();
        }
        for peer in self.others() {
            let at = PART * (1 + peer as usize);
            assert!(region.part(at, PART).to_vec().iter().all(|&b| b == peer as u8 + 1), "written by {peer}");
        }
    }

    fn use_memory_of(&mut self, peer: Peer, part: usize) {
        let key = self.inbox.keys[peer as usize].unwrap();
        let mut mine = vec![0u8; part];
        // SAFETY: `mine` lives longer than the two calls, which end what they start.
        let region = unsafe { Region::of(&mut mine) };
        assert_eq!(self.cma.get(peer, &key, 0, region, 0), Ok(Transfer::Done));
        assert!(region.to_vec().iter().all(|&b| b == peer as u8 + 1), "read from {peer}");
        region.fill(self.me as u8 + 1);
        let at = part * (1 + self.me as usize);
        assert_eq!(self.cma.put(peer, &key, at as u64, region, 0), Ok(Transfer::Done));
    }

    fn heap(&self) -> Arc<dyn Heap> {
        self.shm.shared().heap.expect("this machine has room for a heap")
    }

    /// Tells all others of a block. Keys are as long as a ticket, or longer.
    fn tell(&mut self, block: &Block) {
        let mut key = Key::default();
        key.0[..TICKET_BYTES].copy_from_slice(&block.ticket().emit());
        for to in self.others() {
            self.shm.send(to, &Header::new(Kind::RequestToSend), Payload::Bytes(&key.0)).unwrap();
        }
    }

    /// The memory that `peer` told of, once it has.
    fn told(&mut self, peer: Peer) -> Region {
        while self.inbox.keys[peer as usize].is_none() {
            self.progress();
        }
        let key = self.inbox.keys[peer as usize].unwrap();
        let ticket = Ticket::parse(key.0[..TICKET_BYTES].try_into().unwrap());
        self.heap().at(ticket).expect("it lies in the heap")
    }

    /// Writes into its part of every rank's block, and looks what all have written into its own.
    fn use_heap(mut self) {
        const PART: usize = 100_000;
        let block = self.heap().claim(PART * self.size as usize, 1).unwrap();
        block.touch(0, PART * self.size as usize).unwrap();
        self.tell(&block);
        for peer in self.others() {
            let part = self.told(peer).part(PART * self.me as usize, PART);
            part.fill(self.me as u8 + 1);
            self.send(peer, 0, 0);
        }
        while self.others().iter().any(|&peer| self.inbox.next[peer as usize] == 0) {
            self.progress();
        }
        for peer in self.others() {
            let part = block.region().part(PART * peer as usize, PART);
            assert!(part.to_vec().iter().all(|&byte| byte == peer as u8 + 1), "written by {peer}");
        }
    }

    /// Rank 1 lends a block and waits to be killed; rank 0 uses it afterwards.
    fn inherit(mut self) {
        let block = self.heap().allocate(1 << 20).unwrap();
        block.region().fill(7);
        self.tell(&block);
        if self.me == 1 {
            say("running");
            std::thread::sleep(Duration::from_secs(60));
            return;
        }
        let theirs = self.told(1);
        say("running");
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        say(&maps.lines().find_map(crate::heap_inode).expect("the heap is mapped"));
        std::io::stdin().read_line(&mut String::new()).unwrap();
        theirs.write(5, &[8; 5]);
        assert!(
            theirs.to_vec().iter().enumerate().all(|(i, &byte)| byte == 7 + u8::from((5..10).contains(&i)))
        );
        say("used");
        std::thread::sleep(Duration::from_secs(60));
    }

    /// Sends and receives until killed.
    fn chatter(mut self) {
        for sequence in 0.. {
            for to in self.others() {
                self.send(to, sequence, 1000);
            }
            if sequence == 100 {
                say("running");
            }
            self.shm.poll(&mut self.inbox);
        }
    }

    /// Rank 1 lends its memory and waits to be killed; rank 0 uses what is left of it.
    fn survive(mut self) {
        let mut memory = vec![5u8; 4096];
        // SAFETY: `memory` lives until the process ends.
        let region = unsafe { Region::of(&mut memory) };
        if self.me == 1 {
            let key = self.cma.expose(0, region, Access::READ).expect("single copy works here");
            self.shm.send(0, &Header::new(Kind::RequestToSend), Payload::Bytes(&key.0)).unwrap();
            say("running");
            std::thread::sleep(Duration::from_secs(60));
            return;
        }
        while self.inbox.keys[1].is_none() {
            self.progress();
        }
        let key = self.inbox.keys[1].unwrap();
        assert_eq!(self.cma.get(1, &key, 0, region, 0), Ok(Transfer::Done));
        say("running");
        std::io::stdin().read_line(&mut String::new()).unwrap();
        let header = Header::new(Kind::Eager);
        while self.shm.send(1, &header, Payload::Region(region.part(0, 1000))).is_ok() {}
        say("full");
        self.waiter.idle(u32::MAX);
        self.waiter.sleep(verbena_waiting::SLEEP_MAX);
        say(&self.cma.get(1, &key, 0, region, 0).unwrap_err().to_string().replace('\n', ";"));
    }
}
