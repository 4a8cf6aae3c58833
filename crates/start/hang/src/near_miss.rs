//! Messages that nearly fit a receive that waits.

use crate::snapshot::Message;
use crate::waits::{Scene, receives_of};

/// The part of a message that does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Differs {
    /// The tag.
    Tag,
    /// The communicator.
    Communicator,
    /// The sender.
    Sender,
}

/// A receive that waits, and a message that nearly fits it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NearMiss {
    /// The rank that receives.
    pub receiver: u32,
    /// The pattern that it waits for.
    pub wanted: Message,
    /// The message, with its sender.
    pub sent: Message,
    /// The part that does not fit.
    pub differs: Differs,
}

/// The near miss of a rank's wait, or of what it polls for, the nearest one.
pub fn of_rank(scene: &Scene<'_>, receiver: u32) -> Option<NearMiss> {
    let awaited = scene.wait(receiver).map(|wait| &wait.awaited).or_else(|| scene.polled(receiver))?;
    let mut receives = receives_of(awaited).into_iter().filter(|(wanted, _)| wanted.is_the_programs());
    receives.find_map(|(wanted, _)| {
        let sent = messages_for(scene, receiver);
        let near = sent.iter().filter_map(|sent| Some((difference(&wanted, sent)?, *sent)));
        let (differs, sent) = near.min_by_key(|(differs, _)| *differs)?;
        Some(NearMiss { receiver, wanted, sent, differs })
    })
}

/// The messages of the program that came to a rank and wait there, and those on their way to it.
fn messages_for(scene: &Scene<'_>, receiver: u32) -> Vec<Message> {
    let snapshot = scene.rank(receiver).and_then(|rank| rank.snapshot.as_ref());
    let mut found: Vec<Message> = snapshot.map_or(Vec::new(), |snapshot| snapshot.arrived.first.clone());
    found.extend(scene.sends_to(receiver).iter().filter(|send| send.process != Some(receiver)));
    found.retain(Message::is_the_programs);
    found
}

/// The one part in which a message differs from a pattern.
fn difference(wanted: &Message, sent: &Message) -> Option<Differs> {
    let tag = wanted.tag.is_some() && wanted.tag != sent.tag;
    let sender = wanted.process.is_some() && wanted.process != sent.process;
    match (tag, wanted.context != sent.context, sender) {
        (true, false, false) => Some(Differs::Tag),
        (false, true, false) => Some(Differs::Communicator),
        (false, false, true) => Some(Differs::Sender),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Cast, OTHER, WORLD, message, receive, send};

    fn of(cast: Cast) -> Option<NearMiss> {
        of_rank(&Scene::new(cast.ranks()), 0)
    }

    #[test]
    fn each_part_may_differ() {
        let waits = || Cast::new(3).waits(0, receive(1, 7));
        for (sent, differs) in [
            (message(0, 1, 8), Some(Differs::Tag)),
            (message(OTHER - WORLD, 1, 7), Some(Differs::Communicator)),
            (message(0, 2, 7), Some(Differs::Sender)),
            (message(0, 2, 8), None),
            // A message of a collective.
            (message(1, 1, 7), None),
        ] {
            assert_eq!(of(waits().arrived(0, sent)).map(|miss| miss.differs), differs, "{sent:?}");
        }
    }

    #[test]
    fn what_is_polled_for_counts_while_the_rank_does_not_wait() {
        let polls = || {
            let mut cast = Cast::new(2).arrived(0, message(0, 1, 8));
            cast.snapshot(0).polled = Some(crate::Awaited::Probe(message(0, 1, 7)));
            cast
        };
        assert_eq!(of(polls()).map(|miss| (miss.receiver, miss.differs)), Some((0, Differs::Tag)));
        assert_eq!(of(polls().waits(0, crate::testing::barrier(1))), None);
        assert_eq!(of(polls().outside(0)), None, "it has not answered");
    }

    #[test]
    fn the_nearest_counts() {
        let cast =
            Cast::new(3).waits(0, receive(1, 7)).arrived(0, message(0, 2, 7)).arrived(0, message(0, 1, 9));
        assert_eq!(of(cast).expect("a near miss").sent.tag, Some(9));
    }

    #[test]
    fn a_message_that_has_not_left_its_sender_counts() {
        let mut cast = Cast::new(2).waits(0, receive(1, 7)).waits(1, send(0, 8));
        cast.snapshot(1).sends.first.push(message(0, 0, 8));
        let miss = of(cast).expect("a near miss");
        assert_eq!((miss.sent.process, miss.sent.tag, miss.differs), (Some(1), Some(8), Differs::Tag));
    }

    #[test]
    fn a_receive_of_any_tag_misses_no_tag() {
        let mut cast = Cast::new(2).waits(0, receive(1, 7)).arrived(0, message(0, 1, 8));
        let crate::snapshot::Awaited::All(all) = &mut cast.wait(0).awaited else { unreachable!() };
        all[0] = crate::snapshot::Operation::Receive(Message { tag: None, ..message(0, 1, 0) });
        assert_eq!(of(cast), None);
    }
}
