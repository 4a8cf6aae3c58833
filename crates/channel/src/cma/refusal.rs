//! For tests: system calls that fail as they do in a container, by a seccomp filter on the calling thread.

/// A call to refuse.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    number: i64,
    /// Refuse only if the fourth argument (a length, for `fallocate`) is greater than this.
    above: u32,
}

impl Call {
    /// Whatever its arguments are.
    pub(crate) const fn any(number: i64) -> Call {
        Call { number, above: 0 }
    }

    /// `fallocate` of more than `bytes`.
    pub(crate) const fn fallocate_above(bytes: u32) -> Call {
        Call { number: libc::SYS_fallocate, above: bytes }
    }
}

/// From now on these calls give `errno` in this thread and those that it starts.
pub(crate) fn refuse(calls: &[Call], errno: i32) {
    const LENGTH_AT: u32 = 16 + 3 * 8; // low half of the fourth argument in `seccomp_data`
    let op = |code: u32, jt, jf, k| libc::sock_filter { code: code as u16, jt, jf, k };
    let load = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    let answer = libc::BPF_RET | libc::BPF_K;
    let mut filter = Vec::new();
    for call in calls {
        let skip = if call.above == 0 { 1 } else { 3 };
        filter.push(op(load, 0, 0, 0));
        filter.push(op(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, skip, call.number as u32));
        if call.above != 0 {
            filter.push(op(load, 0, 0, LENGTH_AT));
            filter.push(op(libc::BPF_JMP | libc::BPF_JGT | libc::BPF_K, 0, 1, call.above));
        }
        filter.push(op(answer, 0, 0, libc::SECCOMP_RET_ERRNO | errno as u32));
    }
    filter.push(op(answer, 0, 0, libc::SECCOMP_RET_ALLOW));
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: the program lives until the call is over; the filter binds this thread and its children alone.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        assert_eq!(libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program), 0);
    }
}
