//! The calls of a traced program (`VERBENA_TRACE`): each entry point comes here first, with its
//! arguments by name, and is then called once more for its work.

use crate::generated::types::{MPI_Comm, MPI_Datatype};
use crate::handles::{COMMS, DATATYPES, FILES, WINS};
use crate::state;
use std::any::Any;
use std::borrow::Cow;
use std::ffi::c_int;
use verbena_channel::trace::calls::{Call, Object, Queues, UnderWay};
use verbena_mpi::comm::Traffic;
use verbena_mpi::generated::constants as mpi;

/// The arguments of a call, by their names in the standard.
type Arguments<'a> = &'a [(&'static str, &'a dyn Any)];

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

/// Makes this call of the program under the eyes of the trace. `None` if it is within another call,
/// of which it is a part.
#[cold]
#[inline(never)]
pub(crate) fn call(name: &'static str, arguments: Arguments<'_>, run: &dyn Fn() -> c_int) -> Option<c_int> {
    let under_way = UnderWay::begin()?;
    // Looked at before: the call may free them.
    let object = object(arguments);
    let bytes = bytes(arguments, object.as_ref().map_or(0, |object| object.size));
    let (peer, tag) = (first(arguments, &PEERS), first(arguments, &TAGS));
    let code = run();
    let queues = state::try_process().map_or_else(Queues::default, |process| {
        let [posted, unexpected, unexpected_bytes] =
            process.look(|engine| engine.queues()).map(|length| length as u64);
        Queues { at: 0, posted, unexpected, unexpected_bytes }
    });
    let call = Call {
        name: Cow::Borrowed(name),
        thread: 0,
        object: None,
        bytes,
        peer,
        tag,
        entered: 0,
        left: 0,
        code,
    };
    under_way.end(call, object, queues);
    Some(code)
}

/// Returns the argument of this name and type.
fn argument<T: Copy + 'static>(arguments: Arguments<'_>, name: &str) -> Option<T> {
    let (_, value) = arguments.iter().find(|(its, _)| *its == name)?;
    value.downcast_ref::<T>().copied()
}

/// Returns the first of these arguments that is there.
fn first(arguments: Arguments<'_>, names: &[&str]) -> Option<i32> {
    names.iter().find_map(|name| argument::<c_int>(arguments, name))
}

/// Returns the bytes that the call sends, else those that it has room for; on a communicator of
/// this size.
fn bytes(arguments: Arguments<'_>, size: u32) -> u64 {
    AMOUNTS.iter().find_map(|(count, datatype)| amount(arguments, count, datatype)).unwrap_or_else(|| {
        let lists = [("sendcounts", "sendtype"), ("recvcounts", "datatype")];
        lists.iter().find_map(|(counts, datatype)| sum(arguments, counts, datatype, size)).unwrap_or(0)
    })
}

fn amount(arguments: Arguments<'_>, count: &str, datatype: &str) -> Option<u64> {
    let count = argument::<c_int>(arguments, count)
        .map(i64::from)
        .or_else(|| argument::<i64>(arguments, count))
        .filter(|count| *count >= 0)?;
    Some(count as u64 * element_bytes(arguments, datatype)?)
}

/// The bytes of an element of the datatype that is the argument of this name.
fn element_bytes(arguments: Arguments<'_>, datatype: &str) -> Option<u64> {
    let handle = argument::<MPI_Datatype>(arguments, datatype)?;
    DATATYPES.get(handle).ok().map(|datatype| datatype.size() as u64)
}

/// Returns the bytes of a list of counts, one for each rank, that the standard wants of every rank
/// that calls: those with a root want it of the root alone, and are not looked at; nor is one that
/// stands beside `MPI_IN_PLACE`.
fn sum(arguments: Arguments<'_>, counts: &str, datatype: &str, size: u32) -> Option<u64> {
    let in_place = argument::<*const std::ffi::c_void>(arguments, "sendbuf")
        .is_some_and(|address| address as usize == mpi::MPI_IN_PLACE);
    if argument::<c_int>(arguments, "root").is_some() || in_place && counts == "sendcounts" {
        return None;
    }
    let element_bytes = element_bytes(arguments, datatype)?;
    let list = |at: usize| -> Option<i64> {
        if let Some(list) = argument::<*const c_int>(arguments, counts) {
            // SAFETY: the program passes one count for each rank that the call is about.
            return (!list.is_null()).then(|| i64::from(unsafe { *list.add(at) }));
        }
        let list = argument::<*const i64>(arguments, counts)?;
        // SAFETY: as above.
        (!list.is_null()).then(|| unsafe { *list.add(at) })
    };
    let counts: Option<Vec<i64>> = (0..size as usize).map(list).collect();
    Some(counts?.into_iter().map(|count| count.max(0) as u64 * element_bytes).sum())
}

/// Returns the communicator, window or file that the call is about.
fn object(arguments: Arguments<'_>) -> Option<Object> {
    let handle = |name: &&str| argument::<MPI_Comm>(arguments, name);
    if let Some(handle) = COMMUNICATORS.iter().find_map(handle) {
        let comm = COMMS.get(handle).ok()?;
        return Some(Object {
            handle: handle as u64,
            name: name_or(&comm.name(), "a communicator without a name"),
            size: comm.targets().size() as u32,
            context: Some(comm.context(Traffic::Point)),
        });
    }
    if let Some(handle) = handle(&"win") {
        let win = WINS.get(handle).ok()?;
        return Some(Object {
            handle: handle as u64,
            name: name_or(&win.name(), "a window without a name"),
            size: win.size() as u32,
            context: None,
        });
    }
    let handle = handle(&"fh")?;
    let file = FILES.get(handle).ok()?;
    Some(Object {
        handle: handle as u64,
        name: "a file".into(),
        size: file.group().size() as u32,
        context: None,
    })
}

fn name_or(name: &[u8], instead: &str) -> String {
    if name.is_empty() { instead.into() } else { String::from_utf8_lossy(name).into_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_described_by_the_names_of_its_arguments() {
        let (count, dest, tag) = (3 as c_int, 1 as c_int, 7 as c_int);
        let arguments: &[(&'static str, &dyn Any)] =
            &[("count", &count), ("datatype", &mpi::MPI_INT), ("dest", &dest), ("tag", &tag)];
        assert_eq!(bytes(arguments, 0), 12);
        assert_eq!((first(arguments, &PEERS), first(arguments, &TAGS)), (Some(1), Some(7)));
        let large: &[(&'static str, &dyn Any)] =
            &[("sendcount", &5_i64), ("sendtype", &mpi::MPI_DOUBLE), ("recvcount", &9_i64)];
        assert_eq!((bytes(large, 0), first(large, &PEERS)), (40, None));
    }

    #[test]
    fn the_counts_of_every_rank_are_added_up() {
        let counts = [1 as c_int, 2, 3];
        let pointer = counts.as_ptr();
        let buffer = std::ptr::without_provenance::<std::ffi::c_void>(0x1000);
        let arguments: &[(&'static str, &dyn Any)] =
            &[("sendbuf", &buffer), ("sendcounts", &pointer), ("sendtype", &mpi::MPI_INT)];
        assert_eq!(bytes(arguments, 3), 24);
        let in_place = std::ptr::without_provenance::<std::ffi::c_void>(mpi::MPI_IN_PLACE);
        let arguments: &[(&'static str, &dyn Any)] =
            &[("sendbuf", &in_place), ("sendcounts", &pointer), ("sendtype", &mpi::MPI_INT)];
        assert_eq!(bytes(arguments, 3), 0);
    }

    #[test]
    fn a_call_within_a_call_is_a_part_of_it() {
        let inner = || call("MPI_Comm_rank", &[], &|| 0);
        let outer = call("MPI_Barrier", &[], &|| if inner().is_none() { 5 } else { 6 });
        assert_eq!(outer, Some(5));
        assert_eq!(inner(), Some(0));
    }
}
