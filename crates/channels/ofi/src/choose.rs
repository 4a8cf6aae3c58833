//! The choice of provider and interface among libfabric's offers, which opens nothing.

use std::net::IpAddr;
use verbena_fabric::Offer;

/// The providers by preference: networks with hardware of their own, then TCP in the forms that
/// versions of libfabric have: `net` of 1.16 and 1.17 is the same as `tcp` alone from 1.18 on, a
/// third quicker than with `ofi_rxm` over it. The rest is not used unless it is named: providers
/// for one node, wrappers, those over verbs (the channels `rc` and `ud` are for these), and those
/// that libfabric itself calls outdated.
const PROVIDERS: [&str; 10] =
    ["cxi", "efa", "opx", "psm2", "gni", "bgq", "tcp", "net", "tcp;ofi_rxm", "net;ofi_rxm"];

/// The properties that decide about an offer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The provider.
    pub provider: String,
    /// The interface or device.
    pub domain: String,
    /// The IPv4 or IPv6 address; `None` for other kinds.
    pub ip: Option<IpAddr>,
    /// True if messages keep their order.
    pub is_ordered: bool,
}

impl Candidate {
    /// The properties of this offer.
    pub fn of(offer: &Offer) -> Candidate {
        Candidate {
            provider: offer.provider(),
            domain: offer.domain(),
            ip: offer.ip(),
            is_ordered: offer.is_ordered(),
        }
    }
}

/// The decisions of the user and the other processes.
#[derive(Clone, Debug, Default)]
pub struct Wish {
    /// The provider that the user names.
    pub provider: Option<String>,
    /// The interfaces or devices that the user names; all if none.
    pub interfaces: Vec<String>,
    /// The address that this process uses.
    pub ip: Option<IpAddr>,
}

impl Wish {
    /// The preference of a candidate (least first).
    ///
    /// # Errors
    /// The reason why it is not used, in words.
    pub fn rank(&self, candidate: &Candidate) -> Result<usize, String> {
        let rank = match &self.provider {
            // A user who names the core provider means any provider layered on it.
            Some(named) if is_named(named, &candidate.provider) => 0,
            Some(_) => return Err("VERBENA_OFI_PROVIDER names another provider".into()),
            None => PROVIDERS
                .iter()
                .position(|known| *known == candidate.provider)
                .ok_or("this provider is not used unless VERBENA_OFI_PROVIDER names it")?,
        };
        match candidate.ip {
            Some(ip) if Some(ip) != self.ip => Err("the processes use another address".into()),
            None if !self.interfaces.is_empty() && !self.interfaces.contains(&candidate.domain) => {
                Err("VERBENA_OFI_INTERFACE names another interface".into())
            }
            _ => Ok(rank * 2 + usize::from(!candidate.is_ordered)),
        }
    }

    /// The indices of the candidates that fit, best first; libfabric's order among equals.
    pub fn order(&self, candidates: &[Candidate]) -> Vec<usize> {
        let mut fit: Vec<(usize, usize)> =
            (0..candidates.len()).filter_map(|at| Some((self.rank(&candidates[at]).ok()?, at))).collect();
        fit.sort_unstable();
        fit.into_iter().map(|(_, at)| at).collect()
    }
}

/// Returns whether the user's word means the provider: its whole name, or the core of a layered
/// one.
fn is_named(word: &str, provider: &str) -> bool {
    provider == word || provider.split(';').next() == Some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(provider: &str, domain: &str, ip: Option<&str>) -> Candidate {
        let ip = ip.map(|ip| ip.parse().expect("address"));
        Candidate { provider: provider.into(), domain: domain.into(), ip, is_ordered: true }
    }

    fn wish(ip: &str) -> Wish {
        Wish { ip: Some(ip.parse().expect("address")), ..Wish::default() }
    }

    #[test]
    fn tcp_is_taken_on_the_address_of_the_process_and_nothing_odd() {
        let all = [
            candidate("shm", "shm", None),
            candidate("sockets", "eth0", Some("10.0.0.1")),
            candidate("tcp;ofi_rxm", "lo", Some("127.0.0.1")),
            candidate("tcp;ofi_rxm", "eth0", Some("10.0.0.1")),
            candidate("net", "eth0", Some("10.0.0.1")),
        ];
        assert_eq!(wish("10.0.0.1").order(&all), [4, 3]);
        assert!(wish("10.0.0.1").rank(&all[0]).expect_err("shm").contains("VERBENA_OFI_PROVIDER"));
        assert!(wish("10.0.0.1").rank(&all[2]).expect_err("lo").contains("another address"));
    }

    #[test]
    fn hardware_comes_before_tcp() {
        let all = [candidate("tcp", "eth0", Some("10.0.0.1")), candidate("cxi", "cxi0", None)];
        assert_eq!(wish("10.0.0.1").order(&all), [1, 0]);
    }

    #[test]
    fn the_user_names_another() {
        let all = [
            candidate("tcp;ofi_rxm", "eth0", Some("10.0.0.1")),
            candidate("sockets", "eth0", Some("10.0.0.1")),
            candidate("efa", "efa0", None),
        ];
        let named = |name: &str| Wish { provider: Some(name.into()), ..wish("10.0.0.1") };
        assert_eq!(named("sockets").order(&all), [1]);
        assert_eq!(named("tcp").order(&all), [0]);
        assert_eq!(named("tcp;ofi_rxm").order(&all), [0]);
        let device = Wish { interfaces: vec!["efa1".into()], ..named("efa") };
        assert!(device.rank(&all[2]).expect_err("efa0").contains("VERBENA_OFI_INTERFACE"));
    }
}
