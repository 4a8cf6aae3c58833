//! The protocol without a wire.

use super::*;

fn work() -> Work {
    use std::os::unix::ffi::OsStringExt;
    let odd = OsString::from_vec(vec![b'x', 0xff, b'\n']);
    let part = Part {
        count: 2,
        program: odd.clone(),
        arguments: vec!["a b".into(), odd.clone()],
        environment: vec![("N".into(), odd.clone())],
        directory: Some(odd.clone()),
        path: Some(odd),
    };
    Work {
        held: vec![0],
        job: "job".into(),
        size: 9,
        parts: vec![part],
        assignments: vec![Assignment { rank: 7, part: 0 }, Assignment { rank: 8, part: 0 }],
        environment: vec![],
        stdin: Stdin::Piped,
        binding: Binding { each: Some(2), reported: true, ..Binding::default() },
        others: Load::read("0-3*1/4*0.25").unwrap(),
        universe_size: 9,
        parent: Some("port".into()),
    }
}

#[test]
fn messages_survive_the_wire_in_any_pieces() {
    let commands = [
        Command::Start(work()),
        Command::Mail { ranks: vec![1, 2], bytes: vec![0, 10, 255].into() },
        Command::Input(vec![]),
        Command::Hold { stream: 1, held: true },
        Command::Finish,
    ];
    let mut out = Outbox::default();
    commands.iter().for_each(|command| out.push(command));
    for piece in [1, 2, 7, 1000] {
        let mut frames = Frames::of_at_most(COMMAND_BYTES_MAX);
        let mut heard = Vec::new();
        for bytes in out.pending().chunks(piece) {
            frames.push(bytes);
            while let Some(command) = frames.pop::<Command>().unwrap() {
                heard.push(command);
            }
        }
        assert_eq!(heard, commands, "in pieces of {piece}");
    }
}

#[test]
fn what_is_sent_is_gone() {
    let mut out = Outbox::default();
    out.push_line("abc\n");
    out.consume(1);
    assert_eq!(out.pending(), b"bc\n");
    out.consume(3);
    assert_eq!(out.pending(), b"");
}

#[test]
fn garbage_is_an_error_and_no_panic() {
    for garbage in
        [&b"hello, this is a login shell\n"[..], &[255; 9], &[1, 0, 0, 0, 99, b'\n'], &[0, 0, 0, 0, 7]]
    {
        let mut frames = Frames::of_at_most(COMMAND_BYTES_MAX);
        frames.push(garbage);
        assert!(frames.pop::<Report>().is_err(), "{garbage:?}");
    }
    assert_eq!(Frames::of_at_most(COMMAND_BYTES_MAX).pop::<Report>(), Ok(None));
}

#[test]
fn the_answer_is_found_behind_what_a_login_shell_prints() {
    let key = Key::new([0xab; 16]);
    let opening = opening(&key, "job-1");
    let read = read_opening(&opening).unwrap();
    assert_eq!((read.version, read.job), (VERSION, "job-1"));
    let noise = "Welcome to verbena-agent land\nmotd ";
    let all = format!("{noise}{}\u{1}frames", answer(read.key));
    let (version, place) = find_answer(all.as_bytes(), &key).unwrap();
    assert_eq!((version, &all[..place.start], &all[place.end..]), (VERSION, noise, "\u{1}frames"));
    assert_eq!(find_answer(all.as_bytes(), &Key::new([1; 16])), None);
    // A terminal that echoes the opening is not taken for an agent.
    assert_eq!(find_answer(opening.as_bytes(), &key), None);
}

#[test]
fn an_opening_of_any_version_is_read() {
    assert_eq!(read_opening("verbena-mpiexec 7 k j more\n").unwrap().version, 7);
    for line in ["", "ls", "verbena-mpiexec x k j", "verbena-agent 1 k j", "verbena-mpiexec 1"] {
        assert_eq!(read_opening(line), None, "{line}");
    }
}

#[test]
fn a_fault_survives() {
    let fault = Fault::new("a", "b", "c", "d");
    assert_eq!(Fault::from(SentFault::from(fault.clone())), fault);
}

#[test]
fn a_long_frame_is_refused_before_it_is_kept() {
    let mut frames = Frames::of_at_most(REPORT_BYTES_MAX);
    frames.push(&(REPORT_BYTES_MAX as u32 + 1).to_le_bytes());
    assert!(frames.pop::<Report>().unwrap_err().contains("bytes"));
}

#[test]
fn a_host_tells_of_its_own_ranks_only_and_of_what_can_be() {
    let why = || SentFault::from(Fault::new("a", "b", "c", "d"));
    let own = [1, 4, 7];
    let exit = |exit| Report::Ended { rank: 4, exit, borne: false };
    for good in [
        Report::Started { rank: 1, pid: 5 },
        Report::Bound { rank: 1, text: "bound to processor 3".into() },
        Report::Loaded { rank: 1, load: Load::read("3*1").unwrap() },
        Report::NotStarted { ranks: vec![4, 7], why: why() },
        Report::Said { rank: 7, bytes: vec![] },
        Report::Wrote { rank: 7, stream: 1, bytes: vec![] },
        Report::Closed { rank: 7, stream: 0 },
        exit(Exit::Code(255)),
        exit(Exit::Signal(64)),
        Report::Acknowledged { rank: 1, dead: vec![0, 999] },
        Report::Refused { rank: 7, dead: 0 },
        Report::Done,
    ] {
        assert!(good.is_credible(&own), "{good:?}");
    }
    for bad in [
        Report::Started { rank: 999, pid: 5 },
        Report::Bound { rank: 999, text: String::new() },
        Report::Loaded { rank: 999, load: Load::default() },
        Report::Bound { rank: 1, text: "\u{1b}[2J".into() },
        Report::NotStarted { ranks: vec![], why: why() },
        Report::NotStarted { ranks: vec![1, 2], why: why() },
        Report::Said { rank: 0, bytes: vec![] },
        Report::Wrote { rank: 2, stream: 1, bytes: vec![] },
        Report::Wrote { rank: 1, stream: 2, bytes: vec![] },
        Report::Closed { rank: 8, stream: 0 },
        Report::Ended { rank: 0, exit: Exit::Code(0), borne: true },
        Report::Acknowledged { rank: 0, dead: vec![1] },
        Report::Refused { rank: 999, dead: 1 },
        exit(Exit::Code(256)),
        exit(Exit::Code(-1)),
        exit(Exit::Signal(i32::MAX)),
        exit(Exit::Signal(0)),
        Report::InputTaken { open: false },
    ] {
        assert!(!bad.is_credible(&own), "{bad:?}");
    }
    assert!(Report::InputTaken { open: true }.is_credible(&[0]));
}
