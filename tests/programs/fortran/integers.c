/* Fortran's integers in C (MPI-5.0, 19.3.4 and 19.3.5): called by integers.f90. It knows nothing
   but mpi.h. */
#include <mpi.h>
#include <stdio.h>

#define CHECK(condition) \
    if (!(condition)) return __LINE__

static int handles(MPI_Fint world, MPI_Fint datatype, MPI_Fint request)
{
    int rank, result;
    MPI_Comm comm = MPI_Comm_f2c(world);
    MPI_Comm (*convert)(MPI_Fint) = MPI_Comm_f2c;
    CHECK(comm == MPI_COMM_WORLD && convert(world) == comm);
    CHECK(MPI_Comm_rank(comm, &rank) == MPI_SUCCESS);
    CHECK(MPI_Comm_c2f(comm) == world);
    CHECK(MPI_Type_f2c(datatype) != MPI_DATATYPE_NULL && MPI_Type_c2f(MPI_Type_f2c(datatype)) == datatype);
    CHECK(MPI_Type_size(MPI_Type_f2c(datatype), &result) == MPI_SUCCESS && result == 12);
    CHECK(MPI_Request_f2c(request) == MPI_REQUEST_NULL);
    CHECK(PMPI_Op_f2c(PMPI_Op_c2f(MPI_SUM)) == MPI_SUM);
    return 0;
}

static int statuses(MPI_Fint *status)
{
    MPI_Status here;
    MPI_F08_status modern;
    MPI_Fint again[MPI_F_STATUS_SIZE];
    int count;
    CHECK(MPI_Status_f2c(status, &here) == MPI_SUCCESS);
    CHECK(here.MPI_SOURCE == status[MPI_F_SOURCE] && here.MPI_TAG == 11);
    CHECK(MPI_Get_count(&here, MPI_INT, &count) == MPI_SUCCESS && count == 3);
    CHECK(MPI_Status_c2f08(&here, &modern) == MPI_SUCCESS && modern.MPI_TAG == 11);
    CHECK(MPI_Status_f082f(&modern, again) == MPI_SUCCESS && again[MPI_F_TAG] == 11);
    again[MPI_F_TAG] = 12;
    CHECK(PMPI_Status_f2f08(again, &modern) == MPI_SUCCESS && MPI_Status_f082c(&modern, &here) == MPI_SUCCESS);
    CHECK(here.MPI_TAG == 12 && MPI_Status_c2f(&here, status) == MPI_SUCCESS);
    return 0;
}

/* 0, or the line of the check that failed. */
int integers_(MPI_Fint *world, MPI_Fint *datatype, MPI_Fint *request, MPI_Fint *status)
{
    int line = handles(*world, *datatype, *request);
    return line ? line : statuses(status);
}

/* What a C wrapper of Fortran's MPI_Recv asks. */
int ignored_(MPI_Fint *status)
{
    return (status == MPI_F_STATUS_IGNORE) + 2 * (status == MPI_F_STATUSES_IGNORE);
}
