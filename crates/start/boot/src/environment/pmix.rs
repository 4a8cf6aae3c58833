//! The variables of a server of PMIx.

use super::{Lookup, number};
use crate::error::BootError;
use crate::pmix::Dialect;
use std::net::SocketAddr;

/// The variable that lists the ways of proof that the server takes.
const SECURITY: &str = "PMIX_SECURITY_MODE";
/// Variables of servers' addresses that are named where none is of use.
const SERVERS: [&str; 4] = ["PMIX_SERVER_URI3", "PMIX_SERVER_URI21", "PMIX_SERVER_URI2", "PMIX_SERVER_URI41"];

/// A server of PMIx, and the place of this process in its job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The server's address.
    pub address: SocketAddr,
    /// The dialect that the server speaks there.
    pub dialect: Dialect,
    /// The proof that it wants.
    pub proof: Proof,
    /// The name of the job.
    pub namespace: String,
    /// This process's rank in it.
    pub rank: u32,
}

/// The ways to prove who a client is that we know, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// User and group, which the server compares.
    Native,
    /// A credential of the service munge.
    Munge,
    /// None.
    None,
}

impl Proof {
    const ALL: [(Proof, &str); 3] =
        [(Proof::Native, "native"), (Proof::Munge, "munge"), (Proof::None, "none")];
}

/// The server that the environment names, if it names one.
pub(super) fn place(get: Lookup<'_>) -> Result<Option<Place>, BootError> {
    let Some(namespace) = get("PMIX_NAMESPACE").filter(|name| !name.is_empty()) else { return Ok(None) };
    let Some(rank) = number(get, "PMIX_RANK", "a rank")? else { return Ok(None) };
    let security = get(SECURITY).unwrap_or_else(|| "native".into());
    let modes: Vec<&str> = security.split(',').map(str::trim).collect();
    let proof = Proof::ALL.iter().find(|(_, name)| modes.contains(name)).map(|(proof, _)| *proof);
    let server = |(dialect, name): &(Dialect, &str)| Some((*dialect, server_address(&get(name)?)?));
    let server = Dialect::ALL.iter().find_map(server).zip(proof);
    let ((dialect, address), proof) = server.ok_or_else(|| no_dialect(get, &namespace))?;
    Ok(Some(Place { address, dialect, proof, namespace, rank }))
}

fn no_dialect(get: Lookup<'_>, namespace: &str) -> BootError {
    let told = |name: &&str| get(name).map(|value| format!(", {name}={value}"));
    let told: String = SERVERS.iter().chain(&[SECURITY]).filter_map(told).collect();
    BootError::NoDialect { told: format!("PMIX_NAMESPACE={namespace}{told}") }
}

/// The address in the name of a server, as in `prterun-host-1@0.0;tcp4://127.0.0.1:4711`.
fn server_address(name: &str) -> Option<SocketAddr> {
    name.split(';').find_map(|part| {
        let address = part.strip_prefix("tcp4://").or_else(|| part.strip_prefix("tcp6://"))?;
        let (host, port) = address.rsplit_once(':')?;
        let host = host.trim_start_matches('[').trim_end_matches(']');
        Some(SocketAddr::new(host.parse().ok()?, port.parse().ok()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: [(&str, &str); 2] = [("PMIX_NAMESPACE", "prterun-h-1@1"), ("PMIX_RANK", "2")];

    fn find(more: &[(&str, &str)]) -> Result<Option<Place>, BootError> {
        let pairs = [&BASE[..], more].concat();
        place(&|name| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn a_server_is_found_by_its_best_dialect() {
        let v3 = ("PMIX_SERVER_URI3", "prterun-h-1@0.0;tcp4://127.0.0.1:4711");
        let v21 = ("PMIX_SERVER_URI21", "prterun-h-1@0.0;tcp6://[::1]:4712");
        for (more, dialect, port, proof) in [
            (vec![v21, v3], Dialect::V3, 4711, Proof::Native),
            (vec![v21, (SECURITY, "none")], Dialect::V21, 4712, Proof::None),
            (vec![v3, (SECURITY, "munge,native")], Dialect::V3, 4711, Proof::Native),
            (vec![v3, (SECURITY, "munge")], Dialect::V3, 4711, Proof::Munge),
        ] {
            let found = find(&more).unwrap().unwrap();
            let told = (found.dialect, found.address.port(), found.proof, found.rank);
            assert_eq!(told, (dialect, port, proof, 2), "{more:?}");
        }
    }

    #[test]
    fn a_server_of_no_use_is_told_in_four_parts() {
        let uri = |uri| vec![("PMIX_SERVER_URI3", uri)];
        for more in [
            vec![],
            uri("n.0"),
            uri("n.0;tcp4://nowhere:1"),
            uri("n.0;tcp4://127.0.0.1:99999"),
            uri("n.0;usock:/tmp/x"),
            vec![("PMIX_SERVER_URI3", "n.0;tcp4://127.0.0.1:1"), (SECURITY, "gssapi")],
        ] {
            let text = find(&more).unwrap_err().to_string();
            assert_eq!(text.lines().count(), 4, "{text}");
            assert!(text.contains("PMIX_NAMESPACE=prterun-h-1@1"), "{text}");
        }
    }

    #[test]
    fn without_namespace_or_rank_there_is_none() {
        assert_eq!(place(&|_| None).unwrap(), None);
        assert_eq!(place(&|name| (name == "PMIX_NAMESPACE").then(|| "n".into())).unwrap(), None);
        assert!(place(&|_| Some("x".into())).is_err(), "a rank that is no number");
    }
}
