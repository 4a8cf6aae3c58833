//! Messages and collectives of numbers in the program's own slices, for programs that compute. Each
//! method completes what it starts, so that no request outlives the slices' borrow. All numbers
//! travel as bytes: one machine's form.

use super::{Handles, Requests, TAG, World, check};
use anyhow::{Result, ensure};
use std::ffi::{c_int, c_void};

/// A number that is nothing but its bytes.
pub trait Item: Copy + sealed::Plain {}

mod sealed {
    /// Kept to this module: any bytes are a value of these types, and none of their bytes is
    /// padding.
    pub trait Plain {}
    impl Plain for f64 {}
    impl Plain for u32 {}
    impl Plain for u64 {}
}

impl Item for f64 {}
impl Item for u32 {}
impl Item for u64 {}

/// The bytes of a slice, as MPI counts.
fn bytes<T>(items: &[T]) -> Result<c_int> {
    Ok(c_int::try_from(size_of_val(items))?)
}

/// An address to send from; MPI does not write there.
fn from<T>(items: &[T]) -> *mut c_void {
    items.as_ptr().cast_mut().cast()
}

/// Point-to-point of numbers; `peer` is a rank.
impl World {
    /// `MPI_Send`.
    pub fn send_items<T: Item>(&self, items: &[T], peer: usize) -> Result<()> {
        let Handles { byte, world, .. } = self.handles;
        let (count, peer) = (bytes(items)?, c_int::try_from(peer)?);
        // SAFETY: the slice is valid for its bytes; the call returns when it may be reused, and
        // only reads it.
        check(unsafe { (self.calls.send)(from(items), count, byte, peer, TAG, world) }, "MPI_Send")
    }

    /// `MPI_Recv` of a message of just this length or a shorter one.
    pub fn recv_items<T: Item>(&self, items: &mut [T], peer: usize) -> Result<()> {
        let Handles { byte, world, .. } = self.handles;
        let (count, peer) = (bytes(items)?, c_int::try_from(peer)?);
        let (address, ignore) = (items.as_mut_ptr().cast(), self.handles.ignored());
        // SAFETY: the slice is valid for its bytes, any bytes are a value of its items, and it is
        // filled on return.
        check(unsafe { (self.calls.recv)(address, count, byte, peer, TAG, world, ignore) }, "MPI_Recv")
    }

    /// All receives, then all sends (`MPI_Irecv`, `MPI_Isend`), then one `MPI_Waitall`. Between two
    /// ranks messages match in order.
    pub fn exchange_items<T: Item>(
        &self,
        sends: &[(usize, &[T])],
        receives: &mut [(usize, &mut [T])],
    ) -> Result<()> {
        let Handles { byte, world, .. } = self.handles;
        let mut requests = Requests::new(self.handles.request_bytes);
        // All arguments are checked before the first start, since a request must not be left
        // behind.
        let lengths = |items: &[T]| bytes(items);
        let counts: Vec<c_int> = receives
            .iter()
            .map(|(_, items)| lengths(items))
            .chain(sends.iter().map(|(_, items)| lengths(items)))
            .collect::<Result<_>>()?;
        let mut first_failure = Ok(());
        for (at, (peer, items)) in receives.iter_mut().enumerate() {
            let request = requests.place();
            let address = items.as_mut_ptr().cast();
            // SAFETY: the slice is borrowed until all requests are waited for, below; it is valid
            // for the count's bytes.
            let code =
                unsafe { (self.calls.irecv)(address, counts[at], byte, *peer as c_int, TAG, world, request) };
            match check(code, "MPI_Irecv") {
                Ok(()) => requests.add(),
                failed => first_failure = first_failure.and(failed),
            }
        }
        for (at, (peer, items)) in sends.iter().enumerate() {
            let (request, count) = (requests.place(), counts[receives.len() + at]);
            // SAFETY: as for the receives; a send only reads.
            let code =
                unsafe { (self.calls.isend)(from(items), count, byte, *peer as c_int, TAG, world, request) };
            match check(code, "MPI_Isend") {
                Ok(()) => requests.add(),
                failed => first_failure = first_failure.and(failed),
            }
        }
        let (count, first) = requests.take();
        // SAFETY: the array holds exactly the requests just started; the statuses are ignored.
        let code = unsafe { (self.calls.waitall)(count, first, self.handles.ignored()) };
        first_failure.and(check(code, "MPI_Waitall"))
    }
}

/// Collectives of numbers.
impl World {
    /// Adds up each number over all ranks (`MPI_Allreduce`, `MPI_SUM`).
    pub fn sum_items(&self, values: &mut [f64]) -> Result<()> {
        let Handles { double, sum, world, .. } = self.handles;
        let (own, count) = (values.to_vec(), c_int::try_from(values.len())?);
        let to = values.as_mut_ptr().cast();
        // SAFETY: both are valid for the count of doubles, and distinct.
        check(unsafe { (self.calls.allreduce)(from(&own), to, count, double, sum, world) }, "MPI_Allreduce")
    }

    /// `MPI_Alltoall` of equal blocks.
    pub fn alltoall_items<T: Item>(&self, own: &[T], to: &mut [T]) -> Result<()> {
        let Handles { byte, world, .. } = self.handles;
        let ranks = self.size as usize;
        ensure!(
            own.len() == to.len() && own.len().is_multiple_of(ranks),
            "blocks of one length for each rank"
        );
        let each = c_int::try_from(size_of_val(own) / ranks)?;
        let to = to.as_mut_ptr().cast();
        // SAFETY: both slices hold a block for each rank and are distinct.
        let code = unsafe { (self.calls.alltoall)(from(own), each, byte, to, each, byte, world) };
        check(code, "MPI_Alltoall")
    }

    /// `MPI_Alltoallv` of blocks that follow each other; `own_counts` and `to_counts` are items for
    /// each rank.
    pub fn alltoallv_items<T: Item>(
        &self,
        own: &[T],
        own_counts: &[usize],
        to: &mut [T],
        to_counts: &[usize],
    ) -> Result<()> {
        let Handles { byte, world, .. } = self.handles;
        let ranks = self.size as usize;
        ensure!(own_counts.len() == ranks && to_counts.len() == ranks, "a count for each rank");
        ensure!(own_counts.iter().sum::<usize>() <= own.len(), "more is to be sent than there is");
        ensure!(to_counts.iter().sum::<usize>() <= to.len(), "more comes than there is room for");
        bytes(own)?;
        bytes(to)?;
        let [one, other] = [own_counts, to_counts].map(|counts| layout(counts, size_of::<T>()));
        let to = to.as_mut_ptr().cast();
        // SAFETY: counts and places are arrays with an entry for each rank, and lie within the
        // slices, as just checked.
        let code = unsafe {
            (self.calls.alltoallv)(
                from(own),
                one.0.as_ptr(),
                one.1.as_ptr(),
                byte,
                to,
                other.0.as_ptr(),
                other.1.as_ptr(),
                byte,
                world,
            )
        };
        check(code, "MPI_Alltoallv")
    }
}

/// Bytes and places of blocks that follow each other; their sum fits an int.
fn layout(counts: &[usize], item_bytes: usize) -> (Vec<c_int>, Vec<c_int>) {
    let lengths: Vec<c_int> = counts.iter().map(|count| (count * item_bytes) as c_int).collect();
    let places = lengths.iter().scan(0, |place, length| {
        let own = *place;
        *place += length;
        Some(own)
    });
    (lengths.clone(), places.collect())
}
