//! Launchers that answer wrongly, are cut off, or send garbage: an error each time, never a panic
//! or a hang.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::fd::IntoRawFd;
use std::os::unix::net::UnixStream;
use std::thread;
use verbena_boot::BootError;
use verbena_boot::client::Client;
use verbena_boot::environment::{Launched, Line, Process, Speech};
use verbena_boot::spawn::{Order, Program, SpawnError};

/// Starts a client against a launcher that gives these answers, one for each message, and then
/// hangs up.
fn against(answers: Vec<&'static [u8]>, speech: Speech) -> Result<(Client, Process), BootError> {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    thread::spawn(move || {
        for answer in answers {
            let mut bytes = [0; 4096];
            if theirs.read(&mut bytes).unwrap_or(0) == 0 || theirs.write_all(answer).is_err() {
                return;
            }
        }
        theirs.shutdown(Shutdown::Write).unwrap();
        // What the client still sends is read: a reset line would hide the answers from it.
        let _ = theirs.read_to_end(&mut Vec::new());
    });
    let line = Line::Descriptor { fd: ours.into_raw_fd(), rank: 0, size: 2 };
    Client::open(Launched { line, speech, job: None, is_spawned: false })
}

const INIT: &[u8] = b"cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n";
const MAXES: &[u8] = b"cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024\n";
const APPNUM: &[u8] = b"cmd=appnum appnum=3\n";
const UNIVERSE: &[u8] = b"cmd=universe_size size=8\n";
const SPACE: &[u8] = b"cmd=my_kvsname kvsname=space\n";

fn good_start(more: &[&'static [u8]]) -> (Client, Process) {
    against([&[INIT, MAXES, APPNUM, UNIVERSE, SPACE], more].concat(), Speech::Pmi1).unwrap()
}

#[test]
fn a_good_launcher_tells_all() {
    let (client, process) = good_start(&[]);
    assert_eq!(client.kind(), "pmi-1");
    let job = "space".to_owned();
    assert_eq!(
        process,
        Process { rank: 0, size: 2, universe_size: Some(8), appnum: Some(3), job, parent: None }
    );
}

#[test]
fn a_launcher_that_only_has_pmi2_gets_pmi2() {
    let answers: Vec<&[u8]> = vec![
        b"cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=-1\n",
        b"cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n",
        b"    50cmd=fullinit-response;rank=1;size=2;appnum=0;rc=0;",
        b"    40cmd=job-getid-response;jobid=space;rc=0;",
        b"    46cmd=info-getjobattr-response;found=FALSE;rc=0;",
    ];
    let (client, process) = against(answers, Speech::Pmi1).unwrap();
    assert_eq!(client.kind(), "pmi-2");
    let job = "space".to_owned();
    assert_eq!(
        process,
        Process { rank: 1, size: 2, universe_size: None, appnum: Some(0), job, parent: None }
    );
}

#[test]
fn garbage_instead_of_a_greeting() {
    for garbage in [&b"\xff\xfe\xfd\n"[..], b"hello\n", b"\n", b"cmd=\n", b"SSH-2.0-OpenSSH_9.2\r\n"] {
        for speech in [Speech::Pmi1, Speech::Pmi2] {
            let error = against(vec![garbage], speech).unwrap_err();
            assert!(matches!(error, BootError::Garbled { .. }), "{error:?}");
            assert_eq!(error.to_string().lines().count(), 4, "{error}");
        }
    }
}

#[test]
fn another_answer_than_asked_for() {
    let error = against(vec![b"cmd=put_result rc=0\n"], Speech::Pmi1).unwrap_err();
    assert!(matches!(error, BootError::Unexpected { .. }), "{error:?}");
    let error = against(vec![INIT, APPNUM], Speech::Pmi1).unwrap_err();
    assert!(matches!(error, BootError::Unexpected { .. }), "{error:?}");
}

#[test]
fn a_launcher_that_hangs_up_at_any_point() {
    let answers = [INIT, MAXES, APPNUM, UNIVERSE, SPACE];
    for count in 0..answers.len() {
        let error = against(answers[..count].to_vec(), Speech::Pmi1).unwrap_err();
        assert!(matches!(error, BootError::Lost { .. }), "after {count}: {error:?}");
    }
}

#[test]
fn refusals_and_bad_cards_in_the_exchange() {
    let (put, fence): (&[u8], &[u8]) = (b"cmd=put_result rc=0 msg=success\n", b"cmd=barrier_out\n");
    let error_of = |answers: &[&'static [u8]]| {
        let (mut client, process) = good_start(answers);
        client.exchange(&process, b"card").unwrap_err()
    };
    assert!(matches!(error_of(&[b"cmd=put_result rc=-1 msg=full\n"]), BootError::Refused { .. }));
    assert!(matches!(error_of(&[put, fence, b"cmd=get_result rc=-1 msg=none\n"]), BootError::Refused { .. }));
    assert!(matches!(error_of(&[put, fence, b"cmd=get_result rc=0\n"]), BootError::Unexpected { .. }));
    for value in [&b"cmd=get_result rc=0 value=zzz\n"[..], b"cmd=get_result rc=0 value=1:A\n"] {
        assert!(matches!(error_of(&[put, fence, value]), BootError::BadCard { rank: 1, .. }));
    }
}

#[test]
fn our_own_launcher_with_the_wrong_number_of_cards() {
    let speech = || Speech::Verbena { job: "j".into(), appnum: 0, universe_size: None, parent: None };
    for cards in [&b"cmd=verbena_cards cards=AA\n"[..], b"cmd=verbena_cards cards=AA,AA,AA\n"] {
        // The greeting gets no answer of its own, so the cards come before the client has given its
        // card.
        let (mut client, process) = against(vec![cards], speech()).unwrap();
        let error = client.exchange(&process, b"card").unwrap_err();
        assert!(matches!(error, BootError::Unexpected { .. }), "{error:?}");
    }
}

#[test]
fn a_refused_spawn_says_why_in_the_launchers_words() {
    let why =
        "mpiexec:_Could_not_start_the_program._On:_/no/such/place/where/a/program/could/be/found,_rank_0";
    for (fields, wanted) in [
        (format!("rc=-1 msg={why}"), why.replace('_', " ")),
        ("rc=-1".to_owned(), "it gives no reason (rc=-1)".to_owned()),
    ] {
        let answer = format!("cmd=spawn_result {fields}\n").leak().as_bytes();
        let (client, _) = good_start(&[answer]);
        let Client::Pmi1(mut client) = client else { panic!("no PMI-1") };
        let program = Program { count: 1, program: "x".into(), ..Program::default() };
        let order = Order { programs: vec![program], parent: "port".into(), ..Order::default() };
        let error = client.spawn(&order).unwrap_err();
        let SpawnError::Refused(ranks, words) = error else { panic!("{error:?}") };
        assert_eq!((ranks, words), (vec![], format!("the launcher refused: {wanted}")));
    }
}
