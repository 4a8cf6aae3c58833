//! The sizes at which designs are compared, alike in all tables.

/// A window for long messages.
pub(super) const WINDOW_LONG: usize = 16;
/// Lengths of long messages in bytes.
pub(super) const LONG: [usize; 9] =
    [4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20];
/// Lengths of chunks in bytes (paper 2, figure 9).
pub(super) const CHUNKS: [usize; 6] = [1 << 10, 2 << 10, 4 << 10, 8 << 10, 16 << 10, 32 << 10];
