//! Process topologies: who is whose neighbour (MPI-5.0, chapter 8).
//!
//! Ranks are never reordered: the launcher has placed the processes already.

mod cart;
mod create;
pub mod dims;
mod graph;
mod inquiry;

pub use cart::Cart;
pub use create::{Edge, Edges};
pub use graph::{DistGraph, Graph, check_weights};

use crate::comm::words::fingerprint;

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

#[cfg(test)]
mod tests;
