//! The limits and times of one end. The table of settings says what each is for.

use super::SPAN;

/// The rules of one end. Times are in nanoseconds, windows in fragments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// The window at first.
    pub window_start: u32,
    /// The smallest window after losses that later acknowledgements showed.
    pub window_min: u32,
    /// The largest window.
    pub window_max: u32,
    /// A fragment counts as lost when this many transmissions after it were acknowledged.
    pub swapped_max: u32,
    /// After this many fragments of whole groups an acknowledgement goes out at once.
    pub ack_every: u32,
    /// The time that an acknowledgement waits for something to ride on; a round trip if that is
    /// longer.
    pub ack_delay_ns: u64,
    /// The shortest wait for an acknowledgement.
    pub resend_ns_min: u64,
    /// The longest wait, however often it was without result.
    pub resend_ns_max: u64,
    /// The wait while nothing is measured.
    pub resend_ns_first: u64,
    /// A peer that another channel reaches too is given up after this many waits without result.
    pub resends_max: u32,
    /// Any other that has not answered for this long is given up,
    pub silent_ns_max: u64,
    /// but only after this many waits without result: this process may have been stopped itself.
    pub silent_waits_min: u32,
}

impl Rules {
    /// Returns the rules within the bounds that the code needs.
    pub fn sound(mut self) -> Rules {
        self.window_max = self.window_max.clamp(1, SPAN);
        self.window_min = self.window_min.clamp(1, self.window_max);
        self.window_start = self.window_start.clamp(self.window_min, self.window_max);
        self.ack_every = self.ack_every.max(1);
        self.resends_max = self.resends_max.max(1);
        self.resend_ns_min = self.resend_ns_min.max(1);
        self.resend_ns_max = self.resend_ns_max.max(self.resend_ns_min);
        self.resend_ns_first = self.resend_ns_first.clamp(self.resend_ns_min, self.resend_ns_max);
        self
    }
}
