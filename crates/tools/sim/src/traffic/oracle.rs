//! Judges what happened by the rules of the standard.
//!
//! Which message a receive got follows from source, tag and order alone: of the receives that
//! report the same source and tag in a context, the n-th in posting order must hold the n-th
//! message sent (MPI-5.0, 3.5).

use super::driver::{Received, Records, Sent, content};
use super::plan::Wanted;
use crate::Rank;
use std::collections::HashMap;
use verbena_engine::{ANY_SOURCE, ANY_TAG, Failure};

/// A message and the receive that got it.
struct Matched<'a> {
    sent: &'a Sent,
    received: &'a Received,
}

/// Judges.
pub(super) fn judge(records: &Records) -> Result<(), String> {
    // A dead rank's view of its operations is of no interest.
    let dead = records.dead;
    let mut sends = records.sends.iter().filter(|sent| Some(sent.from) != dead);
    let mut receives = records.receives.iter().filter(|received| Some(received.at) != dead);
    sends.try_for_each(|sent| judge_send(sent, dead))?;
    receives.try_for_each(|received| judge_receive(received, dead))?;
    let matched = pair_up(records)?;
    matched.iter().try_for_each(judge_content)?;
    judge_message_order(&matched)?;
    judge_left_over(records, &matched)
}

fn judge_send(sent: &Sent, dead: Option<Rank>) -> Result<(), String> {
    let Some(outcome) = &sent.outcome else {
        return match sent.message.forgotten {
            true => Ok(()),
            false => Err(format!("message {} has no outcome", sent.message.id)),
        };
    };
    if Some(sent.message.to) == dead {
        return Ok(());
    }
    let expected = if outcome.cancelled { 0 } else { sent.message.bytes as u64 };
    let is_good = outcome.failure.is_none() && outcome.bytes == expected;
    if !is_good || outcome.cancelled && !sent.cancel_asked {
        return Err(format!("message {} ended with {outcome:?}", sent.message.id));
    }
    Ok(())
}

fn judge_receive(received: &Received, dead: Option<Rank>) -> Result<(), String> {
    let Some(outcome) = &received.outcome else {
        return Err(format!("the receive {:?} has no outcome", received.wanted));
    };
    if received.left_over && !outcome.cancelled {
        return Err(format!("the receive {:?} completed though nothing came", received.wanted));
    }
    if outcome.cancelled {
        return match received.cancel_asked && outcome.bytes == 0 && outcome.failure.is_none() {
            true => Ok(()),
            false => Err(format!("the receive {:?} ended with {outcome:?}", received.wanted)),
        };
    }
    if has_failed(received) && dead.map(|dead| dead as i32) != Some(outcome.source) {
        return Err(format!("the receive {:?} failed: {outcome:?}", received.wanted));
    }
    match accepts(&received.wanted, outcome.source, outcome.tag) {
        true => Ok(()),
        false => Err(format!("the receive {:?} got {outcome:?}", received.wanted)),
    }
}

/// Returns whether the channel failed, which is right only if the sender died.
fn has_failed(received: &Received) -> bool {
    let failure = received.outcome.as_ref().and_then(|outcome| outcome.failure.as_ref());
    matches!(failure, Some(Failure::Channel(..)))
}

fn accepts(wanted: &Wanted, source: i32, tag: i32) -> bool {
    (wanted.source == ANY_SOURCE || wanted.source == source) && (wanted.tag == ANY_TAG || wanted.tag == tag)
}

/// Destination, source, context and tag.
type Envelope = (u32, i32, u64, i32);

fn pair_up(records: &Records) -> Result<Vec<Matched<'_>>, String> {
    let mut receives: HashMap<Envelope, Vec<&Received>> = HashMap::new();
    for received in records.receives.iter().filter(|received| Some(received.at) != records.dead) {
        let outcome = received.outcome.as_ref().expect("judged before");
        if !outcome.cancelled {
            let envelope = (received.at, outcome.source, received.wanted.context, outcome.tag);
            receives.entry(envelope).or_default().push(received);
        }
    }
    receives.values_mut().for_each(|list| list.sort_by_key(|received| std::cmp::Reverse(received.order)));
    let mut sends: Vec<&Sent> = records.sends.iter().filter(|sent| !was_cancelled(sent)).collect();
    sends.sort_by_key(|sent| sent.order);
    let mut matched = Vec::new();
    for sent in sends {
        let message = &sent.message;
        let envelope = (message.to, sent.from as i32, message.context, message.tag);
        let Some(received) = receives.get_mut(&envelope).and_then(Vec::pop) else {
            if [Some(sent.from), Some(message.to)].contains(&records.dead) {
                continue;
            }
            return Err(format!("message {message:?} from {} was never received", sent.from));
        };
        matched.push(Matched { sent, received });
    }
    // One that waited for a rank that died got nothing.
    match receives.values().flatten().find(|received| !has_failed(received)) {
        Some(received) => Err(format!("{:?} got a message that nobody sent", received.wanted)),
        None => Ok(matched),
    }
}

fn was_cancelled(sent: &Sent) -> bool {
    sent.outcome.as_ref().is_some_and(|outcome| outcome.cancelled)
}

fn judge_content(Matched { sent, received }: &Matched) -> Result<(), String> {
    if has_failed(received) {
        return Ok(());
    }
    let (bytes, room) = (sent.message.bytes, received.wanted.room);
    let outcome = received.outcome.as_ref().expect("judged before");
    let failure = (bytes > room).then_some(Failure::Truncated { sent: bytes as u64, room: room as u64 });
    let is_right = outcome.failure == failure && outcome.bytes == bytes.min(room) as u64;
    let mut expected = content(sent.message.id, bytes);
    expected.truncate(room);
    if is_right && received.data == expected {
        return Ok(());
    }
    let wrong = received.data.iter().zip(&expected).position(|(got, wanted)| got != wanted);
    Err(format!(
        "message {:?} from {} to {:?} ended with {outcome:?}: {} bytes, first wrong one {wrong:?}",
        sent.message,
        sent.from,
        received.wanted,
        received.data.len(),
    ))
}

/// Judges overtaking: if a receive got a message though an earlier one of the same sender would
/// have matched too, then that earlier one must have gone to an earlier receive.
fn judge_message_order(matched: &[Matched]) -> Result<(), String> {
    for later in matched {
        for earlier in matched {
            let (first, second) = (&earlier.sent.message, &later.sent.message);
            let same_way = earlier.sent.from == later.sent.from
                && (first.to, first.context) == (second.to, second.context);
            let overtaken = same_way
                && earlier.sent.order < later.sent.order
                && earlier.received.order > later.received.order
                && accepts(&later.received.wanted, earlier.sent.from as i32, first.tag);
            if overtaken {
                return Err(format!("message {second:?} overtook {first:?}"));
            }
        }
    }
    Ok(())
}

/// A receive that was left over must not have been passed over in favour of a later one.
fn judge_left_over(records: &Records, matched: &[Matched]) -> Result<(), String> {
    for left in records.receives.iter().filter(|received| received.left_over) {
        let passed_over = matched.iter().find(|Matched { sent, received }| {
            (left.at, left.wanted.context) == (received.at, received.wanted.context)
                && left.order < received.order
                && !has_failed(received)
                && accepts(&left.wanted, sent.from as i32, sent.message.tag)
        });
        if let Some(Matched { sent, .. }) = passed_over {
            return Err(format!("{:?} waited, but a later receive got {:?}", left.wanted, sent.message));
        }
    }
    Ok(())
}
