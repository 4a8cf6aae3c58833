//! Communicators with a topology (MPI-5.0, 8.5).

use super::{Cart, DistGraph, Graph, Neighbors, Topology};
use crate::comm::{Comm, Exchange};
use crate::error::{Error, Result};
use crate::generated::constants as mpi;

/// An edge of a distributed graph, as any process may state it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Where it begins.
    pub source: i32,
    /// Where it leads.
    pub destination: i32,
    /// Its weight, 0 in a graph without weights.
    pub weight: i32,
}

/// Bytes of an edge in an exchange.
const EDGE_BYTES: usize = 12;

impl Comm {
    /// A communicator with this grid; `None` for ranks beyond it (`MPI_Cart_create`). `MPI_ERR_DIMS` if the
    /// grid is larger than the communicator.
    pub fn cart_create(&self, cart: Cart, exchange: &dyn Exchange) -> Result<Option<Comm>> {
        let size = cart.size();
        self.check_room(size)?;
        self.with_nodes(size, Topology::Cart(cart), exchange)
    }

    /// A communicator with this graph; `None` for ranks beyond it (`MPI_Graph_create`). `MPI_ERR_DIMS` if the
    /// graph is larger than the communicator.
    pub fn graph_create(&self, graph: Graph, exchange: &dyn Exchange) -> Result<Option<Comm>> {
        let size = graph.size();
        self.check_room(size)?;
        self.with_nodes(size, Topology::Graph(graph), exchange)
    }

    fn check_room(&self, nodes: i32) -> Result<()> {
        self.check_intra()?;
        if nodes <= self.size() { Ok(()) } else { Err(too_large(nodes, self.size())) }
    }

    fn with_nodes(&self, nodes: i32, topology: Topology, exchange: &dyn Exchange) -> Result<Option<Comm>> {
        let color = if self.rank() < nodes { 0 } else { mpi::MPI_UNDEFINED };
        let new = self.split(color, self.rank(), exchange)?;
        Ok(new.map(|new| new.with_topology(topology)))
    }

    /// The parts of the grid in which some dimensions remain (`MPI_Cart_sub`). `MPI_ERR_TOPOLOGY` if there is
    /// no grid.
    pub fn cart_sub(&self, remain: &[bool], exchange: &dyn Exchange) -> Result<Comm> {
        let (grid, part) = self.cart()?.sub(self.rank(), remain);
        let new = self.split(part, self.rank(), exchange)?.expect("every rank gave a color");
        Ok(new.with_topology(Topology::Cart(grid)))
    }

    /// A communicator with a distributed graph of which every process gives its own neighbours
    /// (`MPI_Dist_graph_create_adjacent`). `MPI_ERR_RANK` if one is not there.
    pub fn dist_graph_adjacent(&self, graph: DistGraph, exchange: &dyn Exchange) -> Result<Comm> {
        self.check_intra()?;
        let Neighbors { sources, destinations } = &graph.neighbors;
        sources.iter().chain(destinations).try_for_each(|&rank| self.check_node(rank))?;
        let new = self.split(0, self.rank(), exchange)?.expect("every rank gave a color");
        Ok(new.with_topology(Topology::DistGraph(graph)))
    }

    /// As [`Comm::dist_graph_adjacent`], from edges that any process may give (`MPI_Dist_graph_create`): all
    /// processes see all edges for a moment.
    pub fn dist_graph_create(
        &self,
        edges: &[Edge],
        is_weighted: bool,
        exchange: &dyn Exchange,
    ) -> Result<Comm> {
        self.check_intra()?;
        for edge in edges {
            self.check_node(edge.source).and_then(|()| self.check_node(edge.destination))?;
        }
        let mine: Vec<u8> = edges.iter().flat_map(Edge::pack).collect();
        let all = exchange.allgather(self, &mine)?;
        let all: Vec<Edge> = all.iter().flat_map(|bytes| bytes.as_chunks().0).map(Edge::unpack).collect();
        self.dist_graph_adjacent(part_of(self.rank(), &all, is_weighted), exchange)
    }

    fn check_node(&self, rank: i32) -> Result<()> {
        if (0..self.size()).contains(&rank) { Ok(()) } else { Err(no_node(rank, self.size())) }
    }
}

/// What rank `me` has of a graph.
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
