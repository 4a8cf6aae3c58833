/* Process topologies (MPI-5.0, chapter 8): the standard's own examples, borders, weights, and
   what must be refused. */
#include "check.h"

static int rank, size;

static void dims_are(int nodes, int count, const int *given, const int *expected) {
    int dims[8];
    memcpy(dims, given, count * sizeof *dims);
    CHECK(MPI_Dims_create(nodes, count, dims) == MPI_SUCCESS);
    CHECK(memcmp(dims, expected, count * sizeof *dims) == 0);
}

static void dimensions(void) {
    static const int free_[8];
    int dims[3] = {0, 3, 0};
    dims_are(6, 2, free_, (int[]){3, 2});
    dims_are(7, 2, free_, (int[]){7, 1});
    dims_are(6, 3, dims, (int[]){2, 3, 1});
    CHECK_CLASS(MPI_Dims_create(7, 3, dims), MPI_ERR_DIMS);
    dims_are(1, 0, NULL, NULL);
    CHECK_CLASS(MPI_Dims_create(2, 0, NULL), MPI_ERR_DIMS);
    CHECK_CLASS(MPI_Dims_create(6, 2, (int[]){-2, 0}), MPI_ERR_DIMS);
    CHECK_CLASS(MPI_Dims_create(6, 2, (int[]){2, 2}), MPI_ERR_DIMS);
    CHECK_CLASS(MPI_Dims_create(6, -1, dims), MPI_ERR_ARG);
    /* As close to each other as can be: neither the prime factors in turn nor the nearest root
       do it. */
    dims_are(48, 3, free_, (int[]){4, 4, 3});
    dims_are(36, 3, free_, (int[]){4, 3, 3});
    dims_are(1001, 2, free_, (int[]){77, 13});
    dims_are(720, 4, free_, (int[]){6, 6, 5, 4});
    dims_are(735134400, 8, free_, (int[]){17, 15, 14, 13, 12, 12, 11, 10});
    dims_are(2147483647, 2, free_, (int[]){2147483647, 1});
}

static void grids(void) {
    MPI_Comm grid, point;
    int dims[2], periods[2], coords[2], number, other, source, dest;
    /* Smaller than the communicator: some ranks are left out. */
    if (size > 1) {
        dims[0] = size - 1;
        CHECK(MPI_Cart_create(MPI_COMM_WORLD, 1, dims, (int[]){0}, 1, &grid) == MPI_SUCCESS);
        CHECK((grid == MPI_COMM_NULL) == (rank == size - 1));
        if (grid != MPI_COMM_NULL) {
            MPI_Comm_rank(grid, &number);
            CHECK(MPI_Cart_shift(grid, 0, 1, &source, &dest) == MPI_SUCCESS);
            CHECK(source == (number == 0 ? MPI_PROC_NULL : number - 1));
            CHECK(dest == (number == size - 2 ? MPI_PROC_NULL : number + 1));
            CHECK_CLASS(MPI_Cart_shift(grid, 1, 1, &source, &dest), MPI_ERR_DIMS);
            CHECK_CLASS(MPI_Cart_rank(grid, (int[]){size}, &number), MPI_ERR_ARG);
            CHECK_CLASS(MPI_Cart_coords(grid, size, 1, coords), MPI_ERR_RANK);
            MPI_Comm_free(&grid);
        }
    }
    CHECK_CLASS(MPI_Cart_create(MPI_COMM_WORLD, 1, (int[]){size + 1}, (int[]){0}, 0, &grid), MPI_ERR_DIMS);
    CHECK_CLASS(MPI_Cart_create(MPI_COMM_WORLD, 1, (int[]){rank == 0 ? -1 : 1}, (int[]){0}, 0, &grid), MPI_ERR_DIMS);
    CHECK(MPI_Cart_map(MPI_COMM_WORLD, 1, &size, (int[]){0}, &number) == MPI_SUCCESS && number >= 0 && number < size);
    CHECK_CLASS(MPI_Cart_map(MPI_COMM_WORLD, 1, (int[]){size + 1}, (int[]){0}, &number), MPI_ERR_DIMS);
    CHECK(MPI_Cart_map(MPI_COMM_WORLD, 0, NULL, NULL, &number) == MPI_SUCCESS);
    CHECK(number == (rank == 0 ? 0 : MPI_UNDEFINED));
    /* No dimensions: one process. */
    CHECK(MPI_Cart_create(MPI_COMM_WORLD, 0, NULL, NULL, 0, &point) == MPI_SUCCESS);
    CHECK((point == MPI_COMM_NULL) == (rank > 0));
    if (rank == 0) {
        CHECK(MPI_Cartdim_get(point, &number) == MPI_SUCCESS && number == 0);
        CHECK(MPI_Cart_get(point, 0, NULL, NULL, NULL) == MPI_SUCCESS);
        CHECK(MPI_Cart_rank(point, NULL, &number) == MPI_SUCCESS && number == 0);
        CHECK(MPI_Cart_sub(point, NULL, &grid) == MPI_SUCCESS && MPI_Comm_free(&grid) == MPI_SUCCESS);
        MPI_Comm_free(&point);
    }
    /* A torus: shifts of any length wrap, and every way of dropping dimensions. */
    dims[0] = dims[1] = 0;
    MPI_Dims_create(size, 2, dims);
    CHECK(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, (int[]){1, 1}, 0, &grid) == MPI_SUCCESS);
    CHECK(MPI_Cart_get(grid, 2, dims, periods, coords) == MPI_SUCCESS && periods[0] && periods[1]);
    CHECK(coords[0] == rank / dims[1] && coords[1] == rank % dims[1]);
    CHECK(MPI_Cart_shift(grid, 0, -2147483647 - 1, &source, &dest) == MPI_SUCCESS && source >= 0 && dest >= 0);
    CHECK(MPI_Cart_shift(grid, 1, 0, &source, &dest) == MPI_SUCCESS && source == rank && dest == rank);
    CHECK(MPI_Cart_rank(grid, (int[]){coords[0] - 7 * dims[0], coords[1] + 5 * dims[1]}, &other) == MPI_SUCCESS);
    CHECK(other == rank);
    for (int keep = 0; keep < 4; keep++) {
        int remain[2] = {keep & 1, keep >> 1}, members = (keep & 1 ? dims[0] : 1) * (keep >> 1 ? dims[1] : 1), sub_size;
        CHECK(MPI_Cart_sub(grid, remain, &point) == MPI_SUCCESS && MPI_Comm_size(point, &sub_size) == MPI_SUCCESS);
        CHECK(MPI_Cartdim_get(point, &number) == MPI_SUCCESS && number == remain[0] + remain[1] && sub_size == members);
        MPI_Comm_free(&point);
    }
    MPI_Comm_free(&grid);
}

/* The standard's graph of four nodes with edges that occur twice. */
static void graphs(void) {
    static const int index[] = {3, 5, 6, 9}, edges[] = {1, 1, 3, 0, 0, 3, 0, 2, 2};
    MPI_Comm graph;
    int out_index[4], out_edges[9], nodes, count, number;
    CHECK(MPI_Graph_create(MPI_COMM_WORLD, 0, NULL, NULL, 0, &graph) == MPI_SUCCESS && graph == MPI_COMM_NULL);
    if (size < 4) {
        CHECK_CLASS(MPI_Graph_create(MPI_COMM_WORLD, 4, index, edges, 0, &graph), MPI_ERR_DIMS);
        CHECK_CLASS(MPI_Graph_map(MPI_COMM_WORLD, 4, index, edges, &number), MPI_ERR_DIMS);
        return;
    }
    CHECK(MPI_Graph_map(MPI_COMM_WORLD, 4, index, edges, &number) == MPI_SUCCESS);
    CHECK(rank < 4 ? number >= 0 && number < 4 : number == MPI_UNDEFINED);
    CHECK_CLASS(MPI_Graph_create(MPI_COMM_WORLD, 2, (int[]){2, 1}, edges, 0, &graph), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Graph_create(MPI_COMM_WORLD, 1, (int[]){1}, (int[]){rank == 1 ? 1 : 0}, 0, &graph), MPI_ERR_ARG);
    CHECK(MPI_Graph_create(MPI_COMM_WORLD, 4, index, edges, 1, &graph) == MPI_SUCCESS);
    CHECK((graph == MPI_COMM_NULL) == (rank >= 4));
    if (graph == MPI_COMM_NULL)
        return;
    CHECK(MPI_Graphdims_get(graph, &nodes, &count) == MPI_SUCCESS && nodes == 4 && count == 9);
    CHECK(MPI_Graph_get(graph, 4, 9, out_index, out_edges) == MPI_SUCCESS);
    CHECK(memcmp(index, out_index, sizeof index) == 0 && memcmp(edges, out_edges, sizeof edges) == 0);
    for (int i = 0; i < 4; i++) {
        int first = i == 0 ? 0 : index[i - 1];
        CHECK(MPI_Graph_neighbors_count(graph, i, &count) == MPI_SUCCESS && count == index[i] - first);
        CHECK(MPI_Graph_neighbors(graph, i, count, out_edges) == MPI_SUCCESS);
        CHECK(memcmp(out_edges, edges + first, count * sizeof *edges) == 0);
    }
    CHECK_CLASS(MPI_Graph_neighbors_count(graph, 4, &count), MPI_ERR_RANK);
    CHECK_CLASS(MPI_Cartdim_get(graph, &count), MPI_ERR_TOPOLOGY);
    MPI_Comm_free(&graph);
}

/* Sorted pairs of neighbour and weight. */
static void neighbors(MPI_Comm comm, int in_expected, int out_expected, int weighted_expected, int *pairs) {
    int in, out, weighted, sources[64], from[64], destinations[64], to[64];
    CHECK(MPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted) == MPI_SUCCESS);
    CHECK(in == in_expected && out == out_expected && weighted == weighted_expected);
    CHECK(MPI_Dist_graph_neighbors(comm, in, sources, weighted ? from : MPI_UNWEIGHTED, out, destinations,
                                   weighted ? to : MPI_UNWEIGHTED) == MPI_SUCCESS);
    for (int i = 0; i < in; i++)
        pairs[sources[i]] += weighted ? from[i] : 1;
    for (int i = 0; i < out; i++)
        pairs[64 + destinations[i]] += weighted ? to[i] : 1;
}

/* A ring with an edge of weight 10 + r from r to r + 1 and two of weight 1 from everyone to rank
   0. */
static void check_ring(MPI_Comm comm, int weighted) {
    int pairs[128] = {0}, left = (rank + size - 1) % size, right = (rank + 1) % size;
    neighbors(comm, 1 + (rank == 0 ? 2 * size : 0), 3, weighted, pairs);
    for (int other = 0; other < size; other++) {
        int in = (other == left ? weighted ? 10 + left : 1 : 0) + (rank == 0 ? 2 : 0);
        int out = (other == right ? weighted ? 10 + rank : 1 : 0) + (other == 0 ? 2 : 0);
        CHECK(pairs[other] == in && pairs[64 + other] == out);
    }
}

static void distributed_graphs(void) {
    MPI_Comm comm;
    MPI_Info info;
    int sources[64], degrees[64], destinations[192], weights[192], n = 0, in, out, weighted, flag, len = 8;
    char text[8];
    /* Whole at one process, the others have nothing to say, in whatever way they say it. */
    for (int r = 0; r < size; r++) {
        sources[r] = r, degrees[r] = 3;
        destinations[n] = (r + 1) % size, weights[n++] = 10 + r;
        destinations[n] = 0, weights[n++] = 1;
        destinations[n] = 0, weights[n++] = 1;
    }
    const int *nothing = rank % 3 == 0 ? MPI_WEIGHTS_EMPTY : rank % 3 == 1 ? weights : MPI_UNWEIGHTED;
    int teller = size - 1;
    MPI_Info_create(&info);
    MPI_Info_set(info, "verbena", "hint");
    CHECK(MPI_Dist_graph_create(MPI_COMM_WORLD, rank == teller ? size : 0, sources, degrees, destinations,
                                rank == teller ? weights : nothing, info, 1, &comm) == MPI_SUCCESS);
    MPI_Info_free(&info);
    check_ring(comm, 1);
    CHECK(MPI_Topo_test(comm, &flag) == MPI_SUCCESS && flag == MPI_DIST_GRAPH);
    MPI_Comm_get_info(comm, &info);
    MPI_Info_get_string(info, "verbena", &len, text, &flag);
    CHECK(flag && strcmp(text, "hint") == 0);
    MPI_Info_free(&info);
    MPI_Comm_free(&comm);
    /* Each process states the edges that leave its left neighbour. */
    int left = (rank + size - 1) % size;
    CHECK(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &left, (int[]){3}, (int[]){rank, 0, 0}, MPI_UNWEIGHTED, MPI_INFO_NULL,
                                0, &comm) == MPI_SUCCESS);
    check_ring(comm, 0);
    MPI_Comm_free(&comm);
    /* Adjacent, in the order given; nobody sends to the last. */
    int has_in = rank < size - 1, from = (rank + 1) % size;
    CHECK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, has_in, &from, has_in ? &(int){rank} : MPI_WEIGHTS_EMPTY, rank > 0,
                                         (int[]){rank - 1}, (int[]){rank - 1}, MPI_INFO_NULL, 0, &comm) == MPI_SUCCESS);
    CHECK(MPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted) == MPI_SUCCESS);
    CHECK(in == has_in && out == (rank > 0) && weighted);
    CHECK(MPI_Dist_graph_neighbors(comm, in, sources, weights, out, destinations, weights + 1) == MPI_SUCCESS);
    CHECK((!in || (sources[0] == from && weights[0] == rank)) && (!out || weights[1] == rank - 1));
    CHECK_CLASS(MPI_Graphdims_get(comm, &in, &out), MPI_ERR_TOPOLOGY);
    MPI_Comm_free(&comm);
    /* One rank is wrong: all learn of it. */
    CHECK_CLASS(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &rank, (int[]){1}, &(int){rank == 0 ? size : 0}, MPI_UNWEIGHTED,
                                      MPI_INFO_NULL, 0, &comm), MPI_ERR_RANK);
    CHECK_CLASS(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &rank, &(int){rank == 0 ? -1 : 1}, &rank, MPI_UNWEIGHTED,
                                      MPI_INFO_NULL, 0, &comm), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &rank, (int[]){1}, &rank, &(int){rank == 0 ? -5 : 5},
                                      MPI_INFO_NULL, 0, &comm), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &rank, MPI_UNWEIGHTED, 1, &rank,
                                               rank == 0 ? &(int){1} : MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &(int){rank == 0 ? -9 : 0}, MPI_UNWEIGHTED, 0, NULL,
                                               MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm), MPI_ERR_RANK);
    if (size > 1)
        CHECK_CLASS(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &rank, (int[]){1}, &rank, rank == 0 ? &(int){1} : MPI_UNWEIGHTED,
                                          MPI_INFO_NULL, 0, &comm), MPI_ERR_ARG);
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    dimensions();
    grids();
    graphs();
    distributed_graphs();
    MPI_Finalize();
    report("topologies", rank, size);
    return 0;
}
