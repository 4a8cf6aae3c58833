//! A device is cut in the middle of a run, between virtual nodes with two verbs devices each: the
//! run goes on over the other one, and every byte arrives once and in order (paper 4, 4.2). Once
//! both devices are rails of `rc`, and once the cut one is that of `ud`, which gives the peer up
//! after some resends; `rc` takes its place over the other. `VERBENA_CUTS` is the number of runs of
//! each (issues 5 and 25 ask for 100; default 2: with rails a cut at the rail of the packets, and
//! one at the other; with `ud` one at either node).

use verbena_tests::softroce::Boot;
use verbena_tests::{Ended, program};

/// The number of runs by default.
const CUTS: usize = 2;
/// Seconds that a run and its cut may take.
const SECONDS_MAX: u32 = 40;

/// Settings of a run over both channels, each on a device of its own, without any connection until
/// `ud` is given up. Its waits double up to a quarter of a second: 14 resends take 1.5 s.
const UD_AND_RC: &str = "VERBENA_CHANNELS=loopback,rc,ud VERBENA_RC_PEERS_MAX=0 VERBENA_UD_RESENDS_MAX=14 \
     VERBENA_UD_DEVICE=rxe0,rxe1 VERBENA_RC_DEVICE=rxe0_1,rxe1_1";

fn cuts() -> usize {
    std::env::var("VERBENA_CUTS").map_or(CUTS, |number| number.parse().expect("a number of runs"))
}

/// Checks that every run ended right, and few of them before their cut; returns the lines of those
/// in which another channel took over, and the number of runs that were over too soon.
fn judge(ended: Ended, cuts: usize) -> (usize, usize) {
    let said = ended.ok().stdout;
    print!("{said}");
    let ended_right = said.lines().filter(|line| line.contains("rails: ok")).count();
    assert_eq!(ended_right, cuts, "{said}");
    let afterwards = said.lines().filter(|line| line.contains("afterwards")).count();
    assert!(4 * afterwards <= cuts, "the runs were over too soon:\n{said}");
    (said.lines().filter(|line| !line.ends_with(" 0 failovers")).count(), afterwards)
}

#[test]
fn a_rail_is_cut_in_the_middle_of_every_run() {
    let cuts = cuts();
    let seconds = SECONDS_MAX * cuts as u32;
    let rails = script(cuts, "VERBENA_CHANNELS=loopback,rc", "e0 e1 e0_1 e1_1");
    let datagrams = script(cuts, UD_AND_RC, "e0 e1");
    Boot::new(&["--nodes", "2", "--rails", "2"])
        .check("cut rails", seconds, rails, move |ended| {
            // A pair's packets go by one of the two rails, so a cut of the other one moves nothing
            // but memory.
            let (moved, _) = judge(ended, cuts);
            assert!(moved > 0, "no cut met the rail of the packets");
        })
        .check("cut datagrams", seconds, datagrams, move |ended| {
            let (moved, afterwards) = judge(ended, cuts);
            assert_eq!(moved, cuts - afterwards, "not every cut of ud made rc take over");
        })
        .check("messages go over as many rails as are wanted", 60, wanted_rails(), |ended| {
            let said = ended.ok().stdout;
            let striped = said.lines().filter_map(|line| line.strip_prefix("rendezvous_striped "));
            let striped: Vec<u64> = striped.map(|count| count.parse().expect("a count")).collect();
            assert!(matches!(striped[..], [0, several] if several > 0), "{said}");
        })
        .run();
}

/// Returns a script that runs over one rail, and then over two.
fn wanted_rails() -> String {
    let large = program("large").display().to_string();
    let run = |rails: u32| {
        format!(
            "VERBENA_RC_RAILS={rails} VERBENA_CHANNELS=loopback,rc mpiexec -hosts node0,node1 -n 2 {large}"
        )
    };
    format!("{} && {}", run(1), run(2))
}

/// Each of these interfaces in its turn goes down at some time after the ranks have begun to talk,
/// and up again after the run.
fn script(cuts: usize, settings: &str, interfaces: &str) -> String {
    let rails = program("rails").display().to_string();
    format!(
        "interfaces=({interfaces})\n\
         for run in $(seq {cuts}); do\n\
             {settings} mpiexec -hosts node0,node1 -n 2 {rails} 8 >/tmp/run.out 2>&1 & job=$!\n\
             until grep -q 'under way' /tmp/run.out || ! kill -0 $job; do sleep 0.1; done\n\
             sleep 0.$((RANDOM % 10))\n\
             cut=${{interfaces[run % ${{#interfaces[@]}}]}}\n\
             ip link set $cut down\n\
             kill -0 $job && when=meanwhile || when=afterwards\n\
             wait $job; code=$?\n\
             ip link set $cut up\n\
             echo \"$run: $cut cut $when, exit code $code, $(tail -n 1 /tmp/run.out)\"\n\
             [ $code = 0 ] || cat /tmp/run.out\n\
             sleep 1\n\
         done"
    )
}
