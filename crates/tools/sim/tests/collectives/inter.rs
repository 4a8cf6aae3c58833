//! Jobs on intercommunicators: what one side gives, the other gets.

use crate::arena::Arena;
use crate::job::{Family, Job, Maker};
use crate::reducing::Vectors;
use verbena_memory::Buffer;
use verbena_mpi::coll::algorithms::reduce_scatter::BlockCounts;
use verbena_mpi::coll::operations::{self, Operands};
use verbena_mpi::coll::{Blocks, Counts};
use verbena_mpi::generated::constants::{MPI_PROC_NULL, MPI_ROOT};

/// Makes jobs for an intercommunicator of groups of these sizes.
pub(crate) struct Sides<'r> {
    pub maker: Maker<'r>,
    pub sizes: [usize; 2],
}

/// The root of a job.
#[derive(Clone, Copy)]
struct Root {
    side: usize,
    rank: usize,
}

impl Root {
    /// The root argument of a rank.
    fn argument(self, side: usize, rank: usize) -> i32 {
        match side == self.side {
            true if rank == self.rank => MPI_ROOT,
            true => MPI_PROC_NULL,
            false => self.rank as i32,
        }
    }
}

impl Sides<'_> {
    pub(crate) fn job(&mut self) -> Job {
        match self.maker.random.below(9) {
            0 => self.barrier(),
            1 => self.bcast(),
            2 => self.gather(),
            3 => self.scatter(),
            4 => self.allgather(),
            5 => self.alltoall(),
            6 => self.reduce(),
            7 => self.allreduce(),
            _ => self.reduce_scatter(),
        }
    }

    /// Returns all (side, rank) in the order of parts.
    fn everybody(&self) -> Vec<(usize, usize)> {
        (0..2).flat_map(|side| (0..self.sizes[side]).map(move |rank| (side, rank))).collect()
    }

    fn root(&mut self) -> Root {
        let side = self.maker.random.below(2) as usize;
        Root { side, rank: self.maker.random.below(self.sizes[side] as u64) as usize }
    }

    /// Values of `count` elements for each part, and the first part of each side.
    fn values(&mut self, count: usize, family: Family) -> ([Vec<Vec<u8>>; 2], Family) {
        let mut side = |size| (0..size).map(|_| self.maker.values(count, family)).collect();
        ([side(self.sizes[0]), side(self.sizes[1])], family)
    }

    fn barrier(&mut self) -> Job {
        let mut job = Job::new("barrier".into());
        job.is_barrier = true;
        self.everybody().iter().for_each(|_| job.part(Vec::new(), operations::barrier));
        job
    }

    fn bcast(&mut self) -> Job {
        let (root, family, count) = (self.root(), self.maker.family(), self.maker.count(20));
        let values = self.maker.values(count, family);
        let mut job = Job::new(format!("bcast of {count}"));
        for (side, rank) in self.everybody() {
            let mut arena = Arena::new(count, self.maker.layout(family));
            let argument = root.argument(side, rank);
            arena.put(0, if argument == MPI_ROOT { &values } else { &[] });
            arena.expect(0, if side == root.side { &[] } else { &values });
            let buffer = arena.elements().buffer(0, count);
            job.part(vec![arena], move |schedule, comm| operations::bcast(schedule, comm, buffer, argument));
        }
        job
    }

    fn gather(&mut self) -> Job {
        let (root, family, count) = (self.root(), self.maker.family(), self.maker.count(20));
        let (values, _) = self.values(count, family);
        let givers = &values[1 - root.side];
        let mut job = Job::new(format!("gather of {count}"));
        for (side, rank) in self.everybody() {
            let argument = root.argument(side, rank);
            let mut send = Arena::new(count, self.maker.layout(family));
            let mut recv = Arena::new(count * givers.len(), self.maker.layout(family));
            send.put(0, &values[side][rank]);
            let blocks = (argument == MPI_ROOT).then(|| Blocks::Even { elements: recv.elements(), count });
            if blocks.is_some() {
                givers.iter().enumerate().for_each(|(i, values)| recv.expect(i * count, values));
            }
            let mine = Some(send.elements().buffer(0, count));
            job.part(vec![send, recv], move |schedule, comm| {
                operations::gather(schedule, comm, mine, blocks, argument)
            });
        }
        job
    }

    fn scatter(&mut self) -> Job {
        let (root, family, count) = (self.root(), self.maker.family(), self.maker.count(20));
        let (values, _) = self.values(count, family);
        let takers = &values[1 - root.side];
        let mut job = Job::new(format!("scatter of {count}"));
        for (side, rank) in self.everybody() {
            let argument = root.argument(side, rank);
            let mut send = Arena::new(count * takers.len(), self.maker.layout(family));
            let mut recv = Arena::new(count, self.maker.layout(family));
            takers.iter().enumerate().for_each(|(i, values)| send.put(i * count, values));
            recv.expect(0, if side == root.side { &[] } else { &values[side][rank] });
            let blocks = (argument == MPI_ROOT).then(|| Blocks::Even { elements: send.elements(), count });
            let mine = Some(recv.elements().buffer(0, count));
            job.part(vec![send, recv], move |schedule, comm| {
                operations::scatter(schedule, comm, blocks, mine, argument)
            });
        }
        job
    }

    fn allgather(&mut self) -> Job {
        let family = self.maker.family();
        // Each side may give another number of elements.
        let counts = [self.maker.count(20), self.maker.count(20)];
        let values = [self.values(counts[0], family).0, self.values(counts[1], family).0];
        let mut job = Job::new(format!("allgather of {counts:?}"));
        for (side, rank) in self.everybody() {
            let (count, others) = (counts[1 - side], &values[1 - side][1 - side]);
            let mut send = Arena::new(counts[side], self.maker.layout(family));
            let mut recv = Arena::new(count * others.len(), self.maker.layout(family));
            send.put(0, &values[side][side][rank]);
            others.iter().enumerate().for_each(|(i, values)| recv.expect(i * count, values));
            let blocks = Blocks::Even { elements: recv.elements(), count };
            let mine: Option<Buffer> = Some(send.elements().buffer(0, counts[side]));
            job.part(vec![send, recv], move |schedule, comm| {
                operations::allgather(schedule, comm, mine, blocks)
            });
        }
        job
    }

    fn alltoall(&mut self) -> Job {
        let (family, count) = (self.maker.family(), self.maker.count(100));
        let [first, second] = self.sizes;
        let mut table = |rows, columns| -> Vec<Vec<Vec<u8>>> {
            (0..rows).map(|_| (0..columns).map(|_| self.maker.values(count, family)).collect()).collect()
        };
        let values = [table(first, second), table(second, first)];
        let mut job = Job::new(format!("alltoall of {count}"));
        for (side, rank) in self.everybody() {
            let others = self.sizes[1 - side];
            let mut send = Arena::new(count * others, self.maker.layout(family));
            let mut recv = Arena::new(count * others, self.maker.layout(family));
            values[side][rank].iter().enumerate().for_each(|(i, given)| send.put(i * count, given));
            values[1 - side].iter().enumerate().for_each(|(i, row)| recv.expect(i * count, &row[rank]));
            let sent = Some(Blocks::Even { elements: send.elements(), count });
            let blocks = Blocks::Even { elements: recv.elements(), count };
            job.part(vec![send, recv], move |schedule, comm| {
                operations::alltoall(schedule, comm, sent, blocks)
            });
        }
        job
    }

    /// Operands of all, and what each side reduces to.
    fn vectors(&mut self, count: usize) -> (Vectors, [Vec<u8>; 2]) {
        let vectors = self.maker.vectors(count);
        let side = |all: &[Vec<u8>]| {
            let part = Vectors { reducing: vectors.reducing.clone(), count, all: all.to_vec() };
            part.reduced(all.len()).expect("ranks")
        };
        let (first, second) = vectors.all.split_at(self.sizes[0]);
        let reduced = [side(first), side(second)];
        (vectors, reduced)
    }

    fn arenas(&self, vectors: &Vectors, part: usize, room: usize) -> (Vec<Arena>, Operands<'static>) {
        let arena = |count| Arena::new(count, vectors.reducing.datatype.layout());
        let (mut send, mut recv) = (arena(vectors.count), arena(room));
        send.put(0, &vectors.all[part]);
        let (count, commutative) = (vectors.count, vectors.reducing.op.is_commutative());
        let operands =
            Operands { send: Some(send.elements()), recv: Some(recv.elements()), count, commutative };
        (vec![send, recv], operands)
    }

    fn reduce(&mut self) -> Job {
        let (root, count) = (self.root(), self.maker.count(20));
        let (vectors, reduced) = self.vectors(count);
        let mut job = Job::new(format!("reduce of {count}"));
        for (part, (side, rank)) in self.everybody().into_iter().enumerate() {
            let argument = root.argument(side, rank);
            let (mut arenas, operands) = self.arenas(&vectors, part, count);
            arenas[1].expect(0, if argument == MPI_ROOT { &reduced[1 - side] } else { &[] });
            job.part(arenas, move |schedule, comm| operations::reduce(schedule, comm, operands, argument));
        }
        job.reducing = Some(vectors.reducing);
        job
    }

    fn allreduce(&mut self) -> Job {
        let count = self.maker.count(20);
        let (vectors, reduced) = self.vectors(count);
        let mut job = Job::new(format!("allreduce of {count}"));
        for (part, (side, _)) in self.everybody().into_iter().enumerate() {
            let (mut arenas, operands) = self.arenas(&vectors, part, count);
            arenas[1].expect(0, &reduced[1 - side]);
            job.part(arenas, move |schedule, comm| operations::allreduce(schedule, comm, operands));
        }
        job.reducing = Some(vectors.reducing);
        job
    }

    fn reduce_scatter(&mut self) -> Job {
        let [first, second] = self.sizes;
        let each = self.maker.random.below(4) as usize;
        let count = first * second * each;
        let (vectors, reduced) = self.vectors(count);
        let size = vectors.reducing.datatype.size();
        let mut job = Job::new(format!("reduce_scatter of {count}"));
        for (part, (side, rank)) in self.everybody().into_iter().enumerate() {
            let even = count / self.sizes[side];
            let (mut arenas, operands) = self.arenas(&vectors, part, even);
            arenas[1].expect(0, &reduced[1 - side][rank * even * size..(rank + 1) * even * size]);
            let counts = vec![even as i64; self.sizes[side]];
            job.part(arenas, move |schedule, comm| {
                let blocks = BlockCounts { even: 0, counts: Some(Counts::Large(&counts)) };
                operations::reduce_scatter(schedule, comm, operands, blocks)
            });
        }
        job.reducing = Some(vectors.reducing);
        job
    }
}
