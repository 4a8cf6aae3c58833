//! The network interfaces of this process, and the choice among them by the cards, alike on all
//! processes.
//!
//! Users suffer from a library that takes the wrong interface: a bridge of containers that every
//! node has under the same address, or a network that only some nodes have. So the first choice is
//! a network in which every process has an address, and an address that two machines share counts
//! for nothing.

use super::card::{Interface, Notice};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv6Addr, UdpSocket};

/// Addresses of one side in a message, at most.
const LISTED: usize = 8;

/// The addresses of this process that are up, of the interfaces that `names` names (of all, if it
/// is empty). Addresses that mean something else on each link are left out.
///
/// # Errors
/// Those of the kernel.
pub fn own(names: &[String]) -> std::io::Result<Vec<Interface>> {
    let mut list = std::ptr::null_mut();
    // SAFETY: fills in the pointer.
    if unsafe { libc::getifaddrs(&mut list) } != 0 {
        return Err(std::io::Error::last_os_error());
    }
    let mut found = Vec::new();
    let mut next = list;
    while !next.is_null() {
        // SAFETY: a link of the list.
        let entry = unsafe { &*next };
        found.extend(interface(entry).filter(|it| names.is_empty() || names.contains(&it.name)));
        next = entry.ifa_next;
    }
    // SAFETY: made by the kernel's call above, freed once.
    unsafe { libc::freeifaddrs(list) };
    let mut rates: BTreeMap<String, u32> = BTreeMap::new();
    for interface in &mut found {
        interface.rate_mbps = *rates.entry(interface.name.clone()).or_insert_with_key(|name| rate_mbps(name));
    }
    Ok(found)
}

fn interface(entry: &libc::ifaddrs) -> Option<Interface> {
    // Up by the administrator's word, and with something at the other end of the cable.
    let works = (libc::IFF_UP | libc::IFF_RUNNING) as u32;
    if entry.ifa_flags & works != works {
        return None;
    }
    let ip = ip(entry.ifa_addr)?;
    // SAFETY: an interface's name is terminated.
    let name = unsafe { std::ffi::CStr::from_ptr(entry.ifa_name) }.to_string_lossy().into_owned();
    let prefix_bits = match ip_mask(entry.ifa_netmask, &ip) {
        IpAddr::V4(mask) => u32::from(mask).leading_ones() as u8,
        IpAddr::V6(mask) => u128::from(mask).leading_ones() as u8,
    };
    let is_of_a_link = match ip {
        IpAddr::V4(ip) => ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_unicast_link_local(),
    };
    (!is_of_a_link).then_some(Interface { name, ip, prefix_bits, rate_mbps: 0 })
}

fn ip(address: *const libc::sockaddr) -> Option<IpAddr> {
    if address.is_null() {
        return None;
    }
    // SAFETY: the family says which structure is there.
    unsafe {
        match i32::from((*address).sa_family) {
            libc::AF_INET => {
                let four = (*address.cast::<libc::sockaddr_in>()).sin_addr.s_addr;
                Some(IpAddr::from(four.to_ne_bytes()))
            }
            libc::AF_INET6 => Some(IpAddr::from((*address.cast::<libc::sockaddr_in6>()).sin6_addr.s6_addr)),
            _ => None,
        }
    }
}

/// The mask; all ones if the kernel gives none.
fn ip_mask(mask: *const libc::sockaddr, of: &IpAddr) -> IpAddr {
    ip(mask).unwrap_or(match of {
        IpAddr::V4(_) => IpAddr::from([255; 4]),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::from(u128::MAX)),
    })
}

fn rate_mbps(name: &str) -> u32 {
    let said = std::fs::read_to_string(format!("/sys/class/net/{name}/speed")).unwrap_or_default();
    // Virtual ones say -1, or nothing.
    said.trim().parse().unwrap_or(0)
}

/// The interface for process `me` to use, and why, in words. `None` if it has no useful one: then a
/// provider with addresses of its own is left.
pub fn choose(me: usize, notices: &[Option<Notice>]) -> Option<(Interface, String)> {
    let mine = notices.get(me)?.as_ref()?;
    let all: Vec<&Notice> = notices.iter().flatten().collect();
    if all.iter().all(|notice| notice.network == mine.network) {
        let first = mine.interfaces.iter().find(|it| it.ip.is_loopback()).or(mine.interfaces.first());
        return first.map(|it| (it.clone(), "all processes see the same interfaces".into()));
    }
    common(mine, &all).or_else(|| routed(mine, &all))
}

/// The addresses of process `me`, and some of those of processes that see other interfaces: for
/// messages.
pub fn listed(me: usize, notices: &[Option<Notice>]) -> String {
    let mine = notices.get(me).and_then(Option::as_ref);
    let others = notices.iter().flatten().filter(|it| Some(it.network) != mine.map(|mine| mine.network));
    let words = |interfaces: BTreeSet<String>| match interfaces.len() {
        0 => "none".to_string(),
        _ => interfaces.into_iter().take(LISTED).collect::<Vec<_>>().join(", "),
    };
    let word = |it: &Interface| format!("{} {}/{}", it.name, it.ip, it.prefix_bits);
    let here = words(mine.into_iter().flat_map(|it| &it.interfaces).map(word).collect());
    format!("here {here}, elsewhere {}", words(others.flat_map(|it| &it.interfaces).map(word).collect()))
}

/// Returns whether the address leads from one machine to another: no loopback, and on one machine
/// only.
fn leads_out(ip: &IpAddr, all: &[&Notice]) -> bool {
    let mut owners = all.iter().filter(|notice| notice.interfaces.iter().any(|it| it.ip == *ip));
    let first = owners.next();
    !ip.is_loopback() && owners.all(|other| Some(other.network) == first.map(|notice| notice.network))
}

/// The address in the network that all processes have: the quickest, IPv4 before IPv6.
fn common(mine: &Notice, all: &[&Notice]) -> Option<(Interface, String)> {
    let in_network = |notice: &Notice, network| {
        let mut it = notice.interfaces.iter();
        it.find(|it| it.network() == network && leads_out(&it.ip, all)).cloned()
    };
    let rate = |it: &Interface| {
        let rates = all.iter().map(|notice| in_network(notice, it.network()).map(|it| it.rate_mbps));
        rates.collect::<Option<Vec<u32>>>().and_then(|rates| rates.into_iter().min())
    };
    let merit = |it: &Interface| Some((rate(it)?, it.ip.is_ipv4(), Reverse(it.network())));
    let outward = mine.interfaces.iter().filter(|it| leads_out(&it.ip, all));
    let rated = outward.filter_map(|it| Some((merit(it)?, it)));
    let (_, best) = rated.max_by_key(|(merit, _)| *merit)?;
    Some((best.clone(), "every process has an address in its network".into()))
}

/// The address from which the kernel would send to the first process that it knows a way to.
fn routed(mine: &Notice, all: &[&Notice]) -> Option<(Interface, String)> {
    let others = all.iter().filter(|notice| notice.network != mine.network);
    let theirs = others.flat_map(|notice| &notice.interfaces).filter(|it| leads_out(&it.ip, all));
    for other in theirs {
        let Some(source) = source_towards(other.ip) else { continue };
        if let Some(own) = mine.interfaces.iter().find(|it| it.ip == source && leads_out(&it.ip, all)) {
            return Some((own.clone(), format!("the kernel's way to {} begins there", other.ip)));
        }
    }
    None
}

/// The address from which the kernel sends to another one; nothing is sent.
fn source_towards(ip: IpAddr) -> Option<IpAddr> {
    let any: IpAddr = if ip.is_ipv4() { IpAddr::from([0; 4]) } else { IpAddr::V6(Ipv6Addr::UNSPECIFIED) };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    socket.connect((ip, 9)).ok()?;
    Some(socket.local_addr().ok()?.ip())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interface(name: &str, ip: &str, prefix_bits: u8, rate_mbps: u32) -> Interface {
        Interface { name: name.into(), ip: ip.parse().expect("address"), prefix_bits, rate_mbps }
    }

    fn node(number: u64, interfaces: &[Interface]) -> Option<Notice> {
        let mut interfaces = interfaces.to_vec();
        interfaces.push(interface("lo", "127.0.0.1", 8, 0));
        Some(Notice { is_wanted: false, node: number, network: number, interfaces })
    }

    fn chosen(me: usize, notices: &[Option<Notice>]) -> String {
        choose(me, notices).expect("an interface").0.name
    }

    #[test]
    fn on_one_machine_it_is_the_loopback() {
        let one = node(1, &[interface("eth0", "10.0.0.1", 24, 1000)]);
        assert_eq!(chosen(1, &[one.clone(), one]), "lo");
    }

    #[test]
    fn a_bridge_that_every_machine_has_is_not_taken() {
        let bridge = interface("docker0", "172.17.0.1", 16, 100_000);
        let nodes = [
            node(1, &[bridge.clone(), interface("eth0", "10.0.0.1", 24, 0)]),
            node(2, &[bridge, interface("ens3", "10.0.0.2", 24, 0)]),
        ];
        assert_eq!((chosen(0, &nodes).as_str(), chosen(1, &nodes).as_str()), ("eth0", "ens3"));
    }

    #[test]
    fn the_quickest_network_that_all_have_is_taken() {
        let slow = |host: u8| interface("slow", &format!("10.0.0.{host}"), 24, 1000);
        let quick = |host: u8| interface("quick", &format!("10.1.0.{host}"), 24, 25_000);
        let both = |host: u8| node(u64::from(host), &[slow(host), quick(host)]);
        assert_eq!(chosen(0, &[both(1), both(2)]), "quick");
        assert_eq!(chosen(0, &[both(1), both(2), node(3, &[slow(3)])]), "slow");
    }

    #[test]
    fn networks_are_told_apart_by_their_bits() {
        let of = |ip: &str, bits| interface("x", ip, bits, 0).network();
        assert_eq!(of("10.0.0.1", 24), of("10.0.0.200", 24));
        assert_ne!(of("10.0.0.1", 24), of("10.0.1.1", 24));
        assert_ne!(of("10.0.0.1", 24), of("10.0.0.1", 25));
        assert_eq!(of("fd00::1", 64), of("fd00::2", 64));
        assert_ne!(of("::a00:1", 24), of("10.0.0.1", 24));
        assert_ne!(of("::", 128), of("0.0.0.0", 0));
    }

    #[test]
    fn this_process_has_a_loopback_interface() {
        let all = own(&[]).expect("interfaces");
        let lo = all.iter().find(|it| it.ip.is_loopback()).expect("the loopback");
        assert!(all.iter().all(|it| !it.ip.to_string().starts_with("fe80")));
        assert_eq!(own(&["no-such".into()]).expect("none"), []);
        assert_eq!(source_towards(lo.ip), Some(lo.ip));
    }
}
