//! Tests of the settings of patience.

use super::*;
use verbena_settings::{Origin, WAIT_YIELDS};

/// Paper 3, 4.2.
#[test]
fn a_set_number_of_yields_comes_before_a_sleep() {
    let over_at = |yields: &str| {
        WAIT_YIELDS.set_text(yields, Origin::Tool).expect("a number");
        let patience = Patience::for_load(&Load { local_ranks: 2, cores: 2, quota: None });
        WAIT_YIELDS.set_text("auto", Origin::Default).expect("the default");
        (0..10_000).find(|round| patience.is_over(*round)).map(|round| round - patience.spins)
    };
    assert_eq!([over_at("4"), over_at("900")], [Some(4), Some(900)]);
}
