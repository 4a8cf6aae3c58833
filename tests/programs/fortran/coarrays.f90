! Coarrays on whatever library carries them: puts and gets, synchronization, events, locks, atomics
! and collectives, on any number of images. Each value is checked; image 1 says so at the end.
program coarrays
    use, intrinsic :: iso_fortran_env
    implicit none
    integer, parameter :: rounds = 50, length = 5000
    type :: pair
        integer :: number
        real(real64) :: values(100)
    end type
    integer :: me, images, next, previous
    integer :: scalar[*], array(length)[*], square(20, 20)[*]
    type(pair) :: both[*]
    real(real64), allocatable :: long(:)[:]
    type(event_type) :: posted[*], answered[*]
    type(lock_type) :: guard[*]
    integer(atomic_int_kind) :: counter[*]
    integer :: guarded[*]

    me = this_image()
    images = num_images()
    next = mod(me, images) + 1
    previous = mod(me + images - 2, images) + 1
    call accesses
    call neighbours
    call allocated
    call events
    call locks
    call atomics
    call collectives
    sync all
    if (me == 1) print '(a, i0, a)', 'coarrays: ok with ', images, ' images'

contains

    subroutine check(holds, what)
        logical, intent(in) :: holds
        character(*), intent(in) :: what
        if (holds) return
        write (error_unit, '(a, i0, 2a)') 'image ', me, ': wrong: ', what
        error stop 3
    end subroutine

    ! Scalars, whole arrays, sections with strides and components, put and got.
    subroutine accesses
        integer :: round, at, got(length), corner(10, 7)
        do round = 1, rounds
            scalar[next] = 1000 * me + round
            array(:)[next] = [(me * 7 + round + at, at = 1, length)]
            sync all
            call check(scalar == 1000 * previous + round, 'a scalar that was put')
            call check(all(array == [(previous * 7 + round + at, at = 1, length)]), 'an array that was put')
            call check(scalar[next] == 1000 * me + round, 'a scalar that is got')
            got = array(:)[next]
            call check(all(got == [(me * 7 + round + at, at = 1, length)]), 'an array that is got')
            sync all
        end do
        square = -me
        sync all
        square(2:20:2, 3:15:2)[next] = reshape([(me * 100 + at, at = 1, 70)], [10, 7])
        array(1:100:3)[next] = [(me + at, at = 1, 34)]
        sync all
        call check(all(square(2:20:2, 3:15:2) == reshape([(previous * 100 + at, at = 1, 70)], [10, 7])), &
            'a section that was put')
        call check(count(square == -me) == 400 - 70, 'what lies between')
        call check(all(array(1:100:3) == [(previous + at, at = 1, 34)]), 'a row with gaps')
        corner = square(2:20:2, 3:15:2)[next]
        call check(all(corner == reshape([(me * 100 + at, at = 1, 70)], [10, 7])), 'a section that is got')
        sync all
        both[next]%number = me
        both[next]%values(11:20) = [(me + at / 8.0_real64, at = 11, 20)]
        sync all
        call check(both%number == previous, 'a component')
        call check(all(both%values(11:20) == [(previous + at / 8.0_real64, at = 11, 20)]), 'an array within')
        sync all
    end subroutine

    ! Only neighbours wait for each other.
    subroutine neighbours
        integer :: round
        scalar = 0
        sync all
        do round = 1, rounds
            scalar[next] = round
            if (images > 2) sync images([previous, next])
            if (images == 2) sync images(next)
            call check(scalar == round, 'what a neighbour put')
            if (images > 2) sync images([previous, next])
            if (images == 2) sync images(next)
        end do
        sync all
    end subroutine

    subroutine allocated
        integer :: round, image
        do round = 1, 10
            allocate (long(1000 * round)[*])
            long = me
            sync all
            do image = 1, images
                call check(all(long(:)[image] == image), 'memory of another image')
            end do
            sync all
            deallocate (long)
        end do
    end subroutine

    ! Each image asks the next one, which waits for two posts before it answers.
    subroutine events
        integer :: round, count
        do round = 1, rounds
            scalar[next] = round * me
            event post (posted[next])
            event post (posted[next])
            event wait (posted, until_count = 2)
            call check(scalar == round * previous, 'what was put before an event')
            call event_query(posted, count)
            call check(count == 0, 'the count of an event')
            event post (answered[previous])
            event wait (answered)
        end do
        sync all
        event post (posted[1])
        sync all
        call event_query(posted, count)
        call check(count == merge(images, 0, me == 1), 'the count of all events')
        if (me == 1) event wait (posted, until_count = images)
        sync all
    end subroutine

    ! A number that is read and written under a lock, and in a critical section.
    subroutine locks
        integer :: round, own
        logical :: is_free
        guarded = 0
        sync all
        do round = 1, rounds
            lock (guard[1])
            own = guarded[1]
            guarded[1] = own + 1
            unlock (guard[1])
            critical
                own = guarded[images]
                guarded[images] = own + 1
            end critical
        end do
        sync all
        own = rounds * images * merge(2, 1, images == 1)
        if (me == 1 .or. me == images) call check(guarded == own, 'a number under a lock')
        if (me == 1) lock (guard[images])
        sync all
        if (me == 2) then
            lock (guard[images], acquired_lock = is_free)
            call check(.not. is_free, 'a lock that another image has')
        end if
        sync all
        if (me == 1) unlock (guard[images])
        sync all
    end subroutine

    ! OpenCoarrays 2.10, as Debian builds it, has no others: it combines no bits, and gives nothing
    ! back where it adds, on any library.
    subroutine atomics
        integer(atomic_int_kind) :: before, sum
        integer :: round
        call atomic_define(counter, 0)
        sync all
        do round = 1, rounds
            call atomic_add(counter[1], 1)
            call atomic_add(counter[images], merge(0, 1, images == 1))
        end do
        sync all
        call atomic_ref(sum, counter[1])
        call check(sum == rounds * images, 'the sum of image 1')
        call atomic_ref(sum, counter[images])
        call check(sum == rounds * images, 'the sum of the last image')
        sync all
        ! Each image waits for its turn.
        call atomic_define(counter, 1)
        sync all
        do
            call atomic_cas(counter[1], before, me, me + 1)
            if (before == me) exit
            call check(before < me, 'the turns')
        end do
        sync all
        call atomic_ref(sum, counter[1])
        call check(sum == images + 1, 'the last turn')
        sync all
    end subroutine

    subroutine collectives
        integer :: numbers(100), at, one
        real(real64) :: reals(1000)
        character(12) :: text
        numbers = [(me * at, at = 1, 100)]
        call co_sum(numbers)
        call check(all(numbers == [(images * (images + 1) / 2 * at, at = 1, 100)]), 'a sum of all')
        reals = [(me + at / 4.0_real64, at = 1, 1000)]
        call co_max(reals, result_image = images)
        if (me == images) call check(all(reals == [(images + at / 4.0_real64, at = 1, 1000)]), 'a maximum')
        reals = [(me + at / 4.0_real64, at = 1, 1000)]
        call co_min(reals)
        call check(all(reals == [(1 + at / 4.0_real64, at = 1, 1000)]), 'a minimum')
        text = 'nothing'
        if (me == images) text = 'from the end'
        call co_broadcast(text, source_image = images)
        call check(text == 'from the end', 'what was broadcast')
        one = me + 1
        call co_reduce(one, product_of)
        call check(one == product([(at + 1, at = 1, images)]), 'a reduction by a function')
    end subroutine

    pure function product_of(a, b) result(c)
        integer, value :: a, b
        integer :: c
        c = a * b
    end function
end program
