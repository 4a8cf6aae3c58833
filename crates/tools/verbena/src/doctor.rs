//! `verbena doctor [HOST...]`: looks over a site and says what to do so that MPI jobs run well.
//!
//! | module | looks at |
//! | --- | --- |
//! | [`host`] | limits, Yama, cgroups, memory, clocks of this host |
//! | [`others`] | other hosts: whether `mpiexec` starts there, versions, clocks |
//! | [`finding`] | what a finding is, and the page |
//!
//! Devices and channels are looked at as `verbena info` does.

mod finding;
mod host;
mod others;

use crate::info::{channels, verbs, verdict};
use crate::style;
use anyhow::{Result, bail};
use clap::Args;
use finding::{Finding, Verdict};
use others::Way;
use verbena_lab::{output, place};

/// The options of `verbena doctor`.
#[derive(Args, Debug)]
pub(crate) struct DoctorArgs {
    /// Hosts on which jobs are to run
    hosts: Vec<String>,
    /// The command that starts something on another host, called as COMMAND HOST COMMAND-LINE
    #[arg(long, default_value = "ssh -o BatchMode=yes -o ConnectTimeout=10")]
    launcher: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs `verbena doctor`.
///
/// # Errors
/// Something is to be mended, or standard output is closed.
pub(crate) fn run(args: &DoctorArgs) -> Result<()> {
    let findings = findings(args);
    match args.json {
        true => output::line(&serde_json::to_string_pretty(&findings)?)?,
        false => output::print(&finding::render(&findings, style::is_colored()))?,
    }
    match findings.iter().filter(|finding| finding.verdict == Verdict::Bad).count() {
        0 => Ok(()),
        1 => bail!("one thing is to be mended; it is above"),
        bad => bail!("{bad} things are to be mended; they are above"),
    }
}

fn findings(args: &DoctorArgs) -> Vec<Finding> {
    // First, since it loads the settings that the others go by.
    let loaded = verbena_settings::load();
    let mut findings: Vec<Finding> = loaded.wrong.iter().chain(&loaded.unknown).map(setting).collect();
    let verbs = verbs::describe();
    findings.extend(devices(&verbs));
    let wanted = verbena_settings::CHANNELS.get();
    let has_port = verbs.ports.iter().any(|port| port.chosen);
    let mut tried = channels::describe();
    for finding in tried.iter_mut().filter(|finding| finding.is_absent()) {
        finding.failure = Some(verdict::absence(&finding.channel, wanted.as_deref(), has_port));
    }
    findings.extend(tried.iter().filter_map(channel));
    findings.extend(host::findings(&verbs));
    let launcher: Vec<String> = args.launcher.split_whitespace().map(String::from).collect();
    let mpiexec = place::mpiexec().map_or("mpiexec".into(), |path| path.display().to_string());
    let way = Way { launcher: &launcher, mpiexec: &mpiexec, version: env!("CARGO_PKG_VERSION") };
    if !launcher.is_empty() {
        findings.extend(args.hosts.iter().flat_map(|host| others::findings(&way, host)));
    }
    findings
}

/// A setting that is wrong or unknown.
fn setting(fault: &verbena_fault::Fault) -> Finding {
    Finding::bad("setting", format!("{} ({})", fault.what, fault.on), [&fault.cause, &fault.remedy])
}

/// The findings about InfiniBand and RoCE devices.
fn devices(verbs: &verbs::Verbs) -> Vec<Finding> {
    let subject = "InfiniBand and RoCE";
    if verbs.ports.is_empty() && verbs.closed.is_empty() {
        return vec![Finding::fine(
            subject,
            "no device; messages to other hosts go by libfabric, which has TCP",
        )];
    }
    let closed = verbs.closed.iter().map(|(name, why)| {
        let first = why.lines().next().unwrap_or_default();
        let words = ["the device is not used", "see verbena info; /dev/infiniband must be open to users"];
        Finding::bad(subject, format!("{name}: {first}"), words)
    });
    let ports = verbs.ports.iter().map(|port| {
        let seen = format!("{}: {}, {}", port.name, port.state, port.verdict);
        match port.chosen {
            true => Finding::fine(subject, seen),
            false => Finding::note(
                subject,
                seen,
                ["this port carries no messages", "see verbena info for why; VERBENA_RC_DEVICE chooses"],
            ),
        }
    });
    closed.chain(ports).collect()
}

/// The finding about a channel that was tried between two processes. Those of devices stand above.
fn channel(tried: &channels::Finding) -> Option<Finding> {
    if !["shm", "cma", "ofi"].contains(&&*tried.channel) {
        return None;
    }
    let subject = format!("channel {}", tried.channel);
    let means = match &*tried.channel {
        "shm" => "ranks of a host cannot exchange messages by shared memory",
        "cma" => "long messages between ranks of a host are copied twice",
        _ => "messages to other hosts have no way but InfiniBand",
    };
    let works = tried.found.as_ref().is_some_and(|found| found.reach.is_some());
    Some(match (works, &tried.failure, &tried.found) {
        (true, ..) => Finding::fine(&subject, "works between two processes"),
        (false, Some(why), _) => Finding::note(&subject, why, [means, "see verbena info"]),
        (false, None, found) => {
            let said = found.as_ref().map(|found| found.findings.join("; ")).unwrap_or_default();
            Finding::note(
                &subject,
                format!("does not reach another process: {said}"),
                [means, "see verbena info"],
            )
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::info::probe::{Found, Reach};

    #[test]
    fn a_channel_that_does_not_work_is_noted() {
        let tried = |name: &str, reaches: bool| channels::Finding {
            channel: name.into(),
            found: Some(Found {
                channel: name.into(),
                reach: reaches.then_some(Reach { packet_bytes_max: 9, get: false, put: false }),
                findings: vec!["Operation not permitted".into()],
            }),
            failure: None,
        };
        assert_eq!(channel(&tried("shm", true)).map(|finding| finding.verdict), Some(Verdict::Fine));
        let cma = channel(&tried("cma", false)).expect("looked at");
        assert!(cma.verdict == Verdict::Note && cma.seen.contains("not permitted"), "{cma:?}");
        assert_eq!(channel(&tried("rc", false)), None);
    }

    #[test]
    fn devices_that_cannot_be_opened_are_to_be_mended() {
        let none = verbs::Verbs {
            missing: Some("no device".into()),
            fork: None,
            locked: String::new(),
            locked_bytes_max: None,
            closed: Vec::new(),
            ports: Vec::new(),
            windows: "",
        };
        assert_eq!(devices(&none)[0].verdict, Verdict::Fine);
        let closed = verbs::Verbs { closed: vec![("mlx5_0".into(), "no rights\nmore".into())], ..none };
        let [finding] = &devices(&closed)[..] else { panic!("one") };
        assert!(finding.verdict == Verdict::Bad && finding.seen == "mlx5_0: no rights", "{finding:?}");
    }
}
