//! The pieces of a long message, and the rails that move them (paper 5, 2: a large message uses
//! both adapters of a node).
//!
//! Each rail takes the next piece when it has room, so the quicker one takes more, and one that
//! stands still holds up no more than the pieces that it has. That alone would be fair only to
//! messages of many pieces. So the length of a rail's pieces follows its speed: a part of its share
//! of what is left, and shorter towards the end. And a rail that would need longer for its piece
//! than all rails together for everything leaves that to the quicker ones. Their speeds are learnt
//! (`speeds.rs`).
//!
//! A piece that failed goes to another rail, and its rail gets no more of this message. A piece
//! that is copied twice does no harm. With one rail all this comes down to one piece after the
//! other.

use super::speeds::{Load, Speeds};
use super::{Piece, TRANSFERS_MAX};
use std::sync::Arc;
use verbena_channel::Key;

/// Pieces of a message that each of several rails has: one that moves, and the next.
const AHEAD: u32 = 2;
/// A piece is one in this many of a rail's share of what is left.
const PIECES_OF_SHARE: u64 = 4;
/// The longest piece on one of several rails.
const PIECE_BYTES_MAX: u64 = 8 << 20;

/// A rail of one message.
#[derive(Clone, Copy, Debug)]
struct Rail {
    channel: usize,
    /// The other side's memory there.
    key: Key,
    /// Pieces that it has of this message.
    under_way: u32,
    /// True if the rail had a piece.
    took: bool,
    /// No transfer has failed there.
    is_open: bool,
}

/// The pieces of a message, or of a span of it.
#[derive(Debug)]
pub(crate) struct Stripe {
    span: Piece,
    /// The span that no rail has had.
    rest: Piece,
    /// The pieces that have failed.
    redo: Vec<Piece>,
    rails: Vec<Rail>,
    /// Bytes of a piece: at most with one rail, at least with several.
    piece_bytes: u64,
    /// The speeds, if there are several rails.
    speeds: Option<Arc<Speeds>>,
    /// A slow rail gets a piece as well.
    is_trial: bool,
}

/// The next transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Task {
    pub channel: usize,
    pub key: Key,
    pub piece: Piece,
}

impl Stripe {
    /// A stripe over one channel, in pieces of at most `piece_bytes_max`.
    pub(crate) fn alone(span: Piece, channel: usize, key: Key, piece_bytes_max: u64) -> Stripe {
        Stripe::new(span, &[(channel, key)], piece_bytes_max)
    }

    /// A stripe over several rails, in pieces of at least `bytes_min`.
    pub(crate) fn over(span: Piece, rails: &[(usize, Key)], speeds: Arc<Speeds>, bytes_min: u64) -> Stripe {
        let is_trial = speeds.begin(rails.iter().map(|(channel, _)| *channel));
        Stripe { is_trial, speeds: Some(speeds), ..Stripe::new(span, rails, bytes_min) }
    }

    fn new(span: Piece, rails: &[(usize, Key)], piece_bytes: u64) -> Stripe {
        let rail =
            |&(channel, key): &(usize, Key)| Rail { channel, key, under_way: 0, took: false, is_open: true };
        let rails = rails.iter().map(rail).collect();
        let piece_bytes = piece_bytes.max(1);
        Stripe { span, rest: span, redo: Vec::new(), rails, piece_bytes, speeds: None, is_trial: false }
    }

    /// The whole span of the stripe.
    pub(crate) fn span(&self) -> Piece {
        self.span
    }

    /// Returns whether something is left that a rail can move. After all rails have failed there is
    /// nothing.
    pub(crate) fn is_open(&self) -> bool {
        self.left() > 0 && self.rails.iter().any(|rail| rail.is_open)
    }

    /// Returns whether there is a piece to be moved now.
    pub(crate) fn has_room(&self) -> bool {
        self.choose().is_some()
    }

    /// The span that is not in place, once nothing is under way.
    pub(crate) fn missing(&self) -> Option<Piece> {
        let rest = Some(self.rest).filter(|rest| rest.len > 0);
        self.redo.iter().copied().chain(rest).reduce(Piece::union)
    }

    /// Gives the next piece to a rail, if one has room.
    pub(crate) fn take(&mut self) -> Option<Task> {
        let (at, bytes) = self.choose()?;
        let from = self.redo.last_mut().unwrap_or(&mut self.rest);
        let piece = Piece { offset: from.offset, len: bytes.min(from.len) };
        *from = Piece { offset: piece.end(), len: from.len - piece.len };
        self.redo.pop_if(|piece| piece.len == 0);
        let rail = &mut self.rails[at];
        (rail.under_way, rail.took) = (rail.under_way + 1, true);
        if let Some(speeds) = &self.speeds {
            speeds.took(rail.channel, piece.len);
        }
        Some(Task { channel: rail.channel, key: rail.key, piece })
    }

    /// A piece was moved by this channel, or could not be.
    pub(crate) fn ended(&mut self, channel: usize, piece: Piece, in_place: bool) {
        let Some(rail) = self.rails.iter_mut().find(|rail| rail.channel == channel) else { return };
        rail.under_way -= 1;
        if !in_place {
            rail.is_open = false;
            self.redo.push(piece);
        }
        if let Some(speeds) = &self.speeds {
            speeds.ended(channel, piece.len, in_place, self.left() > 0);
        }
    }

    /// Bytes that no rail has.
    fn left(&self) -> u64 {
        self.rest.len + self.redo.iter().map(|piece| piece.len).sum::<u64>()
    }

    /// The rail that gets the next piece, and how long that may be.
    fn choose(&self) -> Option<(usize, u64)> {
        match (&self.speeds, &self.rails[..]) {
            _ if self.left() == 0 => None,
            (Some(speeds), rails) => self.choose_of(rails.iter().map(|rail| speeds.load(rail.channel))),
            (None, [rail]) => {
                (rail.is_open && rail.under_way < TRANSFERS_MAX).then_some((0, self.piece_bytes))
            }
            (None, _) => unreachable!("several rails have speeds"),
        }
    }

    /// Chooses among several rails, given the load of each from all messages: the one that would be
    /// the first to end its piece.
    fn choose_of(&self, loads: impl Iterator<Item = Load>) -> Option<(usize, u64)> {
        let rails: Vec<(usize, &Rail, Load)> = (0..)
            .zip(&self.rails)
            .zip(loads)
            .map(|((at, rail), load)| (at, rail, load))
            .filter(|(_, rail, _)| rail.is_open)
            .collect();
        let left = self.left();
        let shares: u64 = rails.iter().map(|(_, _, load)| load.share).sum();
        let quickest = rails.iter().max_by_key(|(at, _, load)| (load.share, std::cmp::Reverse(*at)))?.0;
        let all = u128::from(left) + rails.iter().map(|(_, _, load)| u128::from(load.bytes)).sum::<u128>();
        let piece = |load: &Load| {
            let part = u128::from(left) * u128::from(load.share) / u128::from(shares * PIECES_OF_SHARE);
            (part as u64).min(PIECE_BYTES_MAX).max(self.piece_bytes).min(left)
        };
        // In the time that all rails together need for a byte.
        let end =
            |load: &Load| u128::from(load.bytes + piece(load)) * u128::from(shares) / u128::from(load.share);
        let may = |(at, rail, load): &&(usize, &Rail, Load)| {
            let is_tried = self.is_trial && !rail.took;
            rail.under_way < AHEAD && (*at == quickest || is_tried || 4 * end(load) <= 5 * all)
        };
        let (at, _, load) = rails.iter().filter(may).min_by_key(|(_, _, load)| end(load))?;
        Some((*at, piece(load)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: Key = Key([0; 32]);

    fn span(len: u64) -> Piece {
        Piece { offset: 100, len }
    }

    #[test]
    fn one_rail_takes_one_piece_after_the_other() {
        let mut stripe = Stripe::alone(span(25), 3, KEY, 10);
        let taken: Vec<Task> = std::iter::from_fn(|| stripe.take()).collect();
        let pieces: Vec<(u64, u64)> = taken.iter().map(|task| (task.piece.offset, task.piece.len)).collect();
        assert_eq!(pieces, [(100, 10), (110, 10), (120, 5)]);
        taken.iter().for_each(|task| stripe.ended(3, task.piece, true));
        assert_eq!((stripe.is_open(), stripe.missing()), (false, None));
    }

    #[test]
    fn after_a_failure_all_that_is_not_in_place_is_missing() {
        let mut stripe = Stripe::alone(span(60), 0, KEY, 10);
        let taken: Vec<Task> = std::iter::from_fn(|| stripe.take()).collect();
        assert_eq!(taken.len(), TRANSFERS_MAX as usize);
        stripe.ended(0, taken[1].piece, false);
        assert_eq!((stripe.is_open(), stripe.take()), (false, None));
        assert_eq!(stripe.missing(), Some(Piece { offset: 110, len: 50 }));
        stripe.ended(0, taken[0].piece, false);
        assert_eq!(stripe.missing(), Some(stripe.span()));
    }

    /// Moves a message over rails that move `rates` bytes in a tick; returns the ticks and what
    /// each rail moved.
    fn run(bytes: u64, rates: &[u64], speeds: &Arc<Speeds>) -> (u64, Vec<u64>) {
        let rails: Vec<(usize, Key)> = (0..rates.len()).map(|channel| (channel, KEY)).collect();
        let mut stripe = Stripe::over(span(bytes), &rails, speeds.clone(), 32 << 10);
        let mut queues: Vec<std::collections::VecDeque<(Piece, u64)>> = vec![Default::default(); rates.len()];
        let (mut ticks, mut moved) = (0, vec![0; rates.len()]);
        while stripe.is_open() || queues.iter().any(|queue| !queue.is_empty()) {
            while let Some(task) = stripe.take() {
                queues[task.channel].push_back((task.piece, task.piece.len));
            }
            for (channel, queue) in queues.iter_mut().enumerate() {
                let mut room = rates[channel];
                while let Some((piece, left)) = queue.front_mut().filter(|_| room > 0) {
                    let step = room.min(*left);
                    (*left, room) = (*left - step, room - step);
                    if *left == 0 {
                        moved[channel] += piece.len;
                        stripe.ended(channel, *piece, true);
                        queue.pop_front();
                    }
                }
            }
            ticks += 1;
        }
        assert_eq!((moved.iter().sum::<u64>(), stripe.missing()), (bytes, None));
        (ticks, moved)
    }

    /// The ticks of a message once the speeds are known, as a multiple of the best possible.
    fn settled(bytes: u64, rates: &[u64]) -> f64 {
        let speeds = Arc::<Speeds>::default();
        (0..60).for_each(|_| _ = run(bytes, rates, &speeds));
        let ticks: u64 = (0..3).map(|_| run(bytes, rates, &speeds).0).sum();
        ticks as f64 / 3.0 / (bytes as f64 / rates.iter().sum::<u64>() as f64)
    }

    #[test]
    fn rails_end_together_whatever_their_speeds() {
        for rates in [&[1000, 1000][..], &[1000, 500], &[250, 1000], &[1000, 1000, 100], &[700, 20]] {
            let first = run(4 << 20, rates, &Arc::default()).0 as f64;
            let best = (4 << 20) as f64 / rates.iter().sum::<u64>() as f64;
            let later = settled(4 << 20, rates);
            assert!(later < 1.15, "{rates:?}: {later:.3} times the best");
            // Before anything is known, the slowest rail has a twelfth or an eighth of the message
            // twice.
            let first_max = if rates.iter().any(|rate| *rate <= 100) { 12.0 } else { 1.5 };
            assert!(first < first_max * best, "{rates:?}: {:.3} times the best at first", first / best);
        }
        for rates in [&[1000, 1000][..], &[1000, 500], &[1000, 250]] {
            let later = settled(150 << 10, rates);
            assert!(later < 1.4, "150 KiB over {rates:?}: {later:.3} times the best");
        }
    }

    #[test]
    fn a_slow_rail_holds_up_no_short_message() {
        let speeds = Arc::<Speeds>::default();
        (0..100).for_each(|_| _ = run(4 << 20, &[1000, 10], &speeds));
        let (ticks, moved) = run(150 << 10, &[1000, 10], &speeds);
        assert_eq!(moved[1], 0);
        assert!(ticks <= 156, "{ticks}");
        // It becomes quick, and that is noticed.
        (0..2000).for_each(|_| _ = run(150 << 10, &[1000, 1000], &speeds));
        assert!(run(150 << 10, &[1000, 1000], &speeds).0 < 110);
    }

    #[test]
    fn a_rail_that_fails_leaves_its_pieces_to_the_others() {
        let mut stripe = Stripe::over(span(1 << 20), &[(0, KEY), (1, KEY)], Arc::default(), 32 << 10);
        let mut moved = 0;
        let mut rounds = 0;
        while stripe.is_open() {
            let taken: Vec<Task> = std::iter::from_fn(|| stripe.take()).collect();
            for task in taken {
                let in_place = task.channel == 0 || rounds == 0;
                moved += if in_place { task.piece.len } else { 0 };
                stripe.ended(task.channel, task.piece, in_place);
            }
            rounds += 1;
        }
        assert_eq!((moved, stripe.missing()), (1 << 20, None));
    }

    #[test]
    fn when_all_rails_have_failed_the_rest_is_missing() {
        let mut stripe = Stripe::over(span(1 << 20), &[(0, KEY), (1, KEY)], Arc::default(), 32 << 10);
        let taken: Vec<Task> = std::iter::from_fn(|| stripe.take()).collect();
        taken.iter().for_each(|task| stripe.ended(task.channel, task.piece, false));
        assert_eq!((stripe.is_open(), stripe.has_room()), (false, false));
        assert_eq!(stripe.missing(), Some(stripe.span()));
    }
}
