//! `MPIEXEC_PORT_RANGE`: the TCP ports that a job may open. Our `mpiexec` opens none, and ranks
//! read it for `MPI_Open_port`; their other TCP, which is libfabric's, has variables of its own.

use std::ffi::OsString;
use verbena_boot::port::range::{PortRange, VARIABLE};
use verbena_fault::Fault;

/// The variables for the lowest and the highest port of libfabric's providers `tcp`, and `net` as
/// it was called for some time.
const PROVIDERS: [[&str; 2]; 2] = [
    ["FI_TCP_PORT_LOW_RANGE", "FI_TCP_PORT_HIGH_RANGE"],
    ["FI_NET_PORT_LOW_RANGE", "FI_NET_PORT_HIGH_RANGE"],
];

/// The variables to set for all programs, on other hosts too: the range itself, and those of each
/// provider, unless the user has set one of them.
///
/// # Errors
/// The variable holds no range of ports.
pub(super) fn read(get: &dyn Fn(&str) -> Option<String>) -> Result<Vec<(OsString, OsString)>, Fault> {
    let text = get(VARIABLE).unwrap_or_default();
    let Some(range) = PortRange::read(Some(&text))? else { return Ok(Vec::new()) };
    let free = PROVIDERS.iter().filter(|names| names.iter().all(|name| get(name).is_none()));
    let pair = |(name, port): (&&str, u16)| (name.into(), port.to_string().into());
    let pairs = free.flat_map(|names| names.iter().zip([range.low, range.high]).map(pair));
    Ok(std::iter::once((VARIABLE.into(), text.into())).chain(pairs).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ports(variables: &[(&str, &str)]) -> Result<String, Fault> {
        let find = |name: &str| variables.iter().find(|(key, _)| *key == name);
        let pairs = read(&|name| find(name).map(|(_, value)| (*value).to_owned()))?;
        Ok(pairs.iter().map(|(name, value)| format!("{}={} ", name.display(), value.display())).collect())
    }

    #[test]
    fn the_range_goes_to_the_provider() {
        let net = "FI_NET_PORT_LOW_RANGE=2000 FI_NET_PORT_HIGH_RANGE=2100 ";
        let told = format!("FI_TCP_PORT_LOW_RANGE=2000 FI_TCP_PORT_HIGH_RANGE=2100 {net}");
        for text in ["2000:2100", "2000,2100", " 2000 : 2100 "] {
            assert_eq!(ports(&[(VARIABLE, text)]).unwrap(), format!("{VARIABLE}={text} {told}"));
        }
        assert_eq!(ports(&[]).unwrap(), "");
        let own = [(VARIABLE, "2000:2100"), (PROVIDERS[0][1], "7")];
        let told = format!("{VARIABLE}=2000:2100 {net}");
        assert_eq!(ports(&own).unwrap(), told, "the user's own goes before");
    }
}
