//! A communicator's topology (MPI-5.0, 8.5.5).

use super::{Cart, DistGraph, Graph, Neighbors, Topology};
use crate::comm::Comm;
use crate::error::{Error, Result};
use crate::generated::constants as mpi;

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
