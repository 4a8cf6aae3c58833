/* Datatypes of every constructor sent around a ring, taken apart, packed, and reduced by
   functions of the program. */
#include "check.h"

static int rank, size;

/* Sends one element of `type` from `out` to the right as that type, and checks that exactly its
   bytes arrive. */
static void ring(MPI_Datatype type, int bytes) {
    enum { SPAN = 4096 };
    static unsigned char out[SPAN], in[SPAN], packed_out[SPAN], packed_in[SPAN];
    int right = (rank + 1) % size, left = (rank + size - 1) % size, count, position = 0, end = 0;
    MPI_Status status;
    for (int i = 0; i < SPAN; i++) {
        out[i] = (unsigned char)(i * 5 + 1);
        in[i] = 0;
    }
    MPI_Type_commit(&type);
    MPI_Sendrecv(out + 1024, 1, type, right, 1, in + 1024, 1, type, left, 1, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, type, &count);
    CHECK(count == 1);
    MPI_Pack(out + 1024, 1, type, packed_out, SPAN, &position, MPI_COMM_WORLD);
    MPI_Pack(in + 1024, 1, type, packed_in, SPAN, &end, MPI_COMM_WORLD);
    CHECK(position == bytes && end == bytes && memcmp(packed_out, packed_in, (size_t)bytes) == 0);
    int touched = 0;
    for (int i = 0; i < SPAN; i++)
        touched += in[i] != 0;
    int expected = 0;
    for (int i = 0; i < bytes; i++)
        expected += packed_out[i] != 0;
    CHECK(touched == expected);
    MPI_Type_free(&type);
    CHECK(type == MPI_DATATYPE_NULL);
}

static void constructors(void) {
    int lengths[3] = {2, 0, 3}, displacements[3] = {5, 1, -7}, sizes[2] = {6, 7}, parts[2] = {2, 3}, starts[2] = {1, 2};
    int distributions[2] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK}, grid[2] = {2, 1};
    int arguments[2] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG};
    MPI_Aint addresses[3] = {100, 0, -40};
    MPI_Datatype types[3] = {MPI_DOUBLE, MPI_CHAR, MPI_SHORT_INT}, type, inner;
    MPI_Type_contiguous(5, MPI_INT, &type), ring(type, 20);
    MPI_Type_vector(3, 2, -4, MPI_DOUBLE, &type), ring(type, 48);
    MPI_Type_create_hvector(4, 1, 13, MPI_SHORT, &type), ring(type, 8);
    MPI_Type_indexed(3, lengths, displacements, MPI_INT, &type), ring(type, 20);
    MPI_Type_create_hindexed(3, lengths, addresses, MPI_FLOAT, &type), ring(type, 20);
    MPI_Type_create_indexed_block(3, 2, displacements, MPI_INT, &type), ring(type, 24);
    MPI_Type_create_hindexed_block(3, 2, addresses, MPI_INT, &type), ring(type, 24);
    MPI_Type_create_struct(3, lengths, addresses, types, &type), ring(type, 34);
    MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &type), ring(type, 24);
    MPI_Type_create_darray(2, 1, 2, sizes, distributions, arguments, grid, MPI_ORDER_FORTRAN, MPI_INT, &type);
    ring(type, 84);
    MPI_Type_vector(2, 1, 3, MPI_SHORT_INT, &inner);
    MPI_Type_create_resized(inner, -8, 64, &type);
    MPI_Type_free(&inner);
    inner = type;
    MPI_Type_contiguous(3, inner, &type), ring(type, 36);
    MPI_Type_dup(inner, &type), ring(type, 12);
    MPI_Type_free(&inner);
}

static void queries(void) {
    MPI_Datatype vector, large, inner;
    MPI_Count counts[4], ni, na, nc, nd, lb_c, extent_c;
    MPI_Aint lb, extent;
    int integers[3], i, a, d, combiner, bytes;
    MPI_Type_vector(3, 2, 4, MPI_DOUBLE, &vector);
    MPI_Type_get_extent(vector, &lb, &extent);
    CHECK(lb == 0 && extent == 80);
    MPI_Type_get_envelope(vector, &i, &a, &d, &combiner);
    CHECK(i == 3 && a == 0 && d == 1 && combiner == MPI_COMBINER_VECTOR);
    MPI_Type_get_contents(vector, 3, 0, 1, integers, NULL, &inner);
    CHECK(integers[0] == 3 && integers[1] == 2 && integers[2] == 4 && inner == MPI_DOUBLE);
    CHECK_CLASS(MPI_Send(NULL, 0, vector, MPI_PROC_NULL, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Type_get_contents(vector, 2, 0, 1, integers, NULL, &inner), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Type_get_contents(MPI_INT, 3, 0, 1, integers, NULL, &inner), MPI_ERR_TYPE);
    MPI_Type_contiguous_c(1LL << 40, vector, &large);
    CHECK_CLASS(MPI_Type_get_envelope(large, &i, &a, &d, &combiner), MPI_ERR_TYPE);
    MPI_Type_get_envelope_c(large, &ni, &na, &nc, &nd, &combiner);
    CHECK(ni == 0 && na == 0 && nc == 1 && nd == 1);
    MPI_Type_get_contents_c(large, 0, 0, 1, 1, integers, NULL, counts, &inner);
    CHECK(counts[0] == 1LL << 40 && inner != vector);
    MPI_Type_free(&inner);
    MPI_Type_size(large, &bytes);
    CHECK(bytes == MPI_UNDEFINED);
    MPI_Type_get_extent_c(large, &lb_c, &extent_c);
    CHECK(lb_c == 0 && extent_c == 80LL << 40);
    CHECK_CLASS(MPI_Type_contiguous_c(1LL << 30, large, &inner), MPI_ERR_COUNT);
    inner = MPI_INT;
    CHECK_CLASS(MPI_Type_free(&inner), MPI_ERR_TYPE);
    MPI_Type_free(&large);
    MPI_Type_free(&vector);
}

static void elements(void) {
    MPI_Datatype pair;
    MPI_Status status;
    int count, data[4] = {1, 2, 3, 4}, got[4];
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    MPI_Sendrecv(data, 3, MPI_INT, rank, 2, got, 2, pair, rank, 2, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, pair, &count);
    CHECK(count == MPI_UNDEFINED);
    MPI_Get_elements(&status, pair, &count);
    CHECK(count == 3);
    MPI_Status_set_elements(&status, pair, 2);
    MPI_Get_count(&status, pair, &count);
    CHECK(count == 1);
    MPI_Type_free(&pair);
}

static void external(void) {
    unsigned char bytes[32];
    MPI_Aint position = 0, length;
    long value = -2, back = 0;
    long double real = 3.0L, real_back = 0;
    MPI_Pack_external("external32", &value, 1, MPI_LONG, bytes, sizeof bytes, &position);
    CHECK(position == 4 && bytes[0] == 0xff && bytes[3] == 0xfe);
    MPI_Pack_external("external32", &real, 1, MPI_LONG_DOUBLE, bytes, sizeof bytes, &position);
    CHECK(position == 20 && bytes[4] == 0x40 && bytes[5] == 0 && bytes[6] == 0x80);
    position = 0;
    MPI_Unpack_external("external32", bytes, 20, &position, &back, 1, MPI_LONG);
    MPI_Unpack_external("external32", bytes, 20, &position, &real_back, 1, MPI_LONG_DOUBLE);
    CHECK(back == -2 && real_back == 3.0L);
    MPI_Pack_external_size("external32", 3, MPI_WCHAR, &length);
    CHECK(length == 6);
    CHECK_CLASS(MPI_Pack_external("native", &value, 1, MPI_LONG, bytes, 32, &position), MPI_ERR_UNSUPPORTED_DATAREP);
}

/* Multiplies 2 by 2 matrices: associative, and does not commute. */
static void multiply(void *in, void *inout, int *length, MPI_Datatype *type) {
    long *a = in, *b = inout;
    int bytes;
    MPI_Type_size(*type, &bytes);
    CHECK(bytes == 4 * (int)sizeof(long));
    for (int i = 0; i < *length; i++, a += 4, b += 4) {
        long product[4] = {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2],
                           a[2] * b[1] + a[3] * b[3]};
        memcpy(b, product, sizeof product);
    }
}

static void reductions(void) {
    MPI_Op op;
    MPI_Datatype matrix;
    int commutes;
    long mine[8] = {1, rank + 1, 0, 1, 1, 0, rank + 1, 1}, all[8], sum = (long)size * (size + 1) / 2;
    MPI_Op_create(multiply, 0, &op);
    MPI_Op_commutative(op, &commutes);
    CHECK(!commutes);
    MPI_Type_contiguous(4, MPI_LONG, &matrix);
    MPI_Type_commit(&matrix);
    MPI_Allreduce(mine, all, 2, matrix, op, MPI_COMM_WORLD);
    CHECK(all[0] == 1 && all[1] == sum && all[2] == 0 && all[3] == 1 && all[5] == 0 && all[6] == sum);
    CHECK_CLASS(MPI_Allreduce(mine, all, 2, matrix, MPI_SUM, MPI_COMM_WORLD), MPI_ERR_OP);
    CHECK_CLASS(MPI_Reduce_local(mine, all, 1, MPI_FLOAT, MPI_BAND), MPI_ERR_OP);
    long double part = 1.0L + rank, total;
    MPI_Allreduce(&part, &total, 1, MPI_LONG_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    CHECK(total == (long double)sum);
    struct {
        double value;
        int index;
    } own = {rank % 2, rank}, best;
    MPI_Allreduce(&own, &best, 1, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
    CHECK(best.value == (size > 1) && best.index == (size > 1));
    MPI_Type_free(&matrix);
    MPI_Op_free(&op);
    CHECK(op == MPI_OP_NULL);
    CHECK_CLASS(MPI_Op_free(&op), MPI_ERR_OP);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    constructors();
    queries();
    elements();
    external();
    reductions();
    if (rank == 0)
        printf("datatypes: ok with %d ranks\n", size);
    MPI_Finalize();
    return 0;
}
