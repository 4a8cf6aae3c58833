//! Graphs (MPI-5.0, 8.5.3 and 8.5.4).

use super::Neighbors;
use crate::error::{Error, Result};
use crate::generated::constants as mpi;

/// A graph that all processes know completely.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    /// The end of each node's edges in `edges`; they begin at the end of those of the node before.
    index: Vec<i32>,
    edges: Vec<i32>,
}

impl Graph {
    /// The graph of these edges: `index[i]` is the number of edges of the nodes up to `i`.
    /// `MPI_ERR_ARG` if the index decreases, or an edge leads nowhere.
    pub fn new(index: &[i32], edges: &[i32]) -> Result<Graph> {
        let grows = index.first().is_none_or(|&first| first >= 0) && index.is_sorted();
        let count = Graph::edge_count(index);
        let inside = |&edge: &i32| (0..index.len() as i32).contains(&edge);
        if !grows || edges.len() < count || !edges[..count].iter().all(inside) {
            return Err(bad_graph(index.len()));
        }
        Ok(Graph { index: index.to_vec(), edges: edges[..count].to_vec() })
    }

    /// The number of edges that an index describes.
    pub fn edge_count(index: &[i32]) -> usize {
        index.last().map_or(0, |&last| last.max(0) as usize)
    }

    /// Number of nodes.
    pub fn size(&self) -> i32 {
        self.index.len() as i32
    }

    /// The end of each node's edges.
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

impl DistGraph {
    /// The neighbours with the weights of their edges, one for each, `None` for `MPI_UNWEIGHTED`.
    /// The weights of a direction without edges do not count. `MPI_ERR_ARG` if one direction has
    /// weights and the other not, a weight is missing, or it is negative.
    pub fn new(
        neighbors: Neighbors,
        incoming: Option<&[i32]>,
        outgoing: Option<&[i32]>,
    ) -> Result<DistGraph> {
        let Neighbors { sources, destinations } = &neighbors;
        let weights = match (incoming, outgoing) {
            (Some(incoming), Some(outgoing)) => Some((incoming, outgoing)),
            (None, Some(outgoing)) if sources.is_empty() && !destinations.is_empty() => {
                Some((&[][..], outgoing))
            }
            (Some(incoming), None) if destinations.is_empty() && !sources.is_empty() => {
                Some((incoming, &[][..]))
            }
            (None, Some(_)) if !destinations.is_empty() => return Err(mixed_weights()),
            (Some(_), None) if !sources.is_empty() => return Err(mixed_weights()),
            _ => None,
        };
        if let Some((incoming, outgoing)) = weights {
            check_weights(incoming, sources.len())?;
            check_weights(outgoing, destinations.len())?;
        }
        let weights = weights.map(|(incoming, outgoing)| (incoming.to_vec(), outgoing.to_vec()));
        Ok(DistGraph { neighbors, weights })
    }
}

/// Returns `MPI_ERR_ARG` unless there is a weight for each of this many edges and none is negative
/// (8.5.4).
pub fn check_weights(weights: &[i32], edges: usize) -> Result<()> {
    if weights.len() == edges && weights.iter().all(|&weight| weight >= 0) {
        Ok(())
    } else {
        Err(bad_weights(edges))
    }
}

#[cold]
fn bad_weights(edges: usize) -> Error {
    Error::new(
        mpi::MPI_ERR_ARG,
        "the weights of a distributed graph are not valid",
        format!("the weights of {edges} edges"),
        "a weight is negative, or MPI_WEIGHTS_EMPTY was passed though there are edges",
        "pass a weight of 0 or more for each edge, or MPI_UNWEIGHTED everywhere",
    )
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

#[cold]
pub(super) fn mixed_weights() -> Error {
    Error::new(
        mpi::MPI_ERR_ARG,
        "some edges of a distributed graph have weights and others have none",
        "the weights of the processes' edges",
        "MPI_UNWEIGHTED was passed on some processes, or for one direction, only",
        "pass weights for all edges, or MPI_UNWEIGHTED everywhere",
    )
}
