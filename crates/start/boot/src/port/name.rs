//! The name of a port: `verbena1:NETWORK:ADDRESS,ADDRESS,...:PORT:COOKIE`, numbers in hexadecimal
//! but for the TCP port. Well below the 1024 bytes of `MPI_MAX_PORT_NAME`, and below MPICH's 256.

use std::fmt;
use std::net::Ipv4Addr;

/// Bytes of a cookie.
pub const COOKIE_BYTES: usize = 16;
/// The most addresses in a name.
pub const ADDRESSES_MAX: usize = 8;

const VERSION: &str = "verbena1";

/// A port's name, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortName {
    /// The number that processes which see the same interfaces have in common: they use the
    /// loopback address.
    pub network: u64,
    /// The addresses of the host.
    pub addresses: Vec<Ipv4Addr>,
    /// The TCP port.
    pub number: u16,
    /// The proof that a process was told this name.
    pub cookie: [u8; COOKIE_BYTES],
}

impl fmt::Display for PortName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let addresses: Vec<String> = self.addresses.iter().map(Ipv4Addr::to_string).collect();
        write!(f, "{VERSION}:{:016x}:{}:{}:", self.network, addresses.join(","), self.number)?;
        self.cookie.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl PortName {
    /// Takes a name apart.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub fn parse(text: &str) -> Result<PortName, String> {
        let parts: Vec<&str> = text.trim_end().split(':').collect();
        let [VERSION, network, addresses, number, cookie] = parts[..] else {
            return Err(format!("it does not have the form {VERSION}:NETWORK:ADDRESSES:PORT:COOKIE"));
        };
        let network = u64::from_str_radix(network, 16).map_err(|_| "its network is no number")?;
        let addresses = addresses.split(',').filter(|address| !address.is_empty());
        let addresses: Vec<Ipv4Addr> =
            addresses.map(str::parse).collect::<Result<_, _>>().map_err(|_| "it has a wrong address")?;
        if addresses.len() > ADDRESSES_MAX {
            return Err(format!("it has {} addresses", addresses.len()));
        }
        let number = number.parse().map_err(|_| "its TCP port is no port")?;
        let cookie = cookie_of(cookie).ok_or("its cookie is none")?;
        Ok(PortName { network, addresses, number, cookie })
    }
}

fn cookie_of(text: &str) -> Option<[u8; COOKIE_BYTES]> {
    let is_plain = text.len() == 2 * COOKIE_BYTES && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let number = u128::from_str_radix(text, 16).ok().filter(|_| is_plain)?;
    Some(number.to_be_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name() -> PortName {
        let addresses = vec![Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(192, 168, 255, 254)];
        PortName { network: 0x12, addresses, number: 40_000, cookie: *b"0123456789abcdef" }
    }

    #[test]
    fn a_name_survives_as_text() {
        assert_eq!(PortName::parse(&name().to_string()), Ok(name()));
        let alone = PortName { addresses: Vec::new(), ..name() };
        assert_eq!(PortName::parse(&alone.to_string()), Ok(alone));
    }

    #[test]
    fn the_longest_name_is_short() {
        let addresses = vec![Ipv4Addr::new(255, 255, 255, 255); ADDRESSES_MAX];
        let longest = PortName { addresses, network: u64::MAX, number: u16::MAX, ..name() };
        assert!(longest.to_string().len() < 256);
    }

    #[test]
    fn damaged_names_are_refused() {
        let whole = name().to_string();
        for cut in 0..whole.len() {
            assert!(PortName::parse(&whole[..cut]).is_err(), "{}", &whole[..cut]);
        }
        for wrong in ["verbena2:0:1.2.3.4:5:00", "a:b:c:d:e", "verbena1:0:1.2.3:4:00", ":::::"] {
            assert!(PortName::parse(wrong).is_err(), "{wrong}");
        }
        assert!(PortName::parse(&whole.replace("10.0.0.1", &["1.1.1.1"; 9].join(","))).is_err());
    }
}
