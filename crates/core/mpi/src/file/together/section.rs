//! Sections: the bytes that a process accesses in a stretch of the file, in few numbers. Pieces of
//! one length that lie evenly apart are one section, however many they are.

use crate::error::Result;
use crate::file::view::View;
use std::sync::Arc;
use verbena_memory::elements::Elements;
use verbena_memory::layout::Layout;
use verbena_memory::{Buffer, Region};
use verbena_storage::Extent;

/// Pieces of `len` bytes of the file, `stride` bytes apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Section {
    /// The first byte.
    pub at: u64,
    /// Bytes of a piece.
    pub len: u64,
    /// Bytes from the beginning of a piece to that of the next.
    pub stride: u64,
    /// Number of pieces.
    pub count: u64,
}

/// The words of a section that travel.
pub(super) const SECTION_WORDS: usize = 4;

impl Section {
    /// The words that travel.
    pub(super) fn words(&self) -> [u64; SECTION_WORDS] {
        [self.at, self.len, self.stride, self.count]
    }

    /// The section of these words.
    pub(super) fn of_words(words: [u64; SECTION_WORDS]) -> Section {
        let [at, len, stride, count] = words;
        Section { at, len, stride, count }
    }

    /// The bytes of all pieces.
    fn bytes(&self) -> Option<u64> {
        self.len.checked_mul(self.count)
    }

    /// The byte behind the last piece.
    fn end(&self) -> Option<u64> {
        let last = self.stride.checked_mul(self.count.checked_sub(1)?)?;
        self.at.checked_add(last)?.checked_add(self.len)
    }

    /// Takes in the next run, if it continues the section.
    fn take(&mut self, at: u64, len: u64) -> bool {
        if self.count == 1 && at == self.at + self.len {
            self.len += len;
            self.stride = self.len;
            return true;
        }
        if len != self.len {
            return false;
        }
        if self.count == 1 {
            self.stride = at - self.at;
        }
        let continues = at == self.at + self.count * self.stride;
        self.count += u64::from(continues);
        continues
    }

    /// The bytes of the pieces in memory that holds the file from `start` on.
    pub(super) fn buffer(&self, memory: Region, start: u64) -> Buffer {
        let at = (self.at - start) as usize;
        let len = (self.end().unwrap_or(self.at) - self.at) as usize;
        let part = memory.part(at, len);
        if self.count == 1 || self.stride == self.len {
            return Buffer::Contiguous(part);
        }
        let layout = Arc::new(Layout::new(vec![(0, self.len as usize)], self.stride as isize));
        Elements::at_origins(part, &layout).buffer(0, self.count as usize)
    }

    /// Calls `each` with the beginning and the length of every piece.
    pub(super) fn for_each(&self, mut each: impl FnMut(u64, u64)) {
        if self.stride == self.len {
            return each(self.at, self.len * self.count);
        }
        (0..self.count).for_each(|i| each(self.at + i * self.stride, self.len));
    }
}

/// The sections of `len` bytes of the stream from `start` on, of a view that shows each byte once.
pub(super) fn sections(view: &View, start: u64, len: usize) -> Result<Vec<Section>> {
    let mut sections: Vec<Section> = Vec::new();
    view.for_each_run(start, len, |at, len| {
        let len = len as u64;
        let taken = sections.last_mut().is_some_and(|last| last.take(at, len));
        if !taken {
            sections.push(Section { at, len, stride: len, count: 1 });
        }
    })?;
    Ok(sections)
}

/// Returns whether sections that came from another process go up, lie within a stretch, and have so
/// many bytes.
pub(super) fn are_valid(sections: &[Section], stretch: Extent, bytes: u64) -> bool {
    let (mut sum, mut next) = (0_u64, stretch.start);
    for section in sections {
        let (Some(end), Some(own)) = (section.end(), section.bytes()) else { return false };
        let is_whole = section.len > 0 && section.count > 0 && section.stride >= section.len;
        if !is_whole || section.at < next || end > stretch.end {
            return false;
        }
        next = end;
        let Some(more) = sum.checked_add(own) else { return false };
        sum = more;
    }
    sum == bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use verbena_memory::Owned;

    fn of(runs: &[(u64, u64)]) -> Vec<Section> {
        let mut sections: Vec<Section> = Vec::new();
        for &(at, len) in runs {
            if !sections.last_mut().is_some_and(|last| last.take(at, len)) {
                sections.push(Section { at, len, stride: len, count: 1 });
            }
        }
        sections
    }

    #[test]
    fn even_runs_are_one_section_and_others_begin_a_new_one() {
        let even: Vec<(u64, u64)> = (0..100).map(|i| (7 + 20 * i, 4)).collect();
        assert_eq!(of(&even), [Section { at: 7, len: 4, stride: 20, count: 100 }]);
        let mixed = of(&[(0, 4), (10, 4), (21, 4), (31, 4), (35, 2)]);
        assert_eq!(mixed.len(), 3);
        assert_eq!(mixed[1], Section { at: 21, len: 4, stride: 10, count: 2 });
        assert_eq!(of(&[(5, 3), (8, 2), (10, 5)]), [Section { at: 5, len: 10, stride: 10, count: 1 }]);
    }

    #[test]
    fn the_pieces_come_back_as_they_were() {
        let runs = [(3, 2), (9, 2), (15, 2), (20, 1), (30, 1), (31, 4)];
        let mut found = Vec::new();
        of(&runs).iter().for_each(|section| section.for_each(|at, len| found.push((at, len))));
        assert_eq!(found, runs);
    }

    #[test]
    fn a_section_is_a_buffer_of_the_pieces_bytes() {
        let memory = Owned::from(&(0..40).collect::<Vec<u8>>()[..]);
        let section = Section { at: 103, len: 2, stride: 5, count: 3 };
        let buffer = section.buffer(memory.lend(), 100);
        let mut bytes = [0; 6];
        buffer.copy_out(0, &mut bytes);
        assert_eq!(bytes, [3, 4, 8, 9, 13, 14]);
    }

    #[test]
    fn impossible_sections_are_found_out() {
        let stretch = Extent { start: 100, end: 200 };
        let good = Section { at: 110, len: 4, stride: 10, count: 3 };
        assert!(are_valid(&[good], stretch, 12) && are_valid(&[], stretch, 0));
        for bad in [
            Section { at: 99, ..good },
            Section { count: 10, ..good },
            Section { stride: 3, ..good },
            Section { len: 0, ..good },
            Section { count: 0, ..good },
            Section { stride: u64::MAX, ..good },
        ] {
            assert!(!are_valid(&[bad], stretch, bad.len.wrapping_mul(bad.count)), "{bad:?}");
        }
        assert!(!are_valid(&[good], stretch, 11));
        assert!(!are_valid(&[good, good], stretch, 24));
        assert_eq!(Section::of_words(good.words()), good);
    }
}
