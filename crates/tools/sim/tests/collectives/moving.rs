//! Jobs that move data: broadcast, gather, scatter, allgather, alltoall and their variants.

use crate::arena::Arena;
use crate::job::{Job, Maker, plan};
use verbena_memory::elements::Elements;
use verbena_mpi::coll::algorithms::{allgather, alltoall, bcast, gather, scatter};
use verbena_mpi::coll::{Blocks, Counts, operations};

/// Counts and displacements of a vector collective, owned.
pub(crate) struct Table {
    counts: Vec<i64>,
    places: Vec<i64>,
    /// Both in the `int` form, if the call takes that.
    small: Option<(Vec<i32>, Vec<i32>)>,
}

impl Table {
    pub(crate) fn new(counts: Vec<i64>, places: Vec<i64>, small: bool) -> Table {
        let narrow = |values: &[i64]| values.iter().map(|v| *v as i32).collect();
        let small = small.then(|| (narrow(&counts), narrow(&places)));
        Table { counts, places, small }
    }

    pub(crate) fn blocks(&self, elements: Elements<'static>) -> Blocks<'_> {
        let (counts, displacements) = match &self.small {
            Some((counts, places)) => (Counts::Int(counts), Counts::Int(places)),
            None => (Counts::Large(&self.counts), Counts::Large(&self.places)),
        };
        Blocks::Varied { elements, counts, displacements }
    }
}

impl Maker<'_> {
    pub(crate) fn barrier(&mut self) -> Job {
        let mut job = Job::new("barrier".into());
        job.is_barrier = true;
        (0..self.ranks).for_each(|_| job.part(Vec::new(), operations::barrier));
        job
    }

    pub(crate) fn bcast(&mut self) -> Job {
        let (root, family, count) = (self.rank(), self.family(), self.count(self.ranks));
        let values = self.values(count, family);
        let algorithm = if values.is_empty() { 0 } else { self.random.below(4) };
        let mut job = Job::new(format!("bcast {algorithm} of {count} {family:?} from {root}"));
        for rank in 0..self.ranks {
            let mut arena = Arena::new(count, self.layout(family));
            if rank == root {
                arena.put(0, &values)
            } else {
                arena.expect(0, &values)
            }
            let buffer = arena.elements().buffer(0, count);
            job.part(vec![arena], move |schedule, comm| match algorithm {
                0 => operations::bcast(schedule, comm, buffer, root as i32),
                1 => bcast::binomial(&mut plan(schedule, comm), buffer, root),
                2 => bcast::chain(&mut plan(schedule, comm), buffer, root, 64),
                _ => bcast::scatter_allgather(&mut plan(schedule, comm), buffer, root),
            });
        }
        job
    }

    pub(crate) fn gather(&mut self) -> Job {
        let (root, family, count) = (self.rank(), self.family(), self.count(self.ranks));
        let (in_place, bytes) = (self.random.percent(30), count * family.size());
        let algorithm = if bytes == 0 { 0 } else { self.random.below(3) };
        let mut job = Job::new(format!("gather {algorithm} of {count} {family:?} at {root}, {in_place}"));
        let all: Vec<_> = (0..self.ranks).map(|_| self.values(count, family)).collect();
        for (rank, own) in all.iter().enumerate() {
            let mut send = Arena::new(count, self.layout(family));
            let mut recv = Arena::new(count * self.ranks, self.layout(family));
            send.put(0, own);
            let at_root = rank == root;
            if at_root {
                all.iter().enumerate().for_each(|(i, values)| recv.expect(i * count, values));
                recv.put(if in_place { root * count } else { 0 }, if in_place { own } else { &[] });
            }
            let blocks = at_root.then(|| Blocks::Even { elements: recv.elements(), count });
            let mine = (!(in_place && at_root)).then(|| send.elements().buffer(0, count));
            job.part(vec![send, recv], move |schedule, comm| match algorithm {
                0 => operations::gather(schedule, comm, mine, blocks, root as i32),
                1 => gather::linear(&mut plan(schedule, comm), mine, blocks, root),
                _ => gather::binomial(&mut plan(schedule, comm), mine, blocks, bytes, root),
            });
        }
        job
    }

    pub(crate) fn gatherv(&mut self) -> Job {
        let (root, family, in_place) = (self.rank(), self.family(), self.random.percent(30));
        let counts = self.counts(self.ranks, self.ranks);
        let (places, end) = self.displacements(&counts);
        let mut job = Job::new(format!("gatherv of {counts:?} {family:?} at {root}, {in_place}"));
        let all: Vec<_> = counts.iter().map(|c| self.values(*c as usize, family)).collect();
        for (rank, own) in all.iter().enumerate() {
            let (at_root, count) = (rank == root, counts[rank] as usize);
            let mut send = Arena::new(count, self.layout(family));
            let mut recv = Arena::new(end, self.layout(family));
            send.put(0, own);
            if at_root {
                all.iter().zip(&places).for_each(|(values, place)| recv.expect(*place as usize, values));
                recv.put(places[root] as usize, if in_place { own } else { &[] });
            }
            let (elements, buffer) = (recv.elements(), send.elements().buffer(0, count));
            let mine = (!(in_place && at_root)).then_some(buffer);
            let table = Table::new(counts.clone(), places.clone(), self.random.percent(50));
            job.part(vec![send, recv], move |schedule, comm| {
                let blocks = at_root.then(|| table.blocks(elements));
                operations::gatherv(schedule, comm, mine, blocks, root as i32)
            });
        }
        job
    }

    pub(crate) fn scatter(&mut self) -> Job {
        let (root, family, count) = (self.rank(), self.family(), self.count(self.ranks));
        let (in_place, bytes) = (self.random.percent(30), count * family.size());
        let algorithm = if bytes == 0 { 0 } else { self.random.below(3) };
        let mut job = Job::new(format!("scatter {algorithm} of {count} {family:?} from {root}, {in_place}"));
        let all: Vec<_> = (0..self.ranks).map(|_| self.values(count, family)).collect();
        for (rank, own) in all.iter().enumerate() {
            let at_root = rank == root;
            let mut send = Arena::new(count * self.ranks, self.layout(family));
            let mut recv = Arena::new(count, self.layout(family));
            if at_root {
                all.iter().enumerate().for_each(|(i, values)| send.put(i * count, values));
            }
            let keeps = in_place && at_root;
            recv.expect(0, if keeps { &[] } else { own });
            let blocks = at_root.then(|| Blocks::Even { elements: send.elements(), count });
            let mine = (!keeps).then(|| recv.elements().buffer(0, count));
            job.part(vec![send, recv], move |schedule, comm| match algorithm {
                0 => operations::scatter(schedule, comm, blocks, mine, root as i32),
                1 => scatter::linear(&mut plan(schedule, comm), blocks, mine, root),
                _ => scatter::binomial(&mut plan(schedule, comm), blocks, mine, bytes, root),
            });
        }
        job
    }

    pub(crate) fn scatterv(&mut self) -> Job {
        let (root, family, in_place) = (self.rank(), self.family(), self.random.percent(30));
        let counts = self.counts(self.ranks, self.ranks);
        let (places, end) = self.displacements(&counts);
        let mut job = Job::new(format!("scatterv of {counts:?} {family:?} from {root}, {in_place}"));
        let all: Vec<_> = counts.iter().map(|c| self.values(*c as usize, family)).collect();
        for (rank, own) in all.iter().enumerate() {
            let (at_root, count) = (rank == root, counts[rank] as usize);
            let mut send = Arena::new(end, self.layout(family));
            let mut recv = Arena::new(count, self.layout(family));
            if at_root {
                all.iter().zip(&places).for_each(|(values, place)| send.put(*place as usize, values));
            }
            let keeps = in_place && at_root;
            recv.expect(0, if keeps { &[] } else { own });
            let (elements, buffer) = (send.elements(), recv.elements().buffer(0, count));
            let table = Table::new(counts.clone(), places.clone(), self.random.percent(50));
            job.part(vec![send, recv], move |schedule, comm| {
                let blocks = at_root.then(|| table.blocks(elements));
                operations::scatterv(schedule, comm, blocks, (!keeps).then_some(buffer), root as i32)
            });
        }
        job
    }

    pub(crate) fn allgather(&mut self) -> Job {
        let (family, count) = (self.family(), self.count(self.ranks * self.ranks / 4 + 1));
        let in_place = self.random.percent(30);
        let algorithm = if count * family.size() == 0 { 0 } else { self.random.below(4) };
        let algorithm = if algorithm == 3 && !self.ranks.is_power_of_two() { 1 } else { algorithm };
        let mut job = Job::new(format!("allgather {algorithm} of {count} {family:?}, {in_place}"));
        let all: Vec<_> = (0..self.ranks).map(|_| self.values(count, family)).collect();
        for (rank, own) in all.iter().enumerate() {
            let mut send = Arena::new(count, self.layout(family));
            let mut recv = Arena::new(count * self.ranks, self.layout(family));
            send.put(0, own);
            all.iter().enumerate().for_each(|(i, values)| recv.expect(i * count, values));
            recv.put(rank * count, if in_place { own } else { &[] });
            let blocks = Blocks::Even { elements: recv.elements(), count };
            let mine = (!in_place).then(|| send.elements().buffer(0, count));
            job.part(vec![send, recv], move |schedule, comm| match algorithm {
                0 => operations::allgather(schedule, comm, mine, blocks),
                1 => allgather::ring(&mut plan(schedule, comm), mine, blocks),
                2 => allgather::bruck(&mut plan(schedule, comm), mine, blocks),
                _ => allgather::recursive_doubling(&mut plan(schedule, comm), mine, blocks),
            });
        }
        job
    }

    pub(crate) fn allgatherv(&mut self) -> Job {
        let (family, in_place) = (self.family(), self.random.percent(30));
        let counts = self.counts(self.ranks, self.ranks * self.ranks / 4 + 1);
        let algorithm = self.random.below(3);
        let mut job = Job::new(format!("allgatherv {algorithm} of {counts:?} {family:?}, {in_place}"));
        let all: Vec<_> = counts.iter().map(|c| self.values(*c as usize, family)).collect();
        for (rank, own) in all.iter().enumerate() {
            let count = counts[rank] as usize;
            let (places, end) = self.displacements(&counts);
            let mut send = Arena::new(count, self.layout(family));
            let mut recv = Arena::new(end, self.layout(family));
            send.put(0, own);
            all.iter().zip(&places).for_each(|(values, place)| recv.expect(*place as usize, values));
            recv.put(places[rank] as usize, if in_place { own } else { &[] });
            let (elements, buffer) = (recv.elements(), send.elements().buffer(0, count));
            let table = Table::new(counts.clone(), places, self.random.percent(50));
            job.part(vec![send, recv], move |schedule, comm| {
                let blocks = table.blocks(elements);
                let mine = (!in_place).then_some(buffer);
                match algorithm {
                    0 => operations::allgather(schedule, comm, mine, blocks),
                    1 => allgather::ring(&mut plan(schedule, comm), mine, blocks),
                    _ => allgather::bruck(&mut plan(schedule, comm), mine, blocks),
                }
            });
        }
        job
    }

    pub(crate) fn alltoall(&mut self) -> Job {
        let (family, count) = (self.family(), self.count(self.ranks * self.ranks));
        let (in_place, bytes) = (self.random.percent(30), count * family.size());
        let algorithm = if bytes == 0 { 0 } else { self.random.below(4) };
        let mut job = Job::new(format!("alltoall {algorithm} of {count} {family:?}, {in_place}"));
        let all: Vec<Vec<_>> =
            (0..self.ranks).map(|_| (0..self.ranks).map(|_| self.values(count, family)).collect()).collect();
        for (rank, own) in all.iter().enumerate() {
            let mut send = Arena::new(count * self.ranks, self.layout(family));
            let mut recv = Arena::new(count * self.ranks, self.layout(family));
            let source = if in_place { &mut recv } else { &mut send };
            own.iter().enumerate().for_each(|(i, values)| source.put(i * count, values));
            all.iter().enumerate().for_each(|(i, values)| recv.expect(i * count, &values[rank]));
            let blocks = Blocks::Even { elements: recv.elements(), count };
            let sent = (!in_place).then(|| Blocks::Even { elements: send.elements(), count });
            job.part(vec![send, recv], move |schedule, comm| match algorithm {
                0 => operations::alltoall(schedule, comm, sent, blocks),
                1 => alltoall::direct(&mut plan(schedule, comm), sent, blocks, 1),
                2 => alltoall::direct(&mut plan(schedule, comm), sent, blocks, 5),
                _ => alltoall::bruck(&mut plan(schedule, comm), sent, blocks, bytes),
            });
        }
        job
    }

    /// The counts that each pair of ranks exchanges; symmetric if `in_place`.
    pub(crate) fn pair_counts(&mut self, in_place: bool) -> Vec<Vec<i64>> {
        let budget = self.ranks * self.ranks;
        let counts: Vec<Vec<i64>> = (0..self.ranks).map(|_| self.counts(self.ranks, budget)).collect();
        if in_place { mirrored(&counts) } else { counts }
    }

    pub(crate) fn alltoallv(&mut self) -> Job {
        let (family, in_place) = (self.family(), self.random.percent(30));
        let counts = self.pair_counts(in_place);
        let mut job = Job::new(format!("alltoallv of {family:?}, {in_place}"));
        let all: Vec<Vec<_>> =
            counts.iter().map(|row| row.iter().map(|c| self.values(*c as usize, family)).collect()).collect();
        for rank in 0..self.ranks {
            let out_counts = counts[rank].clone();
            let in_counts: Vec<i64> = counts.iter().map(|row| row[rank]).collect();
            let ((out_places, out_end), (in_places, in_end)) =
                (self.displacements(&out_counts), self.displacements(&in_counts));
            let mut send = Arena::new(out_end, self.layout(family));
            let mut recv = Arena::new(in_end, self.layout(family));
            for (i, values) in all[rank].iter().enumerate() {
                match in_place {
                    true => recv.put(in_places[i] as usize, values),
                    false => send.put(out_places[i] as usize, values),
                }
            }
            all.iter().zip(&in_places).for_each(|(row, place)| recv.expect(*place as usize, &row[rank]));
            let (sends, recvs) = (send.elements(), recv.elements());
            let outgoing = Table::new(out_counts, out_places, self.random.percent(50));
            let incoming = Table::new(in_counts, in_places, self.random.percent(50));
            job.part(vec![send, recv], move |schedule, comm| {
                let sent = (!in_place).then(|| outgoing.blocks(sends));
                operations::alltoallv(schedule, comm, sent, incoming.blocks(recvs))
            });
        }
        job
    }
}

/// The table with its upper half copied into the lower one.
pub(crate) fn mirrored<T: Copy>(table: &[Vec<T>]) -> Vec<Vec<T>> {
    let row = |i: usize| (0..table.len()).map(|j| table[i.min(j)][i.max(j)]).collect();
    (0..table.len()).map(row).collect()
}
