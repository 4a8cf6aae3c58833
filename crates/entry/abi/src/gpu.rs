//! Buffers in the memory of a GPU, which this library does not take: the call fails with
//! `MPI_ERR_BUFFER` before its work begins, where the copy of a byte would crash.
//!
//! A look at each buffer would cost every short message more than the message does, so calls look
//! only where the program had loaded the library of a GPU when it initialised MPI, or where the
//! setting `VERBENA_CHECK_BUFFERS` says so. Memory that a processor can read (of the host, pinned,
//! managed, or of a GPU that shares its memory) is as any other, and so is a buffer that the call
//! neither reads nor writes.
//!
//! No real GPU was there when this was written; the tests have a driver of their own.

mod significant;

use crate::arguments::{Parameters, Value};
use significant::{BUFFERS, Call};
use std::ffi::{CStr, c_int, c_uint, c_void};
use std::sync::atomic::{AtomicBool, Ordering};
use verbena_mpi::Error;
use verbena_mpi::generated::constants as mpi;

/// Set while calls look at their buffers.
static WANTED: AtomicBool = AtomicBool::new(false);

/// The library of NVIDIA's driver.
const CUDA: &CStr = c"libcuda.so.1";
/// The library of AMD's runtime, by its versions.
const HIP: [&CStr; 3] = [c"libamdhip64.so.7", c"libamdhip64.so.6", c"libamdhip64.so.5"];
/// The library of Intel's runtime.
const LEVEL_ZERO: &CStr = c"libze_loader.so.1";
/// The beginnings of the names of devices that GPUs are.
const DEVICES: [&str; 3] = ["/dev/nvidia", "/dev/kfd", "/dev/dri/"];

/// The addresses below are none of a buffer: null, `MPI_IN_PLACE` and their like.
const LOWEST_ADDRESS: usize = 1 << 16;

/// Returns whether the program has loaded the library of a GPU.
pub(crate) fn is_loaded() -> bool {
    [CUDA, LEVEL_ZERO].into_iter().chain(HIP).any(|name| Library::loaded(name).is_some())
}

/// Decides whether calls look at their buffers. `is_loaded`: what [`is_loaded`] said before this
/// library opened any other, of which one may load that of a GPU by itself.
pub(crate) fn decide(is_loaded: bool) {
    let is_wanted = match verbena_settings::CHECK_BUFFERS.get() {
        0 => is_loaded,
        choice => choice == 1,
    };
    WANTED.store(is_wanted, Ordering::Relaxed);
}

/// Returns whether calls look at their buffers.
pub(crate) fn is_wanted() -> bool {
    WANTED.load(Ordering::Relaxed)
}

/// The error of a call with a buffer in the memory of a GPU; `None` for other calls, or if nobody
/// wants to know.
pub(crate) fn error_of(function: &'static str, parameters: Parameters, values: &[Value]) -> Option<Error> {
    let call = Call { function, parameters, values };
    let (name, address, witness) = is_wanted().then(|| found(call)).flatten()?;
    Some(of_gpu(name, address, &witness))
}

/// The first buffer in the memory of a GPU that the call touches, its address, and who says so.
fn found(call: Call<'_>) -> Option<(&'static str, usize, String)> {
    BUFFERS.into_iter().find_map(|(name, counts)| {
        let Some(Value::Address(address)) = call.value(name) else { return None };
        if address < LOWEST_ADDRESS || is_readable(address) || !call.touches(name, counts) {
            return None;
        }
        Some((name, address, witness(address)?))
    })
}

#[cold]
fn of_gpu(name: &str, address: usize, witness: &str) -> Error {
    Error::new(
        mpi::MPI_ERR_BUFFER,
        "a buffer lies in the memory of a GPU, which this library does not take",
        format!("{name}={address:#x}: {witness}"),
        "the program passes the address of device memory",
        "copy the data to memory of the host and pass that",
    )
}

/// Returns whether a processor can read memory. The kernel reads the set of signals before it
/// refuses a way that there is not, so nothing changes.
fn is_readable(address: usize) -> bool {
    const NO_WAY: c_int = -1;
    const SET_BYTES: usize = 8;
    let set = (address & !(SET_BYTES - 1)) as *const c_void;
    let none = std::ptr::null_mut::<c_void>();
    // SAFETY: the kernel checks the address, and writes nothing.
    let answer = unsafe { libc::syscall(libc::SYS_rt_sigprocmask, NO_WAY, set, none, SET_BYTES) };
    answer == 0 || std::io::Error::last_os_error().raw_os_error() != Some(libc::EFAULT)
}

/// Says, in words, who knows that memory which no processor can read is that of a GPU.
fn witness(address: usize) -> Option<String> {
    if is_cudas(address) == Some(true) {
        return Some("memory of a device, says the driver of CUDA".into());
    }
    if HIP.into_iter().any(|name| is_hips(name, address) == Some(true)) {
        return Some("memory of a device, says the runtime of HIP".into());
    }
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    Some(format!("mapped from {}", device_of(&maps, address)?))
}

/// The device in whose line of the system's list an address lies.
fn device_of(maps: &str, address: usize) -> Option<&str> {
    let holds = |line: &&str| {
        let range = line.split(' ').next().and_then(|range| range.split_once('-'));
        let number = |text| usize::from_str_radix(text, 16).unwrap_or(0);
        range.is_some_and(|(start, end)| (number(start)..number(end)).contains(&address))
    };
    let line = maps.lines().find(holds)?;
    let file = &line[line.find('/')?..];
    DEVICES.into_iter().any(|device| file.starts_with(device)).then_some(file)
}

/// `CU_POINTER_ATTRIBUTE_MEMORY_TYPE` and `HIP_POINTER_ATTRIBUTE_MEMORY_TYPE`.
const MEMORY_TYPE: c_uint = 2;
/// `CU_MEMORYTYPE_DEVICE`.
const DEVICE: c_uint = 2;

/// Asks NVIDIA's driver, if it is there.
fn is_cudas(address: usize) -> Option<bool> {
    type Ask = unsafe extern "C" fn(*mut c_uint, c_uint, u64) -> c_int;
    let library = Library::loaded(CUDA)?;
    let ask = library.find(c"cuPointerGetAttribute")?;
    let mut kind: c_uint = 0;
    // SAFETY: the function of the driver's interface of this name, which takes any address.
    let answer =
        unsafe { std::mem::transmute::<*mut c_void, Ask>(ask)(&raw mut kind, MEMORY_TYPE, address as u64) };
    Some(answer == 0 && kind == DEVICE)
}

/// Asks AMD's runtime, if it is there. It knows memory of its own alone.
fn is_hips(name: &CStr, address: usize) -> Option<bool> {
    type Ask = unsafe extern "C" fn(*mut c_uint, c_uint, *mut c_void) -> c_int;
    let library = Library::loaded(name)?;
    let ask = library.find(c"hipPointerGetAttribute")?;
    let mut kind: c_uint = 0;
    // SAFETY: the function of the runtime's interface of this name, which takes any address.
    let answer = unsafe {
        std::mem::transmute::<*mut c_void, Ask>(ask)(&raw mut kind, MEMORY_TYPE, address as *mut c_void)
    };
    Some(answer == 0)
}

/// A library that the program has loaded.
struct Library(*mut c_void);

impl Library {
    fn loaded(name: &CStr) -> Option<Library> {
        // SAFETY: a C string; nothing is loaded that is not there yet.
        let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
        (!library.is_null()).then(|| Library(library))
    }

    fn find(&self, name: &CStr) -> Option<*mut c_void> {
        // SAFETY: a library that is loaded, and a C string.
        let found = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        (!found.is_null()).then_some(found)
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        // SAFETY: ours; the program's own hold on the library stays.
        unsafe { libc::dlclose(self.0) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_no_processor_reads_is_told_from_other() {
        let page = 4096;
        let (private, anonymous) = (libc::MAP_PRIVATE, libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping, which nobody touches.
        let guarded =
            unsafe { libc::mmap(std::ptr::null_mut(), page, libc::PROT_NONE, private | anonymous, -1, 0) };
        assert!(!is_readable(guarded as usize) && !is_readable(guarded as usize + page - 1));
        let word = 7_u8;
        assert!(is_readable(&raw const word as usize));
        assert_eq!(witness(guarded as usize), None, "nobody knows it as a GPU's");
        // SAFETY: our own mapping.
        unsafe { libc::munmap(guarded, page) };
    }

    #[test]
    fn the_system_tells_the_device_of_an_address() {
        let maps = "7f00-7f10 rw-s 00000000 00:05 7 /dev/nvidiactl\n7f10-7f20 ---p 00000000 00:00 0\n\
                    7f20-7f30 r-xp 00000000 08:01 9 /usr/lib/libc.so.6\n";
        assert_eq!(device_of(maps, 0x7f0f), Some("/dev/nvidiactl"));
        for address in [0x7f10, 0x7f20, 0x7f30] {
            assert_eq!(device_of(maps, address), None);
        }
    }

    #[test]
    fn only_buffers_of_some_bytes_are_looked_at() {
        let page = 4096;
        // SAFETY: a new mapping, which nobody touches.
        let guarded = unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            libc::mmap(std::ptr::null_mut(), page, libc::PROT_NONE, flags, -1, 0)
        } as usize;
        let parameters: Parameters = &[("buf", "*const c_void"), ("count", "c_int"), ("comm", "MPI_Comm")];
        for count in [0, 1] {
            let values = [Value::Address(guarded), Value::Number(count), Value::Handle(5)];
            let call = Call { function: "MPI_Send", parameters, values: &values };
            assert_eq!(call.touches("buf", &["count"]), count > 0);
            assert_eq!(found(call), None, "no driver is there");
        }
        // SAFETY: our own mapping.
        unsafe { libc::munmap(guarded as *mut c_void, page) };
    }
}
