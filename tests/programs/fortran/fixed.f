C     A program as they were written long ago: fixed form, mpif.h, and
C     results that depend on no timing, to be compared with those of
C     other libraries.
      program fixed
      implicit none
      include 'mpif.h'
      integer n
      parameter (n = 64)
      integer rank, ranks, ierr, i, step, up, down
      integer status(MPI_STATUS_SIZE)
      double precision x(0:n+1), y(n), change, total, biggest(2)
      double precision ends(2)
      call MPI_INIT(ierr)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, ierr)
      up = rank + 1
      if (up .eq. ranks) up = MPI_PROC_NULL
      down = rank - 1
      if (rank .eq. 0) down = MPI_PROC_NULL
      do 10 i = 0, n + 1
   10 x(i) = sin(dble(rank * n + i))
      do 40 step = 1, 50
         call MPI_SENDRECV(x(n), 1, MPI_DOUBLE_PRECISION, up, 1,
     &        x(0), 1, MPI_DOUBLE_PRECISION, down, 1,
     &        MPI_COMM_WORLD, status, ierr)
         call MPI_SENDRECV(x(1), 1, MPI_DOUBLE_PRECISION, down, 2,
     &        x(n+1), 1, MPI_DOUBLE_PRECISION, up, 2,
     &        MPI_COMM_WORLD, status, ierr)
         do 20 i = 1, n
   20    y(i) = (x(i-1) + 2 * x(i) + x(i+1)) / 4
         do 30 i = 1, n
   30    x(i) = y(i)
   40 continue
      change = maxval(abs(y))
      biggest(1) = change
      biggest(2) = rank
      call MPI_ALLREDUCE(MPI_IN_PLACE, biggest, 1,
     &     MPI_2DOUBLE_PRECISION, MPI_MAXLOC, MPI_COMM_WORLD, ierr)
      total = x(1)
      call MPI_REDUCE(total, ends(1), 1, MPI_DOUBLE_PRECISION,
     &     MPI_MIN, 0, MPI_COMM_WORLD, ierr)
      call MPI_REDUCE(total, ends(2), 1, MPI_DOUBLE_PRECISION,
     &     MPI_MAX, 0, MPI_COMM_WORLD, ierr)
      if (rank .eq. 0) then
         print '(a, f20.16, i4)', 'biggest', biggest(1),
     &      int(biggest(2))
         print '(a, 2f20.16)', 'ends', ends
         print '(a, i0, a)', 'fixed: ok with ', ranks, ' ranks'
      end if
      call MPI_FINALIZE(ierr)
      end
