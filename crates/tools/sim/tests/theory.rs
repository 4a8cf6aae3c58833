//! The cost model as a theory: what it says of numbers that it was not fitted to, and whether a
//! calibrated device does what was measured.

use verbena_sim::figures::collectives::collectives;
use verbena_sim::figures::held_out::claims;
use verbena_sim::figures::{pairs, predicted_ladder};
use verbena_sim::verbs::calibration::{Measured, calibrate, fit_packet};
use verbena_sim::verbs::theory::{Kind, PAPER_1, PAPER_2};

/// The model's word on the held-out numbers is kept here, so that a change of it is seen: it may
/// contradict a paper, but not unnoticed.
#[test]
fn held_out_numbers_are_computed_and_may_contradict_the_papers() {
    let claims = claims().expect("the model runs");
    for claim in &claims {
        let verdict = if claim.holds() { "agrees" } else { "contradicts" };
        println!("{}: {} {}, model {:.3}: {verdict}", claim.what, claim.paper, claim.unit, claim.model);
    }
    let of = |source: &str| claims.iter().filter(|claim| claim.source == source).collect::<Vec<_>>();
    assert!(of("paper 1, 6.3.1").iter().all(|claim| claim.holds()), "6 us of control messages");
    assert!(of("paper 2, 4.4.1").iter().all(|claim| !claim.holds()), "the model's 2 KiB chunk is slow");
    assert!(claims.iter().all(|claim| claim.model.is_finite() && claim.model > 0.0));
    assert_eq!(claims.len(), 6);
}

#[test]
fn every_constant_says_where_it_comes_from() {
    for theory in [PAPER_1, PAPER_2] {
        let guessed = theory.constants().iter().filter(|constant| constant.kind == Kind::Guessed).count();
        assert_eq!(guessed, theory.count(Kind::Guessed));
        assert!(theory.count(Kind::Taken) < theory.count(Kind::Fitted) + guessed, "few are taken");
    }
}

/// Paper 4, figure 2: more sending pairs help, and four are near the best. Without a device that
/// starts several side by side they help little.
#[test]
fn sending_queue_pairs_work_side_by_side() {
    let table = pairs().expect("the model runs");
    println!("{table}");
    let at = |pairs: &str| table.value(pairs, "four started side by side");
    assert!(at("4") > 1.1 * at("1"), "{} to {}", at("1"), at("4"));
    assert!(at("8") < 1.05 * at("4"), "{} to {}", at("4"), at("8"));
    let one = |pairs: &str| table.value(pairs, "one started at a time");
    assert!(one("8") < 1.05 * one("1"), "{} to {}", one("1"), one("8"));
}

/// Paper 1, 6.3.3: barrier, broadcast and allreduce take less by RDMA. A barrier of 8 nodes takes
/// three rounds of messages where one of 2 takes one.
#[test]
fn collectives_of_several_nodes_gain_by_rdma() {
    let tables = collectives().expect("the model runs, and every result is right");
    for table in &tables {
        println!("{table}");
        let short = &table.rows[..3];
        assert!(short.iter().all(|row| row.values[1] < row.values[0]), "{}", table.title);
    }
    let barrier = |nodes: &str| tables[0].value(nodes, "RDMA eager");
    assert!((2.0..4.0).contains(&(barrier("8") / barrier("2"))), "{} us", barrier("8"));
}

/// A software device, of the kind that is measured in a Soft-RoCE guest.
const SOFT: Measured = Measured {
    write_ns: 26_000.0,
    send_ns: 28_000.0,
    write_completed_ns: 40_000.0,
    read_completed_ns: 45_000.0,
    write_gap_ns: 14_000.0,
    send_gap_ns: 16_000.0,
    read_gap_ns: 18_000.0,
    write_mb_s: 85.0,
    post_ns: 9_000.0,
    post_long_ns: 9_000.0 + 500_000.0,
    post_long_bytes: 65_536.0,
    post_receive_ns: 400.0,
    look_empty_ns: 150.0,
    look_found_ns: 400.0,
    register_page_ns: 30_000.0,
    register_long_ns: 120_000.0,
    register_long_bytes: 1_048_576.0,
    deregister_ns: 20_000.0,
    open_ns: 60_000.0,
    connect_ns: 50_000.0,
    copy_mb_s: 2_000.0,
    copy_beside_mb_s: 1_800.0,
};

/// The packet's work is the only constant that an MPI message decides: fitted to one latency, the
/// model gives that latency back.
#[test]
fn a_calibrated_model_predicts_the_ladder() {
    let theory = calibrate("a software device", &SOFT);
    let bare = predicted_ladder(theory.costs).expect("the model runs");
    let bare_ns = bare.value("8 B", "piggyback") * 1e3;
    assert!(bare_ns >= SOFT.write_ns, "{bare_ns} ns");
    let fitted = fit_packet(&theory, bare_ns, bare_ns + 5_000.0);
    let table = predicted_ladder(fitted.costs).expect("the model runs");
    println!("{table}");
    let back_ns = table.value("8 B", "piggyback") * 1e3;
    assert!((back_ns - bare_ns - 5_000.0).abs() < 100.0, "{back_ns} ns");
    assert!(table.value("8 B", "basic") > table.value("8 B", "piggyback"));
    // No design is quicker than the device.
    assert!(table.rows[1..].iter().flat_map(|row| &row.values).all(|&speed| speed < 1.02 * SOFT.write_mb_s));
}
