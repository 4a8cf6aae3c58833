//! Grids, graphs and balanced dimensions.

use super::dims::balance;
use super::*;
use crate::comm::tests::fake::{meet, run};
use crate::generated::constants as mpi;

fn balanced(nodes: i32, dims: &[i32]) -> Vec<i32> {
    let mut dims = dims.to_vec();
    balance(nodes, &mut dims).unwrap();
    dims
}

#[test]
fn dimensions_are_balanced() {
    let cases: [(i32, &[i32], &[i32]); 21] = [
        (6, &[0, 0], &[3, 2]),
        (7, &[0, 0], &[7, 1]),
        (6, &[0, 3, 0], &[2, 3, 1]),
        (12, &[0, 0], &[4, 3]),
        (16, &[0, 0, 0], &[4, 2, 2]),
        (36, &[0, 0, 0], &[4, 3, 3]),
        (1, &[0, 0, 0], &[1, 1, 1]),
        (72, &[0, 0], &[9, 8]),
        (4, &[2, 2], &[2, 2]),
        (1024, &[0; 10], &[2; 10]),
        (i32::MAX, &[0, 0], &[i32::MAX, 1]),
        (1, &[], &[]),
        (48, &[0, 0, 0], &[4, 4, 3]),
        (720, &[0, 0, 0, 0], &[6, 6, 5, 4]),
        (24, &[0, 2, 0], &[4, 2, 3]),
        (5040, &[0, 0, 0], &[21, 16, 15]),
        (6240, &[0, 0, 0], &[26, 16, 15]),
        (143_520, &[0, 0, 0, 0], &[26, 23, 16, 15]),
        (980_784, &[0, 0, 0, 0, 0], &[139, 14, 9, 8, 7]),
        (735_134_400, &[0, 0, 0], &[918, 910, 880]),
        (1, &[0, 1], &[1, 1]),
    ];
    for (nodes, given, expected) in cases {
        assert_eq!(balanced(nodes, given), expected, "{nodes} in {given:?}");
    }
}

#[test]
fn every_balance_is_decreasing_complete_and_the_flattest() {
    for nodes in 1..200 {
        let dims = balanced(nodes, &[0, 0]);
        assert_eq!(dims.iter().product::<i32>(), nodes);
        let flattest = (1..=nodes).find(|d| nodes % d == 0 && d * d >= nodes).unwrap();
        assert_eq!(dims[0], flattest);
        let dims = balanced(nodes, &[0, 0, 0]);
        assert!(dims.is_sorted_by(|a, b| a >= b) && dims.iter().product::<i32>() == nodes);
        let pairs = (1..=nodes).flat_map(|a| (1..=a).map(move |b| (a, b)));
        let spreads = pairs.filter(|(a, b)| nodes % (a * b) == 0).map(|(a, b)| {
            let all = [a, b, nodes / (a * b)];
            all.iter().max().unwrap() - all.iter().min().unwrap()
        });
        assert_eq!(dims[0] - dims[2], spreads.min().unwrap(), "{dims:?}");
    }
}

#[test]
fn impossible_dimensions_are_refused() {
    for (nodes, dims) in [(7, [2, 0]), (6, [-1, 0]), (6, [2, 2]), (1, [i32::MAX, i32::MAX])] {
        assert_eq!(balance(nodes, &mut dims.clone()).unwrap_err().class, mpi::MPI_ERR_DIMS);
    }
    assert_eq!(balance(5, &mut []).unwrap_err().class, mpi::MPI_ERR_DIMS);
    assert_eq!(balance(0, &mut [0, 0]).unwrap_err().class, mpi::MPI_ERR_ARG);
}

#[test]
fn coordinates_count_the_last_dimension_fastest() {
    let grid = Cart::new(&[2, 3], &[false, true]).unwrap();
    let all: Vec<Vec<i32>> = (0..6).map(|rank| grid.coords(rank)).collect();
    assert_eq!(all, [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]);
    for rank in 0..6 {
        assert_eq!(grid.rank(&grid.coords(rank)).unwrap(), rank);
    }
    assert_eq!(grid.rank(&[1, -1]).unwrap(), 5);
    assert_eq!(grid.rank(&[1, 300]).unwrap(), 3);
    assert_eq!(grid.rank(&[2, 0]).unwrap_err().class, mpi::MPI_ERR_ARG);
}

#[test]
fn shifts_wrap_or_end_at_the_border() {
    let grid = Cart::new(&[2, 3], &[false, true]).unwrap();
    assert_eq!(grid.shift(0, 0, 1).unwrap(), (mpi::MPI_PROC_NULL, 3));
    assert_eq!(grid.shift(4, 0, -1).unwrap(), (mpi::MPI_PROC_NULL, 1));
    assert_eq!(grid.shift(0, 1, 1).unwrap(), (2, 1));
    assert_eq!(grid.shift(0, 1, i32::MIN).unwrap().1, (-(1_i64 << 31)).rem_euclid(3) as i32);
    assert_eq!(grid.shift(0, 0, i32::MAX).unwrap(), (mpi::MPI_PROC_NULL, mpi::MPI_PROC_NULL));
    assert_eq!(grid.shift(0, 2, 1).unwrap_err().class, mpi::MPI_ERR_DIMS);
    assert_eq!(grid.neighbors(0).sources, [mpi::MPI_PROC_NULL, 3, 2, 1]);
}

#[test]
fn bad_grids_and_graphs_are_refused() {
    for dims in [[0, 2], [-1, 2], [i32::MAX, 2]] {
        assert_eq!(Cart::new(&dims, &[false; 2]).unwrap_err().class, mpi::MPI_ERR_DIMS);
    }
    let graphs: [(&[i32], &[i32]); 4] =
        [(&[2, 1], &[0, 0]), (&[-1, 1], &[0]), (&[1, 2], &[0, 2]), (&[3], &[0])];
    for (index, edges) in graphs {
        assert_eq!(Graph::new(index, edges).unwrap_err().class, mpi::MPI_ERR_ARG);
    }
}

#[test]
fn a_grid_becomes_a_communicator_and_falls_into_parts() {
    run(7, |world, fake| {
        let grid = Cart::new(&[2, 3], &[true, false]).unwrap();
        let comm = world.cart_create(Ok(grid.clone()), fake).unwrap();
        assert_eq!(comm.is_some(), world.rank() < 6);
        let Some(comm) = comm else { return };
        meet(&comm, fake);
        let dup = comm.duplicate(None, fake).unwrap();
        assert_eq!(dup.cart().unwrap(), &grid);
        let rows = comm.cart_sub(&[false, true], fake).unwrap();
        assert_eq!((rows.size(), rows.rank()), (3, comm.rank() % 3));
        assert_eq!(rows.cart().unwrap(), &Cart::new(&[3], &[false]).unwrap());
        let points = comm.cart_sub(&[false, false], fake).unwrap();
        assert_eq!((points.size(), points.cart().unwrap().dims()), (1, &[][..]));
        assert_eq!(comm.graph().unwrap_err().class, mpi::MPI_ERR_TOPOLOGY);
        assert_eq!(world.neighbors().unwrap_err().class, mpi::MPI_ERR_TOPOLOGY);
    });
}

#[test]
fn a_topology_must_fit_into_its_communicator() {
    run(2, |world, fake| {
        let grid = Cart::new(&[3], &[true]).unwrap();
        assert_eq!(world.cart_create(Ok(grid), fake).err().unwrap().class, mpi::MPI_ERR_DIMS);
        let graph = Graph::new(&[0, 0, 0], &[]).unwrap();
        assert_eq!(world.graph_create(Ok(graph), fake).err().unwrap().class, mpi::MPI_ERR_DIMS);
        assert_eq!(world.mapped(3).unwrap_err().class, mpi::MPI_ERR_DIMS);
        assert_eq!(world.mapped(1).unwrap(), if world.rank() == 0 { 0 } else { mpi::MPI_UNDEFINED });
        // One rank is wrong, and all learn of it.
        let destination = 1 + world.rank();
        let edges = Edges { list: vec![Edge { source: 0, destination, weight: 0 }], is_weighted: false };
        assert_eq!(world.dist_graph_create(Ok(edges), fake).err().unwrap().class, mpi::MPI_ERR_RANK);
    });
}

#[test]
fn graphs_tell_neighbours() {
    run(3, |world, fake| {
        let graph = Graph::new(&[1, 1, 3], &[2, 0, 1]).unwrap();
        let comm = world.graph_create(Ok(graph), fake).unwrap().unwrap();
        let expected: [&[i32]; 3] = [&[2], &[], &[0, 1]];
        assert_eq!(comm.neighbors().unwrap().sources, expected[comm.rank() as usize]);
        assert_eq!(comm.graph().unwrap().neighbors(3).unwrap_err().class, mpi::MPI_ERR_RANK);
    });
}

#[test]
fn edges_from_anywhere_find_their_ends() {
    run(3, |world, fake| {
        // Rank r states the edge from r + 1 to r + 2 with weight 10 r.
        let (r, next) = (world.rank(), |rank: i32| (rank + 1) % 3);
        let mine = vec![Edge { source: next(r), destination: next(next(r)), weight: 10 * r }];
        let comm = world.dist_graph_create(Ok(Edges { list: mine, is_weighted: true }), fake).unwrap();
        let graph = comm.dist_graph().unwrap();
        assert_eq!(graph.neighbors.sources, [(r + 2) % 3]);
        assert_eq!(graph.neighbors.destinations, [next(r)]);
        assert_eq!(graph.weights, Some((vec![10 * next(r)], vec![10 * ((r + 2) % 3)])));
    });
}

#[test]
fn ranks_without_edges_have_no_say_in_weights() {
    run(3, |world, fake| {
        let edge = Edge { source: 0, destination: 1, weight: 5 };
        let with = |weighted: [bool; 3], list: [bool; 3]| {
            let rank = world.rank() as usize;
            let list = if list[rank] { vec![edge] } else { vec![] };
            let made = world.dist_graph_create(Ok(Edges { list, is_weighted: weighted[rank] }), fake);
            made.map(|comm| comm.dist_graph().unwrap().weights.is_some()).map_err(|error| error.class)
        };
        assert_eq!(with([true, false, false], [true, false, false]), Ok(true));
        assert_eq!(with([true, false, false], [false, true, true]), Ok(false));
        assert_eq!(with([false, true, false], [false; 3]), Ok(true));
        assert_eq!(with([false, true, true], [true, true, false]), Err(mpi::MPI_ERR_ARG));
    });
}

#[test]
fn weights_belong_to_all_edges_or_none() {
    let make = |sources: &[i32], destinations: &[i32], incoming, outgoing| {
        let neighbors = Neighbors { sources: sources.to_vec(), destinations: destinations.to_vec() };
        let graph = DistGraph::new(neighbors, incoming, outgoing);
        graph.map(|graph| graph.weights).map_err(|error| error.class)
    };
    let (none, one, two): (&[i32], &[i32], &[i32]) = (&[], &[7], &[7, 8]);
    assert_eq!(make(&[0], &[0, 1], Some(one), Some(two)), Ok(Some((vec![7], vec![7, 8]))));
    assert_eq!(make(&[0], &[0, 1], None, None), Ok(None));
    assert_eq!(make(&[], &[0], None, Some(one)), Ok(Some((vec![], vec![7]))));
    assert_eq!(make(&[0], &[], Some(one), None), Ok(Some((vec![7], vec![]))));
    assert_eq!(make(&[], &[], Some(none), Some(none)), Ok(Some((vec![], vec![]))));
    assert_eq!(make(&[0], &[0], Some(one), None), Err(mpi::MPI_ERR_ARG));
    assert_eq!(make(&[0], &[0], Some(none), Some(one)), Err(mpi::MPI_ERR_ARG));
    assert_eq!(make(&[0], &[0], Some(one), Some(&[-1])), Err(mpi::MPI_ERR_ARG));
}
