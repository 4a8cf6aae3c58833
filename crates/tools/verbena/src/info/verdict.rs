//! The first lines of `verbena info`: whether it works here, and which way messages go.

use super::Info;
use super::channels::Finding;
use super::library::Outcome;

/// A line for the installation, one for messages on this host, and one for those to other hosts.
/// The first says whether all is well.
pub(super) fn lines(info: &Info) -> (bool, Vec<String>) {
    let library = match &info.library {
        Outcome::Found(_) => None,
        Outcome::Missing(_) => Some("the library is missing"),
    };
    let works = |name: &str| info.channels.iter().any(|finding| finding.channel == name && reaches(finding));
    let near = match (works("shm"), works("cma")) {
        (true, true) => Ok("shared memory (shm), long ones by copies of the kernel (cma)"),
        (true, false) => Ok("shared memory (shm); long ones are copied twice, for want of cma"),
        (false, _) => Err("no shared memory between two processes"),
    };
    let port = info.verbs.ports.iter().find(|port| port.chosen);
    let far = match (port, works("ofi")) {
        (Some(port), _) => format!("InfiniBand or RoCE (rc), port {}", port.name),
        (None, true) => "libfabric (ofi), as a rule TCP: there is no InfiniBand or RoCE device".into(),
        (None, false) => {
            "nothing: neither a device nor libfabric works here, so jobs stay on one host".into()
        }
    };
    let wrong: Vec<&str> = library.into_iter().chain(near.err()).collect();
    let first = match wrong[..] {
        [] => "Verbena works here.".to_owned(),
        _ => format!("Verbena does not work here: {}.", wrong.join("; ")),
    };
    let near = near.unwrap_or("libfabric, if it works at all");
    let lines = vec![first, format!("Messages on this host: {near}."), format!("To other hosts: {far}.")];
    (wrong.is_empty(), lines)
}

fn reaches(finding: &Finding) -> bool {
    finding.found.as_ref().is_some_and(|found| found.reach.is_some())
}

/// Says why a channel was not opened, by the settings and the devices.
pub(crate) fn absence(channel: &str, wanted: Option<&str>, has_port: bool) -> String {
    let is_named = wanted.is_some_and(|list| list.split(',').any(|name| name.trim() == channel));
    match channel {
        _ if wanted.is_some() && !is_named => "left out: VERBENA_CHANNELS does not name it".into(),
        "cma" if !verbena_settings::CMA.get() => "left out by VERBENA_CMA=0".into(),
        "ofi" if verbena_settings::OFI.get() == 2 => "left out by VERBENA_OFI=never".into(),
        "rc" | "ud" if !has_port => "no InfiniBand or RoCE port that could be used (below)".into(),
        "ud" => format!(
            "left to jobs of more than {} ranks, or to VERBENA_CHANNELS",
            verbena_settings::UD_RANKS_MIN.get()
        ),
        "pipe" => "only where VERBENA_CHANNELS names it: it is there to compare with rc".into(),
        _ => "of no use between two processes of this host".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_that_is_not_there_says_why() {
        assert!(absence("shm", Some("cma, rc"), true).contains("VERBENA_CHANNELS does not name it"));
        assert!(absence("rc", None, false).contains("no InfiniBand or RoCE port"));
        assert!(absence("pipe", None, true).contains("only where VERBENA_CHANNELS names it"));
        assert!(absence("ud", None, true).contains("ranks, or to VERBENA_CHANNELS"));
    }
}
