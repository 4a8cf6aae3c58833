//! The port that was chosen, opened: device, protection domain, address.

use super::encoding::Site;
use super::options::Options;
use std::os::fd::RawFd;
use std::sync::Arc;
use verbena_fault::Fault;
use verbena_memory::Region;
use verbena_verbs::device::mtu_bytes;
use verbena_verbs::domain::{Access, Path};
use verbena_verbs::explain::fault;
use verbena_verbs::{Context, EventChannel, GidEntry, MemoryRegion, Port, ProtectionDomain};

/// An open port.
pub(crate) struct OpenPort {
    /// The protection domain, and through it the device.
    pub domain: Arc<ProtectionDomain>,
    /// The port's number on the device.
    pub number: u8,
    /// The port's place in the network.
    pub site: Site,
    /// The port's GID, with the place in the table.
    pub entry: GidEntry,
    /// The largest payload of a packet, by its number.
    pub mtu: u8,
    /// The user's options.
    pub options: Options,
}

impl OpenPort {
    /// Returns the descriptors that become readable when a completion has come that `events` tells
    /// of, or when there is trouble.
    pub(crate) fn descriptors(&self, events: Option<&EventChannel>) -> Vec<RawFd> {
        let events = events.map(|events| events.descriptor());
        events.into_iter().chain([self.domain.context().event_descriptor()]).collect()
    }

    /// Makes a protection domain for the port.
    ///
    /// # Errors
    /// The device has no more.
    pub(crate) fn new(
        context: &Arc<Context>,
        port: &Port,
        entry: &GidEntry,
        options: &Options,
    ) -> Result<OpenPort, Fault> {
        Ok(OpenPort {
            domain: ProtectionDomain::new(context)?,
            number: port.number,
            site: Site { gid: entry.gid, lid: port.lid, ethernet: port.ethernet },
            entry: entry.clone(),
            mtu: mtu_within(port.mtu, options.mtu_bytes),
            options: options.clone(),
        })
    }

    /// Describes device, port and GID in words.
    pub(crate) fn place(&self) -> String {
        let GidEntry { index, gid, kind, .. } = &self.entry;
        let lid = if self.site.ethernet { String::new() } else { format!(", LID {}", self.site.lid) };
        format!("{}:{}, GID {gid} (index {index}, {kind}){lid}", self.domain.context().name(), self.number)
    }

    /// Returns the way to another port. Within an InfiniBand subnet LIDs suffice.
    ///
    /// # Errors
    /// It is on the other sort of wire.
    pub(crate) fn path(&self, to: &Site) -> Result<Path, Fault> {
        if to.ethernet != self.site.ethernet {
            return Err(self.other_wire(to));
        }
        Ok(way((self.number, self.entry.index), &self.site, to, &self.options))
    }

    #[cold]
    fn other_wire(&self, to: &Site) -> Fault {
        Fault::new(
            "two ports cannot be connected",
            format!("{} and GID {}, LID {}", self.place(), to.gid, to.lid),
            "one is InfiniBand and the other Ethernet (RoCE)",
            "name ports of the same network with VERBENA_RC_DEVICE on each host",
        )
    }

    /// Registers memory.
    ///
    /// # Errors
    /// Limit on locked memory, or unmapped memory.
    pub(crate) fn register(&self, region: Region, access: Access) -> Result<MemoryRegion, Fault> {
        self.try_register(region, access).map_err(|number| self.unregistered(region, number))
    }

    /// Registers memory as [`OpenPort::register`] does; an error is the number.
    pub(crate) fn try_register(&self, region: Region, access: Access) -> Result<MemoryRegion, i32> {
        // SAFETY: a region is memory that operations may read and write, as its creator promised.
        unsafe { MemoryRegion::new(&self.domain, region.address(), region.len(), access) }
    }

    /// Explains why memory could not be registered.
    #[cold]
    pub(crate) fn unregistered(&self, region: Region, number: i32) -> Fault {
        let on = format!("{} bytes at {:#x}, {}", region.len(), region.address(), self.place());
        fault("memory cannot be registered with the device", on, number)
    }
}

/// Returns the way from a port, by its number and the place of its GID, to another on the same sort
/// of wire.
fn way((port, gid_index): (u8, u8), from: &Site, to: &Site, options: &Options) -> Path {
    let global = to.ethernet || to.gid.subnet() != from.gid.subnet();
    Path {
        port,
        lid: to.lid,
        gid: global.then_some((to.gid, gid_index)),
        service_level: options.service_level,
        traffic_class: options.traffic_class,
    }
}

/// Returns the number of the largest MTU within `bytes`.
fn mtu_within(number: u8, bytes: Option<usize>) -> u8 {
    (1..=number).rev().find(|&number| bytes.is_none_or(|most| mtu_bytes(number) <= most)).unwrap_or(1)
}

#[cfg(test)]
mod tests;
