//! `MPIEXEC_PORT_RANGE`: the TCP ports that a job may open. Our `mpiexec` opens none; the ranks'
//! TCP, which is libfabric's, has variables of its own for it.

use std::ffi::OsString;
use verbena_fault::Fault;

/// The variable, as MPICH's launcher has it: `LOW:HIGH`.
const VARIABLE: &str = "MPIEXEC_PORT_RANGE";
/// The variables for the lowest and the highest port of libfabric's providers `tcp`, and `net` as
/// it was called for some time.
const PROVIDERS: [[&str; 2]; 2] = [
    ["FI_TCP_PORT_LOW_RANGE", "FI_TCP_PORT_HIGH_RANGE"],
    ["FI_NET_PORT_LOW_RANGE", "FI_NET_PORT_HIGH_RANGE"],
];

/// The variables to set for all programs; none for a provider of which the user has set one.
///
/// # Errors
/// The variable holds no range of ports.
pub(super) fn read(get: &dyn Fn(&str) -> Option<String>) -> Result<Vec<(OsString, OsString)>, Fault> {
    let Some(text) = get(VARIABLE).filter(|text| !text.trim().is_empty()) else { return Ok(Vec::new()) };
    let range = range(&text).ok_or_else(|| nonsense(&text))?;
    let free = PROVIDERS.iter().filter(|names| names.iter().all(|name| get(name).is_none()));
    let pair = |(name, port): (&&str, u16)| (name.into(), port.to_string().into());
    Ok(free.flat_map(|names| names.iter().zip(range).map(pair)).collect())
}

fn range(text: &str) -> Option<[u16; 2]> {
    let (low, high) = text.split_once([':', ',', '-'])?;
    let (low, high) = (low.trim().parse().ok()?, high.trim().parse().ok()?);
    (0 < low && low <= high).then_some([low, high])
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
            assert_eq!(ports(&[(VARIABLE, text)]).unwrap(), told, "{text}");
        }
        assert_eq!(ports(&[]).unwrap(), "");
        let own = [(VARIABLE, "2000:2100"), (PROVIDERS[0][1], "7")];
        assert_eq!(ports(&own).unwrap(), net, "the user's own goes before");
    }

    #[test]
    fn nonsense_is_refused_in_four_parts() {
        for text in ["x", "1", "2:1", "0:1", "1:65536", "-5:7"] {
            let fault = ports(&[(VARIABLE, text)]).unwrap_err().to_string();
            assert_eq!((fault.lines().count(), fault.contains(text)), (4, true), "{fault}");
        }
    }
}
