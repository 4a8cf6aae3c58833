//! The choice of a packet's size, and the way to another port.

use super::*;
use verbena_settings::{Origin, RC_SERVICE_LEVEL, RC_TRAFFIC_CLASS};
use verbena_verbs::Gid;

#[test]
fn the_mtu_is_the_largest_within_both_bounds() {
    assert_eq!((mtu_within(5, None), mtu_within(3, Some(4096))), (5, 3));
    assert_eq!((mtu_within(5, Some(2048)), mtu_within(5, Some(2047)), mtu_within(5, Some(256))), (4, 3, 1));
}

/// Paper 1, section 8. That a path's service is that of its queue pair is a test of `verbs`
/// (`service_level_and_traffic_class_are_the_queue_pairs`).
#[test]
fn the_quality_of_service_reaches_the_path() {
    let site = |last| Site { gid: Gid([last; 16]), lid: 0, ethernet: true };
    let of = |level: &str, class: &str| {
        let set = |name: &str, value: &str| {
            let found = verbena_settings::all().find(|setting| setting.about.name.ends_with(name));
            found.expect(name).set_text(value, Origin::Tool).expect("a value of the setting");
        };
        set("RC_SERVICE_LEVEL", level);
        set("RC_TRAFFIC_CLASS", class);
        let path = way((1, 3), &site(1), &site(2), &Options::current());
        (path.service_level, path.traffic_class)
    };
    let usual = (RC_SERVICE_LEVEL.get() as u8, RC_TRAFFIC_CLASS.get() as u8);
    assert_eq!(of("5", "96"), (5, 96));
    assert_eq!(of("0", "0"), usual);
}
