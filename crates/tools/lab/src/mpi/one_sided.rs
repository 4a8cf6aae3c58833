//! Windows of one-sided communication, of all ranks. What is begun on a buffer is flushed within
//! one method, so that nothing is under way when the buffer's borrow ends.

use super::{Abi, Address, Handle, World, check};
use crate::buffer::Buffer;
use anyhow::{Context, Result, ensure};
use libloading::os::unix::Library;
use std::ffi::{c_int, c_void};
use std::mem::ManuallyDrop;

calls! { Calls:
    create = "MPI_Win_create"(Address, isize, c_int, Handle, Handle, *mut Handle);
    allocate = "MPI_Win_allocate"(isize, c_int, Handle, Handle, Address, *mut Handle);
    free = "MPI_Win_free"(*mut Handle);
    lock_all = "MPI_Win_lock_all"(c_int, Handle);
    unlock_all = "MPI_Win_unlock_all"(Handle);
    lock = "MPI_Win_lock"(c_int, c_int, c_int, Handle);
    unlock = "MPI_Win_unlock"(c_int, Handle);
    flush = "MPI_Win_flush"(c_int, Handle);
    fence = "MPI_Win_fence"(c_int, Handle);
    post = "MPI_Win_post"(Handle, c_int, Handle);
    start = "MPI_Win_start"(Handle, c_int, Handle);
    complete = "MPI_Win_complete"(Handle);
    wait = "MPI_Win_wait"(Handle);
    put = "MPI_Put"(Address, c_int, Handle, c_int, isize, c_int, Handle, Handle);
    get = "MPI_Get"(Address, c_int, Handle, c_int, isize, c_int, Handle, Handle);
    accumulate = "MPI_Accumulate"(Address, c_int, Handle, c_int, isize, c_int, Handle, Handle, Handle);
    fetch_and_op = "MPI_Fetch_and_op"(Address, Address, Handle, c_int, isize, Handle, Handle);
    compare_and_swap = "MPI_Compare_and_swap"(Address, Address, Address, Handle, c_int, isize, Handle);
    comm_group = "MPI_Comm_group"(Handle, *mut Handle);
    group_incl = "MPI_Group_incl"(Handle, c_int, *const c_int, *mut Handle);
    group_free = "MPI_Group_free"(*mut Handle);
}

/// The predefined values of windows.
struct Values {
    no_info: Handle,
    integer: Handle,
    exclusive: c_int,
}

impl Values {
    fn of(abi: Abi, library: &Library) -> Result<Values> {
        match abi {
            Abi::Standard => return Ok(Values { no_info: 0x130, integer: 0x258, exclusive: 301 }),
            Abi::Mpich => {
                return Ok(Values { no_info: 0x1c00_0000, integer: 0x4c00_083a, exclusive: 234 });
            }
            Abi::OpenMpi => {}
        }
        let address = |name: &str| -> Result<Handle> {
            // SAFETY: only the symbol's address is taken; nothing is read through it.
            let symbol = unsafe { library.get::<*mut c_void>(name) };
            Ok(symbol.with_context(|| format!("Open MPI's library has no symbol {name}"))?.into_raw()
                as Handle)
        };
        let (no_info, integer) = (address("ompi_mpi_info_null")?, address("ompi_mpi_int64_t")?);
        Ok(Values { no_info, integer, exclusive: 1 })
    }
}

/// The origin of a window's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exposure {
    /// The library allocates it (`MPI_Win_allocate`).
    Allocated,
    /// The program has it already (`MPI_Win_create`).
    Created,
}

/// The functions of windows, of one library.
pub struct Windows<'w> {
    world: &'w World,
    calls: Calls,
    values: Values,
}

impl<'w> Windows<'w> {
    /// Looks the functions up.
    ///
    /// # Errors
    /// The library lacks one.
    pub fn of(world: &'w World) -> Result<Windows<'w>> {
        let (calls, values) = (Calls::load(world.library)?, Values::of(world.abi, world.library)?);
        Ok(Windows { world, calls, values })
    }

    /// `MPI_Win_allocate` of `bytes`, and `MPI_Win_free`. Collective.
    ///
    /// # Errors
    /// The library's error code.
    pub fn allocate_and_free(&self, bytes: usize) -> Result<()> {
        let (mut window, _) = self.allocate(bytes)?;
        // SAFETY: the handle is a window's, and nothing was begun on it.
        check(unsafe { (self.calls.free)(&mut window) }, "MPI_Win_free")
    }

    /// Makes a window of `bytes` at each rank. Collective.
    ///
    /// # Errors
    /// The library's error code.
    pub fn make(&self, exposure: Exposure, bytes: usize) -> Result<Exposed<'_>> {
        let memory = (exposure == Exposure::Created).then(|| ManuallyDrop::new(Buffer::new(bytes)));
        let (window, base) = match &memory {
            Some(memory) => (self.create(memory, bytes)?, memory.address().cast()),
            None => self.allocate(bytes)?,
        };
        if exposure == Exposure::Allocated {
            // SAFETY: the library gave these bytes, and nobody accesses them before the barrier.
            unsafe { base.write_bytes(0, bytes) };
        }
        self.world.barrier()?;
        Ok(Exposed { windows: self, window, base, bytes, memory })
    }

    fn create(&self, memory: &Buffer, bytes: usize) -> Result<Handle> {
        let (mut window, size, comm) = (0, isize::try_from(bytes)?, self.world.handles.world);
        let (base, info) = (memory.address(), self.values.no_info);
        // SAFETY: the memory has these bytes and stays until the window is freed.
        let code = unsafe { (self.calls.create)(base, size, 1, info, comm, &mut window) };
        check(code, "MPI_Win_create")?;
        Ok(window)
    }

    fn allocate(&self, bytes: usize) -> Result<(Handle, *mut u8)> {
        let (mut window, size, comm) = (0, isize::try_from(bytes)?, self.world.handles.world);
        let (mut base, info) = (std::ptr::null_mut::<u8>(), self.values.no_info);
        let place = (&raw mut base).cast();
        // SAFETY: the place is that of a pointer.
        let code = unsafe { (self.calls.allocate)(size, 1, info, comm, place, &mut window) };
        check(code, "MPI_Win_allocate")?;
        ensure!(!base.is_null(), "MPI_Win_allocate gave no memory");
        Ok((window, base))
    }
}

/// A window of all ranks. A rank exposes as many bytes as every other, which are zero at first.
/// Unless it is freed, its memory stays for ever: others may still access it.
pub struct Exposed<'w> {
    windows: &'w Windows<'w>,
    window: Handle,
    base: *mut u8,
    bytes: usize,
    memory: Option<ManuallyDrop<Buffer>>,
}

/// The whole window.
impl Exposed<'_> {
    /// `MPI_Win_free`. Collective.
    ///
    /// # Errors
    /// The library's error code.
    pub fn free(mut self) -> Result<()> {
        // SAFETY: the handle is a window's, and no method leaves anything under way.
        check(unsafe { (self.windows.calls.free)(&mut self.window) }, "MPI_Win_free")?;
        if let Some(memory) = self.memory.take() {
            drop(ManuallyDrop::into_inner(memory));
        }
        Ok(())
    }

    /// Reads eight bytes of this rank's own part.
    pub fn word(&self, offset: usize) -> u64 {
        assert!(offset + 8 <= self.bytes && offset.is_multiple_of(8), "outside of the window");
        // SAFETY: within the memory, as just asserted, and aligned as its base is; no slice of it
        // exists anywhere.
        unsafe { self.base.add(offset).cast::<u64>().read_volatile() }
    }

    /// Reads a byte of this rank's own part.
    pub fn byte(&self, offset: usize) -> u8 {
        assert!(offset < self.bytes, "outside of the window");
        // SAFETY: as in `word`.
        unsafe { self.base.add(offset).read_volatile() }
    }

    /// The count of an operation, after checking that both sides have the bytes.
    fn count(&self, buffer: &Buffer, bytes: usize) -> c_int {
        assert!(bytes <= self.bytes, "larger than the window");
        buffer.count(bytes, 1)
    }
}

/// Passive synchronisation, and operations that end with `MPI_Win_flush` at their target. They go
/// to the beginning of the target's part; `target` is a rank.
impl Exposed<'_> {
    /// `MPI_Win_lock_all`.
    pub fn lock_all(&self) -> Result<()> {
        // SAFETY: no memory is passed.
        check(unsafe { (self.windows.calls.lock_all)(0, self.window) }, "MPI_Win_lock_all")
    }

    /// `MPI_Win_unlock_all`.
    pub fn unlock_all(&self) -> Result<()> {
        // SAFETY: no memory is passed.
        check(unsafe { (self.windows.calls.unlock_all)(self.window) }, "MPI_Win_unlock_all")
    }

    #[inline]
    fn flush(&self, target: i32) -> Result<()> {
        // SAFETY: no memory is passed.
        check(unsafe { (self.windows.calls.flush)(target, self.window) }, "MPI_Win_flush")
    }

    #[inline]
    fn begin_put(&self, from: &Buffer, bytes: usize, target: i32) -> Result<()> {
        let (count, byte) = (self.count(from, bytes), self.windows.world.handles.byte);
        // SAFETY: the buffer is valid for the count; every caller completes the operation before it
        // returns.
        let code = unsafe {
            (self.windows.calls.put)(from.address(), count, byte, target, 0, count, byte, self.window)
        };
        check(code, "MPI_Put")
    }

    /// `MPI_Put` of the same bytes so many times.
    pub fn put(&self, from: &Buffer, bytes: usize, target: i32, times: usize) -> Result<()> {
        (0..times).try_for_each(|_| self.begin_put(from, bytes, target))?;
        self.flush(target)
    }

    /// `MPI_Get` of the same bytes so many times.
    pub fn get(&self, to: &Buffer, bytes: usize, target: i32, times: usize) -> Result<()> {
        let (count, byte) = (self.count(to, bytes), self.windows.world.handles.byte);
        for _ in 0..times {
            // SAFETY: the buffer is valid for the count until the flush; Rust does not look at it
            // before.
            let code = unsafe {
                (self.windows.calls.get)(to.address(), count, byte, target, 0, count, byte, self.window)
            };
            check(code, "MPI_Get")?;
        }
        self.flush(target)
    }

    /// `MPI_Accumulate` of `bytes / 8` doubles, which are added.
    pub fn accumulate(&self, from: &Buffer, bytes: usize, target: i32) -> Result<()> {
        let count = self.count(from, bytes) / size_of::<f64>() as c_int;
        let (double, sum) = (self.windows.world.handles.double, self.windows.world.handles.sum);
        // SAFETY: the buffer is valid for the count until the flush.
        let code = unsafe {
            (self.windows.calls.accumulate)(
                from.address(),
                count,
                double,
                target,
                0,
                count,
                double,
                sum,
                self.window,
            )
        };
        check(code, "MPI_Accumulate")?;
        self.flush(target)
    }

    /// Adds `add` to the first word of the target; returns what it was (`MPI_Fetch_and_op`).
    pub fn fetch_and_add(&self, add: u64, target: i32) -> Result<u64> {
        let (mut add, mut was) = (add, 0_u64);
        let (from, to) = ((&raw mut add).cast(), (&raw mut was).cast());
        let (integer, sum) = (self.windows.values.integer, self.windows.world.handles.sum);
        // SAFETY: both are words that live until the flush has completed the operation.
        let code =
            unsafe { (self.windows.calls.fetch_and_op)(from, to, integer, target, 0, sum, self.window) };
        check(code, "MPI_Fetch_and_op")?;
        self.flush(target)?;
        Ok(was)
    }

    /// Makes the target's first word `new` if it is `compare`; returns what it was
    /// (`MPI_Compare_and_swap`).
    pub fn compare_and_swap(&self, new: u64, compare: u64, target: i32) -> Result<u64> {
        let (mut new, mut compare, mut was) = (new, compare, 0_u64);
        let [new, compare, to] = [&raw mut new, &raw mut compare, &raw mut was].map(|word| word.cast());
        let integer = self.windows.values.integer;
        // SAFETY: all three are words that live until the flush has completed the operation.
        let code = unsafe {
            (self.windows.calls.compare_and_swap)(new, compare, to, integer, target, 0, self.window)
        };
        check(code, "MPI_Compare_and_swap")?;
        self.flush(target)?;
        Ok(was)
    }
}

/// Puts of other epochs, complete when the method returns.
impl Exposed<'_> {
    /// `MPI_Win_lock`, exclusive; a put; `MPI_Win_unlock`.
    pub fn lock_put_unlock(&self, from: &Buffer, bytes: usize, target: i32) -> Result<()> {
        let Windows { calls, values, .. } = self.windows;
        // SAFETY: no memory is passed.
        let code = unsafe { (calls.lock)(values.exclusive, target, 0, self.window) };
        check(code, "MPI_Win_lock")?;
        self.begin_put(from, bytes, target)?;
        // SAFETY: no memory is passed.
        check(unsafe { (calls.unlock)(target, self.window) }, "MPI_Win_unlock")
    }

    /// `MPI_Win_fence`. Collective.
    pub fn fence(&self) -> Result<()> {
        // SAFETY: no memory is passed.
        check(unsafe { (self.windows.calls.fence)(0, self.window) }, "MPI_Win_fence")
    }

    /// A put and the fence after it. Collective; a fence came before.
    pub fn put_fence(&self, from: &Buffer, bytes: usize, target: i32) -> Result<()> {
        self.begin_put(from, bytes, target)?;
        self.fence()
    }

    /// `MPI_Win_post` to the origin and `MPI_Win_start` at the target; a put; `MPI_Win_complete`
    /// and `MPI_Win_wait`.
    pub fn post_put_wait(&self, from: &Buffer, bytes: usize, near: &Neighbors) -> Result<()> {
        // SAFETY: no memory is passed; both are groups.
        check(unsafe { (self.windows.calls.post)(near.origin, 0, self.window) }, "MPI_Win_post")?;
        // SAFETY: as above.
        check(unsafe { (self.windows.calls.start)(near.targets, 0, self.window) }, "MPI_Win_start")?;
        self.begin_put(from, bytes, near.target)?;
        // SAFETY: no memory is passed.
        check(unsafe { (self.windows.calls.complete)(self.window) }, "MPI_Win_complete")?;
        // SAFETY: as above.
        check(unsafe { (self.windows.calls.wait)(self.window) }, "MPI_Win_wait")
    }

    /// The groups of a rank's neighbours in a ring. They stay as long as the job.
    pub fn neighbors(&self) -> Result<Neighbors> {
        let (rank, size) = (self.windows.world.rank(), self.windows.world.size());
        let target = (rank + 1) % size;
        let targets = self.group(target)?;
        Ok(Neighbors { target, targets, origin: self.group((rank + size - 1) % size)? })
    }

    fn group(&self, rank: c_int) -> Result<Handle> {
        let (mut all, mut one, world) = (0, 0, self.windows.world.handles.world);
        let calls = &self.windows.calls;
        // SAFETY: the result is a valid handle's place.
        check(unsafe { (calls.comm_group)(world, &mut all) }, "MPI_Comm_group")?;
        // SAFETY: the group was just made; the ranks are one.
        check(unsafe { (calls.group_incl)(all, 1, &rank, &mut one) }, "MPI_Group_incl")?;
        // SAFETY: as above.
        check(unsafe { (calls.group_free)(&mut all) }, "MPI_Group_free")?;
        Ok(one)
    }
}

/// The neighbours of a rank in a ring.
pub struct Neighbors {
    /// The rank after this one.
    pub target: i32,
    targets: Handle,
    origin: Handle,
}
