! Pi as the integral of 4 / (1 + x^2) from 0 to 1: every rank adds up some of the strips.
program pi
    use mpi_f08
    implicit none
    integer, parameter :: strips = 1000000
    integer :: rank, size, i
    double precision :: x, own, all
    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, size)
    own = 0
    do i = rank + 1, strips, size
        x = (i - 0.5d0) / strips
        own = own + 4 / (1 + x * x)
    end do
    call MPI_Reduce(own, all, 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD)
    if (rank == 0) print '(a, f12.10)', 'pi is about ', all / strips
    call MPI_Finalize()
end program
