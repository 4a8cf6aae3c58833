//! GIDs: the 128-bit addresses of ports (InfiniBand specification 1.3, 4.1.1; RoCE: Annexes A16 and
//! A17).

use std::fmt;
use std::net::Ipv6Addr;

/// A port's address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Gid(pub [u8; 16]);

impl Gid {
    /// Returns whether this is an entry of the table that is not filled.
    pub fn is_empty(&self) -> bool {
        // A subnet prefix alone names no port.
        self.0[8..] == [0; 8]
    }

    /// Returns whether it is an IPv4 address in IPv6 form, as RoCE makes one for each address of
    /// its interface.
    pub fn is_ipv4(&self) -> bool {
        Ipv6Addr::from(self.0).to_ipv4_mapped().is_some()
    }

    /// Returns whether it is an address that only one link knows (`fe80::/10`).
    pub fn is_link_local(&self) -> bool {
        self.0[0] == 0xfe && self.0[1] & 0xc0 == 0x80
    }

    /// Returns the first half, which names the subnet.
    pub fn subnet(&self) -> [u8; 8] {
        std::array::from_fn(|at| self.0[at])
    }
}

impl fmt::Display for Gid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ipv6Addr::from(self.0).fmt(f)
    }
}

/// The form of a GID's packets on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GidKind {
    /// InfiniBand.
    InfiniBand,
    /// RoCE version 1: an Ethernet type of its own, not routed.
    RoceV1,
    /// RoCE version 2: UDP, routed.
    RoceV2,
}

impl fmt::Display for GidKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            GidKind::InfiniBand => "InfiniBand",
            GidKind::RoceV1 => "RoCE v1",
            GidKind::RoceV2 => "RoCE v2",
        })
    }
}

/// One entry of a port's table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GidEntry {
    /// The place in the table.
    pub index: u8,
    /// The address.
    pub gid: Gid,
    /// The sort of the address.
    pub kind: GidKind,
    /// The network interface that it stands for, with RoCE.
    pub interface: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gid(text: &str) -> Gid {
        Gid(text.parse::<Ipv6Addr>().expect("address").octets())
    }

    #[test]
    fn sorts_of_addresses() {
        assert!(gid("::ffff:10.7.0.1").is_ipv4() && !gid("fe80::1").is_ipv4());
        assert!(gid("fe80::1").is_link_local() && !gid("2001:db8::1").is_link_local());
        assert!(gid("::").is_empty() && gid("fe80::").is_empty() && !gid("::ffff:10.7.0.1").is_empty());
        assert_eq!(gid("::ffff:10.7.0.1").to_string(), "::ffff:10.7.0.1");
    }
}
