//! Fragments of groups on their way to a peer: from when they are handed over to when their group
//! is acknowledged.

use super::rtt::Rtt;
use super::window::Window;
use super::{Ack, NEVER, Rules, distance};
use std::collections::VecDeque;

/// A fragment, as the caller hands it over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The caller's buffer that holds it.
    pub buffer: u32,
    /// The fragment's bytes.
    pub bytes: u16,
    /// The fragment's place in its group, from 0.
    pub index: u8,
    /// The number of fragments in the group.
    pub count: u8,
}

/// The progress of a fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The fragment is not sent yet.
    Waiting,
    /// The fragment was sent, and not heard of since.
    Flying,
    /// The fragment is to be sent again.
    Lost,
    /// The fragment is acknowledged.
    There,
}

#[derive(Clone, Copy, Debug)]
struct Flight {
    piece: Piece,
    state: State,
    /// The number of transmissions, up to a few.
    tries: u8,
    /// The number of the last transmission.
    transmission: u32,
    sent_ns: u64,
}

/// A transmission to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shot {
    /// The fragment.
    pub piece: Piece,
    /// The fragment's number.
    pub number: u32,
    /// True if it is the first of this fragment.
    pub first: bool,
    /// True if nothing more may follow until something is acknowledged.
    pub last: bool,
}

/// The outcome of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The wait is not over yet, or there is nothing to wait for.
    Wait,
    /// The fragments that were under way are to be sent again, beginning with the oldest.
    Again,
    /// The peer has not answered for too long.
    GiveUp,
}

/// The sending side of a pair.
#[derive(Debug)]
pub struct Outgoing {
    flights: VecDeque<Flight>,
    /// The number of the first of these.
    base: u32,
    waiting: u32,
    flying: u32,
    lost: u32,
    /// The number of transmissions so far.
    transmissions: u32,
    /// The last transmission known to be acknowledged.
    heard_of: u32,
    window: Window,
    rtt: Rtt,
    /// The time when the wait for an acknowledgement ends.
    due_ns: u64,
    /// The waits without result since something was acknowledged.
    in_vain: u32,
    /// The waits without result, and the time of the first transmission, since anything came from
    /// the peer.
    unheard: u32,
    silent_since_ns: u64,
}

impl Outgoing {
    /// Begins with nothing sent.
    pub fn new(rules: &Rules) -> Outgoing {
        Outgoing {
            flights: VecDeque::new(),
            base: 0,
            waiting: 0,
            flying: 0,
            lost: 0,
            transmissions: 0,
            heard_of: 0,
            window: Window::new(rules),
            rtt: Rtt::default(),
            due_ns: NEVER,
            in_vain: 0,
            unheard: 0,
            silent_since_ns: NEVER,
        }
    }

    /// Begins as if `number` fragments had gone before.
    #[cfg(test)]
    pub fn starting_at(rules: &Rules, number: u32) -> Outgoing {
        Outgoing { base: number, ..Outgoing::new(rules) }
    }

    /// Returns whether another group may be handed over: none waits for its first transmission, and
    /// one fragment of it could go now.
    #[inline]
    pub fn takes_group(&self) -> bool {
        self.waiting == 0 && self.lost == 0 && self.flying < self.window.size() && self.spans_less(1)
    }

    /// Returns the number of a group of one fragment that may be handed over, and whether nothing
    /// more may follow it until something is acknowledged.
    #[inline]
    pub fn room_for_one(&self) -> Option<(u32, bool)> {
        let number = self.base.wrapping_add(self.flights.len() as u32);
        self.takes_group().then(|| (number, self.flying + 1 == self.window.size()))
    }

    /// Returns whether `more` further fragments leave room in the receiver's bitmap.
    fn spans_less(&self, more: usize) -> bool {
        self.flights.len() + more <= super::SPAN as usize
    }

    /// Takes a fragment over. All of a group are handed over in order, with nothing between.
    pub fn push(&mut self, piece: Piece) {
        self.flights.push_back(Flight {
            piece,
            state: State::Waiting,
            tries: 0,
            transmission: 0,
            sent_ns: 0,
        });
        self.waiting += 1;
    }

    /// Returns whether a transmission is due, whatever the window says.
    #[inline]
    pub fn is_due(&self) -> bool {
        self.waiting + self.lost > 0
    }

    /// Returns the transmission after `ahead` others that were not reported yet, if one is due and
    /// the window allows it. To be made in that order, then reported by [`Outgoing::sent`].
    #[inline]
    pub fn next(&self, ahead: u32) -> Option<Shot> {
        if self.waiting + self.lost <= ahead { None } else { self.look_for(ahead) }
    }

    fn look_for(&self, ahead: u32) -> Option<Shot> {
        if self.flying + ahead >= self.window.size() {
            return None;
        }
        // What waits has never been sent and stands behind everything else; what is lost goes
        // first.
        let at = match self.lost {
            0 if ahead < self.waiting => self.flights.len() - (self.waiting - ahead) as usize,
            // One by one: each is looked for.
            lost if lost > 0 && ahead == 0 => {
                self.flights.iter().position(|flight| flight.state == State::Lost).expect("counted")
            }
            _ => return None,
        };
        // The receiver keeps no fragment that is too far ahead of one that it lacks.
        (at < super::SPAN as usize).then(|| Shot {
            piece: self.flights[at].piece,
            number: self.base.wrapping_add(at as u32),
            first: self.flights[at].tries == 0,
            last: self.flying + ahead + 1 == self.window.size(),
        })
    }

    /// Notes that the transmission was made.
    pub fn sent(&mut self, rules: &Rules, number: u32, now_ns: u64) {
        let at = distance(self.base, number) as usize;
        self.transmissions = self.transmissions.wrapping_add(1);
        let flight = &mut self.flights[at];
        match flight.state {
            State::Waiting => self.waiting -= 1,
            State::Lost => self.lost -= 1,
            State::Flying | State::There => unreachable!("only what is due is sent"),
        }
        flight.state = State::Flying;
        flight.tries = flight.tries.saturating_add(1);
        flight.transmission = self.transmissions;
        flight.sent_ns = now_ns;
        self.flying += 1;
        self.due_ns = match self.due_ns {
            NEVER => now_ns + self.rtt.wait_ns(rules, self.in_vain, self.flying),
            due_ns => (due_ns + self.rtt.least_ns()).min(now_ns + rules.resend_ns_max),
        };
        if self.silent_since_ns == NEVER {
            self.silent_since_ns = now_ns;
        }
    }

    /// Notes that something came from the peer: it is there.
    #[inline]
    pub fn heard(&mut self, now_ns: u64) {
        self.unheard = 0;
        if self.silent_since_ns != NEVER {
            self.silent_since_ns = now_ns;
        }
    }

    /// Takes in an acknowledgement. The buffers of groups that are wholly acknowledged, with all
    /// before them, go to `free`. Returns whether it said anything new.
    pub fn acknowledged(&mut self, rules: &Rules, ack: &Ack, now_ns: u64, free: &mut Vec<u32>) -> bool {
        let upto = distance(self.base, ack.next);
        let sent = self.flights.len() as i32 - self.waiting as i32;
        // Ignores what no honest receiver says, and acknowledgements too old for their bits to
        // speak of anything that is here.
        if upto > sent || upto <= -(super::SPAN as i32) || (upto <= 0 && ack.is_plain()) {
            return false;
        }
        let limited = self.flying >= self.window.size() || self.waiting > 0;
        let mut sample = None;
        let mut count = 0;
        for at in 0..sent as usize {
            let behind = at as i32 - upto;
            if behind < 0 || ack.has(behind as u32) {
                count += self.there(at, now_ns, &mut sample);
            } else if behind >= super::SPAN as i32 || ack.is_plain() {
                break;
            }
        }
        if let Some((_, sent_ns)) = sample {
            self.rtt.sample(now_ns.saturating_sub(sent_ns).saturating_sub(ack.delay_ns));
        }
        if count > 0 {
            self.progressed(rules, count, limited, now_ns);
        }
        if self.flying > 0 {
            self.judge(rules);
        }
        self.retire(free);
        count > 0
    }

    /// Notes that the fragment has arrived; returns how many are so newly.
    fn there(&mut self, at: usize, now_ns: u64, sample: &mut Option<(u32, u64)>) -> u32 {
        let flight = &mut self.flights[at];
        match flight.state {
            State::Flying => self.flying -= 1,
            State::Lost => self.lost -= 1,
            State::Waiting | State::There => return 0,
        }
        flight.state = State::There;
        let Flight { transmission, sent_ns, tries, .. } = *flight;
        // Of several transmissions it is the last that arrived, unless that was too short a time
        // ago.
        let surely = tries == 1 || now_ns.saturating_sub(sent_ns) >= self.rtt.least_ns();
        if surely && distance(self.heard_of, transmission) > 0 {
            self.heard_of = transmission;
        }
        if tries == 1 && sample.is_none_or(|(newest, _)| distance(newest, transmission) > 0) {
            *sample = Some((transmission, sent_ns));
        }
        1
    }

    fn progressed(&mut self, rules: &Rules, count: u32, limited: bool, now_ns: u64) {
        self.in_vain = 0;
        if limited {
            self.window.acknowledged(rules, count);
        }
        self.due_ns = match self.flying + self.lost {
            0 => NEVER,
            _ => now_ns + self.rtt.wait_ns(rules, 0, self.flying),
        };
        if self.flying + self.lost == 0 {
            self.silent_since_ns = NEVER;
        }
    }

    /// Marks as lost what was sent well before something that has arrived, and has not arrived
    /// itself.
    fn judge(&mut self, rules: &Rules) {
        let next = self.base.wrapping_add(self.flights.len() as u32 - self.waiting);
        for at in 0..self.flights.len() - self.waiting as usize {
            let flight = &mut self.flights[at];
            if flight.state != State::Flying {
                continue;
            }
            if distance(flight.transmission, self.heard_of) >= rules.swapped_max as i32 {
                flight.state = State::Lost;
                self.flying -= 1;
                self.lost += 1;
                self.window.lost(rules, self.base.wrapping_add(at as u32), next);
            } else if flight.tries == 1 {
                // All behind it were sent later, or again, which the next acknowledgement shows.
                break;
            }
        }
    }

    /// Lets go of whole groups at the front.
    fn retire(&mut self, free: &mut Vec<u32>) {
        while let Some(first) = self.flights.front() {
            let count = usize::from(first.piece.count);
            let is_there = |flight: &Flight| flight.state == State::There;
            let whole = is_there(first)
                && (count == 1
                    || self.flights.len() >= count && self.flights.iter().take(count).all(is_there));
            if !whole {
                return;
            }
            for _ in 0..count {
                free.extend(self.flights.pop_front().map(|flight| flight.piece.buffer));
            }
            self.base = self.base.wrapping_add(count as u32);
        }
    }

    /// Returns when the wait for an acknowledgement ends; [`NEVER`] if nothing is under way.
    #[inline]
    pub fn due_ns(&self) -> u64 {
        self.due_ns
    }

    /// Takes in that time has passed; returns what follows. `spare` if another channel reaches the
    /// peer.
    pub fn timed_out(&mut self, rules: &Rules, spare: bool, now_ns: u64) -> Verdict {
        if now_ns < self.due_ns {
            return Verdict::Wait;
        }
        let silent_ns = now_ns.saturating_sub(self.silent_since_ns);
        let is_silent = self.unheard >= rules.silent_waits_min && silent_ns >= rules.silent_ns_max;
        if is_silent || spare && self.unheard >= rules.resends_max {
            return Verdict::GiveUp;
        }
        self.in_vain += 1;
        self.unheard += 1;
        for flight in self.flights.iter_mut().filter(|flight| flight.state == State::Flying) {
            flight.state = State::Lost;
        }
        self.lost += std::mem::take(&mut self.flying);
        let next = self.base.wrapping_add(self.flights.len() as u32 - self.waiting);
        self.window.timed_out(rules, next);
        self.due_ns = now_ns + self.rtt.wait_ns(rules, self.in_vain, 0);
        Verdict::Again
    }

    /// Returns whether everything handed over is acknowledged.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.flights.is_empty()
    }

    /// Returns how many waits for an acknowledgement ended without result since anything came from
    /// the peer.
    pub fn unheard(&self) -> u32 {
        self.unheard
    }

    /// Returns how long to wait for an acknowledgement, the first time.
    pub fn wait_ns(&self, rules: &Rules) -> u64 {
        self.rtt.wait_ns(rules, 0, self.flying)
    }

    /// Returns how long an acknowledgement of this side waits for something to ride on.
    pub fn ack_delay_ns(&self, rules: &Rules) -> u64 {
        self.rtt.ack_delay_ns(rules)
    }

    /// Returns the smoothed round trip in nanoseconds; 0 before the first is measured.
    pub fn round_trip_ns(&self) -> u64 {
        self.rtt.smoothed_ns()
    }

    /// Returns how many fragments may be under way now.
    pub fn window(&self) -> u32 {
        self.window.size()
    }

    /// Returns everything whose arrival is not known, group by group in order, with the buffers to
    /// be freed.
    pub fn give_up(&mut self) -> Vec<Piece> {
        self.due_ns = NEVER;
        self.silent_since_ns = NEVER;
        (self.waiting, self.flying, self.lost) = (0, 0, 0);
        self.base = self.base.wrapping_add(self.flights.len() as u32);
        self.flights.drain(..).map(|flight| flight.piece).collect()
    }
}
