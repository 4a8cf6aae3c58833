//! `MPIEXEC_PORT_RANGE`: the TCP ports that a job may open, as a site's firewall lets them through.

use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, TcpListener};
use verbena_fault::Fault;

/// The variable, as MPICH's launcher has it: `LOW:HIGH`.
pub const VARIABLE: &str = "MPIEXEC_PORT_RANGE";

/// The numbers of the ports that may be opened, from the lowest to the highest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortRange {
    /// The lowest number.
    pub low: u16,
    /// The highest number.
    pub high: u16,
}

impl PortRange {
    /// All ports: the system chooses one.
    pub const ANY: PortRange = PortRange { low: 0, high: 0 };

    /// Reads the value of the variable; `None` if it is not set or empty.
    ///
    /// # Errors
    /// It holds no range of ports.
    pub fn read(value: Option<&str>) -> Result<Option<PortRange>, Fault> {
        let Some(text) = value.filter(|text| !text.trim().is_empty()) else { return Ok(None) };
        parse(text).map(Some).ok_or_else(|| nonsense(text))
    }

    /// Reads this process's variable: all ports if it is not set.
    ///
    /// # Errors
    /// As [`read`](PortRange::read).
    pub fn of_this_process() -> Result<PortRange, Fault> {
        Ok(PortRange::read(std::env::var(VARIABLE).ok().as_deref())?.unwrap_or(PortRange::ANY))
    }

    /// Listens at the first port of the range that is free, on all of this host's addresses.
    ///
    /// # Errors
    /// None of them is free ([`ErrorKind::AddrInUse`]), or no socket can be had.
    pub(super) fn listen(self) -> io::Result<TcpListener> {
        let mut refusal = io::Error::from(ErrorKind::AddrInUse);
        for number in self.low..=self.high {
            match TcpListener::bind((Ipv4Addr::UNSPECIFIED, number)) {
                Err(error) if matches!(error.kind(), ErrorKind::AddrInUse | ErrorKind::PermissionDenied) => {
                    refusal = error;
                }
                other => return other,
            }
        }
        Err(refusal)
    }
}

fn parse(text: &str) -> Option<PortRange> {
    let (low, high) = text.split_once([':', ',', '-'])?;
    let (low, high) = (low.trim().parse().ok()?, high.trim().parse().ok()?);
    (0 < low && low <= high).then_some(PortRange { low, high })
}

fn nonsense(text: &str) -> Fault {
    Fault::new(
        "The range of ports is not understood.",
        format!("{VARIABLE}=\"{text}\""),
        "it is not two numbers up to 65535, the lower one first",
        "set it to a range such as 20000:20100, or unset it",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonsense_is_refused_in_four_parts() {
        for text in ["x", "1", "2:1", "0:1", "1:65536", "-5:7"] {
            let fault = PortRange::read(Some(text)).expect_err("no range").to_string();
            assert_eq!((fault.lines().count(), fault.contains(text)), (4, true), "{fault}");
        }
        let range = PortRange { low: 2000, high: 2100 };
        for text in ["2000:2100", "2000,2100", " 2000 : 2100 "] {
            assert_eq!(PortRange::read(Some(text)).expect("a range"), Some(range), "{text}");
        }
        assert_eq!(PortRange::read(Some(" ")).expect("nothing"), None);
    }

    #[test]
    fn the_first_free_port_is_taken_and_a_full_range_is_refused() {
        let taken = PortRange::ANY.listen().expect("a socket");
        let low = taken.local_addr().expect("an address").port();
        let only = PortRange { low, high: low };
        assert_eq!(only.listen().expect_err("it is taken").kind(), ErrorKind::AddrInUse);
        // Some port above it is free, unless this host is full.
        let range = PortRange { low, high: low.saturating_add(200) };
        let other = range.listen().expect("a free port").local_addr().expect("an address").port();
        assert!(low < other && other <= range.high, "{other}");
    }
}
