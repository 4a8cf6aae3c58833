//! Miri on the code that makes no system call unknown to it: the table of handles, memory, layouts,
//! packets, parsers.
//!
//! Tests under loom switch stacks by themselves, which Miri cannot follow; they check the same code
//! in their own way.

use super::{Ground, tail};
use crate::passed::passed;
use anyhow::{Context, Result, ensure};
use std::process::Command;

/// Tests of one package.
struct Part {
    package: &'static str,
    /// Parts of the tests' names.
    tests: &'static [&'static str],
    /// The tests that are left out, with the reason.
    without: &'static [(&'static str, &'static str)],
}

const PARTS: &[Part] = &[
    Part {
        package: "verbena-memory",
        tests: &["tests::"],
        without: &[
            ("copy::", "stores past the caches, which Miri does not know"),
            ("random_layouts_agree_with_the_reference", "more than ten minutes"),
            ("memory_is_zero_though_it_was_used", "megabytes, byte by byte"),
            ("fragments_of_a_long_list", "a million steps, which are about time only"),
        ],
    },
    Part { package: "verbena-channel", tests: &["packet::", "exposed::"], without: &[] },
    Part { package: "verbena-infiniband", tests: &["reliable::"], without: &[] },
    Part {
        package: "verbena-abi",
        tests: &["table::"],
        without: &[("loom_", "loom"), ("threads_that_look_up", "20,000 rounds: minutes")],
    },
    Part {
        package: "verbena-boot",
        tests: &["wire::", "card::"],
        without: &[("random_bytes_never_panic", "a million texts")],
    },
    Part { package: "verbena-launch", tests: &["wire::"], without: &[] },
    Part {
        package: "verbena-mpi",
        tests: &["op::tests::", "datatype::external_tests::"],
        without: &[
            ("every_operation_on_every_datatype", "minutes"),
            ("every_basic_datatype_comes_back", "minutes"),
        ],
    },
];

/// Runs Miri on all parts.
///
/// # Errors
/// The toolchain lacks Miri, Miri found something, or a part has no tests.
pub(super) fn run(ground: &Ground) -> Result<String> {
    ground.demand_components(&["miri", "rust-src"])?;
    let mut passed = 0;
    for part in PARTS {
        for (name, reason) in part.without {
            println!("   {}: without {name}* ({reason})", part.package);
        }
        let count = part.run(ground)?;
        println!("   {}: {count} tests of {}", part.package, part.tests.join(", "));
        passed += count;
    }
    Ok(format!("{passed} tests, nothing found"))
}

impl Part {
    fn command(&self, ground: &Ground) -> Command {
        let mut cargo = ground.cargo();
        cargo.args(["miri", "test", "--locked", "-p", self.package, "--lib", "--"]).args(self.tests);
        cargo.args(self.without.iter().flat_map(|(name, _)| ["--skip", name]));
        // Blocks of whole pages come from the system, and Miri knows that call. Owned memory is
        // kept for its next use until the process ends, which is no leak.
        cargo
            .env("MIRIFLAGS", "-Zmiri-disable-isolation -Zmiri-ignore-leaks")
            .env("CARGO_TARGET_DIR", ground.top.join("target/sanitize/miri"));
        cargo
    }

    fn run(&self, ground: &Ground) -> Result<u32> {
        let mut command = self.command(ground);
        let output = command.output().with_context(|| format!("cannot run {command:?}"))?;
        let (said, complained) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        ensure!(output.status.success(), "{command:?}\n{}\n{}", tail(&said), tail(&complained));
        let count = passed(&said);
        ensure!(count > 0, "{command:?} ran no test: were they renamed?");
        Ok(count)
    }
}
