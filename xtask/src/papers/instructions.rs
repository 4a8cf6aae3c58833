//! The processor's work for a message over `rc` (paper 1, section 6.3.1, figure 15): instructions
//! by callgrind, in a guest, by rings and by send and receive.
//!
//! Counted is what the calls `MPI_Send` and `MPI_Recv` execute in user space in a ping-pong of 8
//! bytes: Verbena, and the device's part of libibverbs (a post, a look at the completion queue, a
//! receive buffer posted anew). Neither the kernel nor the device is counted. The two ranks of
//! `tests/instructions/over_rc.c` take turns outside MPI, so that a receive finds its message there
//! and no look in vain is counted. Settings are the defaults, with `RC_LEARN_PATH` off as in every
//! comparison.
//!
//! The program fails if packets go another way than the design says. The program of `cargo xtask
//! instructions` will not do here: it sends hundreds of messages one way to a rank that takes no
//! credits in, so every ring is full, and what should go by rings goes by send and receive.

use super::succeed;
use crate::instructions::{RANK, counted};
use anyhow::{Context, Result};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// The designs: name, the way of the packets (and name of the folder), and who comes into the
/// polling set.
const DESIGNS: [(&str, &str, &str); 2] =
    [("RDMA eager", "rings", "first"), ("send/receive", "queue", "none")];
/// Rounds of a section that are counted: `ROUNDS` in `over_rc.c`.
const ROUNDS: f64 = 256.0;
/// The longest that the guest may take, in seconds: every instruction is emulated twice over.
const LIMIT_S: u32 = 300;

/// Counts in a guest, and writes a result file for the report.
///
/// # Errors
/// The program cannot be built, the guest fails, or the file cannot be written.
pub(super) fn count(top: &Path, stage: &Path, out: &Path, file: &Path) -> Result<()> {
    for (_, folder, _) in DESIGNS {
        let left = out.join(folder);
        if left.exists() {
            std::fs::remove_dir_all(&left).with_context(|| format!("cannot remove {}", left.display()))?;
        }
    }
    let calls = out.join("calls");
    let mut compile = Command::new(stage.join("bin/mpicc"));
    succeed(compile.arg("-O2").arg("-o").arg(&calls).arg(top.join("tests/instructions/over_rc.c")))?;
    let mut guest = Command::new(std::env::current_exe().context("this program's own path")?);
    guest.args(["softroce", "--nodes", "2", "--memory", "1536", "--limit", &LIMIT_S.to_string()]);
    guest.arg("--stage").arg(stage).arg("--out").arg(out).args(["--", "sh", "-ec"]);
    succeed(guest.arg(script()).arg("designs").arg(RANK))?;
    let of =
        |(name, folder, _): (&str, &str, &str)| Ok((name.to_string(), counted(&out.join(folder), ROUNDS)?));
    let all: BTreeMap<String, BTreeMap<String, f64>> = DESIGNS.into_iter().map(of).collect::<Result<_>>()?;
    let text = serde_json::to_string_pretty(&document(&all)?)?;
    std::fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
}

/// The guest's script: both designs in turn. The first argument is the script of a rank. The words
/// by which the ranks meet lie where memory can be shared, which `/out` is not.
fn script() -> String {
    let designs = DESIGNS.iter().map(|(_, folder, policy)| format!("{folder}:{policy}"));
    format!(
        "for design in {}; do\n\
         folder=${{design%:*}}; work=/tmp/$folder; mkdir -p $work /out/$folder\n\
         cp /out/calls $work/calls; head -c 4096 /dev/zero > $work/words\n\
         VERBENA_CHANNELS=rc VERBENA_RC_LEARN_PATH=0 VERBENA_RC_POLL_POLICY=${{design#*:}} \\\n\
         mpiexec -hosts node0:1,node1:1 -n 2 sh -c \"$1\" rank $work $folder\n\
         cp $work/out.* /out/$folder/\n\
         done",
        designs.collect::<Vec<_>>().join(" ")
    )
}

/// The table, as the report reads it.
fn document(all: &BTreeMap<String, BTreeMap<String, f64>>) -> Result<serde_json::Value> {
    let of = |section: &str| -> Result<Vec<f64>> {
        let count = |(name, ..): &(&str, &str, &str)| all.get(*name)?.get(section).copied();
        let counts: Option<Vec<f64>> = DESIGNS.iter().map(count).collect();
        counts.with_context(|| format!("callgrind counted no section {section}"))
    };
    let (send, receive) = (of("send")?, of("recv")?);
    let rounded = |count: f64| (count * 10.0).round() / 10.0;
    let both: Vec<f64> = send.iter().zip(&receive).map(|(one, other)| rounded(one + other)).collect();
    let columns: Vec<&str> = std::iter::once("call").chain(DESIGNS.iter().map(|(name, ..)| *name)).collect();
    let row = |name: &str, values: Vec<f64>| json!({"name": name, "values": values});
    Ok(json!({"command": "cargo xtask papers --instructions", "machine": "", "experiments": [{
        "experiment": "counted instructions", "title": "Instructions of user space for 8 bytes over rc",
        "metric": "instructions", "unit": "", "columns": columns,
        "rows": [row("send", send), row("receive", receive), row("send and receive", both)]}]}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sends_and_receives_are_added_up() {
        let of = |send, receive| BTreeMap::from([("send".to_string(), send), ("recv".to_string(), receive)]);
        let all = BTreeMap::from([
            ("RDMA eager".to_string(), of(300.0, 200.0)),
            ("send/receive".to_string(), of(400.0, 250.0)),
        ]);
        let document = document(&all).expect("both sections");
        assert_eq!(document["experiments"][0]["rows"][2]["values"], json!([500.0, 650.0]));
        assert!(super::document(&BTreeMap::new()).is_err());
    }

    #[test]
    fn both_designs_are_counted() {
        let script = script();
        assert!(script.contains("rings:first queue:none") && script.contains("RC_POLL_POLICY"), "{script}");
    }
}
