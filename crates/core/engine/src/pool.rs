//! Memory for unexpected messages, used again instead of freed, in classes of powers of two.

const CLASS_BYTES_MIN: usize = 64;
const CLASSES: usize = usize::BITS as usize;
/// The most bytes that the pool keeps while nothing uses it.
const IDLE_BYTES_MAX: usize = 16 << 20;

/// The pool.
pub(crate) struct Pool {
    idle: Vec<Vec<Vec<u8>>>,
    idle_bytes: usize,
}

impl Pool {
    pub(crate) fn new() -> Pool {
        Pool { idle: (0..CLASSES).map(|_| Vec::new()).collect(), idle_bytes: 0 }
    }

    /// A buffer that holds a copy of `bytes`.
    pub(crate) fn copy_of(&mut self, bytes: &[u8]) -> Vec<u8> {
        if bytes.is_empty() {
            return Vec::new();
        }
        let room = bytes.len().next_power_of_two().max(CLASS_BYTES_MIN);
        let mut buffer = match self.idle[class(room)].pop() {
            Some(buffer) => {
                self.idle_bytes -= buffer.capacity();
                buffer
            }
            None => Vec::with_capacity(room),
        };
        buffer.extend_from_slice(bytes);
        buffer
    }

    /// Takes back a buffer that [`Pool::copy_of`] gave.
    pub(crate) fn give_back(&mut self, mut buffer: Vec<u8>) {
        let room = buffer.capacity();
        if room < CLASS_BYTES_MIN || self.idle_bytes + room > IDLE_BYTES_MAX {
            return;
        }
        buffer.clear();
        self.idle_bytes += room;
        self.idle[class(room)].push(buffer);
    }
}

/// The class whose buffers all hold at least `2^class` bytes.
fn class(room: usize) -> usize {
    room.ilog2() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_used_again() {
        let mut pool = Pool::new();
        let buffer = pool.copy_of(&[7; 100]);
        let address = buffer.as_ptr();
        pool.give_back(buffer);
        let again = pool.copy_of(&[8; 120]);
        assert_eq!(again.as_ptr(), address);
        assert_eq!(again, [8; 120]);
    }

    #[test]
    fn idle_memory_is_bounded() {
        let mut pool = Pool::new();
        let buffers: Vec<_> = (0..40).map(|_| pool.copy_of(&vec![1; 1 << 20])).collect();
        buffers.into_iter().for_each(|buffer| pool.give_back(buffer));
        assert!(pool.idle_bytes <= IDLE_BYTES_MAX);
    }
}
