//! The place of a rank that computes, which it tells when a signal (SIGURG) asks: return addresses,
//! and the lines of a program in Python.

use super::{
    FRAMES_AT, FRAMES_MAX, OFFERS_FRAMES_AT, PYTHON_AT, PYTHON_BYTES_MAX, QUESTION_AT, StatusMemory,
    StatusPlace, WORD_BYTES, block, word_of,
};
use std::sync::atomic::Ordering;

impl StatusMemory {
    /// Returns whether the rank at this place tells where it is when a signal (SIGURG) asks.
    pub fn offers_frames(&self, place: usize) -> bool {
        self.words.word(block(place) + OFFERS_FRAMES_AT).load(Ordering::Relaxed) != 0
    }

    /// The return addresses that the rank at this place told since the last question, the innermost
    /// first.
    pub fn frames(&self, place: usize) -> Vec<u64> {
        if !self.tells_frames(place) {
            return Vec::new();
        }
        let word = |at: usize| self.words.word(block(place) + FRAMES_AT + at).load(Ordering::Relaxed);
        let count = (word(1) as usize).min(FRAMES_MAX);
        (0..count).map(|n| word(2 + n)).collect()
    }

    /// The traceback in Python that the rank at this place told with its return addresses; empty if
    /// it runs no Python, or an interpreter that does not tell.
    pub fn traceback(&self, place: usize) -> Vec<u8> {
        if !self.tells_frames(place) {
            return Vec::new();
        }
        let word = |at: usize| self.words.word(block(place) + PYTHON_AT + at).load(Ordering::Relaxed);
        let length = (word(0) as usize).min(PYTHON_BYTES_MAX);
        let mut bytes: Vec<u8> =
            (0..length.div_ceil(WORD_BYTES)).flat_map(|n| word(1 + n).to_le_bytes()).collect();
        bytes.truncate(length);
        bytes
    }

    /// Returns whether the rank at this place has told where it is since the last question.
    fn tells_frames(&self, place: usize) -> bool {
        let question = self.words.word(QUESTION_AT).load(Ordering::Relaxed);
        question != 0 && self.words.word(block(place) + FRAMES_AT).load(Ordering::Acquire) == question
    }
}

impl StatusPlace {
    /// Says that this process tells where it is when SIGURG asks.
    pub fn offer_frames(&self) {
        self.words.word(self.at + OFFERS_FRAMES_AT).store(1, Ordering::Relaxed);
    }

    /// Tells where this process is, by a traceback in Python, which may be empty, and by return
    /// addresses. Safe in a handler.
    pub fn write_frames(&self, traceback: &[u8], frames: &[usize]) {
        let word = |at: usize| self.words.word(self.at + at);
        let text = &traceback[..traceback.len().min(PYTHON_BYTES_MAX)];
        word(PYTHON_AT).store(text.len() as u64, Ordering::Relaxed);
        for (n, piece) in text.chunks(WORD_BYTES).enumerate() {
            word(PYTHON_AT + 1 + n).store(word_of(piece), Ordering::Relaxed);
        }
        let count = frames.len().min(FRAMES_MAX);
        word(FRAMES_AT + 1).store(count as u64, Ordering::Relaxed);
        for (n, frame) in frames[..count].iter().enumerate() {
            word(FRAMES_AT + 2 + n).store(*frame as u64, Ordering::Relaxed);
        }
        word(FRAMES_AT).store(self.question(), Ordering::Release);
    }
}
