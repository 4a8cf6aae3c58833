//! `verbena info` for people.

use super::Info;
use super::channels::Finding;
use super::library::Outcome;
use super::probe::Reach;
use super::settings::Value;
use super::verbs::{Port, Verbs};
use crate::style::{self, Color, paint};
use std::fmt::Write;
use verbena_lab::mpi::Abi;

/// The whole page.
pub(super) fn render(info: &Info, is_well: bool) -> String {
    let mut out = String::new();
    let color = if is_well { Color::Green } else { Color::Red };
    for (at, line) in info.verdict.iter().enumerate() {
        let line = if at == 0 { paint(line, color, style::is_colored()) } else { line.clone() };
        let _ = writeln!(out, "{line}");
    }
    let _ = writeln!(out, "\nVerbena {}", info.version);
    library(&mut out, info);
    machine(&mut out, info);
    out.push_str("\nchannels (tried between two processes, just now)\n");
    let mut above = None;
    for finding in &info.channels {
        channel(&mut out, finding, above);
        above = finding.failure.as_deref();
    }
    verbs(&mut out, &info.verbs);
    launcher(&mut out, info);
    set(&mut out, info);
    out
}

fn line(out: &mut String, name: &str, value: &str) {
    let _ = writeln!(out, "  {name:<12} {}", indented(value));
}

/// Indents the further lines of a value under the first.
fn indented(text: &str) -> String {
    text.trim_end().replace('\n', "\n               ")
}

fn unknown(value: Option<&str>) -> &str {
    value.unwrap_or("unknown")
}

fn library(out: &mut String, info: &Info) {
    out.push_str("\nlibrary\n");
    match &info.library {
        Outcome::Missing(reason) => line(out, "missing", reason),
        Outcome::Found(library) => {
            line(out, "file", &library.path.display().to_string());
            line(out, "soname", library.soname.as_deref().unwrap_or("none"));
            line(out, "says", &library.identity.name);
            let (major, minor) = library.identity.standard;
            line(out, "MPI", &format!("{major}.{minor}, {} functions", library.functions));
            match library.abi_version {
                Some((major, minor)) => line(out, "ABI", &format!("standard, version {major}.{minor}")),
                None if library.identity.abi == Abi::Mpich => line(out, "ABI", "MPICH's"),
                None => line(out, "ABI", "Open MPI's own"),
            }
        }
    }
}

fn machine(out: &mut String, info: &Info) {
    out.push_str("\nmachine\n");
    line(out, "processor", unknown(info.machine.processor.as_deref()));
    line(out, "kernel", unknown(info.machine.kernel.as_deref()));
    let affinity = info.machine.affinity.as_ref().map(|processors| processors.len().to_string());
    let cores = info.machine.cores.map(|cores| cores.to_string());
    let (affinity, cores) = (unknown(affinity.as_deref()).to_string(), unknown(cores.as_deref()).to_string());
    line(out, "cores", &format!("{affinity} by the affinity mask, {cores} with the cgroup's quota"));
}

/// Writes one channel. A reason that stands in the line above is not repeated.
fn channel(out: &mut String, finding: &Finding, above: Option<&str>) {
    let mut words = Vec::new();
    if let Some(found) = &finding.found {
        words.push(found.reach.as_ref().map_or_else(|| "does not reach the other process".into(), reach));
        words.extend(found.findings.iter().cloned());
    }
    words.extend(
        finding.failure.as_deref().map(|why| if above == Some(why) { "as above" } else { why }.into()),
    );
    line(out, &finding.channel, &words.join("\n"));
}

fn reach(reach: &Reach) -> String {
    let mut can = Vec::new();
    if reach.packet_bytes_max > 0 {
        can.push(format!("packets of up to {} bytes", reach.packet_bytes_max));
    }
    can.extend(reach.get.then(|| "reads memory".into()));
    can.extend(reach.put.then(|| "writes memory".into()));
    format!("works: {}", can.join(", "))
}

fn verbs(out: &mut String, verbs: &Verbs) {
    out.push_str("\nInfiniBand and RoCE (for the channel rc)\n");
    if let Some(missing) = &verbs.missing {
        line(out, "missing", missing);
    }
    verbs.closed.iter().for_each(|(name, why)| line(out, name, why));
    verbs.ports.iter().for_each(|port| self::port(out, port));
    line(out, "locking", &verbs.locked);
    line(out, "windows", verbs.windows);
    if let Some(fork) = &verbs.fork {
        line(out, "fork", fork);
    }
}

fn port(out: &mut String, port: &Port) {
    let mut words = vec![port.verdict.clone()];
    let lid = if port.lid == 0 { String::new() } else { format!(", LID {}", port.lid) };
    words.push(format!(
        "{}, {}, {} Gbit/s, MTU {} bytes{lid}",
        port.link, port.state, port.rate_gbps, port.mtu_bytes
    ));
    words.extend(port.gids.iter().map(|gid| format!("GID {gid}")));
    let limits: Vec<String> = port.limits.iter().map(|(name, most)| format!("{most} {name}")).collect();
    words.push(format!("at most {}", limits.join(", ")));
    line(out, &port.name, &words.join("\n"));
}

fn launcher(out: &mut String, info: &Info) {
    out.push_str("\nlauncher\n");
    line(out, "start", &format!("an MPI program started from here would start {}", info.launcher.start));
    if let Some(complaint) = &info.launcher.complaint {
        line(out, "complaint", complaint);
    }
    for (name, value) in &info.launcher.variables {
        let _ = writeln!(out, "  {name}={value}");
    }
}

/// The settings that are not as they are by default.
fn set(out: &mut String, info: &Info) {
    out.push_str("\nsettings (verbena info --settings shows all)\n");
    let changed: Vec<&Value> = info.settings.iter().filter(|value| value.origin != "default").collect();
    changed.iter().for_each(|value| setting(out, value));
    if changed.is_empty() {
        out.push_str("  all as they are by default\n");
    }
}

/// The table of settings, by category.
pub(super) fn settings(values: &[Value]) -> String {
    let mut out = String::new();
    let mut category = "";
    for value in values {
        if value.category != category {
            category = value.category;
            let _ = writeln!(out, "\n{category}");
        }
        setting(&mut out, value);
    }
    out
}

fn setting(out: &mut String, setting: &Value) {
    let counted = setting.value.parse::<u64>().is_ok() && !setting.unit.is_empty();
    let unit = if counted { format!(" {}", setting.unit) } else { String::new() };
    let _ = write!(out, "  {} = {}{unit}", setting.name, setting.value);
    let _ = match setting.origin {
        "default" => writeln!(out),
        origin => writeln!(out, " (by the {origin}; default: {})", setting.default),
    };
    let _ = writeln!(out, "      {}", setting.help);
    let mut notes = vec![setting.range.clone()];
    notes.extend((setting.scope != "process").then(|| format!("one value for the {}", setting.scope)));
    notes.extend(setting.changes_while_running.then(|| "may change while running".to_string()));
    notes.extend((!setting.source.is_empty()).then(|| setting.source.to_string()));
    let _ = writeln!(out, "      {}", notes.join("; "));
}
