//! Jobs that reduce: reduce, allreduce, reduce_scatter, scan, exscan.

use crate::arena::Arena;
use crate::element::Reducing;
use crate::job::{Family, Job, Maker, plan};
use verbena_memory::elements::Elements;
use verbena_mpi::coll::Counts;
use verbena_mpi::coll::algorithms::reduce_scatter::{self, BlockCounts};
use verbena_mpi::coll::algorithms::{allreduce, reduce};
use verbena_mpi::coll::operations::{self, Operands};

/// The operands of all ranks.
pub(crate) struct Vectors {
    pub reducing: Reducing,
    pub count: usize,
    pub all: Vec<Vec<u8>>,
}

impl Vectors {
    fn commutative(&self) -> bool {
        self.reducing.op.is_commutative()
    }

    /// Returns the reduction of the ranks before `end`, in rank order; `None` if there are none.
    pub(crate) fn reduced(&self, end: usize) -> Option<Vec<u8>> {
        let mut vectors = self.all[..end].iter();
        let first = vectors.next()?.clone();
        let size = self.reducing.datatype.size();
        Some(vectors.fold(first, |left, right| {
            let pairs = left.chunks(size).zip(right.chunks(size));
            pairs.flat_map(|(left, right)| (self.reducing.model)(left, right)).collect()
        }))
    }

    /// Makes the memory of one rank: its operand, and room for `room` elements of the result.
    fn arenas(&self, rank: usize, room: usize, in_place: bool) -> [Arena; 2] {
        let arena = |count| Arena::new(count, self.reducing.datatype.layout());
        let (mut send, mut recv) =
            (arena(self.count), arena(room.max(if in_place { self.count } else { 0 })));
        if in_place {
            recv.put(0, &self.all[rank])
        } else {
            send.put(0, &self.all[rank])
        }
        [send, recv]
    }
}

/// The arguments as the operations take them.
fn operands(
    arenas: &mut [Arena; 2],
    vectors: &Vectors,
    in_place: bool,
    has_result: bool,
) -> Operands<'static> {
    let [send, recv] = arenas;
    let send = (!in_place).then(|| send.elements());
    let recv = has_result.then(|| recv.elements());
    Operands { send, recv, count: vectors.count, commutative: vectors.commutative() }
}

fn ends(operands: Operands<'static>) -> (Elements<'static>, Elements<'static>) {
    let recv = operands.recv.expect("a result");
    (operands.send.unwrap_or(recv), recv)
}

impl Maker<'_> {
    pub(crate) fn vectors(&mut self, count: usize) -> Vectors {
        let reducing = Reducing::random(self.random);
        let family = if reducing.datatype.size() == 4 { Family::Word } else { Family::Pair };
        let all = (0..self.ranks).map(|_| self.values(count, family)).collect();
        Vectors { reducing, count, all }
    }

    /// An algorithm below `many`, 0 being the library's choice; those from `commutative_from` on
    /// need a commutative operation, and all need several ranks and elements.
    fn algorithm(&mut self, vectors: &Vectors, many: u64, commutative_from: u64) -> u64 {
        let algorithm = self.random.below(many);
        let fits = algorithm < commutative_from || vectors.commutative();
        if self.ranks == 1 || vectors.count == 0 || !fits { 0 } else { algorithm }
    }

    pub(crate) fn reduce(&mut self) -> Job {
        let (root, count) = (self.rank(), self.count(self.ranks));
        let (vectors, in_place) = (self.vectors(count), self.random.percent(30));
        let algorithm = self.algorithm(&vectors, 4, 2);
        let mut job = Job::new(format!("reduce {algorithm} of {count} at {root}, {in_place}"));
        let result = vectors.reduced(self.ranks).expect("ranks");
        for rank in 0..self.ranks {
            let (at_root, in_place) = (rank == root, in_place && rank == root);
            let mut arenas = vectors.arenas(rank, if at_root { count } else { 0 }, in_place);
            let operands = operands(&mut arenas, &vectors, in_place, at_root);
            arenas[1].expect(0, if at_root { &result } else { &[] });
            let send = operands.send.or(operands.recv).expect("an operand");
            job.part(arenas.into(), move |schedule, comm| match algorithm {
                0 => operations::reduce(schedule, comm, operands, root as i32),
                1 => reduce::binomial(&mut plan(schedule, comm), send, operands.recv, count, root, true),
                2 => reduce::binomial(&mut plan(schedule, comm), send, operands.recv, count, root, false),
                _ => reduce::halving_gather(&mut plan(schedule, comm), send, operands.recv, count, root),
            });
        }
        job.reducing = Some(vectors.reducing);
        job
    }

    pub(crate) fn allreduce(&mut self) -> Job {
        let count = self.count(self.ranks);
        let (vectors, in_place) = (self.vectors(count), self.random.percent(30));
        let algorithm = self.algorithm(&vectors, 4, 2);
        let mut job = Job::new(format!("allreduce {algorithm} of {count}, {in_place}"));
        let result = vectors.reduced(self.ranks).expect("ranks");
        for rank in 0..self.ranks {
            let mut arenas = vectors.arenas(rank, count, in_place);
            let operands = operands(&mut arenas, &vectors, in_place, true);
            arenas[1].expect(0, &result);
            let (send, recv) = ends(operands);
            job.part(arenas.into(), move |schedule, comm| match algorithm {
                0 => operations::allreduce(schedule, comm, operands),
                1 => allreduce::recursive_doubling(&mut plan(schedule, comm), send, recv, count),
                2 => allreduce::halving_doubling(&mut plan(schedule, comm), send, recv, count),
                _ => allreduce::ring(&mut plan(schedule, comm), send, recv, count),
            });
        }
        job.reducing = Some(vectors.reducing);
        job
    }

    /// A canary: an allreduce that says its operation is commutative when it is not, so that
    /// operands are taken in the wrong order.
    pub(crate) fn allreduce_out_of_order(&mut self) -> Job {
        let count = 50;
        let mut vectors = self.vectors(count);
        vectors.reducing = Reducing::ordered();
        vectors.all = (0..self.ranks).map(|_| self.values(count, Family::Pair)).collect();
        let mut job = Job::new("allreduce out of order".into());
        let result = vectors.reduced(self.ranks).expect("ranks");
        for rank in 0..self.ranks {
            let mut arenas = vectors.arenas(rank, count, false);
            let (send, recv) = ends(operands(&mut arenas, &vectors, false, true));
            arenas[1].expect(0, &result);
            job.part(arenas.into(), move |schedule, comm| {
                allreduce::ring(&mut plan(schedule, comm), send, recv, count)
            });
        }
        job.reducing = Some(vectors.reducing);
        job
    }

    pub(crate) fn reduce_scatter(&mut self) -> Job {
        let even = self.random.percent(40).then(|| self.count(self.ranks * self.ranks));
        let counts = match even {
            Some(count) => vec![count as i64; self.ranks],
            None => self.counts(self.ranks, self.ranks * 4),
        };
        let total = counts.iter().sum::<i64>() as usize;
        let (vectors, in_place) = (self.vectors(total), self.random.percent(30));
        let algorithm = self.algorithm(&vectors, 4, 2);
        let mut job = Job::new(format!("reduce_scatter {algorithm} of {counts:?}, {in_place}"));
        let result = vectors.reduced(self.ranks).expect("ranks");
        let size = vectors.reducing.datatype.size();
        let mut first = 0;
        for (rank, &count) in counts.iter().enumerate() {
            let mut arenas = vectors.arenas(rank, count as usize, in_place);
            let operands = operands(&mut arenas, &vectors, in_place, true);
            arenas[1].expect(0, &result[first * size..(first + count as usize) * size]);
            first += count as usize;
            let ((send, recv), counts) = (ends(operands), counts.clone());
            job.part(arenas.into(), move |schedule, comm| {
                let counts = even.is_none().then_some(Counts::Large(&counts));
                let blocks = BlockCounts { even: even.unwrap_or(0), counts };
                match algorithm {
                    0 => operations::reduce_scatter(schedule, comm, operands, blocks),
                    1 => reduce_scatter::reduce_then_scatter(&mut plan(schedule, comm), send, recv, blocks),
                    2 => reduce_scatter::pairwise(&mut plan(schedule, comm), send, recv, blocks),
                    _ => reduce_scatter::halving(&mut plan(schedule, comm), send, recv, blocks),
                }
            });
        }
        job.reducing = Some(vectors.reducing);
        job
    }

    pub(crate) fn scan(&mut self) -> Job {
        let count = self.count(self.ranks);
        let (vectors, in_place, inclusive) =
            (self.vectors(count), self.random.percent(30), self.random.percent(50));
        let mut job = Job::new(format!("scan of {count}, {in_place}, inclusive {inclusive}"));
        for rank in 0..self.ranks {
            let mut arenas = vectors.arenas(rank, count, in_place);
            let operands = operands(&mut arenas, &vectors, in_place, true);
            let result = vectors.reduced(rank + usize::from(inclusive));
            arenas[1].expect(0, result.as_deref().unwrap_or_default());
            job.part(arenas.into(), move |schedule, comm| match inclusive {
                true => operations::scan(schedule, comm, operands),
                false => operations::exscan(schedule, comm, operands),
            });
        }
        job.reducing = Some(vectors.reducing);
        job
    }
}
