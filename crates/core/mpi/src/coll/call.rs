//! The call that a rank makes in a collective, as a mark that travels with its messages and
//! records. A rank that receives another one's mark knows whether both made the same call
//! ([`Mark::is_unlike`]).
//!
//! | bits | meaning |
//! | --- | --- |
//! | 0 to 3 | the sort of the elements ([`elements`]); 0 for any |
//! | 4 to 8 | the [`Kind`]; from [`REDUCE_KINDS`] on `MPI_Reduce`, and bits 3 to 5 of its root |
//! | 9 to 15 | the root, as many bits as fit; for a reduction the operation in 4 bits, and bits 0 to 2 of the root |
//!
//! Lengths are not in it: each message and record has its own, which the receiver compares. Nor are
//! roots and types on intercommunicators, whose groups may differ in both.

use crate::comm::Comm;
use crate::datatype::Datatype;
use crate::datatype::predefined::{Family, Representation};
use crate::error::Error;
use crate::generated::constants as mpi;
use crate::op::Op;
use verbena_channel::board::Clash;
use verbena_channel::mark::Mark;

/// A collective, whether blocking, nonblocking or persistent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
#[allow(missing_docs)]
pub enum Kind {
    /// A call that makes a communicator, a file or the like.
    Creation = 1,
    Barrier,
    Bcast,
    Gather,
    Gatherv,
    Scatter,
    Scatterv,
    Allgather,
    Allgatherv,
    Alltoall,
    Alltoallv,
    Alltoallw,
    Allreduce,
    ReduceScatter,
    ReduceScatterBlock,
    Scan,
    Exscan,
    NeighborAllgather,
    NeighborAllgatherv,
    NeighborAlltoall,
    NeighborAlltoallv,
    NeighborAlltoallw,
    /// The meeting of all processes at the end.
    Finalize,
    Reduce = REDUCE_KINDS,
}

/// The names of all kinds in their order, from 1 on; the last one is `MPI_Reduce`.
const NAMES: [&str; 24] = [
    "a function that makes a communicator or a file",
    "MPI_Barrier",
    "MPI_Bcast",
    "MPI_Gather",
    "MPI_Gatherv",
    "MPI_Scatter",
    "MPI_Scatterv",
    "MPI_Allgather",
    "MPI_Allgatherv",
    "MPI_Alltoall",
    "MPI_Alltoallv",
    "MPI_Alltoallw",
    "MPI_Allreduce",
    "MPI_Reduce_scatter",
    "MPI_Reduce_scatter_block",
    "MPI_Scan",
    "MPI_Exscan",
    "MPI_Neighbor_allgather",
    "MPI_Neighbor_allgatherv",
    "MPI_Neighbor_alltoall",
    "MPI_Neighbor_alltoallv",
    "MPI_Neighbor_alltoallw",
    "MPI_Finalize",
    "MPI_Reduce",
];

/// The first of the eight codes for `MPI_Reduce`.
const REDUCE_KINDS: u16 = 24;
const KIND_AT: u32 = 4;
const KIND_BITS: u32 = 5;
const DETAIL_AT: u32 = KIND_AT + KIND_BITS;
const OP_BITS: u32 = 4;
/// The number of roots that a mark tells apart: of `MPI_Reduce`, then of other calls.
const REDUCE_ROOTS: u16 = 64;
const ROOTS: u16 = 128;
/// The code of an operation of the program.
const USER_OP: u16 = 15;

/// A call in the making.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    mark: Mark,
    /// True if the communicator has one group.
    is_intra: bool,
}

impl Call {
    /// Begins a call on this communicator.
    #[inline]
    pub fn new(kind: Kind, comm: &Comm) -> Call {
        Call { mark: Mark((kind as u16) << KIND_AT), is_intra: !comm.is_inter() }
    }

    /// Sets the root.
    #[inline]
    pub fn root(mut self, root: i32) -> Call {
        if self.is_intra {
            let root = root as u16;
            self.mark.0 |= match self.mark.0 >> KIND_AT == REDUCE_KINDS {
                true => (root & 7) << (DETAIL_AT + OP_BITS) | (root >> 3 & 7) << KIND_AT,
                false => (root % ROOTS) << DETAIL_AT,
            };
        }
        self
    }

    /// Sets the operation.
    #[inline]
    pub fn op(mut self, op: Option<&Op>) -> Call {
        if let Some(op) = op.filter(|_| self.is_intra) {
            self.mark.0 |= op.builtin().map_or(USER_OP, |builtin| builtin as u16 + 1) << DETAIL_AT;
        }
        self
    }

    /// Sets the elements: `count` of this datatype.
    #[inline]
    pub fn elements(mut self, datatype: Option<&Datatype>, count: i64) -> Call {
        if let Some(datatype) = datatype.filter(|_| self.is_intra && count > 0) {
            self.mark.0 |= elements(datatype);
        }
        self
    }

    /// The mark that travels.
    #[inline]
    pub fn mark(self) -> Mark {
        self.mark
    }
}

/// The sort of all elements of a datatype; 0 if they are bytes, which match everything.
pub fn elements(datatype: &Datatype) -> u16 {
    let Some(basic) = datatype.basic() else {
        return if datatype.size() == 0 { 0 } else { 7 };
    };
    match (basic.family, basic.representation) {
        (_, Representation::Opaque) | (Family::Byte, _) => 0,
        (Family::Logical, _) => 5,
        (_, Representation::Integer(_)) if basic.size() == 1 => 6,
        (_, Representation::Integer(int)) if int.is_signed() => 1,
        (_, Representation::Integer(_)) => 2,
        (_, Representation::Float(_)) => 3,
        (_, Representation::Complex(_)) => 4,
    }
}

/// The sorts of elements, from 1 on.
pub(crate) const SORTS: [&str; 7] = [
    "signed integers",
    "unsigned integers",
    "floating-point numbers",
    "complex numbers",
    "logical values",
    "characters",
    "elements of several types",
];

/// Describes the elements of a message from its mark: their sort, and their size in bytes.
pub fn elements_said(mark: Mark) -> String {
    let sort = usize::from(mark.0 & Mark::TYPE).checked_sub(1).and_then(|sort| SORTS.get(sort));
    let size = 1 << (mark.0 >> KIND_AT);
    sort.map_or("bytes".to_string(), |sort| match mark.0 >> KIND_AT {
        0 => (*sort).to_string(),
        _ => format!("{sort} of {size} bytes"),
    })
}

/// The operations, from 1 on.
const OPS: [&str; 15] = [
    "MPI_MAX",
    "MPI_MIN",
    "MPI_SUM",
    "MPI_PROD",
    "MPI_LAND",
    "MPI_BAND",
    "MPI_LOR",
    "MPI_BOR",
    "MPI_LXOR",
    "MPI_BXOR",
    "MPI_MAXLOC",
    "MPI_MINLOC",
    "MPI_REPLACE",
    "MPI_NO_OP",
    "an operation of the program",
];

/// The parts of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Said {
    /// Index of the name.
    name: usize,
    root: u16,
    /// The operation; 0 if there is none.
    op: usize,
    /// The sort of the elements; 0 if it matches everything.
    sort: usize,
}

impl Said {
    fn by(mark: Mark) -> Said {
        let (kind, detail) = (mark.0 >> KIND_AT & ((1 << KIND_BITS) - 1), mark.0 >> DETAIL_AT);
        let sort = usize::from(mark.0 & Mark::TYPE).min(SORTS.len());
        let kinds = NAMES.len() as u16;
        if kind >= REDUCE_KINDS {
            let root = detail >> OP_BITS | (kind & 7) << 3;
            return Said { name: NAMES.len() - 1, root, op: usize::from(detail & 15), sort };
        }
        let reduces = (Kind::Allreduce as u16..=Kind::Exscan as u16).contains(&kind);
        let (root, op) = if reduces { (0, usize::from(detail & 15)) } else { (detail, 0) };
        Said { name: usize::from(kind.clamp(1, kinds - 1)) - 1, root, op, sort }
    }

    fn name(&self) -> &'static str {
        NAMES[self.name]
    }

    /// The root as a person reads it, among this many ranks.
    fn root_among(&self, ranks: usize) -> String {
        let told = if self.name == NAMES.len() - 1 { REDUCE_ROOTS } else { ROOTS };
        match ranks <= usize::from(told) {
            true => format!("root {}", self.root),
            false => format!("root {} (modulo {told})", self.root),
        }
    }

    fn op(&self) -> &'static str {
        self.op.checked_sub(1).and_then(|op| OPS.get(op)).unwrap_or(&"no operation")
    }

    fn sort(&self) -> &'static str {
        self.sort.checked_sub(1).map_or("bytes", |sort| SORTS[sort])
    }
}

/// Names a collective by its number, as a person reads it.
pub(crate) fn numbered(tag: i32) -> String {
    let sort = if tag & 1 == 0 { "blocking" } else { "nonblocking or persistent" };
    format!("{sort} collective number {} of the communicator", tag / 2 + 1)
}

/// The error of a member that called something else than another one, on a communicator of this
/// many ranks. The class says what differs: `MPI_ERR_ROOT`, `MPI_ERR_OP`, `MPI_ERR_TYPE`; for
/// different calls `MPI_ERR_OTHER`, since the standard has no class for that.
#[cold]
pub fn mismatch(me: usize, clash: &Clash, which: &str, ranks: usize) -> Error {
    let (mine, theirs) = (Said::by(clash.mine), Said::by(clash.theirs));
    let (class, what, [own, other]) = match () {
        _ if mine.name != theirs.name => {
            (mpi::MPI_ERR_OTHER, "different collectives", [mine, theirs].map(|said| said.name().to_string()))
        }
        _ if mine.op != theirs.op => (
            mpi::MPI_ERR_OP,
            "a reduction with different operations",
            [mine, theirs].map(|said| format!("{} with {}", said.name(), said.op())),
        ),
        _ if mine.root != theirs.root => (
            mpi::MPI_ERR_ROOT,
            "a collective with different roots",
            [mine, theirs].map(|said| format!("{} with {}", said.name(), said.root_among(ranks))),
        ),
        _ => (
            mpi::MPI_ERR_TYPE,
            "a collective with different datatypes",
            [mine, theirs].map(|said| format!("{} of {}", said.name(), said.sort())),
        ),
    };
    Error::new(
        class,
        format!("the ranks of a communicator called {what}"),
        format!("rank {} called {other}, rank {me} {own}; {which}", clash.rank),
        "the ranks take different ways through the program, or pass arguments that do not match",
        "make all ranks of the communicator call the same collectives in the same order, with the same \
         root and operation and with matching datatypes",
    )
}

/// The error of a member that is in collective `number`, while `clash.rank` is in another,
/// `clash.number`.
#[cold]
pub(crate) fn out_of_step(me: usize, number: u64, clash: &Clash) -> Error {
    let (mine, theirs) = (Said::by(clash.mine).name(), Said::by(clash.theirs).name());
    Error::new(
        mpi::MPI_ERR_OTHER,
        "the ranks of a communicator are in different collectives",
        format!(
            "rank {} called {theirs} as collective number {} of the communicator, rank {me} is in {mine}, number {number}",
            clash.rank, clash.number
        ),
        "the ranks do not call the same collectives in the same order, or with other counts or roots",
        "make all ranks of the communicator call each collective, with arguments that match",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::Group;
    use std::sync::Arc;

    fn comm() -> Comm {
        Comm::new(8, Arc::new(Group::new(vec![0, 1], 0)), None)
    }

    fn datatype(handle: usize) -> &'static Datatype {
        Datatype::predefined(handle).expect("predefined")
    }

    #[test]
    fn a_mark_says_what_was_called() {
        let comm = comm();
        let op = Op::predefined(mpi::MPI_MAX).expect("predefined");
        let reduce = |root| Call::new(Kind::Reduce, &comm).root(root).op(Some(op));
        let said = Said::by(reduce(45).elements(Some(datatype(mpi::MPI_DOUBLE)), 3).mark());
        assert_eq!((said.name(), said.root, said.op(), said.sort), ("MPI_Reduce", 45, "MPI_MAX", 3));
        let said = Said::by(Call::new(Kind::Bcast, &comm).root(127).mark());
        assert_eq!((said.name(), said.root, said.op, said.sort), ("MPI_Bcast", 127, 0, 0));
        let said = Said::by(Call::new(Kind::NeighborAlltoallw, &comm).mark());
        assert_eq!(said.name(), "MPI_Neighbor_alltoallw");
        assert_eq!(said.root_among(4), "root 0");
        assert_eq!(Said::by(reduce(45).mark()).root_among(65), "root 45 (modulo 64)");
    }

    #[test]
    fn every_kind_has_its_name() {
        let comm = comm();
        for (kind, name) in [
            (Kind::Creation, NAMES[0]),
            (Kind::Barrier, "MPI_Barrier"),
            (Kind::Alltoallw, "MPI_Alltoallw"),
            (Kind::ReduceScatterBlock, "MPI_Reduce_scatter_block"),
            (Kind::Exscan, "MPI_Exscan"),
            (Kind::Finalize, "MPI_Finalize"),
            (Kind::Reduce, "MPI_Reduce"),
        ] {
            assert_eq!(Said::by(Call::new(kind, &comm).mark()).name(), name);
        }
    }

    #[test]
    fn an_error_names_both_calls_and_what_differs() {
        let comm = comm();
        let bcast = |root| Call::new(Kind::Bcast, &comm).root(root);
        let sum = Op::predefined(mpi::MPI_SUM).expect("predefined");
        let max = Op::predefined(mpi::MPI_MAX).expect("predefined");
        let allreduce = |op| Call::new(Kind::Allreduce, &comm).op(Some(op));
        let of = |handle| bcast(0).elements(Some(datatype(handle)), 1);
        for (mine, theirs, class, text) in [
            (bcast(0), allreduce(sum), mpi::MPI_ERR_OTHER, "rank 1 called MPI_Allreduce, rank 0 MPI_Bcast;"),
            (bcast(0), bcast(3), mpi::MPI_ERR_ROOT, "MPI_Bcast with root 3"),
            (allreduce(sum), allreduce(max), mpi::MPI_ERR_OP, "MPI_Allreduce with MPI_MAX"),
            (of(mpi::MPI_INT), of(mpi::MPI_FLOAT), mpi::MPI_ERR_TYPE, "floating-point"),
        ] {
            let (mine, theirs) = (mine.mark(), theirs.mark());
            assert!(mine.is_unlike(theirs));
            let error = mismatch(0, &Clash { number: 1, rank: 1, mine, theirs }, "number 7", 4);
            assert_eq!(error.class, class);
            assert!(error.fault.on.contains(text) && error.fault.on.contains("number 7"), "{error}");
        }
        assert!(!of(mpi::MPI_INT).mark().is_unlike(of(mpi::MPI_BYTE).mark()));
        assert!(!of(mpi::MPI_INT).mark().is_unlike(bcast(0).mark()));
    }
}
