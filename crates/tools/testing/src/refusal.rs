//! System calls that fail as in a container, by a seccomp filter on the calling thread.

/// A system call to refuse, always or only with certain arguments.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    number: i64,
    conditions: &'static [Condition],
}

/// A condition on the low half of one argument.
#[derive(Clone, Copy, Debug)]
enum Condition {
    Is(u32, u32),
    IsAbove(u32, u32),
}

const POPULATES: Condition = Condition::Is(2, libc::MADV_POPULATE_WRITE as u32);

impl Call {
    /// The call with any arguments.
    pub const fn any(number: i64) -> Call {
        Call { number, conditions: &[] }
    }

    /// The advice to populate, refused as by a kernel that does not know it.
    pub const POPULATE: Call = Call { number: libc::SYS_madvise, conditions: &[POPULATES] };

    /// The advice to populate any memory at all, refused as by a kernel that has none left.
    pub const POPULATE_MEMORY: Call =
        Call { number: libc::SYS_madvise, conditions: &[POPULATES, Condition::IsAbove(1, 0)] };

    /// The advice to populate more than 140,000 bytes at once.
    pub const POPULATE_MUCH: Call =
        Call { number: libc::SYS_madvise, conditions: &[POPULATES, Condition::IsAbove(1, 140_000)] };

    /// The call's part of the filter: refuses if all conditions hold, else continues after its end.
    fn filter(&self, errno: i32) -> Vec<libc::sock_filter> {
        const FIRST_ARGUMENT_AT: u32 = 16; // in `seccomp_data`, low half first
        let load = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
        let jump = |sort: u32, value, skip| op(libc::BPF_JMP | sort | libc::BPF_K, 0, skip, value);
        let left = |tests: usize| (2 * tests + 1) as u8;
        let tests = self.conditions.len();
        let mut filter = vec![op(load, 0, 0, 0), jump(libc::BPF_JEQ, self.number as u32, left(tests))];
        for (at, condition) in self.conditions.iter().enumerate() {
            let (sort, argument, value) = match *condition {
                Condition::Is(argument, value) => (libc::BPF_JEQ, argument, value),
                Condition::IsAbove(argument, value) => (libc::BPF_JGT, argument, value),
            };
            filter.push(op(load, 0, 0, FIRST_ARGUMENT_AT + 8 * argument));
            filter.push(jump(sort, value, left(tests - at - 1)));
        }
        filter.push(op(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ERRNO | errno as u32));
        filter
    }
}

fn op(code: u32, jt: u8, jf: u8, k: u32) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt, jf, k }
}

/// Lets these calls fail with `errno` from now on, in this thread and those it starts.
///
/// # Panics
/// If the kernel accepts no filter.
pub fn refuse(calls: &[Call], errno: i32) {
    let mut filter: Vec<_> = calls.iter().flat_map(|call| call.filter(errno)).collect();
    filter.push(op(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW));
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: the program lives until the call is over; the filter binds this thread and its
    // children alone.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        assert_eq!(libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program), 0);
    }
}
