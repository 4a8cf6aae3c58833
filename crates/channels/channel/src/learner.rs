//! The way of a message among several, learnt from what messages took (paper 2, 6 and figure 15:
//! the quicker way depends on the device and on the length).
//!
//! Messages of about the same length (between two powers of two) form a class. Of each class a few
//! go each way at first, in short series that take turns; a way that takes far longer than the best
//! gets fewer. Then all go the way that took least, and now and then a series goes another way,
//! so that a change is noticed. If the kept way becomes dear, the others are tried before their
//! time. The time of a message is counted from when its receiver decides until all is in place,
//! with all that its way needs: handshake, report, and whatever the sender does meanwhile.
//!
//! Several messages are under way at once, and each then takes longer, whatever its way. So elapsed
//! time is shared out among those under way, by their lengths. The sum is the time in which
//! anything was under way, and a way that moves more bytes a second comes out as the cheaper one.
//! Times are scaled to the shortest length of the class, so that it does not matter which lengths a
//! program happens to send while a way is tried.
//!
//! One stall must not decide for long: the cost of a way is the median of its last three series.
//! Trials must not cost much: a series that turns out far dearer than the best way ends early, and
//! a way that is known to take many times as long is tried with one message, as many times more
//! rarely.
//!
//! The clock is the caller's.

mod class;
mod recent;
#[cfg(test)]
mod tests;

pub use class::Knowledge;
pub use recent::{REMEMBERED, Recent};

use class::{Class, Crowd};

/// The number of classes: the last one holds all that is longer.
const CLASSES: usize = 24;
/// Messages shorter than two to this power are in the first class.
const SHORTEST_LOG: u32 = 10;

/// The knowledge of all classes, with this many ways.
#[derive(Debug)]
pub struct Learner<const WAYS: usize> {
    /// The classes that were met, and all shorter ones.
    classes: Vec<Class<WAYS>>,
    /// Bytes under way.
    under_way: u64,
    /// The time when that last changed.
    changed_ns: u64,
    /// Tells if several were under way at once since none was.
    crowd: Crowd,
}

/// Returns the class of messages of this length.
pub fn class_of(bytes: u64) -> usize {
    (bytes.max(1).ilog2().saturating_sub(SHORTEST_LOG) as usize).min(CLASSES - 1)
}

/// The choice for one message, which its [`Learner`] is given back at its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Learned {
    /// The way, by its number.
    pub way: u8,
    /// The length of the message.
    pub bytes: u64,
}

impl Learned {
    fn class(&self) -> usize {
        class_of(self.bytes)
    }
}

impl<const WAYS: usize> Default for Learner<WAYS> {
    fn default() -> Learner<WAYS> {
        Learner::new()
    }
}

impl<const WAYS: usize> Learner<WAYS> {
    /// Makes one that knows nothing.
    pub fn new() -> Learner<WAYS> {
        Learner { classes: Vec::new(), under_way: 0, changed_ns: 0, crowd: Crowd::Alone }
    }

    /// Chooses the way of a message of `bytes` bytes, which is under way from now on
    /// (nanoseconds). `estimate` is the way that counts until more is known.
    pub fn choose(&mut self, bytes: u64, estimate: usize, now_ns: u64) -> Learned {
        let crowd = self.crowd_of_next();
        let way = self.class(bytes).next(estimate, crowd, now_ns);
        self.follow(bytes, way, now_ns)
    }

    /// Notes that a message of `bytes` bytes is under way from now on, for which another process
    /// chose the way.
    pub fn follow(&mut self, bytes: u64, way: usize, now_ns: u64) -> Learned {
        self.pass(now_ns);
        self.crowd = self.crowd_of_next();
        let learned = Learned { way: way as u8, bytes: bytes.max(1) };
        let state = &mut self.class(bytes).ways[way];
        state.under_way += 1;
        state.bytes_under_way += learned.bytes;
        self.under_way += learned.bytes;
        learned
    }

    /// Notes that a message that was chosen just now goes another way than that.
    pub fn divert(&mut self, learned: Learned, way: usize, now_ns: u64) -> Learned {
        let state = &mut self.class(learned.bytes).ways[usize::from(learned.way)];
        state.under_way -= 1;
        state.bytes_under_way -= learned.bytes;
        self.under_way -= learned.bytes;
        self.follow(learned.bytes, way, now_ns)
    }

    /// Notes that this message has ended; nothing if none like it is under way.
    pub fn end(&mut self, learned: Learned, now_ns: u64) {
        self.pass(now_ns);
        let (Learned { way, bytes }, number) = (learned, learned.class());
        let Some(class) = self.classes.get_mut(number) else { return };
        if class.ways.get(usize::from(way)).is_some_and(|way| way.bytes_under_way >= bytes) {
            class.end(way.into(), bytes, self.crowd);
            self.under_way -= bytes;
        }
    }

    /// Returns whether messages of this length clearly take far longer by this way than by another
    /// one.
    pub fn is_dear(&self, bytes: u64, way: usize) -> bool {
        self.classes.get(class_of(bytes)).is_some_and(|class| class.is_dear(way))
    }

    /// Returns what is known about messages of about this length, once there is a way that most of
    /// them go.
    pub fn knowledge(&self, bytes: u64) -> Option<Knowledge<WAYS>> {
        self.classes.get(class_of(bytes))?.knowledge()
    }

    /// Takes over what another learner knows about messages of about this length, unless enough of
    /// them were met here.
    pub fn adopt(&mut self, bytes: u64, known: &Knowledge<WAYS>, now_ns: u64) {
        self.class(bytes).adopt(known, now_ns);
    }

    /// The classes in which there is a way that most messages go: the length in bytes from which
    /// each begins, and what is known.
    pub fn known(&self) -> impl Iterator<Item = (u64, Knowledge<WAYS>)> {
        let numbered = self.classes.iter().enumerate();
        numbered.filter_map(|(number, class)| Some((nominal_bytes(number), class.knowledge()?)))
    }

    fn crowd_of_next(&self) -> Crowd {
        if self.under_way > 0 { Crowd::Others } else { Crowd::Alone }
    }

    fn class(&mut self, bytes: u64) -> &mut Class<WAYS> {
        let number = class_of(bytes);
        self.classes.extend((self.classes.len()..=number).map(|number| Class::new(nominal_bytes(number))));
        &mut self.classes[number]
    }

    /// Shares out the time since the last change.
    fn pass(&mut self, now_ns: u64) {
        let passed_ns = u128::from(now_ns.saturating_sub(self.changed_ns));
        self.changed_ns = now_ns;
        if self.under_way == 0 {
            return;
        }
        let all = u128::from(self.under_way);
        for class in &mut self.classes {
            for way in class.ways.iter_mut().filter(|way| way.under_way > 0) {
                way.spent_ns += (passed_ns * u128::from(way.bytes_under_way) / all) as u64;
            }
        }
    }
}

fn nominal_bytes(class: usize) -> u64 {
    1 << (class as u32 + SHORTEST_LOG)
}
