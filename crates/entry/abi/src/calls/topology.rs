//! Process topologies (MPI-5.0, chapter 8).

use crate::args::{Out, OutFlag, slice, slice_mut};
use crate::calls::comm::{making, publish, publish_if_member};
use crate::generated::types::MPI_Comm;
use std::ffi::c_int;
use std::sync::Arc;
use verbena_mpi::coll::Kind;
use verbena_mpi::generated::constants as mpi;
use verbena_mpi::topology::{Cart, DistGraph, Edge, Edges, Graph, Neighbors, Topology, check_weights, dims};
use verbena_mpi::{Comm, Info, Result};

/// `MPI_Topo_test` (8.5.5).
pub fn topo_test(comm: &Arc<Comm>, status: Out<'_, c_int>) -> Result<()> {
    status.set(match comm.topology() {
        Some(Topology::Cart(_)) => mpi::MPI_CART,
        Some(Topology::Graph(_)) => mpi::MPI_GRAPH,
        Some(Topology::DistGraph(_)) => mpi::MPI_DIST_GRAPH,
        None => mpi::MPI_UNDEFINED,
    });
    Ok(())
}

/// `MPI_Dims_create` (8.5.2).
pub fn dims_create(nnodes: c_int, _ndims: c_int, dims: &mut [c_int]) -> Result<()> {
    dims::balance(nnodes, dims)
}

/// Stores as many values as there is room for.
fn fill(room: &mut [c_int], values: &[c_int]) {
    let len = room.len().min(values.len());
    room[..len].copy_from_slice(&values[..len]);
}

fn logicals(values: &[c_int]) -> Vec<bool> {
    values.iter().map(|&value| value != 0).collect()
}

/// `MPI_Cart_create` (8.5.1). If it fails, the handle is null.
pub fn cart_create(
    comm_old: &Arc<Comm>,
    _ndims: c_int,
    dims: &[c_int],
    periods: &[c_int],
    _reorder: bool,
    comm_cart: Out<'_, MPI_Comm>,
) -> Result<()> {
    comm_cart.set(mpi::MPI_COMM_NULL);
    let cart = Cart::new(dims, &logicals(periods));
    publish_if_member(comm_old.cart_create(cart, &making(Kind::CartCreate))?, comm_cart)
}

/// `MPI_Cartdim_get` (8.5.5).
pub fn cartdim_get(comm: &Arc<Comm>, ndims: Out<'_, c_int>) -> Result<()> {
    ndims.set(comm.cart()?.dims().len() as c_int);
    Ok(())
}

/// `MPI_Cart_get` (8.5.5).
pub fn cart_get(
    comm: &Arc<Comm>,
    _maxdims: c_int,
    dims: &mut [c_int],
    periods: &mut [c_int],
    coords: &mut [c_int],
) -> Result<()> {
    let cart = comm.cart()?;
    fill(dims, cart.dims());
    fill(periods, &cart.periods().iter().map(|&periodic| c_int::from(periodic)).collect::<Vec<_>>());
    fill(coords, &cart.coords(comm.rank()));
    Ok(())
}

/// `MPI_Cart_rank` (8.5.5).
pub fn cart_rank(comm: &Arc<Comm>, coords: *const c_int, rank: Out<'_, c_int>) -> Result<()> {
    let cart = comm.cart()?;
    // SAFETY: the program passes as many coordinates as there are dimensions (MPI-5.0, 8.5.5).
    rank.set(cart.rank(unsafe { slice(coords, cart.dims().len() as i64) }?)?);
    Ok(())
}

/// `MPI_Cart_coords` (8.5.5).
pub fn cart_coords(comm: &Arc<Comm>, rank: c_int, _maxdims: c_int, coords: &mut [c_int]) -> Result<()> {
    fill(coords, &comm.cart()?.coords(rank));
    Ok(())
}

/// `MPI_Cart_shift` (8.5.6).
pub fn cart_shift(
    comm: &Arc<Comm>,
    direction: c_int,
    disp: c_int,
    rank_source: Out<'_, c_int>,
    rank_dest: Out<'_, c_int>,
) -> Result<()> {
    let (source, dest) = comm.cart()?.shift(comm.rank(), direction, disp)?;
    rank_source.set(source);
    rank_dest.set(dest);
    Ok(())
}

/// `MPI_Cart_sub` (8.5.7).
pub fn cart_sub(comm: &Arc<Comm>, remain_dims: *const c_int, newcomm: Out<'_, MPI_Comm>) -> Result<()> {
    // SAFETY: the program passes as many values as there are dimensions (MPI-5.0, 8.5.7).
    let remain = unsafe { slice(remain_dims, comm.cart()?.dims().len() as i64) }?;
    publish(Arc::new(comm.cart_sub(&logicals(remain), &making(Kind::CartSub))?), newcomm)
}

/// `MPI_Cart_map` (8.5.8): ranks are not reordered.
pub fn cart_map(
    comm: &Arc<Comm>,
    _ndims: c_int,
    dims: &[c_int],
    periods: &[c_int],
    newrank: Out<'_, c_int>,
) -> Result<()> {
    newrank.set(comm.mapped(Cart::new(dims, &logicals(periods))?.size())?);
    Ok(())
}

/// Makes the graph of an index and of as many edges as the index says.
fn graph_of(index: &[c_int], edges: *const c_int) -> Result<Graph> {
    // SAFETY: the program passes as many edges as the last index says (MPI-5.0, 8.5.3).
    Graph::new(index, unsafe { slice(edges, Graph::edge_count(index) as i64) }?)
}

/// `MPI_Graph_create` (8.5.3); fails as [`cart_create`].
pub fn graph_create(
    comm_old: &Arc<Comm>,
    _nnodes: c_int,
    indx: &[c_int],
    edges: *const c_int,
    _reorder: bool,
    comm_graph: Out<'_, MPI_Comm>,
) -> Result<()> {
    comm_graph.set(mpi::MPI_COMM_NULL);
    publish_if_member(comm_old.graph_create(graph_of(indx, edges), &making(Kind::GraphCreate))?, comm_graph)
}

/// `MPI_Graphdims_get` (8.5.5).
pub fn graphdims_get(comm: &Arc<Comm>, nnodes: Out<'_, c_int>, nedges: Out<'_, c_int>) -> Result<()> {
    let graph = comm.graph()?;
    nnodes.set(graph.size());
    nedges.set(graph.edges().len() as c_int);
    Ok(())
}

/// `MPI_Graph_get` (8.5.5).
pub fn graph_get(
    comm: &Arc<Comm>,
    _maxindex: c_int,
    _maxedges: c_int,
    indx: &mut [c_int],
    edges: &mut [c_int],
) -> Result<()> {
    let graph = comm.graph()?;
    fill(indx, graph.index());
    fill(edges, graph.edges());
    Ok(())
}

/// `MPI_Graph_neighbors_count` (8.5.5).
pub fn graph_neighbors_count(comm: &Arc<Comm>, rank: c_int, nneighbors: Out<'_, c_int>) -> Result<()> {
    nneighbors.set(comm.graph()?.neighbors(rank)?.len() as c_int);
    Ok(())
}

/// `MPI_Graph_neighbors` (8.5.5).
pub fn graph_neighbors(
    comm: &Arc<Comm>,
    rank: c_int,
    _maxneighbors: c_int,
    neighbors: &mut [c_int],
) -> Result<()> {
    fill(neighbors, comm.graph()?.neighbors(rank)?);
    Ok(())
}

/// `MPI_Graph_map` (8.5.8): ranks are not reordered.
pub fn graph_map(
    comm: &Arc<Comm>,
    _nnodes: c_int,
    indx: &[c_int],
    edges: *const c_int,
    newrank: Out<'_, c_int>,
) -> Result<()> {
    newrank.set(comm.mapped(graph_of(indx, edges)?.size())?);
    Ok(())
}

/// Weights of `len` edges; `None` for `MPI_UNWEIGHTED`.
fn weights<'a>(pointer: *const c_int, len: usize) -> Result<Option<&'a [c_int]>> {
    match pointer as usize {
        mpi::MPI_UNWEIGHTED => Ok(None),
        mpi::MPI_WEIGHTS_EMPTY => Ok(Some(&[])),
        // SAFETY: the program passes a weight for each edge (MPI-5.0, 8.5.4).
        _ => unsafe { slice(pointer, len as i64) }.map(Some),
    }
}

/// A new communicator with a distributed graph and its hints.
fn publish_with_hints(new: Comm, info: Option<&Arc<Info>>, handle: Out<'_, MPI_Comm>) -> Result<()> {
    if let Some(info) = info {
        new.hints().merge(info)?;
    }
    publish(Arc::new(new), handle)
}

/// `MPI_Dist_graph_create_adjacent` (8.5.4).
#[allow(clippy::too_many_arguments, reason = "as the standard has it")]
pub fn dist_graph_create_adjacent(
    comm_old: &Arc<Comm>,
    _indegree: c_int,
    sources: &[c_int],
    sourceweights: *const c_int,
    _outdegree: c_int,
    destinations: &[c_int],
    destweights: *const c_int,
    info: Option<&Arc<Info>>,
    _reorder: bool,
    comm_dist_graph: Out<'_, MPI_Comm>,
) -> Result<()> {
    let graph = || {
        let neighbors = Neighbors { sources: sources.to_vec(), destinations: destinations.to_vec() };
        let incoming = weights(sourceweights, sources.len())?;
        DistGraph::new(neighbors, incoming, weights(destweights, destinations.len())?)
    };
    let graph = graph();
    publish_with_hints(
        comm_old.dist_graph_adjacent(graph, &making(Kind::DistGraphCreateAdjacent))?,
        info,
        comm_dist_graph,
    )
}

/// The edges that a process gives of a distributed graph: for each source as many destinations as
/// its degree.
fn edges_of(
    sources: &[c_int],
    degrees: &[c_int],
    destinations: *const c_int,
    weights: *const c_int,
) -> Result<Edges> {
    let count =
        degrees.iter().try_fold(0, |sum, &degree| Ok(sum + crate::args::natural(degree)? as usize))?;
    // SAFETY: the program passes as many destinations as the degrees say (MPI-5.0, 8.5.4).
    let destinations = unsafe { slice(destinations, count as i64) }?;
    let weights = self::weights(weights, count)?;
    weights.map_or(Ok(()), |weights| check_weights(weights, count))?;
    let starts = sources.iter().zip(degrees).flat_map(|(&source, &degree)| (0..degree).map(move |_| source));
    let list = starts.zip(destinations).enumerate().map(|(i, (source, &destination))| {
        let weight = weights.map_or(0, |weights| weights[i]);
        Edge { source, destination, weight }
    });
    Ok(Edges { list: list.collect(), is_weighted: weights.is_some() })
}

/// `MPI_Dist_graph_create` (8.5.4).
#[allow(clippy::too_many_arguments, reason = "as the standard has it")]
pub fn dist_graph_create(
    comm_old: &Arc<Comm>,
    _n: c_int,
    sources: &[c_int],
    degrees: &[c_int],
    destinations: *const c_int,
    weights: *const c_int,
    info: Option<&Arc<Info>>,
    _reorder: bool,
    comm_dist_graph: Out<'_, MPI_Comm>,
) -> Result<()> {
    let edges = edges_of(sources, degrees, destinations, weights);
    let new = comm_old.dist_graph_create(edges, &making(Kind::DistGraphCreate))?;
    publish_with_hints(new, info, comm_dist_graph)
}

/// `MPI_Dist_graph_neighbors_count` (8.5.5).
pub fn dist_graph_neighbors_count(
    comm: &Arc<Comm>,
    indegree: Out<'_, c_int>,
    outdegree: Out<'_, c_int>,
    weighted: OutFlag<'_>,
) -> Result<()> {
    let graph = comm.dist_graph()?;
    indegree.set(graph.neighbors.sources.len() as c_int);
    outdegree.set(graph.neighbors.destinations.len() as c_int);
    weighted.set(graph.weights.is_some());
    Ok(())
}

/// `MPI_Dist_graph_neighbors` (8.5.5).
pub fn dist_graph_neighbors(
    comm: &Arc<Comm>,
    _maxindegree: c_int,
    sources: &mut [c_int],
    sourceweights: *mut c_int,
    _maxoutdegree: c_int,
    destinations: &mut [c_int],
    destweights: *mut c_int,
) -> Result<()> {
    let graph = comm.dist_graph()?;
    fill(sources, &graph.neighbors.sources);
    fill(destinations, &graph.neighbors.destinations);
    if let Some((incoming, outgoing)) = &graph.weights {
        fill_weights(sourceweights, sources.len(), incoming)?;
        fill_weights(destweights, destinations.len(), outgoing)?;
    }
    Ok(())
}

/// Stores weights unless the program passed `MPI_UNWEIGHTED` or `MPI_WEIGHTS_EMPTY`.
fn fill_weights(place: *mut c_int, room: usize, weights: &[c_int]) -> Result<()> {
    if matches!(place as usize, mpi::MPI_UNWEIGHTED | mpi::MPI_WEIGHTS_EMPTY) {
        return Ok(());
    }
    // SAFETY: the program passes room for a weight of each neighbour that it asks for (MPI-5.0,
    // 8.5.5).
    fill(unsafe { slice_mut(place, room as i64) }?, weights);
    Ok(())
}
