//! The question of `verbena top` to `mpiexec`, and the answer.

use crate::rank::Rank;
use serde::{Deserialize, Serialize};

/// The longest answer that is read, in bytes.
pub const ANSWER_BYTES_MAX: usize = 256 << 20;

/// The state of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The job's name.
    pub job: String,
    /// The program, or the first of several.
    pub program: String,
    /// The time that the job has run, in milliseconds.
    pub ran_ms: u64,
    /// The time for which nothing has moved, in milliseconds, if some rank waits.
    pub still_ms: Option<u64>,
    /// All ranks, in order.
    pub ranks: Vec<Rank>,
}

impl Answer {
    /// The answer as bytes.
    pub fn encode(&self) -> Vec<u8> {
        // Neither a write to memory nor these types can fail.
        postcard::to_stdvec(self).unwrap_or_default()
    }

    /// Reads an answer; `None` if the bytes are none.
    pub fn decode(bytes: &[u8]) -> Option<Answer> {
        postcard::from_bytes(bytes).ok()
    }
}

/// The name of the abstract socket on which the `mpiexec` with this process id answers its user.
pub fn socket_name(user: u32, pid: u32) -> String {
    format!("{}{pid}", prefix(user))
}

/// The process id of the `mpiexec` behind a socket of this user; `None` if it is another socket.
pub fn pid_of_socket(name: &str, user: u32) -> Option<u32> {
    name.strip_prefix(&prefix(user))?.parse().ok()
}

fn prefix(user: u32) -> String {
    format!("verbena-mpiexec-{user}-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_tells_its_mpiexec() {
        assert_eq!(pid_of_socket(&socket_name(7, 123), 7), Some(123));
        assert_eq!(pid_of_socket(&socket_name(8, 123), 7), None);
        assert_eq!(pid_of_socket("X11", 7), None);
    }

    #[test]
    fn bytes_give_the_answer_back() {
        let ranks = vec![Rank::new(0, "here", 7)];
        let answer = Answer { job: "j".into(), program: "p".into(), ran_ms: 1, still_ms: None, ranks };
        assert_eq!(Answer::decode(&answer.encode()), Some(answer));
        assert_eq!(Answer::decode(&[255; 9]), None);
    }
}
