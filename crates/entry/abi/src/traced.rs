//! The calls of a traced program (`VERBENA_TRACE`): each entry point comes here first, with its
//! arguments by name, and is then called once more for its work.

use crate::arguments::{Parameters, Value};
use crate::handles::{COMMS, DATATYPES, FILES, WINS};
use crate::state;
use std::borrow::Cow;
use std::ffi::c_int;
use verbena_channel::trace::calls::{Call, Object, Queues, UnderWay};
use verbena_mpi::comm::Traffic;
use verbena_mpi::generated::constants as mpi;

/// The arguments of a call.
#[derive(Clone, Copy)]
struct Arguments<'a> {
    /// The name of the function: one that ends in `_c` has large counts.
    function: &'static str,
    /// The parameters, in order.
    parameters: Parameters,
    /// The values of the arguments.
    values: &'a [Value],
}

/// Counts and datatypes that say how much a call moves; those of what it sends come first.
const AMOUNTS: [(&str, &str); 4] = [
    ("count", "datatype"),
    ("sendcount", "sendtype"),
    ("origin_count", "origin_datatype"),
    ("recvcount", "recvtype"),
];
/// Arguments that name another process.
const PEERS: [&str; 4] = ["dest", "target_rank", "root", "source"];
/// Arguments that carry a tag.
const TAGS: [&str; 2] = ["tag", "sendtag"];
/// Arguments that are the communicator that a call is about.
const COMMUNICATORS: [&str; 4] = ["comm", "comm_old", "local_comm", "intercomm"];

/// A call of the program, from its beginning on.
pub(crate) struct Made {
    under_way: UnderWay,
    call: Call,
    object: Option<Object>,
}

impl Made {
    /// Begins a call with these arguments. `None` if it is within another call, of which it is a
    /// part.
    #[cold]
    #[inline(never)]
    pub(crate) fn begin(function: &'static str, parameters: Parameters, values: &[Value]) -> Option<Made> {
        let under_way = UnderWay::begin(function)?;
        let arguments = Arguments { function, parameters, values };
        // Looked at before the call, which may free them.
        let object = arguments.object();
        let size = object.as_ref().map_or(0, |object| object.size);
        let call = Call {
            name: Cow::Borrowed(function),
            thread: 0,
            object: None,
            bytes: arguments.bytes(size),
            peer: arguments.first(&PEERS),
            tag: arguments.first(&TAGS),
            entered: 0,
            left: 0,
            code: 0,
        };
        Some(Made { under_way, call, object })
    }

    /// Ends the call, which returns this code, and notes the queues behind it.
    #[cold]
    #[inline(never)]
    pub(crate) fn end(self, code: c_int) {
        let queues = state::try_process().map_or_else(Queues::default, |process| {
            let [posted, unexpected, unexpected_bytes] = process.queues().map(|length| length as u64);
            Queues { at: 0, posted, unexpected, unexpected_bytes }
        });
        self.under_way.end(Call { code, ..self.call }, self.object, queues);
    }
}

impl Arguments<'_> {
    /// Returns the argument of this name.
    fn value(self, name: &str) -> Option<Value> {
        let place = self.parameters.iter().position(|(its, _)| *its == name)?;
        self.values.get(place).copied()
    }

    fn number(self, name: &str) -> Option<i64> {
        if let Value::Number(number) = self.value(name)? { Some(number) } else { None }
    }

    fn handle(self, name: &str) -> Option<usize> {
        if let Value::Handle(handle) = self.value(name)? { Some(handle) } else { None }
    }

    fn address(self, name: &str) -> Option<usize> {
        if let Value::Address(address) = self.value(name)? { Some(address) } else { None }
    }

    /// Returns the first of these arguments that is there and is a number.
    fn first(self, names: &[&str]) -> Option<i32> {
        names.iter().find_map(|name| i32::try_from(self.number(name)?).ok())
    }

    /// Returns the bytes that the call sends, else those that it has room for; on a communicator of
    /// this size.
    fn bytes(self, size: u32) -> u64 {
        AMOUNTS.iter().find_map(|(count, datatype)| self.amount(count, datatype)).unwrap_or_else(|| {
            let lists = [("sendcounts", "sendtype"), ("recvcounts", "datatype")];
            lists.iter().find_map(|(counts, datatype)| self.sum(counts, datatype, size)).unwrap_or(0)
        })
    }

    fn amount(self, count: &str, datatype: &str) -> Option<u64> {
        let count = u64::try_from(self.number(count)?).ok()?;
        Some(count.saturating_mul(self.element_bytes(datatype)?))
    }

    /// The bytes of an element of the datatype that is the argument of this name.
    fn element_bytes(self, datatype: &str) -> Option<u64> {
        let handle = self.handle(datatype)?;
        DATATYPES.get(handle).ok().map(|datatype| datatype.size() as u64)
    }

    /// Returns the bytes of a list of counts, one for each rank, that the standard wants of every
    /// rank that calls: those with a root want it of the root alone, and are not looked at; nor is
    /// one that stands beside `MPI_IN_PLACE`.
    fn sum(self, counts: &str, datatype: &str, size: u32) -> Option<u64> {
        let in_place = self.address("sendbuf") == Some(mpi::MPI_IN_PLACE);
        if self.number("root").is_some() || in_place && counts == "sendcounts" {
            return None;
        }
        let list = self.address(counts).filter(|address| *address != 0)?;
        let element_bytes = self.element_bytes(datatype)?;
        let count = |at: usize| {
            // SAFETY: the program passes one count for each rank that the call is about.
            unsafe {
                match self.function.ends_with("_c") {
                    true => *(list as *const i64).add(at),
                    false => i64::from(*(list as *const c_int).add(at)),
                }
            }
        };
        let bytes = |at: usize| u64::try_from(count(at)).unwrap_or(0).saturating_mul(element_bytes);
        Some((0..size as usize).map(bytes).fold(0, u64::saturating_add))
    }

    /// Returns the communicator, window or file that the call is about.
    fn object(self) -> Option<Object> {
        if let Some(handle) = COMMUNICATORS.iter().find_map(|name| self.handle(name)) {
            let comm = COMMS.get(handle).ok()?;
            return Some(Object {
                handle: handle as u64,
                name: name_or(&comm.name(), "a communicator without a name"),
                size: comm.targets().size() as u32,
                context: Some(comm.context(Traffic::Point)),
            });
        }
        if let Some(handle) = self.handle("win") {
            let win = WINS.get(handle).ok()?;
            return Some(Object {
                handle: handle as u64,
                name: name_or(&win.name(), "a window without a name"),
                size: win.size() as u32,
                context: None,
            });
        }
        let handle = self.handle("fh")?;
        let file = FILES.get(handle).ok()?;
        Some(Object {
            handle: handle as u64,
            name: "a file".into(),
            size: file.group().size() as u32,
            context: None,
        })
    }
}

fn name_or(name: &[u8], instead: &str) -> String {
    if name.is_empty() { instead.into() } else { String::from_utf8_lossy(name).into_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::Shown;

    /// The arguments of a function.
    fn given<'a>(function: &'static str, parameters: Parameters, values: &'a [Value]) -> Arguments<'a> {
        Arguments { function, parameters, values }
    }

    #[test]
    fn a_call_is_described_by_the_names_of_its_arguments() {
        let values = [3_i32.shown(), mpi::MPI_INT.shown(), 1_i32.shown(), 7_i32.shown()];
        let send: Parameters = &[("count", ""), ("datatype", ""), ("dest", ""), ("tag", "")];
        let arguments = given("MPI_Send", send, &values);
        assert_eq!(arguments.bytes(0), 12);
        assert_eq!((arguments.first(&PEERS), arguments.first(&TAGS)), (Some(1), Some(7)));
        let values = [5_i64.shown(), mpi::MPI_DOUBLE.shown(), 9_i64.shown()];
        let gather: Parameters = &[("sendcount", ""), ("sendtype", ""), ("recvcount", "")];
        let large = given("MPI_Allgather_c", gather, &values);
        assert_eq!((large.bytes(0), large.first(&PEERS)), (40, None));
        // A count that is written is none that moves.
        let values = [std::ptr::null_mut::<c_int>().shown(), mpi::MPI_INT.shown()];
        assert_eq!(given("MPI_Get_count", &send[..2], &values).bytes(0), 0);
    }

    #[test]
    fn the_counts_of_every_rank_are_added_up() {
        let (counts, large) = ([1 as c_int, 2, 3], [1_i64, -2, 5]);
        let buffer = std::ptr::without_provenance::<std::ffi::c_void>(0x1000).shown();
        let in_place = Value::Address(mpi::MPI_IN_PLACE);
        let bytes = |function: &'static str, buffer: Value, counts: Value| {
            let values = [buffer, counts, mpi::MPI_INT.shown()];
            given(function, &[("sendbuf", ""), ("sendcounts", ""), ("sendtype", "")], &values).bytes(3)
        };
        assert_eq!(bytes("MPI_Alltoallv", buffer, counts.as_ptr().shown()), 24);
        assert_eq!(bytes("MPI_Alltoallv_c", buffer, large.as_ptr().shown()), 24);
        assert_eq!(bytes("MPI_Alltoallv", in_place, counts.as_ptr().shown()), 0);
        assert_eq!(bytes("MPI_Alltoallv", buffer, Value::Address(0)), 0);
    }

    #[test]
    fn a_call_within_a_call_is_a_part_of_it() {
        let outer = Made::begin("MPI_Barrier", &[], &[]).expect("the first");
        assert!(Made::begin("MPI_Comm_rank", &[], &[]).is_none());
        outer.end(0);
        assert!(Made::begin("MPI_Comm_rank", &[], &[]).is_some());
    }
}
