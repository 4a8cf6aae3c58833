//! Process topologies: who is whose neighbour (MPI-5.0, chapter 8).
//!
//! Ranks are never reordered: the launcher has placed the processes already.

mod cart;
mod create;
pub mod dims;
mod graph;

pub use cart::Cart;
pub use create::{Edge, Edges};
pub use graph::{DistGraph, Graph, check_weights};

use crate::comm::Comm;
use crate::comm::words::fingerprint;
use crate::error::{Error, Result};
use crate::generated::constants as mpi;

/// A topology.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Topology {
    /// A grid.
    Cart(Cart),
    /// A graph that all processes know completely.
    Graph(Graph),
    /// A graph in which each process knows its own neighbours.
    DistGraph(DistGraph),
}

/// The neighbours of a process: those that it receives from, and those that it sends to.
/// `MPI_PROC_NULL` at the borders of a grid.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Neighbors {
    /// The ranks that messages come from.
    pub sources: Vec<i32>,
    /// The ranks that messages go to.
    pub destinations: Vec<i32>,
}

impl Comm {
    /// The grid. `MPI_ERR_TOPOLOGY` if there is another topology or none.
    pub fn cart(&self) -> Result<&Cart> {
        match self.topology() {
            Some(Topology::Cart(cart)) => Ok(cart),
            other => Err(no_such_topology("Cartesian", other)),
        }
    }

    /// The graph. `MPI_ERR_TOPOLOGY` if there is another topology or none.
    pub fn graph(&self) -> Result<&Graph> {
        match self.topology() {
            Some(Topology::Graph(graph)) => Ok(graph),
            other => Err(no_such_topology("graph", other)),
        }
    }

    /// The distributed graph. `MPI_ERR_TOPOLOGY` if there is another topology or none.
    pub fn dist_graph(&self) -> Result<&DistGraph> {
        match self.topology() {
            Some(Topology::DistGraph(graph)) => Ok(graph),
            other => Err(no_such_topology("distributed graph", other)),
        }
    }

    /// Returns whether there is a grid.
    pub fn is_grid(&self) -> bool {
        matches!(self.topology(), Some(Topology::Cart(_)))
    }

    /// The neighbours of the calling process, in the order that neighbourhood collectives use
    /// (8.6). `MPI_ERR_TOPOLOGY` if there is no topology.
    pub fn neighbors(&self) -> Result<&Neighbors> {
        self.known_neighbors().ok_or_else(|| no_such_topology("(of any kind)", None))
    }
}

impl Topology {
    /// A number for what all processes must give alike to make it.
    fn fingerprint(&self) -> u64 {
        let [first, second] = match self {
            Topology::Cart(cart) => {
                [cart.dims().to_vec(), cart.periods().iter().map(|&period| i32::from(period)).collect()]
            }
            Topology::Graph(graph) => [graph.index(), graph.edges()].map(<[i32]>::to_vec),
            Topology::DistGraph(_) => [Vec::new(), Vec::new()],
        };
        let words = [first.len() as i32].into_iter().chain(first).chain(second);
        fingerprint(words.flat_map(i32::to_le_bytes))
    }

    /// The neighbours of a process.
    pub(crate) fn neighbors(&self, rank: i32) -> Neighbors {
        match self {
            Topology::Cart(cart) => cart.neighbors(rank),
            Topology::Graph(graph) => {
                let both = graph.neighbors(rank).expect("every process is a node").to_vec();
                Neighbors { sources: both.clone(), destinations: both }
            }
            Topology::DistGraph(graph) => graph.neighbors.clone(),
        }
    }
}

#[cold]
fn no_such_topology(wanted: &str, there: Option<&Topology>) -> Error {
    let there = match there {
        None => "has no topology",
        Some(Topology::Cart(_)) => "has a Cartesian topology",
        Some(Topology::Graph(_)) => "has a graph topology",
        Some(Topology::DistGraph(_)) => "has a distributed graph topology",
    };
    Error::new(
        mpi::MPI_ERR_TOPOLOGY,
        format!("the call needs a {wanted} topology"),
        format!("a communicator that {there}"),
        "the communicator that the topology was made from was passed, or the call is for another kind",
        "pass the new communicator; MPI_Topo_test tells its kind",
    )
}

#[cfg(test)]
mod tests;
