/* Neighbourhood collectives in all forms, on grids, graphs and distributed graphs: with periodic
 * dimensions of size 1 and 2, borders, edges that occur several times, edges to oneself, and
 * ranks without neighbours. */
#include "collective_forms.h"

enum { DEGREE_MAX = 24, BLOCK_MAX = 5, UNTOUCHED = -1 };

/* Who sends what to whom. */
struct net {
    MPI_Comm comm;
    int rank, in, out, sources[DEGREE_MAX], destinations[DEGREE_MAX];
    /* Which of the source's destinations its message to me is; -1 where the source is
       MPI_PROC_NULL. */
    int edge[DEGREE_MAX];
};

/* What a rank sends over one of its edges, and how much of it in calls with counts. */
static int value(int rank, int edge, int i) { return 10000 * rank + 100 * edge + i; }
static int length(int rank, int edge) { return (3 * rank + edge) % BLOCK_MAX; }

/* The k-th message from a process is for the k-th receive from it. */
static int matching(const struct net *net, int slot, const int *out, const int *destinations) {
    int earlier = 0, source = net->sources[slot];
    for (int i = 0; i < slot; i++)
        earlier += net->sources[i] == source;
    for (int i = 0; i < out[source]; i++)
        if (destinations[source * DEGREE_MAX + i] == net->rank && earlier-- == 0)
            return i;
    fprintf(stderr, "no edge from %d to %d\n", source, net->rank);
    MPI_Abort(MPI_COMM_WORLD, 3);
    return -1;
}

/* Finds the edges; on a grid what goes up arrives from below. */
static void match(struct net *net, int is_grid) {
    int size;
    MPI_Comm_rank(net->comm, &net->rank);
    MPI_Comm_size(net->comm, &size);
    int *out = malloc(size * sizeof *out), *destinations = malloc(size * DEGREE_MAX * sizeof *destinations);
    MPI_Allgather(&net->out, 1, MPI_INT, out, 1, MPI_INT, net->comm);
    MPI_Allgather(net->destinations, DEGREE_MAX, MPI_INT, destinations, DEGREE_MAX, MPI_INT, net->comm);
    for (int i = 0; i < net->in; i++) {
        if (net->sources[i] == MPI_PROC_NULL)
            net->edge[i] = -1;
        else
            net->edge[i] = is_grid ? i ^ 1 : matching(net, i, out, destinations);
    }
    free(out);
    free(destinations);
}

static void clear(int *got, int n) {
    for (int i = 0; i < n; i++)
        got[i] = UNTOUCHED;
}

/* Whether `count` values of the `slot`-th source stand at `got`, and nothing behind them up to
   `room`. */
static void check_block(const struct net *net, int slot, const int *got, int edge, int count, int room) {
    int is_there = net->edge[slot] >= 0;
    for (int i = 0; i < room; i++)
        CHECK(got[i] == (is_there && i < count ? value(net->sources[slot], edge, i) : UNTOUCHED));
}

static void allgathers(const struct net *net, int form) {
    int mine[BLOCK_MAX], got[(DEGREE_MAX + 1) * BLOCK_MAX], counts[DEGREE_MAX], places[DEGREE_MAX];
    for (int i = 0; i < BLOCK_MAX; i++)
        mine[i] = value(net->rank, 0, i);
    clear(got, (DEGREE_MAX + 1) * BLOCK_MAX);
    RUN(form, Neighbor_allgather, neighbor_allgather, net->comm, mine, 2, MPI_INT, got, 1, MPI_2INT);
    for (int i = 0; i < net->in; i++)
        check_block(net, i, got + 2 * i, 0, 2, 2);
    CHECK(got[2 * net->in] == UNTOUCHED);
    clear(got, (DEGREE_MAX + 1) * BLOCK_MAX);
    RUN_LARGE(form, Neighbor_allgather, neighbor_allgather, net->comm, mine, 3, MPI_INT, got, 3, MPI_INT);
    for (int i = 0; i < net->in; i++)
        check_block(net, i, got + 3 * i, 0, 3, 3);
    clear(got, (DEGREE_MAX + 1) * BLOCK_MAX);
    for (int i = 0; i < net->in; i++) {
        counts[i] = net->edge[i] >= 0 ? length(net->sources[i], 0) : BLOCK_MAX;
        places[i] = (net->in - i) * BLOCK_MAX;
    }
    RUN(form, Neighbor_allgatherv, neighbor_allgatherv, net->comm, mine, length(net->rank, 0), MPI_INT, got, counts,
        places, MPI_INT);
    for (int i = 0; i < net->in; i++)
        check_block(net, i, got + places[i], 0, counts[i], BLOCK_MAX);
}

static void fill(const struct net *net, int *given, int block) {
    for (int e = 0; e < net->out; e++)
        for (int i = 0; i < block; i++)
            given[block * e + i] = value(net->rank, e, i);
}

static void alltoalls(const struct net *net, int form) {
    int given[DEGREE_MAX * BLOCK_MAX], got[(DEGREE_MAX + 1) * BLOCK_MAX];
    fill(net, given, 2);
    clear(got, (DEGREE_MAX + 1) * BLOCK_MAX);
    RUN(form, Neighbor_alltoall, neighbor_alltoall, net->comm, given, 2, MPI_INT, got, 2, MPI_INT);
    for (int i = 0; i < net->in; i++)
        check_block(net, i, got + 2 * i, net->edge[i], 2, 2);
    CHECK(got[2 * net->in] == UNTOUCHED);
    clear(got, (DEGREE_MAX + 1) * BLOCK_MAX);
    RUN_LARGE(form, Neighbor_alltoall, neighbor_alltoall, net->comm, given, 1, MPI_2INT, got, 2, MPI_INT);
    for (int i = 0; i < net->in; i++)
        check_block(net, i, got + 2 * i, net->edge[i], 2, 2);
}

/* The counts and places of the calls with counts; places are in elements of `unit` bytes. */
struct vectors {
    int out_counts[DEGREE_MAX], out_places[DEGREE_MAX], in_counts[DEGREE_MAX], in_places[DEGREE_MAX];
    MPI_Aint out_bytes[DEGREE_MAX], in_bytes[DEGREE_MAX];
    MPI_Datatype out_types[DEGREE_MAX], in_types[DEGREE_MAX];
};

static struct vectors vectors_of(const struct net *net) {
    struct vectors v;
    for (int e = 0; e < net->out; e++) {
        v.out_counts[e] = length(net->rank, e);
        v.out_places[e] = e * BLOCK_MAX;
        v.out_bytes[e] = v.out_places[e] * (MPI_Aint)sizeof(int);
        v.out_types[e] = e % 2 ? MPI_INT : MPI_INT32_T;
    }
    for (int i = 0; i < net->in; i++) {
        v.in_counts[i] = net->edge[i] >= 0 ? length(net->sources[i], net->edge[i]) : BLOCK_MAX;
        v.in_places[i] = (net->in - i) * BLOCK_MAX;
        v.in_bytes[i] = v.in_places[i] * (MPI_Aint)sizeof(int);
        v.in_types[i] = MPI_INT;
    }
    return v;
}

static void vector_alltoalls(const struct net *net, int form) {
    int given[DEGREE_MAX * BLOCK_MAX], got[(DEGREE_MAX + 1) * BLOCK_MAX];
    struct vectors v = vectors_of(net);
    fill(net, given, BLOCK_MAX);
    for (int typed = 0; typed < 2; typed++) {
        clear(got, (DEGREE_MAX + 1) * BLOCK_MAX);
        if (typed)
            RUN(form, Neighbor_alltoallw, neighbor_alltoallw, net->comm, given, v.out_counts, v.out_bytes, v.out_types,
                got, v.in_counts, v.in_bytes, v.in_types);
        else
            RUN(form, Neighbor_alltoallv, neighbor_alltoallv, net->comm, given, v.out_counts, v.out_places, MPI_INT,
                got, v.in_counts, v.in_places, MPI_INT);
        for (int i = 0; i < net->in; i++)
            check_block(net, i, got + v.in_places[i], net->edge[i], v.in_counts[i], BLOCK_MAX);
    }
}

/* Several at once, and long messages. */
static void at_once(const struct net *net) {
    enum { MANY = 4, LONG = 30000 };
    int *given = malloc((net->out + 1) * LONG * sizeof *given);
    int *got = malloc(MANY * (net->in + 1) * LONG * sizeof *got);
    MPI_Request requests[MANY];
    for (int i = 0; i < net->out * LONG; i++)
        given[i] = value(net->rank, i / LONG, i % LONG);
    clear(got, MANY * (net->in + 1) * LONG);
    for (int k = 0; k < MANY; k++)
        MPI_Ineighbor_alltoall(given, LONG, MPI_INT, got + k * (net->in + 1) * LONG, LONG, MPI_INT, net->comm,
                               &requests[k]);
    for (int k = 0; k < MANY; k++)
        MPI_Wait(&requests[(k + net->rank) % MANY], MPI_STATUS_IGNORE);
    for (int k = 0; k < MANY; k++)
        for (int i = 0; i < net->in; i++)
            check_block(net, i, got + (k * (net->in + 1) + i) * LONG, net->edge[i], LONG, LONG);
    free(given);
    free(got);
}

/* Every collective on a communicator with a topology; frees it. */
static void try_all(struct net *net, int is_grid) {
    match(net, is_grid);
    for (int form = 0; form < FORMS; form++) {
        allgathers(net, form);
        alltoalls(net, form);
        vector_alltoalls(net, form);
    }
    at_once(net);
    MPI_Comm_free(&net->comm);
}

static void grid(int dimensions, const int *sizes, const int *periods) {
    struct net net;
    MPI_Cart_create(MPI_COMM_WORLD, dimensions, sizes, periods, 0, &net.comm);
    if (net.comm == MPI_COMM_NULL)
        return;
    net.in = net.out = 2 * dimensions;
    for (int d = 0; d < dimensions; d++)
        MPI_Cart_shift(net.comm, d, 1, &net.sources[2 * d], &net.sources[2 * d + 1]);
    memcpy(net.destinations, net.sources, sizeof net.sources);
    try_all(&net, 1);
}

static void grids(int size) {
    int free_sizes[3] = {0, 0, 0};
    MPI_Dims_create(size, 3, free_sizes);
    for (int periodic = 0; periodic < 2; periodic++) {
        int all[4] = {periodic, 1, periodic, 1};
        grid(1, &size, all);
        grid(3, free_sizes, all);
        grid(4, (int[]){1, size / 2 > 0 ? size / 2 : 1, 1, size > 1 ? 2 : 1}, all);
    }
    grid(1, &size, (int[]){1});
    grid(0, NULL, NULL);
}

/* A ring with a hub: node 0 has an edge to every other, twice to node 1, and every node one to
   itself. */
static void graph(int size) {
    struct net net;
    int *index = malloc(size * sizeof *index), *edges = malloc((4 * size + 4) * sizeof *edges), n = 0, count;
    for (int node = 0; node < size; node++) {
        edges[n++] = node;
        for (int other = 1; node == 0 && other < size; other++)
            edges[n++] = other;
        if (node > 0)
            edges[n++] = 0;
        if (size > 1 && node < 2)
            edges[n++] = 1 - node;
        index[node] = n;
    }
    MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &net.comm);
    MPI_Comm_rank(net.comm, &net.rank);
    MPI_Graph_neighbors_count(net.comm, net.rank, &count);
    CHECK(count <= DEGREE_MAX);
    MPI_Graph_neighbors(net.comm, net.rank, count, net.sources);
    memcpy(net.destinations, net.sources, sizeof net.sources);
    net.in = net.out = count;
    free(index);
    free(edges);
    try_all(&net, 0);
}

/* Rank r has (r + 2) % 4 edges to r + 1, and one to itself if it is odd. */
static void adjacent(int rank, int size) {
    struct net net = {.in = 0, .out = 0};
    int before = (rank + size - 1) % size;
    for (int i = 0; i < (before + 2) % 4; i++)
        net.sources[net.in++] = before;
    if (rank % 2)
        net.sources[net.in++] = net.destinations[net.out++] = rank;
    for (int i = 0; i < (rank + 2) % 4; i++)
        net.destinations[net.out++] = (rank + 1) % size;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, net.in, net.sources, MPI_UNWEIGHTED, net.out, net.destinations,
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &net.comm);
    try_all(&net, 0);
}

/* Rank 0 tells of everybody's edges: all to the last rank, and nobody else to anybody. */
static void stated(int rank, int size) {
    struct net net;
    int *sources = malloc(size * sizeof *sources), *degrees = malloc(size * sizeof *degrees);
    int *destinations = malloc(2 * size * sizeof *destinations), weighted;
    for (int i = 0; i < size; i++) {
        sources[i] = i;
        degrees[i] = 2;
        destinations[2 * i] = destinations[2 * i + 1] = size - 1;
    }
    MPI_Dist_graph_create(MPI_COMM_WORLD, rank == 0 ? size : 0, sources, degrees, destinations, MPI_UNWEIGHTED,
                          MPI_INFO_NULL, 0, &net.comm);
    MPI_Dist_graph_neighbors_count(net.comm, &net.in, &net.out, &weighted);
    CHECK(net.in == (rank == size - 1 ? 2 * size : 0) && net.out == 2 && !weighted);
    MPI_Dist_graph_neighbors(net.comm, net.in, net.sources, MPI_UNWEIGHTED, net.out, net.destinations, MPI_UNWEIGHTED);
    free(sources);
    free(degrees);
    free(destinations);
    try_all(&net, 0);
}

static void refusals(int size) {
    MPI_Comm ring, copy;
    int given[2] = {1, 2}, got[2] = {0, 0}, topology;
    MPI_Request request;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK_CLASS(MPI_Neighbor_alltoall(given, 1, MPI_INT, got, 1, MPI_INT, MPI_COMM_WORLD), MPI_ERR_TOPOLOGY);
    CHECK_CLASS(MPI_Ineighbor_allgatherv(given, 1, MPI_INT, got, given, given, MPI_INT, MPI_COMM_WORLD, &request),
                MPI_ERR_TOPOLOGY);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, (int[]){1}, 0, &ring);
    CHECK_CLASS(MPI_Neighbor_alltoall(MPI_IN_PLACE, 1, MPI_INT, got, 1, MPI_INT, ring), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Neighbor_allgather(MPI_IN_PLACE, 1, MPI_INT, got, 1, MPI_INT, ring), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Neighbor_allgather(given, -1, MPI_INT, got, 1, MPI_INT, ring), MPI_ERR_COUNT);
    MPI_Comm_dup(ring, &copy);
    MPI_Topo_test(copy, &topology);
    CHECK(topology == MPI_CART);
    MPI_Neighbor_alltoall(given, 1, MPI_INT, got, 1, MPI_INT, copy);
    CHECK(got[0] == 2 && got[1] == 1);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&ring);
}

int main(int argc, char **argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    grids(size);
    graph(size);
    adjacent(rank, size);
    stated(rank, size);
    refusals(size);
    MPI_Finalize();
    report("neighbor", rank, size);
    return 0;
}
