//! `verbena bench`'s kernels, which check their own results, on the staged library.

use std::process::Command;
use verbena_tests::staged;

/// Runs kernels with this many ranks. A wrong result makes the command fail and say so.
fn verified(ranks: u32, kernels: &[&str]) {
    let points = kernels.iter().map(|kernel| format!("kernel_{kernel}:4096")).collect::<Vec<_>>().join(",");
    let output = Command::new(staged("bin/verbena"))
        .args(["bench", "--quick", "--json", "-", "-n", &ranks.to_string(), "--points", &points])
        .output()
        .expect("verbena starts");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{ranks} ranks: {said}{}", String::from_utf8_lossy(&output.stderr));
    for kernel in kernels {
        assert!(said.contains(&format!("\"kernel_{kernel}\"")), "{kernel}: {said}");
    }
}

#[test]
fn kernels_are_right_with_two_ranks() {
    verified(2, &["is", "cg", "mg", "lu", "ft", "smg"]);
}

/// SP and BT need a square.
#[test]
fn kernels_are_right_with_four_ranks() {
    verified(4, &["is", "cg", "mg", "lu", "ft", "smg", "sp", "bt"]);
}
