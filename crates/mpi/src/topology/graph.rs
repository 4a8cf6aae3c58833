//! Graphs (MPI-5.0, 8.5.3 and 8.5.4).

use super::Neighbors;
use crate::error::{Error, Result};
use crate::generated::constants as mpi;

/// A graph that all processes know whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    /// Where each node's edges end in `edges`; they begin where those of the node before end.
    index: Vec<i32>,
    edges: Vec<i32>,
}

impl Graph {
    /// The graph of these edges: `index[i]` is the number of edges of the nodes up to `i`. `MPI_ERR_ARG` if
    /// the index decreases, or an edge leads nowhere.
    pub fn new(index: &[i32], edges: &[i32]) -> Result<Graph> {
        let grows = index.first().is_none_or(|&first| first >= 0) && index.is_sorted();
        let count = Graph::edge_count(index);
        let inside = |&edge: &i32| (0..index.len() as i32).contains(&edge);
        if !grows || edges.len() < count || !edges[..count].iter().all(inside) {
            return Err(bad_graph(index.len()));
        }
        Ok(Graph { index: index.to_vec(), edges: edges[..count].to_vec() })
    }

    /// Number of edges that an index tells of.
    pub fn edge_count(index: &[i32]) -> usize {
        index.last().map_or(0, |&last| last.max(0) as usize)
    }

    /// Number of nodes.
    pub fn size(&self) -> i32 {
        self.index.len() as i32
    }

    /// Where each node's edges end.
    pub fn index(&self) -> &[i32] {
        &self.index
    }

    /// All edges, by node.
    pub fn edges(&self) -> &[i32] {
        &self.edges
    }

    /// The neighbours of a node (`MPI_Graph_neighbors`). `MPI_ERR_RANK` if there is no such node.
    pub fn neighbors(&self, rank: i32) -> Result<&[i32]> {
        let node = usize::try_from(rank).ok().filter(|&node| node < self.index.len());
        let node = node.ok_or_else(|| no_node(rank, self.size()))?;
        let first = if node == 0 { 0 } else { self.index[node - 1] as usize };
        Ok(&self.edges[first..self.index[node] as usize])
    }
}

/// A process's own part of a distributed graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DistGraph {
    /// The neighbours.
    pub neighbors: Neighbors,
    /// Weights of the edges from the sources and to the destinations, if the graph has weights.
    pub weights: Option<(Vec<i32>, Vec<i32>)>,
}

#[cold]
fn bad_graph(nodes: usize) -> Error {
    Error::new(
        mpi::MPI_ERR_ARG,
        "the graph is not valid",
        format!("a graph of {nodes} nodes"),
        "the index is not cumulative, or an edge leads to a node that is not there",
        "let index[i] be the number of edges of the nodes 0 to i, and edges be ranks below the number of nodes",
    )
}

#[cold]
fn no_node(rank: i32, size: i32) -> Error {
    Error::new(
        mpi::MPI_ERR_RANK,
        format!("rank {rank} is no node of the graph"),
        format!("a graph of {size} nodes"),
        "the rank is meant in another communicator",
        "give a rank of the graph's communicator",
    )
}
