/* The errors of windows: wrong arguments, accesses out of range, epochs that are not open or still
   are. Nothing is written where it should not be, and the window works after each. */
#include "check.h"

static int rank, size;

static void of_creation(void) {
    MPI_Win win = MPI_WIN_NULL;
    int memory[4], *base;
    CHECK_CLASS(MPI_Win_create(memory, -1, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win), MPI_ERR_SIZE);
    CHECK_CLASS(MPI_Win_create(memory, 16, 0, MPI_INFO_NULL, MPI_COMM_WORLD, &win), MPI_ERR_DISP);
    CHECK_CLASS(MPI_Win_create(memory, 16, -4, MPI_INFO_NULL, MPI_COMM_WORLD, &win), MPI_ERR_DISP);
    CHECK_CLASS(MPI_Win_create(NULL, 16, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Win_create(memory, 16, 4, MPI_INFO_NULL, MPI_COMM_NULL, &win), MPI_ERR_COMM);
    CHECK_CLASS(MPI_Win_create(memory, 16, 4, MPI_INFO_NULL, MPI_COMM_WORLD, NULL), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Win_allocate(-8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win), MPI_ERR_SIZE);
    CHECK_CLASS(MPI_Win_allocate((MPI_Aint)1 << 60, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win), MPI_ERR_NO_MEM);
    /* One rank alone is wrong: all hear of it. */
    CHECK_CLASS(MPI_Win_allocate(rank == size - 1 ? -1 : 8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win),
                MPI_ERR_SIZE);
    CHECK_CLASS(MPI_Win_allocate(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, rank == size - 1 ? NULL : &base, &win),
                MPI_ERR_ARG);
    CHECK_CLASS(MPI_Win_allocate_shared(8, 1, MPI_INFO_NULL, MPI_COMM_SELF, NULL, &win), MPI_ERR_ARG);
    CHECK(win == MPI_WIN_NULL);
    CHECK_CLASS(MPI_Win_free(&win), MPI_ERR_WIN);
    CHECK_CLASS(MPI_Win_fence(0, MPI_WIN_NULL), MPI_ERR_WIN);
}

static void never(void *in, void *inout, int *count, MPI_Datatype *datatype) {
    (void)in, (void)inout, (void)count, (void)datatype;
    CHECK(0);
}

static void of_arguments(MPI_Win win) {
    int number = 1, other = 2, result = 3;
    MPI_Datatype pairs, open;
    MPI_Op own;
    MPI_Request request;
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    CHECK_CLASS(MPI_Put(&number, 1, MPI_INT, size, 0, 1, MPI_INT, win), MPI_ERR_RANK);
    CHECK_CLASS(MPI_Put(&number, 1, MPI_INT, -7, 0, 1, MPI_INT, win), MPI_ERR_RANK);
    CHECK_CLASS(MPI_Put(&number, 1, MPI_INT, MPI_ANY_SOURCE, 0, 1, MPI_INT, win), MPI_ERR_RANK);
    CHECK_CLASS(MPI_Put(&number, -1, MPI_INT, rank, 0, 1, MPI_INT, win), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Get(&number, 1, MPI_INT, rank, 0, -1, MPI_INT, win), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Get(&number, 1, MPI_DATATYPE_NULL, rank, 0, 1, MPI_INT, win), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Get(&number, 1, MPI_INT, rank, 0, 2, MPI_INT, win), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Put(NULL, 1, MPI_INT, rank, 0, 1, MPI_INT, win), MPI_ERR_BUFFER);
    MPI_Type_vector(2, 1, 2, MPI_INT, &open);
    CHECK_CLASS(MPI_Put(&number, 1, MPI_INT, rank, 0, 1, open, win), MPI_ERR_TYPE);
    MPI_Type_free(&open);
    CHECK_CLASS(MPI_Accumulate(&number, 1, MPI_INT, rank, 0, 1, MPI_INT, MPI_MAXLOC, win), MPI_ERR_OP);
    CHECK_CLASS(MPI_Accumulate(&number, 1, MPI_FLOAT, rank, 0, 1, MPI_FLOAT, MPI_BAND, win), MPI_ERR_OP);
    CHECK_CLASS(MPI_Accumulate(&number, 1, MPI_INT, rank, 0, 1, MPI_INT, MPI_OP_NULL, win), MPI_ERR_OP);
    CHECK_CLASS(MPI_Accumulate(&number, 1, MPI_INT, rank, 0, 1, MPI_INT, MPI_NO_OP, win), MPI_ERR_OP);
    CHECK_CLASS(MPI_Raccumulate(&number, 1, MPI_INT, rank, 0, 1, MPI_INT, MPI_NO_OP, win, &request), MPI_ERR_OP);
    CHECK_CLASS(MPI_Accumulate(&number, 1, MPI_INT, rank, 0, 1, MPI_FLOAT, MPI_SUM, win), MPI_ERR_TYPE);
    MPI_Op_create(never, 1, &own);
    CHECK_CLASS(MPI_Accumulate(&number, 1, MPI_INT, rank, 0, 1, MPI_INT, own, win), MPI_ERR_OP);
    MPI_Op_free(&own);
    MPI_Type_contiguous(2, MPI_INT, &pairs);
    MPI_Type_commit(&pairs);
    CHECK_CLASS(MPI_Fetch_and_op(&number, &result, pairs, rank, 0, MPI_SUM, win), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Compare_and_swap(&number, &other, &result, pairs, rank, 0, win), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Compare_and_swap(&number, &other, &result, MPI_FLOAT, rank, 0, win), MPI_ERR_TYPE);
    MPI_Type_free(&pairs);
    /* To no process, nothing happens. */
    CHECK(MPI_Put(&number, 1, MPI_INT, MPI_PROC_NULL, 1 << 20, 1, MPI_INT, win) == MPI_SUCCESS);
    CHECK(MPI_Fetch_and_op(&number, &result, MPI_INT, MPI_PROC_NULL, 0, MPI_SUM, win) == MPI_SUCCESS && result == 3);
    CHECK(MPI_Win_flush(MPI_PROC_NULL, win) == MPI_SUCCESS);
    MPI_Win_unlock(rank, win);
    CHECK_CLASS(MPI_Win_fence(1 << 20, win), MPI_ERR_ASSERT);
    CHECK_CLASS(MPI_Win_fence(MPI_MODE_NOCHECK, win), MPI_ERR_ASSERT);
    CHECK_CLASS(MPI_Win_lock(MPI_LOCK_SHARED, rank, MPI_MODE_NOSTORE, win), MPI_ERR_ASSERT);
    CHECK_CLASS(MPI_Win_lock_all(MPI_MODE_NOPUT, win), MPI_ERR_ASSERT);
    CHECK_CLASS(MPI_Win_lock(17, rank, 0, win), MPI_ERR_LOCKTYPE);
    CHECK_CLASS(MPI_Win_lock(MPI_LOCK_SHARED, -77, 0, win), MPI_ERR_RANK);
    CHECK_CLASS(MPI_Win_attach(win, &number, 4), MPI_ERR_RMA_FLAVOR);
}

/* The window of each rank has 16 integers; canaries lie around it. */
static void of_range(MPI_Win win, const int *canaries) {
    int numbers[32] = {0}, target = (rank + 1) % size, result;
    MPI_Datatype back, far;
    MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
    CHECK_CLASS(MPI_Put(numbers, 1, MPI_INT, target, 16, 1, MPI_INT, win), MPI_ERR_RMA_RANGE);
    CHECK_CLASS(MPI_Put(numbers, 1, MPI_INT, target, -1, 1, MPI_INT, win), MPI_ERR_RMA_RANGE);
    CHECK_CLASS(MPI_Put(numbers, 17, MPI_INT, target, 0, 17, MPI_INT, win), MPI_ERR_RMA_RANGE);
    CHECK_CLASS(MPI_Get(numbers, 2, MPI_INT, target, 15, 2, MPI_INT, win), MPI_ERR_RMA_RANGE);
    CHECK_CLASS(MPI_Put(numbers, 1, MPI_INT, target, (MPI_Aint)1 << 62, 1, MPI_INT, win), MPI_ERR_RMA_RANGE);
    CHECK_CLASS(MPI_Accumulate(numbers, 1, MPI_INT, target, 16, 1, MPI_INT, MPI_SUM, win), MPI_ERR_RMA_RANGE);
    CHECK_CLASS(MPI_Get_accumulate(numbers, 1, MPI_INT, &result, 1, MPI_INT, target, 16, 1, MPI_INT, MPI_NO_OP, win),
                MPI_ERR_RMA_RANGE);
    CHECK_CLASS(MPI_Fetch_and_op(numbers, &result, MPI_INT, target, -2, MPI_SUM, win), MPI_ERR_RMA_RANGE);
    CHECK_CLASS(MPI_Compare_and_swap(numbers, numbers, &result, MPI_INT, target, 16, win), MPI_ERR_RMA_RANGE);
    MPI_Type_create_hindexed_block(1, 1, (MPI_Aint[]){-4}, MPI_INT, &back);
    MPI_Type_create_hindexed_block(1, 1, (MPI_Aint[]){64}, MPI_INT, &far);
    MPI_Type_commit(&back);
    MPI_Type_commit(&far);
    CHECK_CLASS(MPI_Put(numbers, 1, MPI_INT, target, 0, 1, back, win), MPI_ERR_RMA_RANGE);
    CHECK_CLASS(MPI_Put(numbers, 1, MPI_INT, target, 0, 1, far, win), MPI_ERR_RMA_RANGE);
    CHECK(MPI_Put(numbers, 1, MPI_INT, target, 1, 1, back, win) == MPI_SUCCESS);
    CHECK(MPI_Put(numbers, 0, MPI_INT, target, 100, 0, MPI_INT, win) == MPI_SUCCESS);
    MPI_Type_free(&back);
    MPI_Type_free(&far);
    MPI_Win_unlock(target, win);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 16; i++)
        CHECK(canaries[i] == 0x5a5a && canaries[32 + i] == 0x5a5a);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void of_epochs(MPI_Win win, MPI_Group all) {
    int number = 5, flag;
    MPI_Request request;
    MPI_Win same = win;
    CHECK_CLASS(MPI_Put(&number, 1, MPI_INT, rank, 0, 1, MPI_INT, win), MPI_ERR_RMA_SYNC);
    CHECK_CLASS(MPI_Win_unlock(rank, win), MPI_ERR_RMA_SYNC);
    CHECK_CLASS(MPI_Win_unlock_all(win), MPI_ERR_RMA_SYNC);
    CHECK_CLASS(MPI_Win_flush(rank, win), MPI_ERR_RMA_SYNC);
    CHECK_CLASS(MPI_Win_flush_local_all(win), MPI_ERR_RMA_SYNC);
    CHECK_CLASS(MPI_Win_complete(win), MPI_ERR_RMA_SYNC);
    CHECK_CLASS(MPI_Win_wait(win), MPI_ERR_RMA_SYNC);
    CHECK_CLASS(MPI_Win_test(win, &flag), MPI_ERR_RMA_SYNC);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    CHECK_CLASS(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win), MPI_ERR_RMA_SYNC);
    CHECK_CLASS(MPI_Win_lock_all(0, win), MPI_ERR_RMA_SYNC);
    CHECK_CLASS(MPI_Win_fence(0, win), MPI_ERR_RMA_SYNC);
    CHECK_CLASS(MPI_Win_start(all, 0, win), MPI_ERR_RMA_SYNC);
    CHECK_CLASS(size > 1 ? MPI_Get(&number, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win) : MPI_ERR_RMA_SYNC,
                MPI_ERR_RMA_SYNC);
    /* A window is not freed within an epoch, on all ranks or on one. */
    CHECK_CLASS(MPI_Win_free(&same), MPI_ERR_RMA_SYNC);
    if (rank != 0)
        MPI_Win_unlock(rank, win);
    CHECK_CLASS(MPI_Win_free(&same), MPI_ERR_RMA_SYNC);
    CHECK(same == win);
    if (rank == 0)
        MPI_Win_unlock(rank, win);
    CHECK(MPI_Win_lock_all(0, win) == MPI_SUCCESS);
    CHECK_CLASS(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win), MPI_ERR_RMA_SYNC);
    CHECK_CLASS(MPI_Win_unlock(rank, win), MPI_ERR_RMA_SYNC);
    CHECK_CLASS(MPI_Win_lock_all(0, win), MPI_ERR_RMA_SYNC);
    CHECK(MPI_Win_unlock_all(win) == MPI_SUCCESS);
    MPI_Win_fence(0, win);
    CHECK_CLASS(MPI_Rput(&number, 1, MPI_INT, rank, 0, 1, MPI_INT, win, &request), MPI_ERR_RMA_SYNC);
    CHECK(MPI_Put(&number, 1, MPI_INT, rank, 0, 1, MPI_INT, win) == MPI_SUCCESS);
    CHECK_CLASS(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win), MPI_ERR_RMA_SYNC);
    CHECK_CLASS(MPI_Win_post(all, 0, win), MPI_ERR_RMA_SYNC);
    CHECK_CLASS(MPI_Win_free(&same), MPI_ERR_RMA_SYNC);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    CHECK_CLASS(MPI_Put(&number, 1, MPI_INT, rank, 0, 1, MPI_INT, win), MPI_ERR_RMA_SYNC);
    CHECK(MPI_Win_post(all, 0, win) == MPI_SUCCESS);
    CHECK_CLASS(MPI_Win_post(all, 0, win), MPI_ERR_RMA_SYNC);
    CHECK_CLASS(MPI_Win_fence(0, win), MPI_ERR_RMA_SYNC);
    CHECK(MPI_Win_start(all, 0, win) == MPI_SUCCESS);
    CHECK_CLASS(MPI_Win_start(all, 0, win), MPI_ERR_RMA_SYNC);
    CHECK_CLASS(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win), MPI_ERR_RMA_SYNC);
    CHECK(MPI_Win_complete(win) == MPI_SUCCESS);
    CHECK(MPI_Win_wait(win) == MPI_SUCCESS);
}

/* Memory is not locked and exposed at once. Rank 0 exposes its memory to all, and all but the last
   complete. Then it has locked the memory of the last, which exposes it. */
static void of_exposure(MPI_Win win, MPI_Group all) {
    MPI_Group zero;
    int last = size - 1;
    MPI_Group_incl(all, 1, (int[]){0}, &zero);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    CHECK_CLASS(MPI_Win_post(all, 0, win), MPI_ERR_RMA_SYNC);
    MPI_Win_unlock(rank, win);
    MPI_Win_lock_all(0, win);
    CHECK_CLASS(MPI_Win_post(all, 0, win), MPI_ERR_RMA_SYNC);
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        CHECK(MPI_Win_post(all, 0, win) == MPI_SUCCESS);
        CHECK_CLASS(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win), MPI_ERR_RMA_SYNC);
        CHECK_CLASS(MPI_Win_lock_all(0, win), MPI_ERR_RMA_SYNC);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank != last) {
        CHECK(MPI_Win_start(zero, 0, win) == MPI_SUCCESS);
        CHECK(MPI_Win_complete(win) == MPI_SUCCESS);
    } else if (last > 0)
        CHECK_CLASS(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win), MPI_ERR_RMA_SYNC);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == last) {
        CHECK(MPI_Win_start(zero, 0, win) == MPI_SUCCESS);
        CHECK(MPI_Win_complete(win) == MPI_SUCCESS);
    }
    if (rank == 0)
        CHECK(MPI_Win_wait(win) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win) == MPI_SUCCESS);
    CHECK(MPI_Win_unlock(0, win) == MPI_SUCCESS);
    for (int lock_type = 0; last > 0 && lock_type < 2; lock_type++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0)
            CHECK(MPI_Win_lock(lock_type ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, last, 0, win) == MPI_SUCCESS);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == last)
            CHECK_CLASS(MPI_Win_post(zero, 0, win), MPI_ERR_RMA_SYNC);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0)
            CHECK(MPI_Win_unlock(last, win) == MPI_SUCCESS);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == last)
            CHECK(MPI_Win_post(zero, 0, win) == MPI_SUCCESS);
        if (rank == 0) {
            MPI_Group at;
            MPI_Group_incl(all, 1, &last, &at);
            CHECK(MPI_Win_start(at, 0, win) == MPI_SUCCESS);
            CHECK(MPI_Win_complete(win) == MPI_SUCCESS);
            MPI_Group_free(&at);
        }
        if (rank == last)
            CHECK(MPI_Win_wait(win) == MPI_SUCCESS);
    }
    MPI_Group_free(&zero);
}

/* A window that was made without locks. */
static void of_no_locks(void) {
    static int memory[4];
    MPI_Win win;
    MPI_Info info;
    int number = 3;
    MPI_Info_create(&info);
    MPI_Info_set(info, "no_locks", "true");
    MPI_Win_create(memory, sizeof memory, 4, info, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    CHECK_CLASS(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win), MPI_ERR_RMA_SYNC);
    CHECK_CLASS(MPI_Win_lock_all(0, win), MPI_ERR_RMA_SYNC);
    MPI_Win_fence(0, win);
    CHECK(MPI_Put(&number, 1, MPI_INT, (rank + 1) % size, 1, 1, MPI_INT, win) == MPI_SUCCESS);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    CHECK(memory[1] == 3);
    CHECK(MPI_Win_free(&win) == MPI_SUCCESS);
    MPI_Info_free(&info);
}

static int refuses;

static int on_delete(MPI_Win win, int keyval, void *value, void *extra) {
    (void)win, (void)keyval, (void)value, (void)extra;
    return refuses ? MPI_ERR_OTHER : MPI_SUCCESS;
}

/* An error at one rank is one at all, and the window stays. */
static void of_freeing(void) {
    static int memory[4];
    int keyval, number = 7;
    MPI_Win win;
    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, on_delete, &keyval, NULL);
    MPI_Win_create(memory, sizeof memory, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    refuses = rank == size - 1;
    if (refuses)
        MPI_Win_set_attr(win, keyval, &number);
    CHECK_CLASS(MPI_Win_free(&win), MPI_ERR_OTHER);
    CHECK(win != MPI_WIN_NULL);
    MPI_Win_fence(0, win);
    CHECK(MPI_Put(&number, 1, MPI_INT, (rank + 1) % size, 2, 1, MPI_INT, win) == MPI_SUCCESS);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    CHECK(memory[2] == 7);
    refuses = 0;
    CHECK(MPI_Win_free(&win) == MPI_SUCCESS && win == MPI_WIN_NULL);
    MPI_Win_free_keyval(&keyval);
}

/* The request of an operation may be freed: the operation is done all the same. It cannot be
   cancelled, whether it is complete or not. */
static void of_requests(MPI_Win win) {
    static int numbers[16];
    int target = (rank + 1) % size, cancelled = 1;
    MPI_Request request;
    MPI_Status status;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
    for (int i = 0; i < 16; i++) {
        numbers[i] = 100 * rank + i;
        CHECK(MPI_Rput(numbers + i, 1, MPI_INT, target, i, 1, MPI_INT, win, &request) == MPI_SUCCESS);
        CHECK(MPI_Request_free(&request) == MPI_SUCCESS && request == MPI_REQUEST_NULL);
    }
    MPI_Win_flush(target, win);
    memset(numbers, 0, sizeof numbers);
    for (int i = 0; i < 16; i++) {
        CHECK(MPI_Rget(numbers + i, 1, MPI_INT, target, i, 1, MPI_INT, win, &request) == MPI_SUCCESS);
        CHECK(MPI_Request_free(&request) == MPI_SUCCESS && request == MPI_REQUEST_NULL);
    }
    MPI_Win_flush(target, win);
    for (int i = 0; i < 16; i++)
        CHECK(numbers[i] == 100 * rank + i);
    numbers[0] = -1;
    CHECK(MPI_Rget(numbers, 1, MPI_INT, target, 3, 1, MPI_INT, win, &request) == MPI_SUCCESS);
    CHECK_CLASS(MPI_Cancel(&request), MPI_ERR_REQUEST);
    CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS && request == MPI_REQUEST_NULL);
    CHECK(MPI_Test_cancelled(&status, &cancelled) == MPI_SUCCESS && !cancelled && numbers[0] == 100 * rank + 3);
    numbers[0] = rank;
    CHECK(MPI_Raccumulate(numbers, 1, MPI_INT, target, 0, 1, MPI_INT, MPI_SUM, win, &request) == MPI_SUCCESS);
    MPI_Win_flush(target, win);
    CHECK_CLASS(MPI_Cancel(&request), MPI_ERR_REQUEST);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    MPI_Win_unlock(target, win);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Memory that was never attached, or is no more. */
static void of_dynamic(void) {
    MPI_Win win;
    MPI_Aint mine, next;
    int memory[4] = {1, 2, 3, 4}, numbers[2], number = 9, target = (rank + 1) % size;
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Get_address(memory, &mine);
    MPI_Sendrecv(&mine, 1, MPI_AINT, (rank + size - 1) % size, 0, &next, 1, MPI_AINT, target, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    for (int round = 0; round < 2; round++) {
        int code;
        MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
        code = MPI_Put(&number, 1, MPI_INT, target, next, 1, MPI_INT, win);
        CHECK_CLASS(code ? code : MPI_Win_flush(target, win), MPI_ERR_RMA_RANGE);
        code = MPI_Get(&number, 1, MPI_INT, target, 64, 1, MPI_INT, win);
        CHECK_CLASS(code ? code : MPI_Win_flush(target, win), MPI_ERR_RMA_RANGE);
        MPI_Win_unlock(target, win);
        MPI_Barrier(MPI_COMM_WORLD);
        CHECK(memory[0] == 1 && number == 9);
        CHECK(MPI_Win_attach(win, memory, sizeof memory) == MPI_SUCCESS);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
        CHECK(MPI_Get(&number, 1, MPI_INT, target, next + 8, 1, MPI_INT, win) == MPI_SUCCESS);
        MPI_Win_flush(target, win);
        CHECK(number == 3);
        code = MPI_Get(numbers, 2, MPI_INT, target, next + 12, 2, MPI_INT, win);
        CHECK_CLASS(code ? code : MPI_Win_flush(target, win), MPI_ERR_RMA_RANGE);
        MPI_Win_unlock(target, win);
        number = 9;
        MPI_Barrier(MPI_COMM_WORLD);
        CHECK(MPI_Win_detach(win, memory) == MPI_SUCCESS);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    CHECK_CLASS(MPI_Win_attach(win, memory, -1), MPI_ERR_SIZE);
    MPI_Win_free(&win);
}

int main(int argc, char **argv) {
    static int memory[64];
    MPI_Win win;
    MPI_Group all;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    for (int i = 0; i < 64; i++)
        memory[i] = 0x5a5a;
    of_creation();
    MPI_Win_create(memory + 16, 64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    of_arguments(win);
    of_range(win, memory);
    of_epochs(win, all);
    of_exposure(win, all);
    of_requests(win);
    MPI_Group_free(&all);
    CHECK(MPI_Win_free(&win) == MPI_SUCCESS);
    of_no_locks();
    of_freeing();
    of_dynamic();
    report("window_errors", rank, size);
    MPI_Finalize();
    return 0;
}
