//! Connections on demand: made at the first bytes of a pair, by the datagrams of `hello.rs`, behind
//! which each side tells the place of its inbox. Address and key are exchanged once (paper 2, 4.2).

use super::connection::{Connection, Stage};
use super::layout::Layout;
use super::pipes::Pipes;
use super::settings::Design;
use crate::device::Refused;
use crate::hello::{Act, Asking, HELLO_BYTES, Hello, Magic};
use crate::rc::adapter::{Adapter, Remote};
use crate::rc::failure;
use verbena_channel::Peer;
use verbena_fault::Fault;

/// The mark of the datagrams of `pipe`.
pub(super) const MAGIC: Magic = *b"vPI1";
/// Bytes behind a hello: address, key and layout of the inbox.
pub(super) const INBOX_BYTES: usize = 32;

/// The place of an inbox, and its layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Inbox {
    pub remote: Remote,
    pub layout: Layout,
}

impl Inbox {
    pub(super) fn emit(&self) -> [u8; INBOX_BYTES] {
        let mut out = [0; INBOX_BYTES];
        out[..8].copy_from_slice(&self.remote.address.to_le_bytes());
        out[8..12].copy_from_slice(&self.remote.key.to_le_bytes());
        out[12..16].copy_from_slice(&(self.layout.design as u32).to_le_bytes());
        out[16..24].copy_from_slice(&(self.layout.ring_bytes as u64).to_le_bytes());
        out[24..].copy_from_slice(&(self.layout.chunk_bytes as u64).to_le_bytes());
        out
    }

    /// Decodes it; `None` if no process has such an inbox.
    pub(super) fn parse(bytes: &[u8]) -> Option<Inbox> {
        let bytes: &[u8; INBOX_BYTES] = bytes.get(..INBOX_BYTES)?.try_into().ok()?;
        let half = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        let size = |at: usize| usize::try_from(word(at)).ok().filter(|size| *size <= 1 << 40);
        let design = *Design::ALL.get(half(12) as usize)?;
        let layout = Layout { design, ring_bytes: size(16)?, chunk_bytes: size(24)? };
        let remote = Remote { address: word(0), key: half(8) };
        remote.address.checked_add(layout.inbox_bytes() as u64)?;
        Some(Inbox { remote, layout })
    }
}

impl<A: Adapter> Pipes<A> {
    /// Begins a connection with a peer that has spoken or is to be spoken to.
    ///
    /// # Errors
    /// The device gives no queue pair, or there is no memory to register for it.
    #[cold]
    pub(super) fn begin(&mut self, peer: Peer) -> Result<(), Fault> {
        let now_ns = self.adapter.now_ns();
        let asking = Asking::new(now_ns, self.settings.connect_ns_max);
        let connection = Connection::new(&mut self.adapter, &self.settings, &self.limits, asking);
        let connection = connection.map_err(|fault| failure::refused(&self.ends(peer), fault))?;
        self.connections[peer as usize] = Some(Box::new(connection));
        self.asking.push(peer);
        self.ask(now_ns);
        Ok(())
    }

    /// Takes in the datagrams that have arrived and says hello where it is time; returns how many
    /// came.
    pub(super) fn tend_connections(&mut self) -> usize {
        let mut hellos = 0;
        while let Some(bytes) = self.adapter.receive_datagram() {
            let inbox = bytes.get(HELLO_BYTES..).and_then(Inbox::parse);
            if let (Some(hello), Some(inbox)) = (Hello::parse(&bytes, MAGIC), inbox) {
                self.hear(&hello, inbox);
            }
            hellos += 1;
        }
        if !self.asking.is_empty() {
            let now_ns = self.adapter.now_ns();
            self.ask(now_ns);
        }
        hellos
    }

    /// Says hello again where it is time, and gives up peers that never answered.
    fn ask(&mut self, now_ns: u64) {
        let mut at = 0;
        while let Some(&peer) = self.asking.get(at) {
            let stage = self.connection(peer).map(|connection| &mut connection.stage);
            let Some(Stage::Asking(asking)) = stage else {
                self.asking.swap_remove(at);
                continue;
            };
            at += 1;
            match asking.act(now_ns) {
                Act::Wait => {}
                Act::Greet => self.greet(peer),
                Act::GiveUp(limit_ns) => {
                    let fault = failure::no_answer(&self.ends(peer), limit_ns);
                    self.break_connection(peer, fault);
                }
            }
        }
    }

    /// Says hello. A datagram that the device does not take counts as lost.
    fn greet(&mut self, peer: Peer) {
        let (Some(to), Some(connection)) = (self.address(peer).copied(), self.look(peer)) else { return };
        let hello = Hello {
            from: self.me,
            seen: connection.theirs.is_some(),
            wanted: !connection.is_up(),
            declined: false,
            needed: true,
            credits: 0,
            buffer_bytes: 0,
            address: self.adapter.address(),
            endpoint: connection.mine,
        };
        let (address, key) = (connection.inbox.region().address(), connection.inbox.remote_key());
        let inbox = Inbox { remote: Remote { address, key }, layout: self.layout };
        let datagram = [&hello.emit(MAGIC)[..], &inbox.emit()].concat();
        if let Err(Refused::Broken(fault)) = self.adapter.send_datagram(&to, &datagram) {
            let fault = failure::refused(&self.ends(peer), fault);
            self.break_connection(peer, fault);
        }
    }

    /// Takes in a hello.
    fn hear(&mut self, hello: &Hello, inbox: Inbox) {
        let peer = hello.from;
        if !self.knows(peer) || self.address(peer) != Some(&hello.address) {
            return; // of another job, or torn
        }
        if self.lost.contains_key(&peer) {
            return;
        }
        if self.look(peer).is_none()
            && let Err(fault) = self.begin(peer)
        {
            self.lost.insert(peer, fault.clone());
            self.broken.push((peer, fault));
            return;
        }
        let Some(connection) = self.look(peer) else { return };
        if matches!(connection.stage, Stage::Broken(_)) {
            return;
        }
        let theirs = connection.theirs;
        match theirs {
            None if !self.join(peer, hello, inbox) => return,
            Some(known) if known != hello.endpoint => return,
            _ => {}
        }
        if hello.seen {
            self.is_ready(peer);
        }
        if hello.wanted {
            self.greet(peer);
        }
    }

    /// Connects the queue pair and lays the pipes, now that the other end is known. Returns whether
    /// that worked.
    fn join(&mut self, peer: Peer, hello: &Hello, inbox: Inbox) -> bool {
        let layout = self.layout;
        let Some(connection) = self.connection(peer) else { return false };
        connection.theirs = Some(hello.endpoint);
        let pair = connection.pair.expect("a queue pair that is not broken");
        let outcome = match inbox.layout == layout {
            true => self.adapter.connect_pair(pair, &hello.endpoint),
            false => Err(unlike(layout, inbox.layout)),
        };
        if let Err(fault) = outcome {
            let fault = failure::refused(&self.ends(peer), fault);
            self.break_connection(peer, fault);
            return false;
        }
        if let Some(connection) = self.connection(peer) {
            connection.lay_pipes(layout, inbox.remote);
        }
        self.joined.push(peer);
        true
    }

    /// Notes that the other side has connected with us: bytes may go. What came through the pipe
    /// says as much as a hello.
    pub(super) fn is_ready(&mut self, peer: Peer) {
        if let Some(connection) = self.connection(peer)
            && matches!(connection.stage, Stage::Asking(_))
        {
            connection.stage = Stage::Up;
        }
    }
}

fn unlike(mine: Layout, theirs: Layout) -> Fault {
    Fault::new(
        format!("the pipes of the two ends are laid out differently ({mine:?} and {theirs:?})"),
        "the channel pipe",
        "VERBENA_PIPE_DESIGN, VERBENA_PIPE_BYTES or VERBENA_PIPE_CHUNK_BYTES is not the same for all ranks",
        "give all ranks the same settings",
    )
}
