//! Windows between virtual nodes with real kernel verbs devices: the programs of windows, by the
//! device and by messages, on good and bad wires, and with devices that fail.

use verbena_tests::softroce::Boot;
use verbena_tests::{Ended, count_of, program};

const RC: &str = "VERBENA_CHANNELS=loopback,rc";
const UD: &str = "VERBENA_CHANNELS=loopback,ud";
const TWO: &str = "mpiexec -hosts node0,node1 -n 2";
const FOUR: &str = "mpiexec -hosts node0:2,node1:2 -n 4";
const MESSAGES: &str = "VERBENA_WINDOW_DEVICE=0";

/// One packet in a hundred is lost, and one comes half a millisecond late.
const WIRE: &str = "wire delay 500us loss 1% reorder 99%";

/// Runs with a cut device.
const CUTS: usize = 4;

fn path(name: &str) -> String {
    program(name).display().to_string()
}

fn says_ok(ended: Ended) {
    let said = ended.ok().stdout;
    assert!(said.contains(": ok with "), "{said}");
}

/// The programs of windows that are the same on one node.
const PROGRAMS: [(&str, u32); 7] = [
    ("window_kinds apart", 60),
    ("window_synchronize apart", 180),
    ("window_operations apart", 120),
    ("window_errors apart", 60),
    ("window_layouts 100", 90),
    ("window_order", 60),
    ("window_threads", 90),
];

/// Those of them that run on two ranks, the others on four.
const ON_TWO: [&str; 3] = ["window_layouts", "window_order", "window_threads"];
/// The program with hundreds of fences for each type, which take a minute with two ranks for each
/// emulated processor: it runs on four where two of them share memory, and else on two.
const LONG: &str = "window_operations";

/// Adds a check of each program of windows with these settings. Two ranks on two nodes share no
/// memory, whatever the settings say.
fn with_programs(boot: Boot, settings: &str) -> Boot {
    let shares = settings.contains("shm");
    PROGRAMS.iter().fold(boot, |boot, (words, seconds)| {
        let (name, arguments) = words.split_once(' ').unwrap_or((words, ""));
        let two = ON_TWO.contains(&name);
        if shares && two {
            return boot;
        }
        let ranks = if two || name == LONG && !shares { TWO } else { FOUR };
        let line = format!("{settings} {ranks} {} {arguments}", path(name));
        boot.check(&format!("{words} with {settings}"), *seconds, line, says_ok)
    })
}

/// Puts that are under way together.
const MANY: u64 = 100_000;
/// Puts under way where their number is not the point, since an emulated node takes long for more.
/// The program's second window never has more.
const SOME: u64 = 2_000;

/// Checks what the program says. Its first window had this number of requests.
fn went_by_device(ended: Ended, requests: u64) {
    let said = ended.ok().stdout;
    assert!(said.contains("window_device: ok with "), "{said}");
    assert!(count_of(&said, "puts_by_device") > requests + SOME, "{said}");
    assert!(count_of(&said, "gets_by_device") > 40, "{said}");
    // The target computes for three seconds.
    assert!(count_of(&said, "passive_ms") < 2500, "{said}");
}

fn went_by_messages(ended: Ended) {
    let said = ended.ok().stdout;
    assert!(said.contains("window_device: ok with "), "{said}");
    assert_eq!(count_of(&said, "puts_by_device") + count_of(&said, "gets_by_device"), 0, "{said}");
}

/// The counters of the program tell what the device has done.
#[test]
fn windows_by_device_between_nodes() {
    let device = path("window_device");
    Boot::new(&["--nodes", "2"])
        .check("puts and gets go by the device", 180, format!("{RC} {TWO} {device} device {MANY}"), |ended| {
            went_by_device(ended, MANY)
        })
        .check(
            "they do beside datagrams",
            90,
            format!("VERBENA_CHANNELS=loopback,rc,ud {TWO} {device} device {SOME}"),
            |ended| went_by_device(ended, SOME),
        )
        .check(
            "they go by messages if that is wanted",
            90,
            format!("{MESSAGES} {RC} {TWO} {device} messages {SOME}"),
            went_by_messages,
        )
        .check(
            "and where no device does it",
            90,
            format!("{UD} {TWO} {device} messages {SOME}"),
            went_by_messages,
        )
        .check(
            "the device writes on a bad wire",
            90,
            format!("{WIRE}\n{RC} {TWO} {device} device {SOME}"),
            |ended| assert!(ended.ok().stdout.contains("window_device: ok with ")),
        )
        .run();
}

#[test]
fn programs_of_windows_between_nodes() {
    let boot = Boot::new(&["--nodes", "2"]);
    let boot = with_programs(boot, RC);
    let boot = with_programs(boot, &format!("{MESSAGES} {RC}"));
    with_programs(boot, "VERBENA_CHANNELS=loopback,shm,cma,rc").run();
}

/// A device is cut while windows use it: the other rail takes its place, and what was under way
/// goes again.
#[test]
fn a_rail_is_cut_under_windows() {
    let seconds = 40 * CUTS as u32;
    Boot::new(&["--nodes", "2", "--rails", "2"])
        .check("cut rails under windows", seconds, cut_rails(), |ended| {
            let said = ended.ok().stdout;
            print!("{said}");
            let right = said.lines().filter(|line| line.contains("window_rails: ok")).count();
            assert_eq!(right, CUTS, "{said}");
            let idle = said.lines().filter(|line| line.contains(" 0 puts by device")).count();
            assert_eq!(idle, 0, "{said}");
            let untouched = said.lines().filter(|line| line.contains(" 0 again")).count();
            assert!(untouched < CUTS, "no cut met the device in its work:\n{said}");
        })
        .run();
}

/// Each interface in its turn goes down at some time after the ranks have begun, and up again after
/// the run.
fn cut_rails() -> String {
    let program = path("window_rails");
    format!(
        "interfaces=(e0 e1 e0_1 e1_1)\n\
         for run in $(seq {CUTS}); do\n\
             {RC} {TWO} {program} 8 >/tmp/run.out 2>&1 & job=$!\n\
             until grep -q 'under way' /tmp/run.out || ! kill -0 $job; do sleep 0.1; done\n\
             sleep 0.$((RANDOM % 10))\n\
             cut=${{interfaces[run % 4]}}\n\
             ip link set $cut down\n\
             wait $job; code=$?\n\
             ip link set $cut up\n\
             echo \"$run: $cut cut, exit code $code, $(tail -n 1 /tmp/run.out)\"\n\
             [ $code = 0 ] || cat /tmp/run.out\n\
             sleep 1\n\
         done"
    )
}
