//! Command lines, whole.

use super::*;

fn order(line: &str) -> Result<Order, Stop> {
    read(line.split_whitespace().map(OsString::from).collect())
}

fn words(part: &Program) -> Vec<&str> {
    std::iter::once(&part.program).chain(&part.arguments).map(|word| word.to_str().unwrap()).collect()
}

#[test]
fn options_with_one_dash_or_two() {
    for line in ["-n 3 -wdir /tmp -l a", "--np 3 --wdir /tmp --labels a", "-np 3 -wdir=/tmp -label a"] {
        let order = order(line).unwrap();
        assert_eq!((order.size(), order.outputs.labels), (3, true), "{line}");
        assert_eq!(order.parts[0].directory, Some("/tmp".into()), "{line}");
    }
}

#[test]
fn the_programs_own_options_are_left_alone() {
    let order = order("-n 2 prog -n 5 -np 6 --timeout x -l -- -foo").unwrap();
    assert_eq!(words(&order.parts[0]), ["prog", "-n", "5", "-np", "6", "--timeout", "x", "-l", "--", "-foo"]);
    assert_eq!((order.size(), order.outputs.labels, order.timeout), (2, false, None));
}

#[test]
fn two_dashes_alone_end_the_options() {
    assert_eq!(words(&order("-n 2 -- -prog x").unwrap().parts[0]), ["-prog", "x"]);
}

#[test]
fn variables_for_one_part_and_for_all() {
    let order = order("-genv A 1 -n 1 -env B -2 -env C 3 x : -n 2 y").unwrap();
    let pair = |name: &str, value: &str| (OsString::from(name), OsString::from(value));
    assert_eq!(order.parts[0].environment, [pair("A", "1"), pair("B", "-2"), pair("C", "3")]);
    assert_eq!(order.parts[1].environment, [pair("A", "1")]);
    assert_eq!(order.size(), 3);
}

#[test]
fn wrong_lines_are_refused_with_code_2() {
    for line in [
        "",
        "-n 2",
        "-n 0 x",
        "-n x y",
        "-n 2 a :",
        "-n 99999 x",
        "-frobnicate x",
        "-timeout 0 x",
        "a : -configfile f",
        "-gdb 2 -n 2 a",
    ] {
        assert_eq!(order(line).unwrap_err().code, 2, "{line}");
    }
    let cause = |line: &str| order(line).unwrap_err().text;
    assert!(cause("-n x y").contains("cause: a mistyped value"), "{}", cause("-n x y"));
    assert!(cause("-n").contains("value was left out"), "{}", cause("-n"));
    assert!(cause("-frobnicate x").contains("cause: a mistyped option"), "{}", cause("-frobnicate x"));
}

#[test]
fn an_unknown_option_is_quoted_as_it_was_typed() {
    for (line, quoted) in [
        ("-binds core x", "'-binds'"),
        ("--binds core x", "'--binds'"),
        ("-binds=core x", "'-binds'"),
        ("-np y x", "'-np <N>'"),
    ] {
        let text = order(line).unwrap_err().text;
        assert!(text.contains(quoted), "{line}: {text}");
    }
}

#[test]
fn an_unknown_option_is_answered_with_what_was_meant() {
    for (line, meant) in [
        ("-time-out 5 x", "did you mean --timeout? see mpiexec -help"),
        ("--bindto core x", "did you mean --bind-to? "),
        ("-hotfile=f x", "did you mean --hostfile? "),
        ("-frobnicate x", "what to do: see mpiexec -help"),
        ("-n y x", "what to do: see mpiexec -help"),
    ] {
        let text = order(line).unwrap_err().text;
        assert!(text.contains(meant), "{line}: {text}");
    }
}

/// Lines from people's scripts.
#[test]
fn what_scripts_have_is_understood() {
    for (line, size) in [
        ("--n 3 x", 3),
        ("-c 3 x", 3),
        ("-H a:2,b x", 3),
        ("-N 2 x", 2),
        ("--npernode 2 -H a,b x", 4),
        ("--map-by ppr:2:node -H a,b x", 4),
        ("--mca btl tcp,self --pmixmca ptl tcp --prtemca a b -np 4 --bind-to core x", 4),
        ("-genv A=B -genv C D -np 2 -bind-to core -map-by numa -rank-by fill --report-bindings x", 2),
        ("-np 2 --tag-output --output-filename o --oversubscribe --allow-run-as-root x", 2),
        ("-bootstrap fork -outfile-pattern o.%r -np 2 -print-rank-map x", 2),
        ("-launcher ssh -launcher-exec /usr/bin/ssh -enable-x -print-all-exitcodes -n 2 x", 2),
        ("-disable-hostname-propagation -localhost a -n 2 x", 2),
        ("--pernode --bind-to-core -H a,b x", 2),
        ("--output tag --personality ompi --cpus-per-proc 1 -np 2 x", 2),
        ("-initial-errhandler mpi_errors_return -np 2 x", 2),
        ("-n 8 -soft 2:16:4 -path /a:/b x", 6),
    ] {
        let order = order(line).unwrap();
        assert_eq!((order.size(), words(&order.parts[0])), (size, vec!["x"]), "{line}");
    }
    assert!(order("-np 2 --bind-to core x").unwrap().note.is_none());
    assert!(order("-np 2 --mca btl self x").unwrap().note.unwrap().on.contains("--mca"));
}

/// An option of Hydra that this launcher has not starts nothing, and says what to write.
#[test]
fn what_would_be_another_job_is_refused() {
    for (line, advice) in [
        ("-genvnone -n 2 x", "env -i"),
        ("-rankmap 0,1 -n 2 x", "-hosts a:2,b:2"),
        ("-prepend-pattern %r -n 2 x", "write -l"),
        ("-membind firsttouch -n 2 x", "--bind-to numa"),
        ("-skip-launch-node -hosts a,b x", "name the hosts"),
        ("-info", "verbena info"),
        ("-bind-to user:0,1 -n 2 x", "taskset"),
        ("-bind-to rr -n 2 x", "hwthread"),
        ("-bind-to board -n 2 x", "package"),
        ("-launcher manual -host a x", "ssh"),
    ] {
        let stop = order(line).unwrap_err();
        assert_eq!((stop.code, stop.text.lines().count()), (2, 4), "{line}: {}", stop.text);
        assert!(stop.text.contains(advice), "{line}: {}", stop.text);
    }
}

/// The host of each rank; `-` is this one.
fn hosts(line: &str) -> String {
    let order = order(line).unwrap();
    let numbers = crate::layout::host_of_rank(&order.hosts);
    numbers.iter().map(|number| order.hosts[*number as usize].name.as_deref().unwrap_or("-")).collect()
}

#[test]
fn ranks_are_laid_out_over_the_hosts() {
    assert_eq!(hosts("-n 3 x"), "---");
    assert_eq!(hosts("-host localhost,127.0.0.1:2 x"), "---");
    assert_eq!(hosts("-n 4 -hosts a:2,b:2 x"), "aabb");
    assert_eq!(hosts("-n 4 -host a,localhost -ppn 2 x"), "aa--");
    assert_eq!(hosts("-host a:2,b x"), "aab", "without -n, all slots");
    assert_eq!(hosts("-host a:2 -n 1 x : -n 2 y : -host c -n 1 z"), "aaac");
}

#[test]
fn wrong_hosts_are_refused_in_four_parts() {
    for line in ["-host a:x x", "-f /no/such/file x", "-host a --launcher ' x", "-host , x"] {
        let stop = order(line).unwrap_err();
        assert_eq!((stop.code, stop.text.lines().count()), (2, 4), "{line}");
    }
}

#[test]
fn what_other_hosts_get_of_the_environment() {
    let order = order("-genvlist A,B -x C -x D=1=2 -n 1 x").unwrap();
    assert_eq!(order.exports.names, ["A", "B", "C"]);
    assert_eq!(order.parts[0].environment, [("D".into(), "1=2".into())]);
    assert!(!order.exports.all);
}

#[test]
fn help_and_version_are_no_errors() {
    for line in ["-help", "-h", "--help", "-version", "-V", "--version"] {
        assert_eq!(order(line).unwrap_err().code, 0, "{line}");
    }
}
