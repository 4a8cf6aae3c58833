//! Communicators with a topology (MPI-5.0, 8.5).

use super::graph::mixed_weights;
use super::{Cart, DistGraph, Graph, Neighbors, Topology};
use crate::comm::{Comm, Exchange};
use crate::error::{Error, Result};
use crate::generated::constants as mpi;

/// An edge of a distributed graph, as any process may state it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The rank where it begins.
    pub source: i32,
    /// The rank where it leads.
    pub destination: i32,
    /// The weight, 0 in a graph without weights.
    pub weight: i32,
}

/// Bytes of an edge in an exchange.
const EDGE_BYTES: usize = 12;

/// The edges of a distributed graph that a process knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edges {
    /// The edges.
    pub list: Vec<Edge>,
    /// True if their weights were given. It counts only where there are edges, or if there are none
    /// anywhere.
    pub is_weighted: bool,
}

/// An argument of a constructor may be an error that the caller met. It is reported after the
/// exchange, so that no other process waits for ever, and fails the call on all of them.
impl Comm {
    /// A communicator with this grid; `None` for ranks beyond it (`MPI_Cart_create`).
    /// `MPI_ERR_DIMS` if the grid is larger than the communicator.
    pub fn cart_create(&self, cart: Result<Cart>, exchange: &dyn Exchange) -> Result<Option<Comm>> {
        self.with_nodes(cart.map(|cart| (cart.size(), Topology::Cart(cart))), exchange)
    }

    /// A communicator with this graph; `None` for ranks beyond it (`MPI_Graph_create`).
    /// `MPI_ERR_DIMS` if the graph is larger than the communicator.
    pub fn graph_create(&self, graph: Result<Graph>, exchange: &dyn Exchange) -> Result<Option<Comm>> {
        self.with_nodes(graph.map(|graph| (graph.size(), Topology::Graph(graph))), exchange)
    }

    /// The rank that the caller would have in a topology of this many nodes, `MPI_UNDEFINED` beyond
    /// them (`MPI_Cart_map`, `MPI_Graph_map`). `MPI_ERR_DIMS` if there are more nodes than
    /// processes.
    pub fn mapped(&self, nodes: i32) -> Result<i32> {
        self.check_intra()?;
        self.check_room(nodes)?;
        Ok(if self.rank() < nodes { self.rank() } else { mpi::MPI_UNDEFINED })
    }

    fn check_room(&self, nodes: i32) -> Result<()> {
        if nodes <= self.size() { Ok(()) } else { Err(too_large(nodes, self.size())) }
    }

    fn with_nodes(&self, topology: Result<(i32, Topology)>, exchange: &dyn Exchange) -> Result<Option<Comm>> {
        self.check_intra()?;
        let alike = topology.as_ref().map_or(0, |(_, topology)| topology.fingerprint());
        let topology = topology.and_then(|(nodes, topology)| {
            self.check_room(nodes)?;
            Ok((self.rank() < nodes).then_some(topology))
        });
        let color = topology.as_ref().map(|topology| topology.as_ref().map(|_| 0)).map_err(Error::clone);
        let new = self.split_by(color, self.rank(), alike, exchange)?;
        Ok(new.zip(topology?).map(|(new, topology)| new.with_topology(topology)))
    }

    /// The parts of the grid in which some dimensions remain (`MPI_Cart_sub`). `MPI_ERR_TOPOLOGY`
    /// if there is no grid.
    pub fn cart_sub(&self, remain: &[bool], exchange: &dyn Exchange) -> Result<Comm> {
        let (grid, part) = self.cart()?.sub(self.rank(), remain);
        let new = self.split(part, self.rank(), exchange)?.expect("every rank gave a color");
        Ok(new.with_topology(Topology::Cart(grid)))
    }

    /// A communicator with a distributed graph, in which every process gives its own neighbours
    /// (`MPI_Dist_graph_create_adjacent`). `MPI_ERR_RANK` if one does not exist.
    pub fn dist_graph_adjacent(&self, graph: Result<DistGraph>, exchange: &dyn Exchange) -> Result<Comm> {
        self.check_intra()?;
        let graph = graph.and_then(|graph| {
            let Neighbors { sources, destinations } = &graph.neighbors;
            sources.iter().chain(destinations).try_for_each(|&rank| self.check_node(rank))?;
            Ok(graph)
        });
        let color = graph.as_ref().map(|_| Some(0)).map_err(Error::clone);
        let new = self.split_by(color, self.rank(), 0, exchange)?.expect("every rank gave a color");
        Ok(new.with_topology(Topology::DistGraph(graph?)))
    }

    /// Like [`Comm::dist_graph_adjacent`], from edges that any process may give
    /// (`MPI_Dist_graph_create`): all processes see all edges for a moment. `MPI_ERR_ARG` if only
    /// some of them have weights.
    pub fn dist_graph_create(&self, edges: Result<Edges>, exchange: &dyn Exchange) -> Result<Comm> {
        self.check_intra()?;
        let mine = edges.and_then(|edges| {
            let ends = edges.list.iter().flat_map(|edge| [edge.source, edge.destination]);
            ends.into_iter().try_for_each(|rank| self.check_node(rank))?;
            Ok(edges.pack())
        });
        let all: Vec<Edges> = self.gather(mine, exchange)?.iter().map(|bytes| Edges::unpack(bytes)).collect();
        let is_weighted = are_weighted(&all)?;
        let all: Vec<Edge> = all.into_iter().flat_map(|edges| edges.list).collect();
        self.dist_graph_adjacent(Ok(part_of(self.rank(), &all, is_weighted)), exchange)
    }

    fn check_node(&self, rank: i32) -> Result<()> {
        if (0..self.size()).contains(&rank) { Ok(()) } else { Err(no_node(rank, self.size())) }
    }
}

/// The part of a graph that concerns rank `me`.
fn part_of(me: i32, edges: &[Edge], is_weighted: bool) -> DistGraph {
    let (incoming, outgoing): (Vec<&Edge>, Vec<&Edge>) = (
        edges.iter().filter(|edge| edge.destination == me).collect(),
        edges.iter().filter(|edge| edge.source == me).collect(),
    );
    let weights = |edges: &[&Edge]| edges.iter().map(|edge| edge.weight).collect();
    DistGraph {
        neighbors: Neighbors {
            sources: incoming.iter().map(|edge| edge.source).collect(),
            destinations: outgoing.iter().map(|edge| edge.destination).collect(),
        },
        weights: is_weighted.then(|| (weights(&incoming), weights(&outgoing))),
    }
}

/// Returns whether a graph has weights. All processes that gave edges must agree; `MPI_ERR_ARG` if
/// they do not.
fn are_weighted(all: &[Edges]) -> Result<bool> {
    let says = |weighted| all.iter().any(|edges| edges.is_weighted == weighted && !edges.list.is_empty());
    match [says(true), says(false)] {
        [true, true] => Err(mixed_weights()),
        [false, false] => Ok(all.iter().any(|edges| edges.is_weighted)),
        [weighted, _] => Ok(weighted),
    }
}

impl Edges {
    fn pack(&self) -> Vec<u8> {
        [u8::from(self.is_weighted)].into_iter().chain(self.list.iter().flat_map(Edge::pack)).collect()
    }

    fn unpack(bytes: &[u8]) -> Edges {
        let (flag, list) = bytes.split_first().unwrap_or((&0, &[]));
        Edges { is_weighted: *flag == 1, list: list.as_chunks().0.iter().map(Edge::unpack).collect() }
    }
}

impl Edge {
    fn pack(&self) -> Vec<u8> {
        [self.source, self.destination, self.weight].iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    fn unpack(bytes: &[u8; EDGE_BYTES]) -> Edge {
        let word = |i: usize| i32::from_le_bytes([bytes[i], bytes[i + 1], bytes[i + 2], bytes[i + 3]]);
        Edge { source: word(0), destination: word(4), weight: word(8) }
    }
}

#[cold]
fn too_large(nodes: i32, size: i32) -> Error {
    Error::new(
        mpi::MPI_ERR_DIMS,
        "a topology has more nodes than the communicator has processes",
        format!("{nodes} nodes, {size} processes"),
        "the sizes were meant for a larger run",
        "choose the sizes by MPI_Comm_size, for example with MPI_Dims_create",
    )
}

#[cold]
fn no_node(rank: i32, size: i32) -> Error {
    Error::new(
        mpi::MPI_ERR_RANK,
        format!("the neighbour {rank} does not exist"),
        format!("a distributed graph over {size} processes"),
        "the edges were made for a larger run, or beyond a border",
        "give ranks of the communicator",
    )
}
