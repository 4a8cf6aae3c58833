//! InfiniBand and RoCE: the findings of the channel `rc`, by the code that it opens a device with.

use serde::Serialize;
use verbena_fault::Fault;
use verbena_infiniband::device::options::Options;
use verbena_infiniband::device::survey::{Found, Verdict};
use verbena_infiniband::rc;
use verbena_settings::WINDOW_DEVICE;

/// The findings about verbs.
#[derive(Debug, Serialize)]
pub(crate) struct Verbs {
    /// The reason why InfiniBand cannot be used, if neither libibverbs nor a device is there.
    pub missing: Option<String>,
    /// The answer whether a program may fork while memory is registered; none without the library.
    pub fork: Option<String>,
    /// The amount of memory that may be locked.
    pub locked: String,
    /// That amount in bytes; none without a limit, or if it is not known.
    #[serde(skip)]
    pub locked_bytes_max: Option<u64>,
    /// Devices that could not be opened, and why.
    pub closed: Vec<(String, String)>,
    /// Every port.
    pub ports: Vec<Port>,
    /// The way of puts and gets of windows between nodes.
    pub windows: &'static str,
}

/// A port.
#[derive(Debug, Serialize)]
pub(crate) struct Port {
    /// Device and port, as the setting takes it.
    pub name: String,
    /// The state of the port.
    pub state: &'static str,
    /// InfiniBand or Ethernet.
    pub link: &'static str,
    /// Signalling rate in Gbit/s.
    pub rate_gbps: f64,
    /// The largest payload of a packet in bytes.
    pub mtu_bytes: usize,
    /// The LID of the port; 0 with RoCE.
    pub lid: u16,
    /// The addresses of the port: index, GID, sort, network interface.
    pub gids: Vec<String>,
    /// The largest values that the device supports.
    pub limits: Vec<(&'static str, i32)>,
    /// True if the port would be used.
    pub chosen: bool,
    /// The way it would be used, or why not.
    pub verdict: String,
}

/// Looks at all devices, and opens the one that would be used.
pub(crate) fn describe() -> Verbs {
    let (survey, _) = rc::verbs::Verbs::survey(&Options::current());
    let ports: Vec<Port> = survey.ports.iter().map(port).collect();
    let windows = windows(ports.iter().any(|port| port.chosen), WINDOW_DEVICE.get());
    let missing = survey.library.as_ref().err().or(survey.bare.as_ref()).map(Fault::to_string);
    let locked_bytes_max = survey.locked.as_ref().ok().and_then(|locked| locked.limit);
    Verbs {
        missing,
        fork: survey.library.as_ref().ok().map(ToString::to_string),
        locked: survey.locked.map_or_else(|fault| fault.to_string(), |locked| locked.to_string()),
        locked_bytes_max,
        closed: survey.closed.into_iter().map(|(name, fault)| (name, fault.to_string())).collect(),
        ports,
        windows,
    }
}

fn windows(has_device: bool, is_wanted: bool) -> &'static str {
    match (has_device, is_wanted) {
        (true, true) => {
            "puts and gets between nodes go by the device; accumulates by a processor of the target"
        }
        (true, false) => "all between nodes goes as messages: VERBENA_WINDOW_DEVICE is 0",
        (false, true) => {
            "all between nodes goes as messages, but puts and gets that libfabric can do: no device is used"
        }
        (false, false) => {
            "all between nodes goes as messages: VERBENA_WINDOW_DEVICE is 0, and no device is used"
        }
    }
}

fn port(found: &Found) -> Port {
    let (candidate, device) = (&found.candidate, &found.device);
    let port = &candidate.port;
    let gid = |entry: &verbena_infiniband::device::GidEntry| {
        let interface = entry.interface.as_ref().map(|name| format!(" of {name}")).unwrap_or_default();
        format!("{}: {} ({}){interface}", entry.index, entry.gid, entry.kind)
    };
    Port {
        name: format!("{}:{}", candidate.device, port.number),
        state: port.state_name(),
        link: if port.ethernet { "Ethernet (RoCE)" } else { "InfiniBand" },
        rate_gbps: f64::from(port.rate_mbps) / 1e3,
        mtu_bytes: port.mtu_bytes(),
        lid: port.lid,
        gids: candidate.gids.iter().map(gid).collect(),
        limits: vec![
            ("queue pairs", device.pairs),
            ("pieces of work on one", device.work),
            ("completions in a queue", device.completions),
            ("shared receive queues", device.shared_queues),
            ("RDMA reads at once", device.reads),
            ("registrations", device.registrations),
        ],
        chosen: matches!(found.verdict, Verdict::Chosen(_)),
        verdict: verdict(&found.verdict),
    }
}

fn verdict(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Chosen(how) => format!("would be used: {how}"),
        Verdict::Spare => "works as it seems, but another comes first; VERBENA_RC_DEVICE chooses".into(),
        Verdict::Unfit(why) => format!("of no use: {why}"),
        Verdict::Failed(fault) => format!("was tried and failed: {fault}"),
    }
}
