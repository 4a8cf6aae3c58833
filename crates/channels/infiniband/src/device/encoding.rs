//! The encoding of a port's address and of one end of a connection: both are 32 bytes, and only
//! this file reads them.
//!
//! | offset | bytes | address | endpoint |
//! | --- | --- | --- | --- |
//! | 0 | 16 | GID | GID |
//! | 16 | 2 | LID | LID |
//! | 18 | 1 | link layer: 1 InfiniBand, 2 Ethernet | the same |
//! | 19 | 1 | version of this layout | the same |
//! | 20 | 4 | queue pair | queue pair |
//! | 24 | 4 | Q_Key | first packet's number |
//! | 28 | 1 | | MTU by its number |
//! | 29 | 1 | | RDMA reads that this end answers at once |
//!
//! Numbers are little-endian.

use crate::device::{Address, Endpoint};
use verbena_verbs::Gid;

/// The version of the layout.
const VERSION: u8 = 1;

/// The place of a port in the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Site {
    /// The port's GID.
    pub gid: Gid,
    /// The port's LID; 0 with RoCE.
    pub lid: u16,
    /// True if there is Ethernet below.
    pub ethernet: bool,
}

/// The address to which datagrams go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct DatagramAddress {
    /// The port.
    pub site: Site,
    /// The queue pair for datagrams.
    pub pair: u32,
    /// The queue pair's Q_Key.
    pub q_key: u32,
}

/// One end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PairAddress {
    /// The port.
    pub site: Site,
    /// The queue pair.
    pub pair: u32,
    /// The number of its first packet.
    pub psn: u32,
    /// The largest payload of a packet, by its number.
    pub mtu: u8,
    /// The number of RDMA reads that it answers at once.
    pub answers_max: u8,
}

fn emit(site: &Site, pair: u32, word: u32, last: [u8; 4]) -> [u8; 32] {
    let mut out = [0; 32];
    out[..16].copy_from_slice(&site.gid.0);
    out[16..18].copy_from_slice(&site.lid.to_le_bytes());
    out[18] = 1 + u8::from(site.ethernet);
    out[19] = VERSION;
    out[20..24].copy_from_slice(&pair.to_le_bytes());
    out[24..28].copy_from_slice(&word.to_le_bytes());
    out[28..].copy_from_slice(&last);
    out
}

fn parse(bytes: &[u8; 32]) -> Option<(Site, u32, u32)> {
    let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let site = Site {
        gid: Gid(std::array::from_fn(|at| bytes[at])),
        lid: u16::from_le_bytes([bytes[16], bytes[17]]),
        ethernet: bytes[18] == 2,
    };
    (bytes[19] == VERSION).then(|| (site, word(20), word(24)))
}

impl DatagramAddress {
    /// Encodes it as it travels.
    pub(crate) fn emit(&self) -> Address {
        Address(emit(&self.site, self.pair, self.q_key, [0; 4]))
    }

    /// Decodes it; `None` if another version wrote it.
    pub(crate) fn parse(address: &Address) -> Option<DatagramAddress> {
        let (site, pair, q_key) = parse(&address.0)?;
        Some(DatagramAddress { site, pair, q_key })
    }
}

impl PairAddress {
    /// Encodes it as it travels.
    pub(crate) fn emit(&self) -> Endpoint {
        Endpoint(emit(&self.site, self.pair, self.psn, [self.mtu, self.answers_max, 0, 0]))
    }

    /// Decodes it; `None` if another version wrote it.
    pub(crate) fn parse(endpoint: &Endpoint) -> Option<PairAddress> {
        let (site, pair, psn) = parse(&endpoint.0)?;
        Some(PairAddress { site, pair, psn, mtu: endpoint.0[28], answers_max: endpoint.0[29] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SITE: Site = Site { gid: Gid([7; 16]), lid: 300, ethernet: true };

    #[test]
    fn what_travels_arrives() {
        let address = DatagramAddress { site: SITE, pair: 0x0012_3456, q_key: 0x7fff_0001 };
        assert_eq!(DatagramAddress::parse(&address.emit()), Some(address));
        let pair = PairAddress {
            site: Site { ethernet: false, ..SITE },
            pair: 17,
            psn: 0xabcdef,
            mtu: 5,
            answers_max: 16,
        };
        assert_eq!(PairAddress::parse(&pair.emit()), Some(pair));
    }

    #[test]
    fn another_version_is_not_read() {
        assert_eq!(DatagramAddress::parse(&Address([0; 32])), None);
        assert_eq!(PairAddress::parse(&Endpoint([9; 32])), None);
    }
}
