//! The note by which a ring tells of a cell.

/// Bytes of a note.
pub(crate) const NOTE_BYTES: usize = 16;

/// A note: where a packet's payload is.
///
/// | offset | bytes | field |
/// | --- | --- | --- |
/// | 0 | 4 | number of the cell |
/// | 4 | 4 | bytes of the payload |
/// | 8 | 4 | the number of these that were there when the note was written |
/// | 12 | 4 | zero |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Note {
    pub(crate) number: u32,
    pub(crate) bytes: usize,
    pub(crate) ready: usize,
}

impl Note {
    #[inline]
    pub(crate) fn emit(self) -> [u8; NOTE_BYTES] {
        let mut out = [0; NOTE_BYTES];
        out[0..4].copy_from_slice(&self.number.to_le_bytes());
        out[4..8].copy_from_slice(&(self.bytes as u32).to_le_bytes());
        out[8..12].copy_from_slice(&(self.ready as u32).to_le_bytes());
        out
    }

    #[inline]
    pub(crate) fn parse(bytes: &[u8; NOTE_BYTES]) -> Note {
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        Note { number: word(0), bytes: word(4) as usize, ready: word(8) as usize }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_survives_the_ring() {
        let note = Note { number: 0xfedc_ba98, bytes: 65_536, ready: 8192 };
        assert_eq!(Note::parse(&note.emit()), note);
    }
}
