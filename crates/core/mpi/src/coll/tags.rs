//! The tags of the messages of collectives, by which those of one never match those of another.
//! Blocking ones have the even tags below 2^30, others the odd ones.

/// The first tag of exchanges that follow the first one of their call: above those of collectives.
const STEPS: i32 = 1 << 30;
/// The bits of the number of an exchange in its call, and those of the call's number.
const STEP_BITS: i32 = 6;
const CALL_BITS: i32 = 20;

/// The tag of the messages of a blocking collective, by its number: blocking ones have the even
/// tags.
pub(crate) fn tag_of_blocking(number: u64) -> i32 {
    (number.wrapping_sub(1) as i32 & ((1 << 29) - 1)) * 2
}

/// The tag of an exchange of a blocking call that makes several: `first` is that of the first one.
/// A call has fewer than 64, and of so many calls that a number comes again none is under way.
pub(crate) fn tag_of_step(first: i32, step: u32) -> i32 {
    let step = step as i32 & ((1 << STEP_BITS) - 1);
    let call = (first / 2) & ((1 << CALL_BITS) - 1);
    if step == 0 { first } else { STEPS + ((call << STEP_BITS | step) << 1) }
}

/// The number of a collective by the tag of its messages, from 1 on.
pub(crate) fn number_of(tag: i32) -> u32 {
    let number = if tag < STEPS { tag / 2 } else { (tag - STEPS) >> (STEP_BITS + 1) };
    number as u32 + 1
}

/// Names a collective by its number, as a person reads it.
pub(crate) fn numbered(tag: i32) -> String {
    let sort = if tag & 1 == 0 { "blocking" } else { "nonblocking or persistent" };
    format!("{sort} collective number {} of the communicator", number_of(tag))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn exchanges_of_a_call_have_tags_of_their_own_and_its_number() {
        let mut seen = BTreeSet::new();
        for number in 1..200 {
            let first = tag_of_blocking(number);
            for step in 0..64 {
                let tag = tag_of_step(first, step);
                assert!(tag % 2 == 0 && tag != STEPS && seen.insert(tag), "{number} {step}");
                assert_eq!(u64::from(number_of(tag)), number);
            }
        }
        // The highest number, and one that is shown as a lower one.
        let last = tag_of_blocking(1 << 29);
        assert_eq!((tag_of_step(last, 0), number_of(last)), (last, 1 << 29));
        assert!(tag_of_step(last, 63) > STEPS && number_of(tag_of_step(last, 63)) == 1 << CALL_BITS);
    }
}
