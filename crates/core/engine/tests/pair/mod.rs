//! Two engines and a wire between them, in one thread.
#![allow(dead_code)] // each test file uses its part of the harness

pub(crate) mod wire;

use std::sync::Arc;
use verbena_channel::mark::Mark;
use verbena_engine::{
    ANY_SOURCE, ANY_TAG, Completion, Engine, Failure, Mode, Posted, ReceiveRequest, RequestId, SendRequest,
    Settings,
};
use verbena_memory::layout::Layout;
use verbena_memory::{Buffer, Region};
use wire::{Wire, WireEnd};

/// Matching context of all tests here.
pub(crate) const CONTEXT: u64 = 7;

/// Memory that a test owns; it is never freed, so that buffers of it stay valid whatever a test
/// does.
#[derive(Clone, Copy)]
pub(crate) struct Bytes(Region);

impl Bytes {
    pub(crate) fn new(bytes: Vec<u8>) -> Bytes {
        // SAFETY: leaked, so valid for ever; only the engine and `get` below touch it.
        Bytes(unsafe { Region::of(bytes.leak()) })
    }

    pub(crate) fn zero(len: usize) -> Bytes {
        Bytes::new(vec![0; len])
    }

    /// Bytes that tell their place and `seed`.
    pub(crate) fn pattern(len: usize, seed: u8) -> Bytes {
        Bytes::new((0..len).map(|i| (i / 251) as u8 ^ (i % 251) as u8 ^ seed).collect())
    }

    pub(crate) fn get(&self) -> Vec<u8> {
        self.0.to_vec()
    }

    pub(crate) fn fill(&self, byte: u8) {
        self.0.fill(byte);
    }

    pub(crate) fn buffer(&self) -> Buffer {
        Buffer::Contiguous(self.0)
    }

    /// Three bytes of every five.
    pub(crate) fn strided(&self) -> Buffer {
        let layout = Arc::new(Layout::new(vec![(1, 2), (4, 1)], 5));
        // SAFETY: elements of five bytes that lie within the leaked memory.
        unsafe { Buffer::strided(self.0.pointer(), self.0.len() / 5, &layout) }
    }
}

/// The packed bytes of a buffer.
pub(crate) fn packed(buffer: &Buffer) -> Vec<u8> {
    let mut out = vec![0; buffer.len()];
    buffer.copy_out(0, &mut out);
    out
}

/// Two engines, processes 0 and 1 of 2.
pub(crate) struct Pair {
    pub engines: [Engine; 2],
    pub wire: Wire,
}

impl Pair {
    pub(crate) fn new(wire: Wire) -> Pair {
        Pair::with(wire, Settings { claim_bytes: 1024, copy_by_both_bytes_min: 2048, ..Settings::default() })
    }

    pub(crate) fn with(wire: Wire, settings: Settings) -> Pair {
        let engine = |me: u32| Engine::new(me, 2, vec![Box::new(WireEnd::new(&wire, me))], settings);
        Pair { engines: [engine(0), engine(1)], wire: wire.clone() }
    }

    pub(crate) fn send(&mut self, from: usize, tag: i32, buffer: Buffer) -> Posted {
        self.send_in_mode(from, tag, buffer, Mode::Standard)
    }

    pub(crate) fn send_in_mode(&mut self, from: usize, tag: i32, buffer: Buffer, mode: Mode) -> Posted {
        let peer = 1 - from as u32;
        self.engines[from].send(SendRequest {
            peer,
            context: CONTEXT,
            source: from as i32,
            tag,
            buffer,
            mark: Mark::NONE,
            mode,
        })
    }

    pub(crate) fn receive(&mut self, at: usize, source: i32, tag: i32, buffer: Buffer) -> Posted {
        self.engines[at].receive(ReceiveRequest::new(CONTEXT, source, tag, buffer))
    }

    pub(crate) fn receive_any(&mut self, at: usize, buffer: Buffer) -> Posted {
        self.receive(at, ANY_SOURCE, ANY_TAG, buffer)
    }

    /// Progress on both sides, in turn, until nothing happens any more.
    pub(crate) fn settle(&mut self) {
        for _ in 0..100_000 {
            let moved = [self.engines[0].progress(), self.engines[1].progress()];
            if !moved[0] && !moved[1] && self.wire.is_idle() {
                return;
            }
        }
        panic!("the pair does not come to rest");
    }

    /// The completion, after both sides have settled.
    pub(crate) fn end(&mut self, at: usize, posted: Posted) -> Completion {
        self.settle();
        match posted {
            Posted::Done(completion) => completion,
            Posted::Pending(id) => self.engines[at].take(id).unwrap_or_else(|| {
                panic!("still pending: {:?} / {:?}", self.engines[0].describe(), self.engines[1].describe())
            }),
        }
    }

    pub(crate) fn is_quiet(&mut self) -> bool {
        self.engines.iter_mut().all(Engine::is_quiet)
    }
}

pub(crate) fn pending(posted: &Posted) -> RequestId {
    match posted {
        Posted::Pending(id) => *id,
        Posted::Done(completion) => panic!("done at once: {completion:?}"),
    }
}

pub(crate) fn done(posted: &Posted) -> &Completion {
    match posted {
        Posted::Done(completion) => completion,
        Posted::Pending(_) => panic!("still pending"),
    }
}

pub(crate) fn is_good(completion: &Completion, bytes: usize) -> bool {
    completion.failure.is_none() && !completion.cancelled && completion.bytes == bytes as u64
}

pub(crate) fn is_channel_failure(completion: &Completion) -> bool {
    matches!(completion.failure, Some(Failure::Channel(..)))
}
