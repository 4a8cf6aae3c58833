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
        directory: Some(odd),
    };
    Work {
        job: "job".into(),
        size: 9,
        parts: vec![part],
        seats: vec![Seat { rank: 7, part: 0 }, Seat { rank: 8, part: 0 }],
        environment: vec![],
        stdin: Stdin::Piped,
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
        let mut frames = Frames::default();
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
        let mut frames = Frames::default();
        frames.push(garbage);
        assert!(frames.pop::<Report>().is_err(), "{garbage:?}");
    }
    assert_eq!(Frames::default().pop::<Report>(), Ok(None));
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
    assert_eq!(Fault::from(Why::from(fault.clone())), fault);
}
