//! A rail is cut in the middle of a run, between virtual nodes with two verbs devices each: the run
//! goes on over the other one, and every byte arrives once and in order (paper 4, 4.2).
//! `VERBENA_CUTS` is the number of runs (issue 5 asks for 100; default 2: a cut at the rail of the
//! packets, and one at the other).

use verbena_tests::program;
use verbena_tests::softroce::Boot;

/// The number of runs by default.
const CUTS: usize = 2;
/// Seconds that a run and its cut may take.
const SECONDS_MAX: u32 = 40;

#[test]
fn a_rail_is_cut_in_the_middle_of_every_run() {
    let cuts = std::env::var("VERBENA_CUTS").map_or(CUTS, |number| number.parse().expect("a number of runs"));
    Boot::new(&["--nodes", "2", "--rails", "2"])
        .check("cut rails", SECONDS_MAX * cuts as u32, script(cuts), move |ended| {
            let said = ended.ok().stdout;
            print!("{said}");
            let ended_right = said.lines().filter(|line| line.contains("rails: ok")).count();
            assert_eq!(ended_right, cuts, "{said}");
            let afterwards = said.lines().filter(|line| line.contains("afterwards")).count();
            assert!(4 * afterwards <= cuts, "the runs were over too soon:\n{said}");
            let moved = said.lines().filter(|line| !line.ends_with(" 0 failovers")).count();
            // A pair's packets go by one of the two rails, so a cut of the other one moves nothing
            // but memory.
            assert!(moved > 0, "no cut met the rail of the packets:\n{said}");
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

/// Each interface in its turn goes down at some time after the ranks have begun to talk, and up
/// again after the run.
fn script(cuts: usize) -> String {
    let rails = program("rails").display().to_string();
    format!(
        "interfaces=(e0 e1 e0_1 e1_1)\n\
         for run in $(seq {cuts}); do\n\
             VERBENA_CHANNELS=loopback,rc mpiexec -hosts node0,node1 -n 2 {rails} 8 >/tmp/run.out 2>&1 & job=$!\n\
             until grep -q 'under way' /tmp/run.out || ! kill -0 $job; do sleep 0.1; done\n\
             sleep 0.$((RANDOM % 10))\n\
             cut=${{interfaces[run % 4]}}\n\
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
