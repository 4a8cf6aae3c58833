//! The addresses of this host, for processes on others.

use super::name::ADDRESSES_MAX;
use std::net::Ipv4Addr;

/// The addresses of all interfaces that are up, but for those of the loopback; none if the host
/// has no other.
pub(super) fn addresses() -> Vec<Ipv4Addr> {
    let mut list: *mut libc::ifaddrs = std::ptr::null_mut();
    // SAFETY: the call sets our pointer to a list that it allocates, or fails.
    if unsafe { libc::getifaddrs(&raw mut list) } != 0 {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut at = list;
    // SAFETY: the list is the kernel library's, and lives until it is freed below.
    while let Some(entry) = unsafe { at.as_ref() } {
        at = entry.ifa_next;
        found.extend(address(entry).filter(|address| !address.is_loopback()));
    }
    // SAFETY: the list came from `getifaddrs`, and nothing points into it any more.
    unsafe { libc::freeifaddrs(list) };
    found.dedup();
    found.truncate(ADDRESSES_MAX);
    found
}

/// The address of an interface that is up, if it has one of this family.
fn address(entry: &libc::ifaddrs) -> Option<Ipv4Addr> {
    if entry.ifa_flags & libc::IFF_UP as u32 == 0 {
        return None;
    }
    // SAFETY: null, or an address whose family says of which type it is.
    let family = unsafe { entry.ifa_addr.as_ref() }?.sa_family;
    if i32::from(family) != libc::AF_INET {
        return None;
    }
    // SAFETY: an address of this family has this type; the list need not align it.
    let address = unsafe { entry.ifa_addr.cast::<libc::sockaddr_in>().read_unaligned() };
    Some(Ipv4Addr::from(u32::from_be(address.sin_addr.s_addr)))
}

#[cfg(test)]
mod tests {
    #[test]
    fn no_address_is_the_loopback() {
        assert!(super::addresses().iter().all(|address| !address.is_loopback()));
    }
}
