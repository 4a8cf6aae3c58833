//! Fragments and acknowledgements of `ud`, honest and hostile.

use arbitrary::{Result, Unstructured};
use std::collections::{BTreeSet, HashSet};
use verbena_infiniband::reliable::assembly::{FRAGMENTS_MAX, Spot};
use verbena_infiniband::reliable::{Ack, Assembly, Incoming, Outgoing, Piece, Rules, SPAN, Turn, Verdict};

/// The shortest fragments are short here, so that groups of many are tried quickly.
const FRAGMENT_BYTES: usize = 24;

/// Tests groups of fragments: honest ones come out as they went in, and all others hold little
/// memory.
pub fn assembly(data: &[u8]) {
    let mut input = Unstructured::new(data);
    let _ = honest(&mut input);
    let _ = hostile(&mut input);
}

fn honest(input: &mut Unstructured<'_>) -> Result<()> {
    let count = input.int_in_range(1..=8u32)?;
    let last = input.int_in_range(0..=FRAGMENT_BYTES)?;
    let len = (count as usize - 1) * FRAGMENT_BYTES + last;
    let group: Vec<u8> = (0..len).map(|i| (i * 7) as u8).collect();
    let first = input.arbitrary()?;
    let mut left: Vec<u32> = (0..count).collect();
    let mut assembly = Assembly::default();
    while !left.is_empty() {
        let index = left.swap_remove(input.choose_index(left.len()).unwrap_or(0));
        let start = index as usize * FRAGMENT_BYTES;
        let body = &group[start..(start + FRAGMENT_BYTES).min(len)];
        let whole = assembly.put(Spot { first, index, count, fragment_bytes: FRAGMENT_BYTES }, body);
        assert_eq!(whole.as_deref(), left.is_empty().then_some(&group[..]));
    }
    assert!(assembly.is_empty());
    Ok(())
}

fn hostile(input: &mut Unstructured<'_>) -> Result<()> {
    let (mut assembly, mut seen) = (Assembly::default(), HashSet::new());
    let body = [0x5a; FRAGMENT_BYTES + 1];
    while !input.is_empty() {
        // Numbers that came before do not reach the assembly.
        let number = input.int_in_range(0..=255u32)?;
        let (index, count) =
            (input.int_in_range(0..=FRAGMENTS_MAX)?, input.int_in_range(0..=FRAGMENTS_MAX + 1)?);
        if !seen.insert(number) {
            continue;
        }
        let spot = Spot { first: number.wrapping_sub(index), index, count, fragment_bytes: FRAGMENT_BYTES };
        let len = input.int_in_range(0..=body.len())?;
        if let Some(group) = assembly.put(spot, &body[..len]) {
            assert!(group.len() <= FRAGMENTS_MAX as usize * FRAGMENT_BYTES);
        }
        assert!(assembly.bytes() <= assembly.len() * FRAGMENTS_MAX as usize * FRAGMENT_BYTES);
    }
    Ok(())
}

/// Numbers of fragments in any order, against a set of those that came.
pub fn incoming(data: &[u8]) {
    let _ = arrivals(&mut Unstructured::new(data));
}

fn arrivals(input: &mut Unstructured<'_>) -> Result<()> {
    let (mut incoming, mut there, mut now_ns, mut next) =
        (Incoming::default(), BTreeSet::<u32>::new(), 0, 0u32);
    while !input.is_empty() {
        now_ns += 1;
        let number = match input.int_in_range(0..=9)? {
            0 => input.arbitrary()?,
            1 | 2 => next,
            _ => next.wrapping_add(input.arbitrary::<u16>()? as u32 % 300).wrapping_sub(20),
        };
        let expected = match number.wrapping_sub(next) as i32 {
            behind if behind >= SPAN as i32 => Turn::Beyond,
            behind if behind < 0 || there.contains(&number) => Turn::Double,
            _ => Turn::Fresh,
        };
        assert_eq!(incoming.take(number, now_ns), expected, "fragment {number}");
        if expected == Turn::Fresh {
            there.insert(number);
        }
        let ack = incoming.ack(now_ns);
        while there.contains(&next) {
            next += 1;
        }
        assert_eq!(ack.next, next);
        assert!((0..SPAN + 64).all(|behind| ack.has(behind) == there.contains(&(next + behind))));
    }
    Ok(())
}

const RULES: Rules = Rules {
    window_start: 8,
    window_min: 1,
    window_max: 64,
    swapped_max: 3,
    ack_every: 8,
    ack_delay_ns: 1000,
    resend_ns_min: 1000,
    resend_ns_max: 1_000_000,
    resend_ns_first: 10_000,
    silent_ns_max: 10_000_000,
    silent_waits_min: 5,
    resends_max: 3,
};

/// Fragments on their way out under arbitrary acknowledgements: each buffer comes back once, and
/// only if its fragment went out.
pub fn outgoing(data: &[u8]) {
    let _ = acknowledgements(&mut Unstructured::new(data));
}

fn acknowledgements(input: &mut Unstructured<'_>) -> Result<()> {
    let rules = RULES.sound();
    let mut outgoing = Outgoing::new(&rules);
    let (mut buffers, mut freed, mut went) = (0, HashSet::new(), HashSet::new());
    let mut now_ns: u64 = 0;
    while !input.is_empty() {
        now_ns += u64::from(input.arbitrary::<u16>()?);
        match input.int_in_range(0..=6)? {
            0 | 1 if outgoing.takes_group() => push(input, &mut outgoing, &mut buffers)?,
            2 | 3 => {
                while let Some(shot) = outgoing.next(0) {
                    went.insert(shot.piece.buffer);
                    outgoing.sent(&rules, shot.number, now_ns);
                }
            }
            4 | 5 => {
                let mut free = Vec::new();
                outgoing.heard(now_ns);
                outgoing.acknowledged(&rules, &ack(input)?, now_ns, &mut free);
                for buffer in free {
                    assert!(went.contains(&buffer) && freed.insert(buffer), "buffer {buffer}");
                }
            }
            _ => {
                if outgoing.timed_out(&rules, false, now_ns) == Verdict::GiveUp {
                    let left: HashSet<u32> = outgoing.give_up().iter().map(|piece| piece.buffer).collect();
                    assert!(left.is_disjoint(&freed));
                    freed.extend(left);
                    assert_eq!(freed.len(), buffers as usize);
                }
            }
        }
        assert!(outgoing.is_idle() == (freed.len() == buffers as usize));
    }
    Ok(())
}

fn push(input: &mut Unstructured<'_>, outgoing: &mut Outgoing, buffers: &mut u32) -> Result<()> {
    let count = input.int_in_range(1..=5u8)?;
    for index in 0..count {
        outgoing.push(Piece { buffer: *buffers, bytes: 100, index, count });
        *buffers += 1;
    }
    Ok(())
}

fn ack(input: &mut Unstructured<'_>) -> Result<Ack> {
    let next = if input.ratio(1, 8)? { input.arbitrary()? } else { input.int_in_range(0..=300)? };
    let mut bits = [0; SPAN as usize / 64];
    if input.arbitrary()? {
        for word in &mut bits {
            *word = input.arbitrary()?;
        }
    }
    Ok(Ack {
        next,
        bits,
        delay_ns: if input.ratio(1, 8)? { u64::MAX } else { input.int_in_range(0..=5000)? },
    })
}
