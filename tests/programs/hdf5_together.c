/* A file of HDF5 that all ranks write and read together: `hdf5_together FILE`. */
#include "check.h"
#include <hdf5.h>

enum { ROWS = 96, COLUMNS = 64, VALUES = ROWS * COLUMNS };

static int rank, size;

static int value_of(int at, int round) { return at * 7 + round; }

/* Each rank has rows side by side, or columns in turns. */
static int is_mine(int at, int is_by_column) {
    int row = at / COLUMNS, column = at % COLUMNS;
    return is_by_column ? column % size == rank : row >= ROWS * rank / size && row < ROWS * (rank + 1) / size;
}

/* Chooses this rank's part of the dataset. */
static hsize_t choose(hid_t space, int is_by_column) {
    hsize_t start[2] = {0, 0}, stride[2] = {1, 1}, count[2] = {ROWS, COLUMNS};
    if (is_by_column) {
        start[1] = (hsize_t)rank;
        stride[1] = (hsize_t)size;
        count[1] = (hsize_t)((COLUMNS - rank + size - 1) / size);
    } else {
        start[0] = (hsize_t)(ROWS * rank / size);
        count[0] = (hsize_t)(ROWS * (rank + 1) / size) - start[0];
    }
    CHECK(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, stride, count, NULL) >= 0);
    return count[0] * count[1];
}

/* Moves this rank's part by one call, collective or not. */
static void move(hid_t dataset, int is_write, int round) {
    int is_by_column = round % 2, is_collective = round / 2 % 2;
    hid_t space = H5Dget_space(dataset), way = H5Pcreate(H5P_DATASET_XFER);
    hsize_t count = choose(space, is_by_column), at = 0;
    hid_t memory = H5Screate_simple(1, &count, NULL);
    int *values = malloc(count * sizeof *values);
    CHECK(space >= 0 && way >= 0 && memory >= 0 && values);
    CHECK(H5Pset_dxpl_mpio(way, is_collective ? H5FD_MPIO_COLLECTIVE : H5FD_MPIO_INDEPENDENT) >= 0);
    for (int i = 0; i < VALUES; i++)
        if (is_mine(i, is_by_column))
            values[at++] = is_write ? value_of(i, round) : -1;
    CHECK(at == count);
    if (is_write) {
        CHECK(H5Dwrite(dataset, H5T_NATIVE_INT, memory, space, way, values) >= 0);
    } else {
        CHECK(H5Dread(dataset, H5T_NATIVE_INT, memory, space, way, values) >= 0);
        at = 0;
        for (int i = 0; i < VALUES; i++)
            if (is_mine(i, is_by_column))
                CHECK(values[at++] == value_of(i, round));
    }
    free(values);
    CHECK(H5Sclose(memory) >= 0 && H5Sclose(space) >= 0 && H5Pclose(way) >= 0);
}

static hid_t opened(const char *name, int is_new) {
    hid_t way = H5Pcreate(H5P_FILE_ACCESS);
    CHECK(way >= 0 && H5Pset_fapl_mpio(way, MPI_COMM_WORLD, MPI_INFO_NULL) >= 0);
    hid_t file = is_new ? H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, way) : H5Fopen(name, H5F_ACC_RDONLY, way);
    CHECK(file >= 0 && H5Pclose(way) >= 0);
    return file;
}

int main(int argc, char **argv) {
    hsize_t shape[2] = {ROWS, COLUMNS}, chunk[2] = {10, 12};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(argc == 2);
    /* Each way of access, on a dataset in one piece and on one in chunks. */
    for (int is_chunked = 0; is_chunked < 2; is_chunked++)
        for (int round = 0; round < 4; round++) {
            hid_t file = opened(argv[1], 1), space = H5Screate_simple(2, shape, NULL);
            hid_t layout = H5Pcreate(H5P_DATASET_CREATE);
            CHECK(space >= 0 && layout >= 0 && (!is_chunked || H5Pset_chunk(layout, 2, chunk) >= 0));
            hid_t dataset = H5Dcreate2(file, "values", H5T_STD_I32BE, space, H5P_DEFAULT, layout, H5P_DEFAULT);
            CHECK(dataset >= 0);
            move(dataset, 1, round);
            CHECK(H5Dclose(dataset) >= 0 && H5Sclose(space) >= 0 && H5Pclose(layout) >= 0 && H5Fclose(file) >= 0);
            file = opened(argv[1], 0);
            dataset = H5Dopen2(file, "values", H5P_DEFAULT);
            CHECK(dataset >= 0);
            move(dataset, 0, round);
            CHECK(H5Dclose(dataset) >= 0 && H5Fclose(file) >= 0);
            MPI_Barrier(MPI_COMM_WORLD);
        }
    if (rank == 0)
        CHECK(remove(argv[1]) == 0);
    report("hdf5_together", rank, size);
    MPI_Finalize();
    return 0;
}
