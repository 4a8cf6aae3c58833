//! The counters of the verbs devices that this process sees, by the kernel: what every packet of a
//! node passes, whatever program sent it.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// The kernel keeps what a device counted for 10 ms before it asks again (`lifespan`).
const KEPT: Duration = Duration::from_millis(12);

/// Returns what the verbs devices that this process sees counted up to now, not a moment ago; empty
/// without devices.
pub fn counts() -> BTreeMap<String, f64> {
    if Path::new(DEVICES).exists() {
        std::thread::sleep(KEPT);
    }
    of_devices()
}

/// Returns what those devices have counted since they said `before`.
pub fn since(before: &BTreeMap<String, f64>) -> BTreeMap<String, f64> {
    let of = |(name, now): (String, f64)| {
        let before = before.get(&name).copied().unwrap_or(0.0);
        (name, now - before)
    };
    counts().into_iter().map(of).collect()
}

/// The folder with a folder for each verbs device.
const DEVICES: &str = "/sys/class/infiniband";

/// The counters of all ports of all verbs devices, added up by name; empty without devices.
fn of_devices() -> BTreeMap<String, f64> {
    let mut all = BTreeMap::new();
    for device in entries(Path::new(DEVICES)) {
        for port in entries(&device.join("ports")) {
            for file in entries(&port.join("hw_counters")) {
                let name = file.file_name().map(|name| name.to_string_lossy().into_owned());
                let value =
                    std::fs::read_to_string(&file).ok().and_then(|text| text.trim().parse::<f64>().ok());
                if let (Some(name), Some(value)) = (name, value) {
                    *all.entry(format!("device {name}")).or_insert(0.0) += value;
                }
            }
        }
    }
    // A number of milliseconds that somebody set, and no count.
    all.remove("device lifespan");
    all
}

fn entries(folder: &Path) -> Vec<std::path::PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    entries.filter_map(|entry| Some(entry.ok()?.path())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_what_came_since() {
        let before = counts();
        assert!(since(&before).values().all(|count| *count >= 0.0));
        assert!(before.keys().all(|name| name.starts_with("device ")));
    }
}
