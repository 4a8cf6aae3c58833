//! Measures the bare channels between two processes: half a round trip and bandwidth by size
//! through shared memory, and bandwidth by single copy (cma) for large sizes.
//!
//! `cargo run --release -p verbena-node --example channel_bench [milliseconds for each line]`
//!
//! The engine adds its own cost on top; this is the floor that it stands on.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use verbena_channel::packet::{Header, Kind};
use verbena_channel::{
    Access, Channel, Key, Opening, Payload, Peer, Place, RemoteMemory, SendError, Sink, Transfer,
};
use verbena_fault::Fault;
use verbena_machine::cores::Load;
use verbena_memory::{Buffer, Region};
use verbena_node::cma::{self, CmaChannel};
use verbena_node::shm::{self, ShmChannel};
use verbena_waiting::{Step, Waiter};

const SIZES: [usize; 12] = [0, 8, 24, 64, 256, 1024, 4096, 16384, 65536, 262_144, 1 << 20, 4 << 20];
const SINGLE_COPY_FROM: usize = 4096;
/// Packets with this tag end a line.
const STOP: i32 = 1;

/// Copies what arrives to where a receive would want it, and counts.
struct Counter {
    buffer: Vec<u8>,
    at: usize,
    packets: u64,
    stopped: bool,
    key: Option<Key>,
}

impl Sink for Counter {
    #[inline]
    fn packet(&mut self, _peer: Peer, header: &Header, payload: &[u8]) {
        self.packets += 1;
        self.stopped |= header.tag == STOP;
        match header.kind {
            Kind::RequestToSend => self.key = Some(Key(payload.try_into().expect("a key"))),
            _ => {
                let at = header.length as usize;
                self.buffer[at..at + payload.len()].copy_from_slice(payload);
                self.at = at + payload.len();
            }
        }
    }

    fn transferred(&mut self, _token: u64, _outcome: Result<(), Fault>) {}
}

struct End {
    shm: ShmChannel,
    cma: Option<CmaChannel>,
    waiter: Arc<dyn Waiter>,
    peer: Peer,
    packet_bytes_max: usize,
    sink: Counter,
    round: u32,
}

impl End {
    fn poll(&mut self) {
        if self.shm.poll(&mut self.sink) > 0 {
            self.round = 0;
        } else if self.waiter.idle(self.round) == Step::Again {
            self.round += 1;
        } else if self.shm.poll(&mut self.sink) > 0 {
            self.waiter.disarm();
        } else {
            self.waiter.sleep(verbena_waiting::SLEEP_MAX);
        }
    }

    fn send(&mut self, header: &Header, payload: Payload<'_>) {
        loop {
            match self.shm.send(self.peer, header, payload) {
                Ok(()) => return,
                Err(SendError::Full) => self.poll(),
                Err(SendError::Broken(fault)) => panic!("{fault}"),
            }
        }
    }

    fn send_message(&mut self, buffer: &Buffer, tag: i32) {
        let mut offset = 0;
        loop {
            let len = (buffer.len() - offset).min(self.packet_bytes_max);
            let header = Header { tag, length: offset as u64, ..Header::new(Kind::Data) };
            self.send(&header, Payload::Buffer { buffer, offset, len });
            offset += len;
            if offset == buffer.len() {
                return;
            }
        }
    }

    fn wait_packets(&mut self, count: u64) {
        while self.sink.packets < count {
            self.poll();
        }
        self.sink.packets -= count;
    }

    fn packets_of(&self, bytes: usize) -> u64 {
        bytes.div_ceil(self.packet_bytes_max).max(1) as u64
    }

    /// Half of a round trip, in nanoseconds.
    fn ping(&mut self, buffer: &Buffer, limit: Duration) -> f64 {
        let packets = self.packets_of(buffer.len());
        let (start, mut rounds) = (Instant::now(), 0);
        while !rounds_are_enough(rounds, start, limit) {
            self.send_message(buffer, 0);
            self.wait_packets(packets);
            rounds += 1;
        }
        let time = start.elapsed();
        self.stop();
        time.as_nanos() as f64 / rounds as f64 / 2.0
    }

    fn pong(&mut self, buffer: &Buffer) {
        let packets = self.packets_of(buffer.len());
        while !std::mem::take(&mut self.sink.stopped) {
            if self.sink.packets >= packets {
                self.sink.packets -= packets;
                self.send_message(buffer, 0);
            } else {
                self.poll();
            }
        }
        self.answer_stop();
    }

    /// Bytes per nanosecond of messages one way.
    fn stream(&mut self, buffer: &Buffer, limit: Duration) -> f64 {
        let (start, mut rounds) = (Instant::now(), 0);
        while !rounds_are_enough(rounds, start, limit) {
            self.send_message(buffer, 0);
            rounds += 1;
        }
        self.stop();
        (rounds * buffer.len()) as f64 / start.elapsed().as_nanos() as f64
    }

    fn swallow(&mut self) {
        while !std::mem::take(&mut self.sink.stopped) {
            self.poll();
        }
        self.answer_stop();
    }

    fn stop(&mut self) {
        self.send(&Header { tag: STOP, ..Header::new(Kind::Data) }, Payload::Bytes(&[]));
        while !std::mem::take(&mut self.sink.stopped) {
            self.poll();
        }
        self.sink.packets = 0;
    }

    fn answer_stop(&mut self) {
        self.sink.packets = 0;
        self.send(&Header { tag: STOP, ..Header::new(Kind::Data) }, Payload::Bytes(&[]));
    }

    /// Bytes per nanosecond of reads from the peer's memory, whose key the peer has sent.
    fn read_remote(&mut self, into: Region, limit: Duration) -> Option<f64> {
        let key = loop {
            match self.sink.key.take() {
                Some(key) => break key,
                None => self.poll(),
            }
        };
        let peer = self.peer;
        let cma = self.cma.as_mut()?;
        cma.reach(peer)?;
        let (start, mut rounds) = (Instant::now(), 0);
        while !rounds_are_enough(rounds, start, limit) {
            assert_eq!(cma.get(peer, &key, 0, into, 0), Ok(Transfer::Done));
            rounds += 1;
        }
        Some((rounds * into.len()) as f64 / start.elapsed().as_nanos() as f64)
    }

    fn lend(&mut self, region: Region) {
        let key = self.cma.as_mut().and_then(|cma| cma.expose(0, region, Access::READ)).unwrap_or_default();
        self.send(&Header::new(Kind::RequestToSend), Payload::Bytes(&key.0));
        self.swallow();
    }
}

/// The clock is read seldom, so that it does not count.
fn rounds_are_enough(rounds: usize, start: Instant, limit: Duration) -> bool {
    (rounds.is_power_of_two() || rounds.is_multiple_of(64)) && rounds > 0 && start.elapsed() > limit
}

/// Trades cards over this process's and its partner's pipes, and connects.
fn connect(me: Peer, mut output: impl Write, input: impl BufRead) -> End {
    let place = Place { me, size: 2, job: "bench".into(), engines: 0 };
    let shm = shm::open(&place).unwrap_or_else(|fault| panic!("{fault}"));
    let cma = cma::open(&place).unwrap_or_else(|fault| panic!("{fault}"));
    let own = [shm.as_ref().map(Opening::card), cma.as_ref().map(Opening::card)];
    for card in own.iter().map(|card| card.as_deref().unwrap_or_default()) {
        writeln!(output, "{}", card.iter().map(|b| format!("{b:02x}")).collect::<String>()).unwrap();
    }
    output.flush().unwrap();
    let mut theirs = input.lines().map(|line| unhex(&line.unwrap()));
    let [of_shm, of_cma] = own.map(|own| {
        let other = Some(theirs.next().expect("the partner's card"));
        if me == 0 { [own, other] } else { [other, own] }
    });
    let mut shm = connected(shm, &of_shm).expect("shm");
    let cma = connected(cma, &of_cma);
    let buffer = vec![0; SIZES[SIZES.len() - 1]];
    let sink = Counter { buffer, at: 0, packets: 0, stopped: false, key: None };
    let packet_bytes_max = shm.reach(1 - me).expect("the partner is on this node").packet_bytes_max;
    let waiter = shm.shared().waiter.expect("shm wakes");
    End { waiter, shm, cma, peer: 1 - me, packet_bytes_max, sink, round: 0 }
}

fn connected<O: Opening>(opening: Option<O>, cards: &[Option<Vec<u8>>]) -> Option<O::Channel> {
    opening.map(|o| o.connect(cards, &Load::measure(2)).unwrap_or_else(|fault| panic!("{fault}")))
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).unwrap()).collect()
}

fn lead(limit: Duration) {
    let mut partner = Command::new(std::env::current_exe().unwrap())
        .arg("partner")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (input, output) = (partner.stdin.take().unwrap(), partner.stdout.take().unwrap());
    let mut end = connect(0, input, BufReader::new(output));
    end.shm.report().findings.iter().for_each(|finding| println!("# {finding}"));
    println!("{:>10} {:>14} {:>14} {:>14}", "bytes", "one way, ns", "stream, GB/s", "read, GB/s");
    let mut memory = vec![0u8; SIZES[SIZES.len() - 1]];
    for bytes in SIZES {
        // SAFETY: `memory` outlives every use of the region.
        let region = unsafe { Region::of(&mut memory[..bytes]) };
        let buffer = Buffer::Contiguous(region);
        let (half, stream) = (end.ping(&buffer, limit), end.stream(&buffer, limit));
        let read = if bytes >= SINGLE_COPY_FROM { end.read_remote(region, limit) } else { None };
        if bytes >= SINGLE_COPY_FROM {
            end.stop();
        }
        let read = read.map_or("-".into(), |r| format!("{r:.2}"));
        println!("{bytes:>10} {half:>14.0} {stream:>14.2} {read:>14}");
    }
    assert!(partner.wait().unwrap().success());
}

fn follow() {
    // SAFETY: an attribute of this process: it ends with the one that measures, however that ends.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    let mut end = connect(1, std::io::stdout(), std::io::stdin().lock());
    let mut memory = vec![1u8; SIZES[SIZES.len() - 1]];
    for bytes in SIZES {
        // SAFETY: `memory` outlives every use of the region.
        let region = unsafe { Region::of(&mut memory[..bytes]) };
        end.pong(&Buffer::Contiguous(region));
        end.swallow();
        if bytes >= SINGLE_COPY_FROM {
            end.lend(region);
        }
    }
}

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("partner") => follow(),
        milliseconds => {
            lead(Duration::from_millis(milliseconds.map_or(100, |m| m.parse().expect("milliseconds"))))
        }
    }
}
