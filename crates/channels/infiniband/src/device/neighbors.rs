//! Wakes up the neighbor cache. With RoCE the kernel needs the Ethernet address of a peer's port
//! for an address handle. If it does not know it yet, it asks by ARP and, as measured on Linux 6.1,
//! looks for the answer only after a second, in which the call blocks. An empty UDP packet makes it
//! ask beforehand, without waiting.

use super::encoding::Site;
use std::collections::HashSet;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, UdpSocket};
use verbena_verbs::Gid;

/// The discard service (RFC 863): whatever is behind it, an empty packet does nothing there.
const PORT: u16 = 9;

/// The peers that were asked for.
#[derive(Default)]
pub(crate) struct Neighbors {
    asked: HashSet<Gid>,
}

impl Neighbors {
    /// Asks for a peer that was never asked for. Returns whether it asked, and so whether to wait
    /// for the answer.
    pub(crate) fn ask(&mut self, own: &Site, to: &Site) -> bool {
        if !to.ethernet || to.gid == own.gid || !self.asked.insert(to.gid) {
            return false;
        }
        let (Some(from), Some(to)) = (internet(&own.gid), internet(&to.gid)) else { return false };
        // Without it the kernel asks by itself, later.
        UdpSocket::bind(SocketAddr::new(from, 0))
            .and_then(|socket| {
                socket.set_nonblocking(true)?;
                socket.send_to(&[], SocketAddr::new(to, PORT))
            })
            .is_ok()
    }
}

/// Returns the Internet address that a GID of RoCE stands for. An address of a single link has no
/// meaning without its interface.
fn internet(gid: &Gid) -> Option<IpAddr> {
    let address = Ipv6Addr::from(gid.0);
    match address.to_ipv4_mapped() {
        Some(address) => Some(address.into()),
        None => (!gid.is_link_local()).then_some(address.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(text: &str) -> Site {
        let gid = Gid(text.parse::<Ipv6Addr>().expect("address").octets());
        Site { gid, lid: 0, ethernet: true }
    }

    #[test]
    fn each_peer_is_asked_for_once() {
        let (own, to) = (site("::ffff:127.0.0.1"), site("::ffff:127.0.0.2"));
        let mut neighbors = Neighbors::default();
        assert!(neighbors.ask(&own, &to));
        assert!(!neighbors.ask(&own, &to) && !neighbors.ask(&own, &own));
    }

    #[test]
    fn only_what_has_an_address_is_asked_for() {
        let own = site("::ffff:127.0.0.1");
        let mut neighbors = Neighbors::default();
        assert!(!neighbors.ask(&own, &site("fe80::1")));
        let infiniband = Site { ethernet: false, ..site("::ffff:127.0.0.3") };
        assert!(!neighbors.ask(&own, &infiniband));
        // Nothing here can be bound to an address of documentation.
        assert!(!neighbors.ask(&site("::ffff:192.0.2.1"), &site("::ffff:127.0.0.4")));
    }
}
