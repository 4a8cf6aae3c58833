//! Verbs devices: the list, an open one, and its description of itself.

use crate::explain::{check, errno, fault};
use crate::gid::{Gid, GidEntry, GidKind};
use crate::library::Library;
use crate::raw::{self, Functions, ibv_context, ibv_device, ibv_device_attr, ibv_gid, ibv_port_attr};
use std::ffi::CStr;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::Arc;
use verbena_fault::Fault;

/// The list of devices; freed when the last [`Device`] of it is dropped.
struct List {
    library: &'static Library,
    raw: NonNull<*mut ibv_device>,
}

// SAFETY: libibverbs may be called from any thread.
unsafe impl Send for List {}
// SAFETY: as above; the list is not changed.
unsafe impl Sync for List {}

impl Drop for List {
    fn drop(&mut self) {
        // SAFETY: from `ibv_get_device_list`, freed once; open contexts keep what they need
        // themselves.
        unsafe { (self.library.functions.ibv_free_device_list)(self.raw.as_ptr()) }
    }
}

/// A device that may be opened.
#[derive(Clone)]
pub struct Device {
    list: Arc<List>,
    index: usize,
    name: String,
}

impl Library {
    /// Lists every verbs device of this machine.
    ///
    /// # Errors
    /// The kernel has no verbs.
    pub fn devices(&'static self) -> Result<Vec<Device>, Fault> {
        let mut count = 0;
        // SAFETY: the library writes the count.
        let raw = unsafe { (self.functions.ibv_get_device_list)(&mut count) };
        let Some(raw) = NonNull::new(raw) else {
            return Err(no_list(errno()));
        };
        let list = Arc::new(List { library: self, raw });
        Ok((0..usize::try_from(count).unwrap_or(0)).map(|index| Device::new(&list, index)).collect())
    }
}

/// Returns the names of all verbs devices that the kernel has. Those that libibverbs does not list
/// lack a driver in user space, or their file.
pub fn known_to_kernel() -> Vec<String> {
    let Ok(folder) = std::fs::read_dir("/sys/class/infiniband") else { return Vec::new() };
    let name = |entry: std::io::Result<std::fs::DirEntry>| entry.ok()?.file_name().into_string().ok();
    folder.filter_map(name).collect()
}

/// Returns the file in `/dev/infiniband` through which a device is used, there or not.
pub fn file_of(device: &str) -> Option<PathBuf> {
    let mut files = std::fs::read_dir("/sys/class/infiniband_verbs").ok()?.filter_map(Result::ok);
    let of = |file: &std::fs::DirEntry| std::fs::read_to_string(file.path().join("ibdev")).ok();
    let file = files.find(|file| of(file).is_some_and(|name| name.trim() == device))?;
    Some(Path::new("/dev/infiniband").join(file.file_name()))
}

fn no_list(number: i32) -> Fault {
    if number != libc::ENOSYS {
        return fault("the list of verbs devices cannot be had", "this machine", number);
    }
    Fault::new(
        "InfiniBand cannot be used: the kernel has no verbs",
        "this machine",
        "there is no InfiniBand or RoCE adapter, or the kernel module ib_uverbs is not loaded",
        "with an adapter: modprobe ib_uverbs, and its driver; any Ethernet interface serves for trials, with Soft-RoCE: modprobe rdma_rxe ib_uverbs; rdma link add rxe0 type rxe netdev eth0",
    )
}

impl Device {
    fn new(list: &Arc<List>, index: usize) -> Device {
        let mut device = Device { list: Arc::clone(list), index, name: String::new() };
        // SAFETY: the device is of the list, and its name a C string that lives as long.
        let name = unsafe { CStr::from_ptr((list.library.functions.ibv_get_device_name)(device.raw())) };
        device.name = name.to_string_lossy().into_owned();
        device
    }

    fn raw(&self) -> *mut ibv_device {
        // SAFETY: the list has more than `index` entries.
        unsafe { *self.list.raw.as_ptr().add(self.index) }
    }

    /// Returns its name, such as `mlx5_0`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns whether it speaks InfiniBand's transport (InfiniBand and RoCE do, iWARP and others
    /// do not).
    pub fn is_infiniband_transport(&self) -> bool {
        // SAFETY: a device of the list, which lives as long as this.
        unsafe { (*self.raw()).transport_type == raw::IBV_TRANSPORT_IB as i32 }
    }

    /// Opens the device.
    ///
    /// # Errors
    /// No right to its file, or it is gone.
    pub fn open(&self) -> Result<Arc<Context>, Fault> {
        // SAFETY: a device of the list.
        let raw = unsafe { (self.list.library.functions.ibv_open_device)(self.raw()) };
        let Some(raw) = NonNull::new(raw) else {
            return Err(fault("a verbs device cannot be opened", &self.name, errno()));
        };
        let (library, name) = (self.list.library, self.name.clone());
        let mut context = Context { library, raw, name, has_atomics: false };
        context.let_events_not_block()?;
        context.has_atomics =
            matches!(context.attributes()?.atomic_cap, raw::IBV_ATOMIC_HCA | raw::IBV_ATOMIC_GLOB);
        Ok(Arc::new(context))
    }
}

/// An open device.
pub struct Context {
    library: &'static Library,
    raw: NonNull<ibv_context>,
    name: String,
    has_atomics: bool,
}

// SAFETY: libibverbs may be called from any thread, and several at once.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: opened once, closed once; what was made of it held it alive. An error leaves
        // nothing to be done.
        unsafe { (self.library.functions.ibv_close_device)(self.raw.as_ptr()) };
    }
}

/// A port's description of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// The port's number, from 1.
    pub number: u8,
    /// The port's state: `IBV_PORT_ACTIVE` is of use.
    pub state: u32,
    /// True if there is Ethernet below (RoCE) and not InfiniBand.
    pub ethernet: bool,
    /// The port's LID; 0 with RoCE.
    pub lid: u16,
    /// The largest payload of a packet now, as the number of `IBV_MTU_`: 128 bytes shifted by it.
    pub mtu: u8,
    /// Signalling rate in Mbit/s; 0 if it does not say.
    pub rate_mbps: u32,
    /// The number of entries in its GID table.
    pub gids: u32,
}

impl Port {
    /// Returns the state's name.
    pub fn state_name(&self) -> &'static str {
        match self.state {
            raw::IBV_PORT_DOWN => "down",
            raw::IBV_PORT_INIT => "initialising (no subnet manager yet)",
            raw::IBV_PORT_ARMED => "armed",
            raw::IBV_PORT_ACTIVE => "active",
            raw::IBV_PORT_ACTIVE_DEFER => "active, deferred",
            _ => "unknown",
        }
    }

    /// Returns the largest payload of a packet in bytes.
    pub fn mtu_bytes(&self) -> usize {
        mtu_bytes(self.mtu)
    }
}

/// Returns the bytes of an MTU by its number (`IBV_MTU_256` is 1).
pub fn mtu_bytes(number: u8) -> usize {
    128 << number.min(5)
}

impl Context {
    pub(crate) fn raw(&self) -> *mut ibv_context {
        self.raw.as_ptr()
    }

    pub(crate) fn functions(&self) -> &'static Functions {
        &self.library.functions
    }

    /// Returns the device's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns whether peers can carry out atomic operations on memory through the device.
    pub fn has_atomics(&self) -> bool {
        self.has_atomics
    }

    fn let_events_not_block(&self) -> Result<(), Fault> {
        // SAFETY: the context is open, so the field holds its descriptor.
        let descriptor = unsafe { self.raw.as_ref().async_fd };
        // SAFETY: flags of a descriptor that is ours.
        let flags = unsafe { libc::fcntl(descriptor, libc::F_GETFL) };
        // SAFETY: as above.
        match unsafe { libc::fcntl(descriptor, libc::F_SETFL, flags | libc::O_NONBLOCK) } {
            0 => Ok(()),
            _ => Err(fault("a verbs device's events cannot be set not to block", &self.name, errno())),
        }
    }

    /// Asks what the device can do.
    ///
    /// # Errors
    /// The device is gone.
    pub fn attributes(&self) -> Result<ibv_device_attr, Fault> {
        let mut attributes = ibv_device_attr::zeroed();
        // SAFETY: the library fills the structure.
        let code = unsafe { (self.functions().ibv_query_device)(self.raw(), &mut attributes) };
        check(code, "a verbs device does not say what it can do", || self.name.clone())?;
        Ok(attributes)
    }

    /// Asks for a port's description of itself; ports count from 1.
    ///
    /// # Errors
    /// There is no such port, or the device is gone.
    pub fn port(&self, number: u8) -> Result<Port, Fault> {
        // The exported function fills the beginning only, as of old; the rest stays zero.
        let mut port = ibv_port_attr::zeroed();
        // SAFETY: the library fills the structure.
        let code = unsafe { (self.functions().ibv_query_port)(self.raw(), number, &mut port) };
        check(code, "a port does not say how it is", || format!("{}:{number}", self.name))?;
        Ok(Port {
            number,
            state: port.state,
            ethernet: u32::from(port.link_layer) == raw::IBV_LINK_LAYER_ETHERNET,
            lid: port.lid,
            mtu: port.active_mtu.clamp(1, 5) as u8,
            rate_mbps: lanes(port.active_width) * lane_mbps(port.active_speed),
            gids: u32::try_from(port.gid_tbl_len).unwrap_or(0),
        })
    }

    /// Returns the entry at `index` of a port's GID table; `None` if it is not filled.
    pub fn gid(&self, port: &Port, index: u8) -> Option<GidEntry> {
        let mut gid = ibv_gid::zeroed();
        // SAFETY: the library fills the structure.
        let code =
            unsafe { (self.functions().ibv_query_gid)(self.raw(), port.number, i32::from(index), &mut gid) };
        let gid = Gid(gid.raw);
        if code != 0 || gid.is_empty() {
            return None;
        }
        let kind = if port.ethernet { self.roce_kind(port.number, index)? } else { GidKind::InfiniBand };
        Some(GidEntry { index, gid, kind, interface: self.attribute(port.number, "ndevs", index) })
    }

    /// Returns every filled entry of a port's GID table.
    pub fn gids(&self, port: &Port) -> Vec<GidEntry> {
        (0..port.gids.min(256)).filter_map(|index| self.gid(port, index as u8)).collect()
    }

    /// Returns the version of RoCE, from the kernel's files: the function that asks for it is newer
    /// than the library may be.
    fn roce_kind(&self, port: u8, index: u8) -> Option<GidKind> {
        let text = self.attribute(port, "types", index)?;
        Some(if text.ends_with("v2") { GidKind::RoceV2 } else { GidKind::RoceV1 })
    }

    /// Reads a file of `Documentation/ABI/stable/sysfs-class-infiniband`; an empty entry of the
    /// table cannot be read.
    fn attribute(&self, port: u8, name: &str, index: u8) -> Option<String> {
        let path = format!("/sys/class/infiniband/{}/ports/{port}/gid_attrs/{name}/{index}", self.name);
        Some(std::fs::read_to_string(path).ok()?.trim().to_string())
    }
}

/// Returns the number of lanes by the code of a port's width (InfiniBand specification, PortInfo).
fn lanes(code: u8) -> u32 {
    match code {
        1 => 1,
        2 => 4,
        4 => 8,
        8 => 12,
        16 => 2,
        _ => 0,
    }
}

/// Returns the Mbit/s of a lane by the code of a port's speed.
fn lane_mbps(code: u8) -> u32 {
    match code {
        1 => 2_500,
        2 => 5_000,
        4 | 8 => 10_000,
        16 => 14_063,
        32 => 25_781,
        64 => 50_000,
        128 => 100_000,
        _ => 0,
    }
}
