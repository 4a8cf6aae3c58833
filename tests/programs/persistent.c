/* Persistent collectives: started together and apart, in different order on different ranks,
 * with other collectives in between; never started; outliving their communicator, datatype and
 * operation. */
#include "collective_forms.h"

enum { BARRIER, BCAST, ALLREDUCE, ALLGATHER, ALLTOALLW, SCAN, GATHER, NEIGHBORS, KINDS, ROUNDS = 25, MANY = 64 };

struct state {
    int rank, size, value, sum, before, line[2], around[2];
    int counts[MANY], places[MANY], given[MANY], got[MANY], all[MANY], gathered[MANY];
    MPI_Datatype types[MANY];
    MPI_Request requests[KINDS];
};

static void plus(void *in, void *inout, int *n, MPI_Datatype *type) {
    (void)type;
    for (int i = 0; i < *n; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

/* Makes all requests; what they were made from is freed at once. */
static void init(struct state *s) {
    MPI_Comm ring, world;
    MPI_Op op;
    MPI_Datatype number;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &s->size, (int[]){1}, 0, &ring);
    MPI_Comm_dup(MPI_COMM_WORLD, &world);
    MPI_Op_create(plus, 1, &op);
    MPI_Type_contiguous(1, MPI_INT, &number);
    MPI_Type_commit(&number);
    for (int i = 0; i < s->size; i++) {
        s->counts[i] = 1;
        s->places[i] = (s->size - 1 - i) * (int)sizeof(int);
        s->types[i] = number;
    }
    MPI_Barrier_init(world, MPI_INFO_NULL, &s->requests[BARRIER]);
    MPI_Bcast_init(&s->value, 1, number, s->size - 1, world, MPI_INFO_NULL, &s->requests[BCAST]);
    MPI_Allreduce_init(&s->rank, &s->sum, 1, number, op, world, MPI_INFO_NULL, &s->requests[ALLREDUCE]);
    MPI_Allgather_init(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, s->all, 1, number, world, MPI_INFO_NULL,
                       &s->requests[ALLGATHER]);
    MPI_Alltoallw_init(s->given, s->counts, s->places, s->types, s->got, s->counts, s->places, s->types, world,
                       MPI_INFO_NULL, &s->requests[ALLTOALLW]);
    MPI_Scan_init(&s->rank, &s->before, 1, number, op, world, MPI_INFO_NULL, &s->requests[SCAN]);
    MPI_Gather_init_c(&s->rank, 1, number, s->gathered, 1, number, 0, world, MPI_INFO_NULL, &s->requests[GATHER]);
    MPI_Neighbor_alltoall_init(s->line, 1, number, s->around, 1, number, ring, MPI_INFO_NULL, &s->requests[NEIGHBORS]);
    /* The arrays of counts and types may be reused, as opposed to the buffers. */
    memset(s->counts, 0x55, sizeof s->counts);
    memset(s->places, 0x55, sizeof s->places);
    memset(s->types, 0x55, sizeof s->types);
    MPI_Type_free(&number);
    MPI_Op_free(&op);
    MPI_Comm_free(&ring);
    MPI_Comm_free(&world);
}

static void prepare(struct state *s, int round) {
    s->value = s->rank == s->size - 1 ? 1000 + round : -1;
    s->sum = s->before = s->around[0] = s->around[1] = -1;
    s->line[0] = 10 * s->rank + round;
    s->line[1] = s->line[0] + 5;
    for (int i = 0; i < s->size; i++) {
        s->all[i] = i == s->rank ? 100 * round + s->rank : -1;
        s->given[s->size - 1 - i] = round + 50 * s->rank + i;
        s->got[i] = s->gathered[i] = -1;
    }
}

static void check(const struct state *s, int round) {
    int size = s->size, below = (s->rank + size - 1) % size, above = (s->rank + 1) % size;
    CHECK(s->value == 1000 + round);
    CHECK(s->sum == size * (size - 1) / 2);
    CHECK(s->before == s->rank * (s->rank + 1) / 2);
    CHECK(s->around[0] == 10 * below + round + 5);
    CHECK(s->around[1] == 10 * above + round);
    for (int i = 0; i < size; i++) {
        CHECK(s->all[i] == 100 * round + i);
        CHECK(s->got[size - 1 - i] == round + 50 * i + s->rank);
        CHECK(s->gathered[i] == (s->rank == 0 ? i : -1));
    }
}

/* All started by one call, and waited for one by one in another order. */
static void together(struct state *s, int round) {
    CHECK(MPI_Startall(KINDS, s->requests) == MPI_SUCCESS);
    for (int k = 0; k < KINDS; k++)
        CHECK(MPI_Wait(&s->requests[(3 * k + s->rank + round) % KINDS], MPI_STATUS_IGNORE) == MPI_SUCCESS);
}

/* Each rank starts them in its own order, and does something else meanwhile. */
static void apart(struct state *s, int round) {
    int done = 0, indices[KINDS], some;
    for (int k = 0; k < KINDS; k++)
        MPI_Start(&s->requests[(3 * k + s->rank + round) % KINDS]);
    CHECK_CLASS(MPI_Start(&s->requests[BCAST]), MPI_ERR_REQUEST);
    int sum = -1;
    MPI_Allreduce(&round, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == round * s->size);
    while (done < KINDS) {
        MPI_Waitsome(KINDS, s->requests, &some, indices, MPI_STATUSES_IGNORE);
        CHECK(some != MPI_UNDEFINED && some > 0);
        done += some;
    }
    MPI_Waitsome(KINDS, s->requests, &some, indices, MPI_STATUSES_IGNORE);
    CHECK(some == MPI_UNDEFINED);
}

static void never_started(int rank) {
    int value = rank, flag = 0;
    MPI_Request request;
    MPI_Status status;
    MPI_Bcast_init(&value, 1, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Test(&request, &flag, &status);
    CHECK(flag && request != MPI_REQUEST_NULL && status.MPI_SOURCE == MPI_ANY_SOURCE);
    MPI_Request_free(&request);
    CHECK(request == MPI_REQUEST_NULL && value == rank);
}

int main(int argc, char **argv) {
    static struct state s;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &s.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &s.size);
    CHECK(s.size <= MANY);
    /* Which hears of errors in requests whose communicator is gone. */
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    never_started(s.rank);
    init(&s);
    for (int round = 0; round < ROUNDS; round++) {
        prepare(&s, round);
        if (round % 2)
            together(&s, round);
        else
            apart(&s, round);
        check(&s, round);
    }
    for (int k = 0; k < KINDS; k++)
        MPI_Request_free(&s.requests[k]);
    never_started(s.rank);
    MPI_Finalize();
    report("persistent", s.rank, s.size);
    return 0;
}
