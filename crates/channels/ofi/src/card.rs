//! The cards of a process, in two rounds: first where it is, then how its endpoint is reached.
//!
//! libfabric is opened only between the two, once it is clear that some process is on another node:
//! opening it takes longer than all else at start-up. (Version 1.17 takes 0.38 s, since it reads
//! `/proc/kallsyms` twice in `fi_getinfo`.)

use std::net::IpAddr;

/// An address of this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// The interface's name.
    pub name: String,
    /// The address.
    pub ip: IpAddr,
    /// The bits of the address that name its network.
    pub prefix_bits: u8,
    /// The speed as the driver states it, in millions of bits a second; 0 if it does not.
    pub rate_mbps: u32,
}

impl Interface {
    /// The interface's network: first address and bits, those of IPv6 plus 128.
    pub fn network(&self) -> (u128, u16) {
        let (bits, width) = match self.ip {
            IpAddr::V4(ip) => (u128::from(u32::from(ip)), 32),
            IpAddr::V6(ip) => (u128::from(ip), 128),
        };
        let host_bits = width - u32::from(self.prefix_bits).min(width);
        let mask = u128::MAX.checked_shl(host_bits).unwrap_or(0);
        (bits & mask, u16::from(self.prefix_bits) + if width == 32 { 0 } else { 128 })
    }
}

/// The first card: where this process is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// True if the user wants the channel whether or not another one reaches everybody.
    pub is_wanted: bool,
    /// The node: equal on processes that may share memory.
    pub node: u64,
    /// The network: equal on processes that see the same interfaces.
    pub network: u64,
    /// Addresses that this process may use.
    pub interfaces: Vec<Interface>,
}

/// The second card: how this process is reached. Empty if it is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contact {
    /// The provider; only like ones understand each other.
    pub provider: String,
    /// Interface and address in words.
    pub place: String,
    /// The address as the provider has it.
    pub address: Vec<u8>,
    /// The token that every message to it must bear: nobody else knows it.
    pub token: u64,
}

fn put(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(bytes.len() as u8);
    out.extend_from_slice(bytes);
}

/// Reads a card from its front.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn part(&mut self) -> Option<&'a [u8]> {
        let (&bytes, rest) = self.0.split_first()?;
        let (part, rest) = rest.split_at_checked(usize::from(bytes))?;
        self.0 = rest;
        Some(part)
    }

    fn text(&mut self) -> Option<String> {
        Some(std::str::from_utf8(self.part()?).ok()?.to_owned())
    }

    fn number<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (number, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*number)
    }
}

impl Notice {
    /// The encoded form.
    pub fn emit(&self) -> Vec<u8> {
        let mut out = vec![u8::from(self.is_wanted)];
        out.extend_from_slice(&self.node.to_le_bytes());
        out.extend_from_slice(&self.network.to_le_bytes());
        for interface in &self.interfaces {
            out.push(interface.prefix_bits);
            out.extend_from_slice(&interface.rate_mbps.to_le_bytes());
            match interface.ip {
                IpAddr::V4(ip) => put(&mut out, &ip.octets()),
                IpAddr::V6(ip) => put(&mut out, &ip.octets()),
            }
            put(&mut out, interface.name.as_bytes());
        }
        out
    }

    /// The notice with this form; `None` if it is none.
    pub fn parse(card: &[u8]) -> Option<Notice> {
        let mut reader = Reader(card);
        let [wanted] = reader.number()?;
        let node = u64::from_le_bytes(reader.number()?);
        let network = u64::from_le_bytes(reader.number()?);
        let mut interfaces = Vec::new();
        while !reader.0.is_empty() {
            let [prefix_bits] = reader.number()?;
            let rate_mbps = u32::from_le_bytes(reader.number()?);
            let ip = reader.part()?;
            let ip = match ip.len() {
                4 => IpAddr::from(<[u8; 4]>::try_from(ip).ok()?),
                _ => IpAddr::from(<[u8; 16]>::try_from(ip).ok()?),
            };
            interfaces.push(Interface { name: reader.text()?, ip, prefix_bits, rate_mbps });
        }
        Some(Notice { is_wanted: wanted != 0, node, network, interfaces })
    }
}

impl Contact {
    /// The encoded form.
    pub fn emit(&self) -> Vec<u8> {
        let mut out = self.token.to_le_bytes().to_vec();
        for part in [self.provider.as_bytes(), self.place.as_bytes(), &self.address] {
            put(&mut out, &part[..part.len().min(255)]);
        }
        out
    }

    /// The contact with this form; `None` if the process is not reached.
    pub fn parse(card: &[u8]) -> Option<Contact> {
        let mut reader = Reader(card);
        let token = u64::from_le_bytes(reader.number()?);
        let (provider, place) = (reader.text()?, reader.text()?);
        Some(Contact { provider, place, address: reader.part()?.to_vec(), token })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cards_survive_and_torn_ones_are_refused() {
        let interface = |ip: &str| Interface {
            name: "eth0".into(),
            ip: ip.parse().expect("address"),
            prefix_bits: 24,
            rate_mbps: 10_000,
        };
        let interfaces = vec![interface("10.0.0.1"), interface("fd00::2")];
        let notice = Notice { is_wanted: true, node: 7, network: u64::MAX, interfaces };
        assert_eq!(Notice::parse(&notice.emit()), Some(notice.clone()));
        assert_eq!(Notice::parse(&notice.emit()[..30]), None);
        let (provider, place) = ("tcp".into(), "eth0 10.0.0.1".into());
        let contact = Contact { provider, place, address: vec![1; 28], token: u64::MAX - 1 };
        assert_eq!(Contact::parse(&contact.emit()), Some(contact.clone()));
        assert_eq!(Contact::parse(&contact.emit()[..20]), None);
        assert_eq!(Contact::parse(&[]), None);
    }
}
