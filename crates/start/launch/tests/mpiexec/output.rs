//! Standard input, output and error.

use crate::harness::{Outcome, begin, mpiexec, run, run_script};
use std::collections::HashMap;
use std::io::Read;
use std::process::Stdio;
use std::time::Duration;

#[test]
fn labels_name_the_rank_on_both_streams() {
    let outcome = run_script(&["-l", "-n", "2"], "echo out $PMI_RANK; echo err $PMI_RANK >&2");
    assert_eq!(outcome.lines(), ["[0] out 0", "[1] out 1"]);
    let mut err: Vec<&str> = outcome.err.lines().collect();
    err.sort_unstable();
    assert_eq!(err, ["[0] err 0", "[1] err 1"]);
}

/// Each rank writes each line in three pieces.
#[test]
fn lines_are_not_torn() {
    let script = "i=0; while [ $i -lt 200 ]; do \
                  printf 'rank%s' $PMI_RANK; printf '=%s=' $i; printf 'rank%s\\n' $PMI_RANK; i=$((i+1)); done";
    let outcome = run_script(&["-n", "4"], script);
    let mut next: HashMap<&str, u32> = HashMap::new();
    for line in outcome.out.lines() {
        let words: Vec<&str> = line.split('=').collect();
        assert!(words.len() == 3 && words[0] == words[2], "torn: {line}");
        let count = next.entry(words[0]).or_default();
        assert_eq!(words[1], count.to_string(), "out of order: {line}");
        *count += 1;
    }
    assert_eq!(next.len(), 4);
    assert!(next.values().all(|&count| count == 200), "{next:?}");
}

#[test]
fn very_long_lines_stay_whole() {
    let script = "head -c 300000 /dev/zero | tr '\\0' $PMI_RANK; echo";
    let outcome = run_script(&["-n", "3"], script);
    let lines = outcome.lines();
    assert_eq!(lines.len(), 3);
    for (rank, line) in lines.iter().enumerate() {
        assert_eq!(line.len(), 300_000);
        assert!(line.bytes().all(|byte| byte == b'0' + rank as u8));
    }
}

#[test]
fn bytes_go_out_as_the_ranks_wrote_them() {
    for (ranks, out) in [("1", "abc"), ("3", "abcabcabc")] {
        assert_eq!(run(&["-n", ranks, "printf", "abc"]).out, out);
    }
    assert_eq!(run(&["-l", "-n", "2", "printf", "abc"]).lines(), ["[0] abc", "[1] abc"]);
    let outcome = run(&["-n", "3", "head", "-c", "5000000", "/dev/zero"]);
    assert_eq!((outcome.out.len(), outcome.out.trim_matches('\0')), (15_000_000, ""));
    let folder = std::env::temp_dir().join(format!("launch-bytes-{}", std::process::id()));
    let name = folder.join("all").display().to_string();
    run(&["-outfile-pattern", &name, "-n", "3", "head", "-c", "5000000", "/dev/zero"]);
    let length = std::fs::metadata(&name).unwrap().len();
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(length, 15_000_000);
}

/// Runs a script in two ranks, and returns what is shown before they end.
fn shown(options: &[&str], length: usize, script: &str) -> String {
    let mut run = begin(&mut mpiexec(&[options, &["-n", "2", "sh", "-c", script]].concat()));
    let mut bytes = vec![0; length];
    run.output().read_exact(&mut bytes).unwrap();
    run.signal(libc::SIGTERM);
    let took = run.finish().took;
    assert!(took < Duration::from_secs(10), "shown before the ranks end: {took:?}");
    String::from_utf8(bytes).unwrap()
}

/// A prompt of one rank, and a line that is begun and another rank's line behind it.
#[test]
fn a_line_that_is_not_completed_is_shown() {
    let prompt = "[ $PMI_RANK = 0 ] && printf 'name? '; sleep 20";
    let both = "[ $PMI_RANK = 1 ] && sleep 0.3 && { echo line; sleep 20; }; printf 'name? '; sleep 20";
    for hosts in [&[][..], &["-launcher", "fork", "-hosts", "a,b"]] {
        let with = |option: &[&'static str]| [hosts, option].concat();
        assert_eq!(shown(&with(&[]), 6, prompt), "name? ");
        assert_eq!(shown(&with(&["-l"]), 10, prompt), "[0] name? ");
        assert_eq!(shown(&with(&[]), 11, both), "name? line\n");
        assert_eq!(shown(&with(&["-l"]), 20, both), "[0] name? \n[1] line\n");
    }
}

#[test]
fn output_before_a_failure_is_complete() {
    let script = "[ $PMI_RANK = 1 ] && { yes | head -100000; echo last; exit 9; }; sleep 20";
    let outcome = run_script(&["-n", "2"], script);
    assert_eq!(outcome.code, Some(9));
    assert!(outcome.out.ends_with("y\nlast\n"));
    assert_eq!(outcome.out.len(), 200_005);
}

#[test]
fn standard_input_goes_to_rank_0_only() {
    let script = "while read line; do echo $PMI_RANK $line; done; echo $PMI_RANK end";
    let mut run = begin(mpiexec(&["-n", "3", "sh", "-c", script]).stdin(Stdio::piped()));
    run.type_in(b"one\ntwo\n");
    assert_eq!(run.finish().lines(), ["0 end", "0 one", "0 two", "1 end", "2 end"]);
}

#[test]
fn much_input_arrives_whole() {
    let text: Vec<u8> = (0..1_000_000_u32).map(|i| b'a' + (i % 23) as u8).collect();
    let mut run = begin(mpiexec(&["-n", "2", "sh", "-c", "cat | md5sum"]).stdin(Stdio::piped()));
    let written = text.clone();
    run.type_in(&written);
    let path = std::env::temp_dir().join(format!("launch-input-{}", std::process::id()));
    std::fs::write(&path, &text).unwrap();
    let file =
        std::process::Command::new("md5sum").stdin(std::fs::File::open(&path).unwrap()).output().unwrap();
    std::fs::remove_file(&path).unwrap();
    let outcome = run.finish();
    assert!(outcome.out.contains(std::str::from_utf8(&file.stdout).unwrap()), "{outcome:?}");
}

#[test]
fn closed_standard_streams_are_fine() {
    for closed in ["<&-", "0<&- 1>&-", "0<&- 1>&- 2>&-"] {
        let line =
            format!("{} -n 2 sh -c 'read x; echo out; echo err >&2' {closed}", crate::harness::MPIEXEC);
        let outcome = begin(std::process::Command::new("sh").args(["-c", &line])).finish();
        assert_eq!(outcome.code, Some(0), "{closed}: {outcome:?}");
    }
}

#[test]
fn a_reader_that_goes_away_ends_the_job() {
    let line = format!("{} -n 2 yes | head -1", crate::harness::MPIEXEC);
    let outcome = begin(std::process::Command::new("sh").args(["-c", &line])).finish();
    assert_eq!(outcome.out, "y\n");
    outcome.assert_nothing_left();
}

/// Runs a line of bash, in which `$MPIEXEC` is ours.
fn bash(line: &str) -> Outcome {
    let mut command = std::process::Command::new("bash");
    begin(command.args(["-c", line]).env("MPIEXEC", crate::harness::MPIEXEC)).finish()
}

/// A program that ends for want of a reader has not failed, even if a shell reports it by its code.
#[test]
fn a_reader_that_goes_away_is_named_as_such() {
    for program in ["yes", "sh -c 'yes; exit $?'"] {
        let outcome = bash(&format!("set -o pipefail; $MPIEXEC -n 2 {program} | head -1"));
        assert_eq!((outcome.code, outcome.out.as_str()), (Some(141), "y\n"), "{outcome:?}");
        assert_eq!(outcome.err.lines().count(), 4, "{outcome:?}");
        assert!(outcome.err.contains("Nobody reads the output any more (SIGPIPE)"), "{outcome:?}");
    }
}

/// The reader is a child that the shell had before, as in `exec mpiexec > >(tee log)`.
#[test]
fn output_into_a_process_of_the_shell_is_whole() {
    let file = std::env::temp_dir().join(format!("launch-substitution-{}", std::process::id()));
    let line = format!("exec $MPIEXEC -n 2 seq 1 50000 > >(sleep 0.3; cat > {})", file.display());
    let outcome = bash(&line);
    let text = std::fs::read_to_string(&file).unwrap_or_default();
    std::fs::remove_file(&file).ok();
    assert_eq!((outcome.code, text.lines().count()), (Some(0), 100_000), "{outcome:?}");
}

#[test]
fn output_that_finds_no_room_is_an_error() {
    for line in [
        "$MPIEXEC -n 1 echo hello > /dev/full",
        "$MPIEXEC -n 2 echo hello > /dev/full",
        "$MPIEXEC -n 2 sh -c 'yes | head -100000' > /dev/full",
        "$MPIEXEC -n 2 yes > /dev/full",
        "$MPIEXEC -help > /dev/full",
    ] {
        let outcome = bash(line);
        assert_eq!((outcome.code, outcome.err.lines().count()), (Some(1), 4), "{line}: {outcome:?}");
        assert!(outcome.err.contains("standard output: No space left on device"), "{line}: {outcome:?}");
    }
    let outcome = bash("$MPIEXEC -n 1 sh -c 'echo error >&2' 2> /dev/full");
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    let outcome = bash("$MPIEXEC -n 1 sh -c 'echo lost; exit 7' > /dev/full");
    assert_eq!((outcome.code, outcome.err.lines().count()), (Some(7), 8), "both are told: {outcome:?}");
}

/// Nobody reads for a while: ranks wait, mpiexec does not grow, and nothing is lost.
#[test]
fn a_slow_reader_loses_nothing() {
    let line = format!("{} -n 2 sh -c 'yes | head -5000000' | (sleep 0.5; wc -c)", crate::harness::MPIEXEC);
    let outcome = begin(std::process::Command::new("sh").args(["-c", &line])).finish();
    assert_eq!(outcome.out.trim(), "20000000", "{outcome:?}");
}

/// A terminal is standard input: what is typed reaches rank 0, and Ctrl-D ends it.
#[test]
fn a_terminal_is_forwarded() {
    let line = format!("{} -n 2 cat", crate::harness::MPIEXEC);
    let mut run =
        begin(std::process::Command::new("script").args(["-qec", &line, "/dev/null"]).stdin(Stdio::piped()));
    run.type_in(b"typed\n\x04");
    let outcome = run.finish();
    assert_eq!(outcome.out.matches("typed").count(), 2, "echo and answer: {outcome:?}");
}
