//! The call that a rank makes in a collective, as a mark that travels with its messages and
//! records. A rank that receives another one's mark knows whether both made the same call
//! ([`Mark::is_unlike`]).
//!
//! | bits | meaning |
//! | --- | --- |
//! | 0 to 4 | the sort of the elements ([`sort`]); 0 for any |
//! | 5 to 15 | the [`Kind`], added to the root (for a reduction the operation) as many bits as fit |
//!
//! Lengths are not in it: each message and record has its own, which the receiver compares. Where
//! blocks differ in their types, each message has the sort of its own
//! ([`super::schedule::Schedule::tell_elements`]). The root of an intercommunicator is told as a
//! rank and its group.

use super::plan::LOCAL_MARK;
use super::tags::number_of;
use crate::comm::Comm;
use crate::datatype::{Datatype, sort};
use crate::error::Error;
use crate::generated::constants as mpi;
use crate::op::Op;
use verbena_channel::board::Clash;
use verbena_channel::mark::Mark;

/// A collective, whether blocking, nonblocking or persistent. Those with a root leave the lowest
/// seven bits to it; reductions the lowest four to the operation; `MPI_Reduce` four to the
/// operation and six to the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
#[allow(missing_docs)]
pub enum Kind {
    /// A call that makes a communicator, a file or the like, other than those below.
    Creation = 1,
    Barrier,
    Allgather,
    Allgatherv,
    Alltoall,
    Alltoallv,
    Alltoallw,
    NeighborAllgather,
    NeighborAllgatherv,
    NeighborAlltoall,
    NeighborAlltoallv,
    NeighborAlltoallw,
    /// The meeting of all processes at the end.
    Finalize,
    CommDup,
    CommDupWithInfo,
    CommIdup,
    CommCreate,
    CommSplit,
    CommSplitType,
    IntercommCreate,
    IntercommMerge,
    CartCreate,
    CartSub,
    GraphCreate,
    DistGraphCreate,
    DistGraphCreateAdjacent,
    FileOpen,
    WinCreate,
    WinFence,
    WinFree,
    Allreduce = REDUCTIONS,
    ReduceScatter = REDUCTIONS | 1 << OP_BITS,
    ReduceScatterBlock = REDUCTIONS | 2 << OP_BITS,
    Scan = REDUCTIONS | 3 << OP_BITS,
    Exscan = REDUCTIONS | 4 << OP_BITS,
    Bcast = ROOTED,
    Gather = ROOTED + ROOTS,
    Gatherv = ROOTED + 2 * ROOTS,
    Scatter = ROOTED + 3 * ROOTS,
    Scatterv = ROOTED + 4 * ROOTS,
    Reduce = REDUCE,
}

/// The kinds and their names.
const NAMES: [(Kind, &str); 41] = [
    (Kind::Creation, "a function that makes a communicator or a file"),
    (Kind::Barrier, "MPI_Barrier"),
    (Kind::Allgather, "MPI_Allgather"),
    (Kind::Allgatherv, "MPI_Allgatherv"),
    (Kind::Alltoall, "MPI_Alltoall"),
    (Kind::Alltoallv, "MPI_Alltoallv"),
    (Kind::Alltoallw, "MPI_Alltoallw"),
    (Kind::NeighborAllgather, "MPI_Neighbor_allgather"),
    (Kind::NeighborAllgatherv, "MPI_Neighbor_allgatherv"),
    (Kind::NeighborAlltoall, "MPI_Neighbor_alltoall"),
    (Kind::NeighborAlltoallv, "MPI_Neighbor_alltoallv"),
    (Kind::NeighborAlltoallw, "MPI_Neighbor_alltoallw"),
    (Kind::Finalize, "MPI_Finalize"),
    (Kind::CommDup, "MPI_Comm_dup"),
    (Kind::CommDupWithInfo, "MPI_Comm_dup_with_info"),
    (Kind::CommIdup, "MPI_Comm_idup"),
    (Kind::CommCreate, "MPI_Comm_create"),
    (Kind::CommSplit, "MPI_Comm_split"),
    (Kind::CommSplitType, "MPI_Comm_split_type"),
    (Kind::IntercommCreate, "MPI_Intercomm_create"),
    (Kind::IntercommMerge, "MPI_Intercomm_merge"),
    (Kind::CartCreate, "MPI_Cart_create"),
    (Kind::CartSub, "MPI_Cart_sub"),
    (Kind::GraphCreate, "MPI_Graph_create"),
    (Kind::DistGraphCreate, "MPI_Dist_graph_create"),
    (Kind::DistGraphCreateAdjacent, "MPI_Dist_graph_create_adjacent"),
    (Kind::FileOpen, "MPI_File_open"),
    (Kind::WinCreate, "a function that makes a window"),
    (Kind::WinFence, "MPI_Win_fence"),
    (Kind::WinFree, "MPI_Win_free"),
    (Kind::Allreduce, "MPI_Allreduce"),
    (Kind::ReduceScatter, "MPI_Reduce_scatter"),
    (Kind::ReduceScatterBlock, "MPI_Reduce_scatter_block"),
    (Kind::Scan, "MPI_Scan"),
    (Kind::Exscan, "MPI_Exscan"),
    (Kind::Bcast, "MPI_Bcast"),
    (Kind::Gather, "MPI_Gather"),
    (Kind::Gatherv, "MPI_Gatherv"),
    (Kind::Scatter, "MPI_Scatter"),
    (Kind::Scatterv, "MPI_Scatterv"),
    (Kind::Reduce, "MPI_Reduce"),
];

/// The place of the [`Kind`].
const KIND_AT: u32 = 5;
const OP_BITS: u32 = 4;
/// The number of roots that a mark tells apart: of `MPI_Reduce`, then of other calls.
const REDUCE_ROOTS: u16 = 64;
const ROOTS: u16 = 128;
/// The first kinds of reductions without a root, of calls with a root, and `MPI_Reduce`.
const REDUCTIONS: u16 = 128;
const ROOTED: u16 = 256;
const REDUCE: u16 = 1024;
/// The codes of the operations of the program, by whether they commute. They are those of
/// `MPI_REPLACE` and `MPI_NO_OP`, which no collective takes.
const USER_OPS: [u16; 2] = [13, 14];

/// The mark of a message that says only that its sender has lost a process and has left the call,
/// which so fails at the receiver, too. It is unlike that of every call.
pub(super) const LEFT: Mark = Mark((REDUCTIONS - 1) << KIND_AT);
/// These two are for a process that has ended; the second for programs that go on when one does.
pub(super) const LEFT_AFTER_END: Mark = Mark(LEFT.0 | 1);
pub(super) const LEFT_AFTER_FAILURE: Mark = Mark(LEFT.0 | 2);

/// Returns whether this is one of these marks.
pub(super) fn is_left(mark: Mark) -> bool {
    [LEFT, LEFT_AFTER_END, LEFT_AFTER_FAILURE].contains(&mark)
}

/// A call in the making.
#[derive(Clone, Copy)]
pub struct Call<'c> {
    mark: Mark,
    comm: &'c Comm,
}

impl<'c> Call<'c> {
    /// Begins a call on this communicator.
    #[inline]
    pub fn new(kind: Kind, comm: &'c Comm) -> Call<'c> {
        Call { mark: Mark((kind as u16) << KIND_AT), comm }
    }

    /// The number of roots that this kind tells apart.
    #[inline]
    fn roots(&self) -> u16 {
        if self.mark.0 >> KIND_AT >= REDUCE { REDUCE_ROOTS } else { ROOTS }
    }

    /// Sets the root.
    #[inline]
    pub fn root(mut self, root: i32) -> Call<'c> {
        let root = if self.comm.is_inter() { self.inter_root(root) } else { root as u16 };
        self.mark.0 |= (root % self.roots()) << KIND_AT;
        self
    }

    /// The root on an intercommunicator: twice its rank, and whether it is in the first group.
    #[cold]
    fn inter_root(&self, root: i32) -> u16 {
        let is_here = matches!(root, mpi::MPI_ROOT | mpi::MPI_PROC_NULL);
        let rank = if is_here { self.comm.rank() } else { root };
        let is_first = Some(is_here) == self.comm.is_first_group();
        (rank as u16) << 1 | u16::from(is_first)
    }

    /// Sets the operation. Where each group of an intercommunicator gets the other's result
    /// (MPI-5.0, 6.9.6), they may use one each: there it does nothing.
    #[inline]
    pub fn op(mut self, op: Option<&Op>) -> Call<'c> {
        let both_ways = self.roots() != REDUCE_ROOTS && self.comm.is_inter();
        if let Some(op) = op.filter(|_| !both_ways) {
            let code = op
                .builtin()
                .map_or_else(|| USER_OPS[usize::from(!op.is_commutative())], |builtin| builtin as u16 + 1);
            let at = if self.roots() == REDUCE_ROOTS { REDUCE_ROOTS.ilog2() } else { 0 };
            self.mark.0 |= code << (KIND_AT + at);
        }
        self
    }

    /// Sets the elements: `count` of this datatype; what is not reduced is told by its size. On an
    /// intercommunicator, calls in which both groups send may use another one each way: there it
    /// does nothing, unless they reduce.
    #[inline]
    pub fn elements(mut self, datatype: Option<&Datatype>, count: i64) -> Call<'c> {
        let both_ways = self.mark.0 >> KIND_AT < REDUCTIONS && self.comm.is_inter();
        if let Some(datatype) = datatype.filter(|_| !both_ways && count > 0) {
            let reduces = matches!(self.mark.0 >> KIND_AT, REDUCTIONS..ROOTED | REDUCE..);
            self.mark.0 |= if reduces { sort::of_elements(datatype) } else { sort::of_moved(datatype) };
        }
        self
    }

    /// The mark that travels.
    #[inline]
    pub fn mark(self) -> Mark {
        self.mark
    }
}

/// The operations, from 1 on.
const OPS: [&str; 14] = [
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
    "an operation of the program that commutes",
    "an operation of the program that does not commute",
];

/// The parts of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Said {
    kind: Kind,
    name: &'static str,
    root: u16,
    /// The operation; 0 if there is none.
    op: usize,
    /// The sort of the elements.
    sort: u16,
}

impl Said {
    fn by(mark: Mark) -> Said {
        let code = mark.0 >> KIND_AT;
        let op = |at: u32| code >> at & ((1 << OP_BITS) - 1);
        let (kind, root, op) = match code {
            REDUCE.. => (REDUCE, code % REDUCE_ROOTS, op(REDUCE_ROOTS.ilog2())),
            ROOTED.. => (code - code % ROOTS, code % ROOTS, 0),
            REDUCTIONS.. => (code - op(0), 0, op(0)),
            _ => (code, 0, 0),
        };
        let &(kind, name) = NAMES.iter().find(|known| known.0 as u16 == kind).unwrap_or(&NAMES[0]);
        Said { kind, name, root, op: usize::from(op), sort: mark.0 & Mark::TYPE }
    }

    /// The root as a person reads it, on a communicator of these.
    fn root(&self, members: &Members) -> String {
        let told = if self.kind == Kind::Reduce { REDUCE_ROOTS } else { ROOTS };
        let (root, told, group) = match members.is_first_group {
            None => (self.root, told, ""),
            Some(first) if first == (self.root & 1 == 1) => (self.root >> 1, told / 2, OWN_GROUP),
            Some(_) => (self.root >> 1, told / 2, OTHER_GROUP),
        };
        match members.ranks <= usize::from(told) {
            true => format!("root {root}{group}"),
            false => format!("root {root} (modulo {told}){group}"),
        }
    }

    fn op(&self) -> &'static str {
        self.op.checked_sub(1).and_then(|op| OPS.get(op)).unwrap_or(&"no operation")
    }
}

/// The groups of an intercommunicator, as its members read them.
const OWN_GROUP: &str = " of this group";
const OTHER_GROUP: &str = " of the other group";

/// The members of a communicator, as messages to the user name them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Members {
    /// The rank of the caller.
    pub me: usize,
    /// Number of ranks, of the other group on an intercommunicator.
    pub ranks: usize,
    /// True if the caller's group is the first of an intercommunicator; `None` on an
    /// intracommunicator.
    pub is_first_group: Option<bool>,
}

impl Members {
    /// The members of this communicator.
    #[inline]
    pub fn of(comm: &Comm) -> Members {
        let ranks = comm.targets().size() as usize;
        Members { me: comm.rank() as usize, ranks, is_first_group: comm.is_first_group() }
    }

    /// The words for a rank; for the caller's own group if `is_own_group`.
    fn name(&self, rank: usize, is_own_group: bool) -> String {
        let group = if is_own_group { OWN_GROUP } else { OTHER_GROUP };
        format!("rank {rank}{}", self.is_first_group.map_or("", |_| group))
    }

    /// The words for the sender of a message of a collective.
    pub(super) fn sender(&self, source: i32) -> String {
        self.name(rank_of(source), source & LOCAL_MARK != 0)
    }

    /// The words for the caller.
    fn caller(&self) -> String {
        self.name(self.me, true)
    }
}

/// The rank that a message's source means, without the mark that plans add.
fn rank_of(source: i32) -> usize {
    (source & (LOCAL_MARK - 1)) as usize
}

/// The MPI function of a call; empty if the mark does not tell it.
pub(crate) fn name(call: Mark) -> &'static str {
    let name = Said::by(call).name;
    if call != Mark::NONE && name.starts_with("MPI_") { name } else { "" }
}

/// A collective by the matching context and the tag of its messages, for reports of programs that
/// hang.
#[cold]
pub(crate) fn in_words(context: u64, tag: i32, call: Mark) -> verbena_hang::Collective {
    verbena_hang::Collective {
        context: context & !3,
        call: name(call).into(),
        number: number_of(tag),
        nonblocking: tag & 1 == 1,
    }
}

/// The error of a member that called something else than another one, `other`. The class says what
/// differs: `MPI_ERR_ROOT`, `MPI_ERR_OP`, `MPI_ERR_TYPE`; for different calls `MPI_ERR_OTHER`,
/// since the standard has no class for that.
#[cold]
pub fn mismatch(members: &Members, other: &str, [mine, theirs]: [Mark; 2], which: &str) -> Error {
    let both = [mine, theirs].map(Said::by);
    let [mine, theirs] = both;
    let (class, what, [own, others]) = match () {
        _ if mine.kind != theirs.kind => {
            (mpi::MPI_ERR_OTHER, "different collectives", both.map(|said| said.name.to_string()))
        }
        _ if mine.op != theirs.op => (
            mpi::MPI_ERR_OP,
            "a reduction with different operations",
            both.map(|said| format!("{} with {}", said.name, said.op())),
        ),
        _ if mine.root != theirs.root => (
            mpi::MPI_ERR_ROOT,
            "a collective with different roots",
            both.map(|said| format!("{} with {}", said.name, said.root(members))),
        ),
        _ => (
            mpi::MPI_ERR_TYPE,
            "a collective with different datatypes",
            both.map(|said| format!("{} of {}", said.name, sort::name(said.sort))),
        ),
    };
    Error::new(
        class,
        format!("the ranks of a communicator called {what}"),
        format!("{other} called {others}, {} {own}; {which}", members.caller()),
        "the ranks take different ways through the program, or pass arguments that do not match",
        "make all ranks of the communicator call the same collectives in the same order, with the same \
         root and operation and with matching datatypes",
    )
}

/// The error of a member that is in collective `number`, while `clash.rank` is in another,
/// `clash.number`.
#[cold]
pub(crate) fn out_of_step(me: usize, number: u64, clash: &Clash) -> Error {
    let (mine, theirs) = (Said::by(clash.mine).name, Said::by(clash.theirs).name);
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
        let members = |ranks| Members { ranks, ..Members::of(&comm) };
        let said = Said::by(reduce(45).elements(Some(datatype(mpi::MPI_DOUBLE)), 3).mark());
        assert_eq!((said.name, said.root, said.op()), ("MPI_Reduce", 45, "MPI_MAX"));
        assert_eq!(sort::name(said.sort), "floating-point numbers of 8 bytes");
        let said = Said::by(Call::new(Kind::Bcast, &comm).root(127).mark());
        assert_eq!((said.name, said.root, said.op, said.sort), ("MPI_Bcast", 127, 0, 0));
        let said = Said::by(Call::new(Kind::NeighborAlltoallw, &comm).mark());
        assert_eq!((said.name, &said.root(&members(4))[..]), ("MPI_Neighbor_alltoallw", "root 0"));
        assert_eq!(Said::by(reduce(45).mark()).root(&members(65)), "root 45 (modulo 64)");
    }

    #[test]
    fn every_kind_has_its_name() {
        let (comm, sum) = (comm(), Op::predefined(mpi::MPI_SUM).expect("predefined"));
        for (kind, name) in NAMES {
            let call = Call::new(kind, &comm);
            let call = if kind as u16 >= ROOTED { call.root(63) } else { call };
            let reduces = kind == Kind::Reduce || (REDUCTIONS..ROOTED).contains(&(kind as u16));
            let said = Said::by(if reduces { call.op(Some(sum)) } else { call }.mark());
            assert_eq!((said.kind, said.name), (kind, name));
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
        let summed = |handle| allreduce(sum).elements(Some(datatype(handle)), 1);
        for (mine, theirs, class, text) in [
            (bcast(0), allreduce(sum), mpi::MPI_ERR_OTHER, "rank 1 called MPI_Allreduce, rank 0 MPI_Bcast;"),
            (bcast(0), bcast(3), mpi::MPI_ERR_ROOT, "MPI_Bcast with root 3"),
            (allreduce(sum), allreduce(max), mpi::MPI_ERR_OP, "MPI_Allreduce with MPI_MAX"),
            (summed(mpi::MPI_INT), summed(mpi::MPI_FLOAT), mpi::MPI_ERR_TYPE, "floating-point"),
            (of(mpi::MPI_LONG), of(mpi::MPI_INT), mpi::MPI_ERR_TYPE, "elements of 4 bytes"),
        ] {
            let (mine, theirs) = (mine.mark(), theirs.mark());
            assert!(mine.is_unlike(theirs));
            let error = mismatch(&Members::of(&comm), "rank 1", [mine, theirs], "number 7");
            assert_eq!(error.class, class);
            assert!(error.fault.on.contains(text) && error.fault.on.contains("number 7"), "{error}");
        }
        assert!(!of(mpi::MPI_INT).mark().is_unlike(of(mpi::MPI_FLOAT).mark()));
        assert!(!of(mpi::MPI_INT).mark().is_unlike(of(mpi::MPI_BYTE).mark()));
        assert!(!of(mpi::MPI_INT).mark().is_unlike(of(mpi::MPI_INTEGER).mark()));
        assert!(!of(mpi::MPI_INT).mark().is_unlike(bcast(0).mark()));
    }

    #[test]
    fn operations_of_the_program_differ_by_whether_they_commute() {
        let comm = comm();
        let mark = |code: u16| Mark((REDUCTIONS | code) << KIND_AT);
        assert!(mark(USER_OPS[0]).is_unlike(mark(USER_OPS[1])));
        let [one, other] = USER_OPS.map(mark);
        let error = mismatch(&Members::of(&comm), "rank 1", [one, other], "number 7");
        assert_eq!(error.class, mpi::MPI_ERR_OP);
        assert!(error.fault.on.contains("does not commute"), "{error}");
    }
}
