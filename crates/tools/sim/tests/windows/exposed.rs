//! The memory that a simulated rank exposes, and what is done to it: slowly, by the definition.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use verbena_memory::{Owned, Region};
use verbena_mpi::datatype::Element;
use verbena_mpi::generated::constants::MPI_ERR_RMA_RANGE;
use verbena_mpi::op::Builtin;
use verbena_mpi::window::lock;
use verbena_mpi::window::service::shows::Whole;
use verbena_mpi::window::service::{Exposed, Place, Touch};
use verbena_mpi::{Datatype, Error, Op, Result};

/// Bytes of a unit of displacement.
pub(crate) const UNIT: i64 = 4;

/// A rank's window.
pub(crate) struct Memory {
    bytes: Owned,
    lock: Owned,
    /// The claims of members that take the lock by themselves.
    claims: BTreeMap<i32, lock::Claim>,
    /// The tickets that the service said to have.
    served: AtomicUsize,
    /// The members that have died before others, and how.
    dead: Mutex<Vec<(i32, lock::Claim)>>,
}

impl Memory {
    pub(crate) fn new(bytes: usize) -> Memory {
        Memory {
            bytes: Owned::zeroed(bytes),
            lock: Owned::zeroed(8),
            claims: BTreeMap::new(),
            served: AtomicUsize::new(0),
            dead: Mutex::default(),
        }
    }

    /// Notes the claim of a member that takes the lock by itself.
    pub(crate) fn claim(&mut self, member: i32, claim: lock::Claim) {
        self.claims.insert(member, claim);
    }

    /// The number of tickets that the service says to have.
    pub(crate) fn served(&self) -> usize {
        self.served.load(Relaxed)
    }

    /// The members of whom the service says that they have died before others, once each.
    pub(crate) fn dead(&self) -> Vec<(i32, lock::Claim)> {
        self.dead.lock().expect("nothing panics meanwhile").clone()
    }

    pub(crate) fn bytes(&self) -> Region {
        self.bytes.lend()
    }
}

impl Exposed for Memory {
    fn place(&self, displacement: i64, elements: (usize, &Arc<Datatype>), _: Touch) -> Result<Place> {
        let (low, high) = elements.1.span(elements.0)?;
        let (low, high) = (low as i64, high as i64);
        let at = displacement.checked_mul(UNIT).filter(|at| {
            at.checked_add(low).is_some_and(|first| first >= 0)
                && at.checked_add(high).is_some_and(|end| end <= self.bytes.len() as i64)
        });
        match at {
            Some(at) => Ok(Place { region: self.bytes(), at }),
            None => Err(Error::new(MPI_ERR_RMA_RANGE, "out of range", displacement.to_string(), "a", "b")),
        }
    }

    fn accumulate(
        &self,
        place: Place,
        op: &Op,
        (count, datatype): (usize, &Arc<Datatype>),
        range: Range<usize>,
        source: Option<Region>,
        former: Option<Region>,
    ) -> Result<()> {
        for cut in [range.start, range.end] {
            assert!(is_between(datatype, cut), "an element is cut at byte {cut}");
        }
        let target = place.buffer(count, datatype).part(range.start, range.len());
        let mut bytes = vec![0; target.len()];
        target.copy_out(0, &mut bytes);
        former.into_iter().for_each(|former| former.write(0, &bytes));
        if let Some(source) = source {
            combine(
                op.builtin().expect("the service knows predefined operations"),
                &source.to_vec(),
                &mut bytes,
            );
            target.copy_in(0, &bytes);
        }
        Ok(())
    }

    fn compare_and_swap(
        &self,
        place: Place,
        datatype: &Arc<Datatype>,
        [new, compared]: [&[u8]; 2],
        former: &mut [u8],
    ) -> Result<()> {
        let target = place.buffer(1, datatype);
        target.copy_out(0, former);
        if former == compared {
            target.copy_in(0, new);
        }
        Ok(())
    }

    fn lock(&self) -> Region {
        self.lock.lend()
    }

    fn check_lock(&self) -> Result<()> {
        Ok(())
    }

    fn note_served(&self, tickets: usize) {
        self.served.store(tickets, Relaxed);
    }

    fn claim_of(&self, member: i32) -> Option<lock::Claim> {
        self.claims.get(&member).copied()
    }

    fn note_dead(&self, member: i32, claim: lock::Claim) {
        let mut dead = self.dead.lock().expect("nothing panics meanwhile");
        if !dead.contains(&(member, claim)) {
            dead.push((member, claim));
        }
    }

    fn wake_waiting(&self, _: lock::Ticket) {}

    fn whole(&self) -> Option<Whole> {
        let region = self.bytes();
        Some(Whole { region, base: region.address(), unit: UNIT })
    }
}

/// Returns whether an element that changes at once begins or ends at this packed byte.
fn is_between(datatype: &Datatype, cut: usize) -> bool {
    match datatype.element() {
        Some(Element::Pair(pair)) => cut.is_multiple_of(pair.value.size() + pair.index.size()),
        _ => datatype.elements_in(cut as u64).is_some(),
    }
}

/// Combines words of 8 bytes, or replaces anything.
pub(crate) fn combine(op: Builtin, source: &[u8], target: &mut [u8]) {
    match op {
        Builtin::Replace => return target.copy_from_slice(source),
        Builtin::NoOp => return,
        _ => {}
    }
    let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    for (new, old) in source.chunks(8).zip(target.chunks_mut(8)) {
        let (a, b) = (word(new), word(old));
        let result = match op {
            Builtin::Sum => b.wrapping_add(a),
            Builtin::Bxor => b ^ a,
            Builtin::Max => b.max(a),
            other => panic!("{other:?} is not among the operations of this test"),
        };
        old.copy_from_slice(&result.to_le_bytes());
    }
}
