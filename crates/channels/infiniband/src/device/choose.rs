//! The choice of port and GID: a judgement on what was found, which touches no device.

use super::options::{Options, RAILS_MAX};
use verbena_verbs::raw::IBV_PORT_ACTIVE;
use verbena_verbs::{GidEntry, GidKind, Port};

/// A port that might be used.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The name of its device.
    pub device: String,
    /// True if the device speaks InfiniBand's transport.
    pub infiniband_transport: bool,
    /// The port's description of itself.
    pub port: Port,
    /// The port's addresses.
    pub gids: Vec<GidEntry>,
}

impl Candidate {
    /// Returns the GIDs to try, best first.
    ///
    /// # Errors
    /// The reason, in words, why this port is of no use.
    pub fn fit(&self, options: &Options) -> Result<Vec<GidEntry>, String> {
        if self.preference(options).is_none() {
            return Err("VERBENA_RC_DEVICE names another".into());
        }
        if !self.infiniband_transport {
            return Err("it does not speak InfiniBand's transport (iWARP and others do not)".into());
        }
        if self.port.state != IBV_PORT_ACTIVE {
            return Err(format!("the port is {}", self.port.state_name()));
        }
        let mut gids = self.gids.clone();
        if let Some(index) = options.gid_index {
            gids.retain(|entry| entry.index == index);
        }
        gids.sort_by_key(|entry| std::cmp::Reverse(merit(entry)));
        match gids.is_empty() {
            true => Err(self.without_gid(options)),
            false => Ok(gids),
        }
    }

    /// Returns whether this port is used too. `used` ports are used already, `best` is the best.
    /// Unless the user says how many, it must be of the same sort: a slower port, or one of another
    /// network, is likely to be there for something else.
    pub fn is_rail_beside(&self, best: Option<&Candidate>, used: usize, options: &Options) -> bool {
        let Some(best) = best else { return true };
        let sort = |port: &Port| (port.ethernet, port.rate_mbps);
        match options.rails_max {
            Some(most) => used < most.min(RAILS_MAX),
            None if !options.devices.is_empty() => used < RAILS_MAX,
            None => used < RAILS_MAX && sort(&self.port) == sort(&best.port),
        }
    }

    fn without_gid(&self, options: &Options) -> String {
        match options.gid_index {
            Some(index) => format!("its table of GIDs has nothing at VERBENA_RC_GID_INDEX={index}"),
            None => "its table of GIDs is empty: its network interface has no address".into(),
        }
    }

    /// Returns the place in the user's list; `None` if that leaves the port out.
    fn preference(&self, options: &Options) -> Option<usize> {
        if options.devices.is_empty() {
            return Some(0);
        }
        options.devices.iter().position(|named| named.means(&self.device, self.port.number))
    }
}

/// Ranks RoCE v2 before v1, since it is routed, and addresses that a subnet shares before those of
/// one link, which may not even be configured. It is a fixed rule, so that both ends of a
/// connection choose the same sort.
fn merit(entry: &GidEntry) -> u32 {
    let kind = match entry.kind {
        GidKind::RoceV1 => 0,
        GidKind::InfiniBand | GidKind::RoceV2 => 10,
    };
    kind + match entry.gid {
        gid if gid.is_ipv4() => 2,
        gid if gid.is_link_local() => 0,
        _ => 1,
    }
}

/// Returns the places of the candidates in the order in which to try them: by the user's list, then
/// by rate.
pub fn order(candidates: &[Candidate], options: &Options) -> Vec<usize> {
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    order.sort_by_key(|&at| {
        let candidate = &candidates[at];
        let preference = candidate.preference(options).unwrap_or(usize::MAX);
        (preference, std::cmp::Reverse(candidate.port.rate_mbps))
    });
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::options::Named;
    use verbena_verbs::Gid;

    fn entry(index: u8, kind: GidKind, text: &str) -> GidEntry {
        let gid = Gid(text.parse::<std::net::Ipv6Addr>().expect("address").octets());
        GidEntry { index, gid, kind, interface: None }
    }

    fn candidate(device: &str, rate_mbps: u32) -> Candidate {
        let port =
            Port { number: 1, state: IBV_PORT_ACTIVE, ethernet: true, lid: 0, mtu: 3, rate_mbps, gids: 4 };
        let gids = vec![
            entry(0, GidKind::RoceV1, "fe80::1"),
            entry(1, GidKind::RoceV2, "fe80::1"),
            entry(2, GidKind::RoceV1, "::ffff:10.7.0.1"),
            entry(3, GidKind::RoceV2, "::ffff:10.7.0.1"),
        ];
        Candidate { device: device.into(), infiniband_transport: true, port, gids }
    }

    fn options() -> Options {
        Options::current()
    }

    #[test]
    fn the_ipv4_address_of_roce_v2_is_first() {
        let indices: Vec<u8> =
            candidate("a", 1).fit(&options()).expect("fit").iter().map(|entry| entry.index).collect();
        assert_eq!(indices, [3, 1, 2, 0]);
    }

    #[test]
    fn the_user_chooses_another_entry() {
        let chosen = Options { gid_index: Some(2), ..options() };
        assert_eq!(candidate("a", 1).fit(&chosen).expect("fit")[0].index, 2);
        let reason =
            candidate("a", 1).fit(&Options { gid_index: Some(9), ..options() }).expect_err("no entry");
        assert!(reason.contains("VERBENA_RC_GID_INDEX=9"), "{reason}");
    }

    #[test]
    fn what_is_down_or_speaks_another_tongue_says_so() {
        let mut down = candidate("a", 1);
        down.port.state = 1;
        assert!(down.fit(&options()).expect_err("down").contains("down"));
        let warp = Candidate { infiniband_transport: false, ..candidate("a", 1) };
        assert!(warp.fit(&options()).expect_err("iWARP").contains("iWARP"));
        let bare = Candidate { gids: Vec::new(), ..candidate("a", 1) };
        assert!(bare.fit(&options()).expect_err("no address").contains("no address"));
    }

    #[test]
    fn ports_like_the_best_are_rails_unless_the_user_says_otherwise() {
        let (best, twin, slow) = (candidate("a", 100_000), candidate("b", 100_000), candidate("c", 10_000));
        let is_rail =
            |port: &Candidate, used, options: &Options| port.is_rail_beside(Some(&best), used, options);
        assert!(best.is_rail_beside(None, 0, &options()));
        assert!(is_rail(&twin, 1, &options()) && !is_rail(&slow, 1, &options()));
        let two = Options { rails_max: Some(2), ..options() };
        assert!(is_rail(&slow, 1, &two) && !is_rail(&twin, 2, &two));
    }

    #[test]
    fn quick_ports_are_tried_first_unless_the_user_names_some() {
        let ports = [candidate("slow", 10_000), candidate("quick", 100_000)];
        assert_eq!(order(&ports, &options()), [1, 0]);
        let named = |name: &str| Named { device: name.into(), port: None };
        let named = Options { devices: vec![named("other"), named("slow")], ..options() };
        assert_eq!(order(&ports, &named), [0, 1]);
        assert!(ports[0].fit(&named).is_ok() && ports[1].fit(&named).is_err());
    }
}
