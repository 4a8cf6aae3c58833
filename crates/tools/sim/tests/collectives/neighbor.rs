//! Jobs among neighbours: random grids, graphs and distributed graphs, with edges that occur
//! several times, edges to oneself, borders and processes without neighbours.

use crate::arena::Arena;
use crate::job::{Family, Job, Maker, shuffle};
use crate::moving::Table;
use verbena_mpi::Comm;
use verbena_mpi::coll::schedule::Schedule;
use verbena_mpi::coll::{Blocks, operations};
use verbena_mpi::topology::{Cart, DistGraph, Graph, Neighbors, Topology};
use verbena_sim::Random;

/// A topology, and who sends what to whom in it.
pub(crate) struct Net {
    pub what: String,
    /// The topology as each rank knows it.
    pub topologies: Vec<Topology>,
    /// The number of outgoing edges of each rank, those beyond a border too.
    out: Vec<usize>,
    /// The incoming edges of each rank: the source, and its number among the source's outgoing
    /// ones; `None` from beyond a border.
    incoming: Vec<Vec<Option<(usize, usize)>>>,
}

/// Gives the communicators of all ranks this topology.
pub(crate) fn on(net: &Net, comms: Vec<(Comm, usize)>) -> Vec<(Comm, usize)> {
    let known = |(comm, part): (Comm, usize)| (comm.with_topology(net.topologies[part].clone()), part);
    comms.into_iter().map(known).collect()
}

/// A topology of about `ranks` processes.
pub(crate) fn random(random: &mut Random, ranks: usize) -> Net {
    match random.below(3) {
        0 => grid(random, ranks),
        1 => graph(random, ranks),
        _ => dist_graph(random, ranks),
    }
}

/// A grid of at most `ranks` processes. Sizes 1 and 2 are frequent: there both neighbours may be
/// the same process.
fn grid(random: &mut Random, ranks: usize) -> Net {
    let (mut dims, mut periods): (Vec<i32>, Vec<bool>) = (Vec::new(), Vec::new());
    for _ in 0..random.below(5) {
        let room = ranks as i32 / dims.iter().product::<i32>();
        dims.push(random.pick(&[1, 2, 2, 3, 4, 7]).min(room));
        periods.push(random.percent(60));
    }
    let size = dims.iter().product::<i32>() as usize;
    let incoming = (0..size).map(|rank| grid_edges(&dims, &periods, rank)).collect();
    let cart = Cart::new(&dims, &periods).expect("a grid");
    Net {
        what: format!("grid {dims:?} {periods:?}"),
        topologies: vec![Topology::Cart(cart); size],
        out: vec![2 * dims.len(); size],
        incoming,
    }
}

/// A ring of two whose processes believe that it is a distributed graph: messages cross.
pub(crate) fn crossed_ring() -> Net {
    let (dims, periods) = ([2], [true]);
    let other = |rank: i32| Neighbors { sources: vec![1 - rank; 2], destinations: vec![1 - rank; 2] };
    let graph = |rank| Topology::DistGraph(DistGraph { neighbors: other(rank), weights: None });
    Net {
        what: "crossed ring".into(),
        topologies: vec![graph(0), graph(1)],
        out: vec![2; 2],
        incoming: (0..2).map(|rank| grid_edges(&dims, &periods, rank)).collect(),
    }
}

/// The edges into a node: from below the one that goes up there, from above the one that goes down.
fn grid_edges(dims: &[i32], periods: &[bool], rank: usize) -> Vec<Option<(usize, usize)>> {
    let mut edges = Vec::new();
    for (d, (&dim, &periodic)) in dims.iter().zip(periods).enumerate() {
        let stride: i32 = dims[d + 1..].iter().product();
        let at = rank as i32 / stride % dim;
        for (step, edge) in [(-1, 2 * d + 1), (1, 2 * d)] {
            let there = if periodic { (at + step + dim) % dim } else { at + step };
            let node = rank as i32 + (there - at) * stride;
            edges.push((0..dim).contains(&there).then_some((node as usize, edge)));
        }
    }
    edges
}

/// The edges of each rank: out, as destinations, and in, as sources.
struct Edges {
    out: Vec<Vec<i32>>,
    sources: Vec<Vec<i32>>,
}

impl Edges {
    /// Edges in any order; the k-th from a to b that a lists is the k-th from a that b lists.
    fn net(self, what: String, topologies: Vec<Topology>) -> Net {
        let matching = |to: usize, slot: usize| {
            let from = self.sources[to][slot];
            let earlier = self.sources[to][..slot].iter().filter(|&&other| other == from).count();
            let mut edges = (0..).zip(&self.out[from as usize]).filter(|(_, rank)| **rank == to as i32);
            let (edge, _) = edges.nth(earlier).expect("an edge for each source");
            Some((from as usize, edge))
        };
        let of = |to: usize| (0..self.sources[to].len()).map(|slot| matching(to, slot)).collect();
        let incoming = (0..self.out.len()).map(of).collect();
        Net { what, topologies, out: self.out.iter().map(Vec::len).collect(), incoming }
    }
}

fn edge_count(random: &mut Random, ranks: usize) -> usize {
    random.below(4 * ranks as u64) as usize
}

/// A graph whose edges lead both ways.
fn graph(random: &mut Random, ranks: usize) -> Net {
    let mut out = vec![Vec::new(); ranks];
    for _ in 0..edge_count(random, ranks) {
        let [a, b] = [random.below(ranks as u64) as usize, random.below(ranks as u64) as usize];
        out[a].push(b as i32);
        out[b].push(a as i32);
    }
    out.iter_mut().for_each(|list| shuffle(random, list));
    let index: Vec<i32> = out
        .iter()
        .scan(0, |sum, list| {
            *sum += list.len() as i32;
            Some(*sum)
        })
        .collect();
    let graph = Graph::new(&index, &out.concat()).expect("a graph");
    let edges = Edges { sources: out.clone(), out };
    edges.net(format!("graph of {ranks}"), vec![Topology::Graph(graph); ranks])
}

fn dist_graph(random: &mut Random, ranks: usize) -> Net {
    let mut edges = Edges { out: vec![Vec::new(); ranks], sources: vec![Vec::new(); ranks] };
    for _ in 0..edge_count(random, ranks) {
        let [a, b] = [random.below(ranks as u64) as usize, random.below(ranks as u64) as usize];
        edges.out[a].push(b as i32);
        edges.sources[b].push(a as i32);
    }
    edges.out.iter_mut().chain(&mut edges.sources).for_each(|list| shuffle(random, list));
    let known = edges.out.iter().zip(&edges.sources).map(|(out, sources)| {
        let neighbors = Neighbors { sources: sources.clone(), destinations: out.clone() };
        Topology::DistGraph(DistGraph { neighbors, weights: None })
    });
    let known = known.collect();
    edges.net(format!("distributed graph of {ranks}"), known)
}

/// Makes jobs for a communicator with a topology.
pub(crate) struct Around<'r> {
    pub maker: Maker<'r>,
    pub net: &'r Net,
}

/// The choice whether every neighbour gets the same block, or each its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Giving {
    Same,
    Own,
}

impl Giving {
    /// Runs the collective.
    fn call(self, schedule: &mut Schedule, comm: &Comm, send: Blocks, recv: Blocks) {
        let neighbors = comm.neighbors().expect("a topology");
        match self {
            Giving::Same => {
                operations::neighbor_allgather(schedule, comm, neighbors, &send.buffer(0), recv);
            }
            Giving::Own => operations::neighbor_alltoall(schedule, comm, neighbors, send, recv),
        }
    }
}

impl Around<'_> {
    pub(crate) fn job(&mut self) -> Job {
        match self.maker.random.below(5) {
            0 => self.even(Giving::Same),
            1 => self.varied(Giving::Same),
            2 => self.even(Giving::Own),
            3 => self.varied(Giving::Own),
            _ => self.typed(),
        }
    }

    fn ranks(&self) -> usize {
        self.net.topologies.len()
    }

    /// Number of blocks that a rank gives.
    fn given(&self, giving: Giving, rank: usize) -> usize {
        if giving == Giving::Same { 1 } else { self.net.out[rank] }
    }

    /// Returns what comes in over each edge of a rank, of what each rank gives; `None` from beyond
    /// a border.
    fn incoming<'a, T>(&self, giving: Giving, rank: usize, given: &'a [Vec<T>]) -> Vec<Option<&'a T>> {
        let block = |edge: usize| if giving == Giving::Same { 0 } else { edge };
        self.net.incoming[rank]
            .iter()
            .map(|from| from.map(|(rank, edge)| &given[rank][block(edge)]))
            .collect()
    }

    fn even(&mut self, giving: Giving) -> Job {
        let edges = self.net.incoming.iter().map(Vec::len).sum::<usize>();
        let (family, count) = (self.maker.family(), self.maker.count(edges.max(1)));
        let mut job = Job::new(format!("{giving:?} {count} {family:?} around {}", self.net.what));
        let all: Vec<Vec<Vec<u8>>> = (0..self.ranks())
            .map(|rank| (0..self.given(giving, rank)).map(|_| self.maker.values(count, family)).collect())
            .collect();
        for (rank, own) in all.iter().enumerate() {
            let incoming = self.incoming(giving, rank, &all);
            let mut send = Arena::new(count * own.len(), self.maker.layout(family));
            let mut recv = Arena::new(count * incoming.len(), self.maker.layout(family));
            own.iter().enumerate().for_each(|(i, values)| send.put(i * count, values));
            let there = incoming.iter().enumerate().filter_map(|(i, values)| Some((i, (*values)?)));
            there.for_each(|(i, values)| recv.expect(i * count, values));
            let sent = Blocks::Even { elements: send.elements(), count };
            let blocks = Blocks::Even { elements: recv.elements(), count };
            job.part(vec![send, recv], move |schedule, comm| giving.call(schedule, comm, sent, blocks));
        }
        job
    }

    /// Returns for each rank the number of elements of each block that it gives.
    fn block_counts(&mut self, giving: Giving) -> Vec<Vec<i64>> {
        let budget = 1 + self.net.out.iter().sum::<usize>();
        let given: Vec<usize> = (0..self.ranks()).map(|rank| self.given(giving, rank)).collect();
        given.into_iter().map(|blocks| self.maker.counts(blocks, budget)).collect()
    }

    fn varied(&mut self, giving: Giving) -> Job {
        let (family, counts) = (self.maker.family(), self.block_counts(giving));
        let mut job = Job::new(format!("{giving:?} of several {family:?} around {}", self.net.what));
        let values = |row: &Vec<i64>| row.iter().map(|c| self.maker.values(*c as usize, family)).collect();
        let all: Vec<Vec<Vec<u8>>> = counts.iter().map(values).collect();
        for (rank, out_counts) in counts.iter().enumerate() {
            let in_counts = self.incoming(giving, rank, &counts);
            let in_counts: Vec<i64> = in_counts.into_iter().map(|count| *count.unwrap_or(&2)).collect();
            let ((out_places, out_end), (in_places, in_end)) =
                (self.maker.displacements(out_counts), self.maker.displacements(&in_counts));
            let mut send = Arena::new(out_end, self.maker.layout(family));
            let mut recv = Arena::new(in_end, self.maker.layout(family));
            all[rank].iter().zip(&out_places).for_each(|(values, place)| send.put(*place as usize, values));
            for (values, place) in self.incoming(giving, rank, &all).into_iter().zip(&in_places) {
                recv.expect(*place as usize, values.map_or(&[], Vec::as_slice));
            }
            let (sends, recvs) = (send.elements(), recv.elements());
            let outgoing = Table::new(out_counts.clone(), out_places, self.maker.random.percent(50));
            let incoming = Table::new(in_counts, in_places, self.maker.random.percent(50));
            job.part(vec![send, recv], move |schedule, comm| {
                giving.call(schedule, comm, outgoing.blocks(sends), incoming.blocks(recvs));
            });
        }
        job
    }

    fn typed(&mut self) -> Job {
        let counts = self.block_counts(Giving::Own);
        let blocks: Vec<Vec<(i64, Family)>> =
            counts.iter().map(|row| row.iter().map(|c| (*c, self.maker.family())).collect()).collect();
        let mut job = Job::new(format!("own of several types around {}", self.net.what));
        let mut values = |(count, family): &(i64, Family)| self.maker.values(*count as usize, *family);
        let all: Vec<Vec<Vec<u8>>> = blocks.iter().map(|row| row.iter().map(&mut values).collect()).collect();
        for rank in 0..self.ranks() {
            let coming = self.incoming(Giving::Own, rank, &blocks);
            let coming: Vec<_> =
                coming.into_iter().map(|block| *block.unwrap_or(&(2, Family::Word))).collect();
            let ((mut send, going), (mut recv, coming)) =
                (self.maker.typed(&blocks[rank]), self.maker.typed(&coming));
            for (i, values) in all[rank].iter().enumerate() {
                send.put_at(going.places[i] as isize, going.named[i], values);
            }
            for (i, values) in self.incoming(Giving::Own, rank, &all).into_iter().enumerate() {
                recv.expect_at(coming.places[i] as isize, coming.named[i], values.map_or(&[], Vec::as_slice));
            }
            let (sends, recvs) = (send.elements(), recv.elements());
            job.part(vec![send, recv], move |schedule, comm| {
                Giving::Own.call(schedule, comm, going.blocks(sends), coming.blocks(recvs));
            });
        }
        job
    }
}
