//! The buffers of a call that MPI reads or writes: not those of no bytes, for `MPI_PROC_NULL`, or
//! significant at other processes alone (MPI-5.0, 3.10, 6.4 to 6.12 and 12.3).

use crate::args::{indegree, is_leaf, is_party, is_root, outdegree};
use crate::arguments::{Parameters, Value};
use crate::handles::{COMMS, DATATYPES};
use verbena_mpi::Comm;
use verbena_mpi::generated::constants as mpi;

/// The arguments that are buffers, each with its counts: where one of these is 0, no byte of the
/// buffer is touched.
pub(super) const BUFFERS: [(&str, &[&str]); 11] = [
    ("buf", &["count", "partitions"]),
    ("buffer", &["count", "size"]),
    ("sendbuf", &["sendcount", "count"]),
    ("recvbuf", &["recvcount", "count"]),
    ("inbuf", &["incount", "count", "insize", "outcount"]),
    ("outbuf", &["outcount", "outsize", "incount"]),
    ("inoutbuf", &["count"]),
    ("origin_addr", &["origin_count"]),
    ("result_addr", &["result_count"]),
    ("compare_addr", &[]),
    ("base", &["size"]),
];

/// A call that is about to do its work.
#[derive(Clone, Copy)]
pub(super) struct Call<'a> {
    /// The name of the function.
    pub function: &'static str,
    /// The names of its parameters.
    pub parameters: Parameters,
    /// The arguments.
    pub values: &'a [Value],
}

impl Call<'_> {
    /// The argument for the parameter of this name.
    pub(super) fn value(&self, wanted: &str) -> Option<Value> {
        let place = self.parameters.iter().position(|(name, _)| *name == wanted)?;
        self.values.get(place).copied()
    }

    /// Returns whether MPI may read or write the buffer with this name here. `counts` are those of
    /// [`BUFFERS`].
    pub(super) fn touches(&self, buffer: &str, counts: &[&str]) -> bool {
        let is_empty = counts.iter().any(|count| self.is(count, 0));
        !is_empty && !self.has_no_bytes(buffer) && self.has_partner(buffer) && self.is_significant(buffer)
    }

    fn is(&self, name: &str, number: i32) -> bool {
        self.value(name) == Some(Value::Number(number.into()))
    }

    fn handle(&self, name: &str) -> Option<usize> {
        if let Some(Value::Handle(handle)) = self.value(name) { Some(handle) } else { None }
    }

    /// Returns whether there are counts for other processes that are all 0, or elements of no
    /// bytes.
    fn has_no_bytes(&self, buffer: &str) -> bool {
        let datatype = match buffer {
            "sendbuf" => "sendtype",
            "recvbuf" => "recvtype",
            "origin_addr" => "origin_datatype",
            "result_addr" => "result_datatype",
            _ => "datatype",
        };
        let datatype = self.handle(datatype).or_else(|| self.handle("datatype"));
        let size = datatype.and_then(|datatype| Some(DATATYPES.get(datatype).ok()?.size()));
        size == Some(0) || self.has_no_elements(buffer) == Some(true)
    }

    fn has_no_elements(&self, buffer: &str) -> Option<bool> {
        let comm = COMMS.get(self.handle("comm")?).ok()?;
        // Reducing, all read what some of them get.
        if self.function.contains("educe_scatter") {
            let block = self.value("recvcount").map(|count| count == Value::Number(0));
            return block.or_else(|| {
                let counts = self.counts("recvcounts", comm.size() as i64)?;
                Some(match buffer {
                    "recvbuf" => counts.get(comm.rank() as usize) == Some(&0),
                    _ => counts.iter().all(|count| *count == 0),
                })
            });
        }
        let is_sent = match buffer {
            "sendbuf" => true,
            "recvbuf" => false,
            _ => return None,
        };
        let is_rooted = self.value("root").is_some();
        // Counts of a rooted call are there at the root alone.
        if is_rooted && !self.is_at_root(&comm) {
            return None;
        }
        let degree = match (self.function.contains("eighbor"), is_sent) {
            (false, _) => i64::from(comm.targets().size()),
            (true, true) => outdegree(&comm).ok()?,
            (true, false) => indegree(&comm).ok()?,
        };
        let counts = self.counts(if is_sent { "sendcounts" } else { "recvcounts" }, degree)?;
        Some(counts.iter().all(|count| *count == 0))
    }

    /// The counts in an argument of this name.
    fn counts(&self, name: &str, len: i64) -> Option<Vec<i64>> {
        let Value::Address(address) = self.value(name)? else { return None };
        let (_, kind) = self.parameters.iter().find(|(known, _)| *known == name)?;
        if address == 0 {
            return None;
        }
        let count = |at: usize| match *kind {
            // SAFETY: the program passes as many counts as the standard says, of this type.
            "*const c_int" => Some(i64::from(unsafe { *(address as *const i32).add(at) })),
            // SAFETY: as above.
            "*const MPI_Count" => Some(unsafe { *(address as *const i64).add(at) }),
            _ => None,
        };
        (0..len as usize).map(count).collect()
    }

    /// Returns whether there is somebody to send to, receive from or access.
    fn has_partner(&self, buffer: &str) -> bool {
        let is_nobody = |name: &str| self.is(name, mpi::MPI_PROC_NULL);
        match buffer {
            "buf" => {
                let mut partners = ["dest", "source"].into_iter().filter(|name| self.value(name).is_some());
                let is_none = partners.clone().next().is_none();
                !self.has_no_message() && (is_none || partners.any(|name| !is_nobody(name)))
            }
            "sendbuf" => !is_nobody("dest"),
            "recvbuf" => !is_nobody("source"),
            // Nothing of the origin is read to leave the target as it is.
            "origin_addr" if self.handle("op") == Some(mpi::MPI_NO_OP) => false,
            "origin_addr" | "result_addr" | "compare_addr" => !is_nobody("target_rank"),
            _ => true,
        }
    }

    /// Returns whether a message that was found is that from `MPI_PROC_NULL`.
    fn has_no_message(&self) -> bool {
        let Some(Value::Address(message)) = self.value("message") else { return false };
        // SAFETY: the program passes a handle of a message.
        message != 0 && unsafe { *(message as *const usize) } == mpi::MPI_MESSAGE_NO_PROC
    }

    /// Returns whether a collective call uses the buffer at this process.
    fn is_significant(&self, buffer: &str) -> bool {
        let Some(comm) = self.handle("comm").and_then(|handle| COMMS.get(handle).ok()) else { return true };
        let Some(Value::Number(root)) = self.value("root") else {
            let is_first = comm.rank() == 0 && !comm.is_inter();
            return !(buffer == "recvbuf" && is_first && self.function.contains("xscan"));
        };
        let root = root as i32;
        let is_scattered = self.function.contains("catter");
        is_party(root, &comm)
            && match (buffer, is_scattered) {
                ("sendbuf", true) | ("recvbuf", false) => is_root(root, &comm),
                ("sendbuf", false) | ("recvbuf", true) => is_leaf(root, &comm),
                _ => true,
            }
    }

    fn is_at_root(&self, comm: &Comm) -> bool {
        matches!(self.value("root"), Some(Value::Number(root)) if is_root(root as i32, comm))
    }
}
