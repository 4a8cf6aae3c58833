//! The server driven by texts, without any process.

use super::*;

fn server(size: usize) -> Server {
    Server::new(About {
        job: "job".into(),
        appnums: vec![0; size],
        nodes: (0..size as u32).map(|rank| rank / 2).collect(),
        values: vec![("preset".into(), "value".into())],
    })
}

fn outputs(server: &mut Server) -> Vec<(u32, String)> {
    std::iter::from_fn(|| server.poll_output())
        .map(|(rank, bytes)| (rank, String::from_utf8(bytes.to_vec()).unwrap()))
        .collect()
}

fn ask(server: &mut Server, rank: u32, text: &str) -> String {
    server.handle_bytes(rank, text.as_bytes());
    outputs(server)
        .into_iter()
        .map(|(to, text)| {
            assert_eq!(to, rank);
            text
        })
        .collect()
}

fn counted(text: &str) -> String {
    format!("{:6}{text}", text.len())
}

#[test]
fn a_whole_pmi1_life() {
    let mut server = server(1);
    assert_eq!(server.stage(0), Stage::Fresh);
    assert_eq!(
        ask(&mut server, 0, "cmd=init pmi_version=1 pmi_subversion=1\n"),
        "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n"
    );
    assert_eq!(server.stage(0), Stage::Initialised);
    assert!(ask(&mut server, 0, "cmd=get_maxes\n").contains("vallen_max=1024"));
    assert!(ask(&mut server, 0, "cmd=get_my_kvsname\n").contains("kvsname=job"));
    assert!(ask(&mut server, 0, "cmd=put kvsname=job key=a value=b=c\n").contains("rc=0"));
    assert!(ask(&mut server, 0, "cmd=barrier_in\n").starts_with("cmd=barrier_out"));
    assert!(ask(&mut server, 0, "cmd=get kvsname=job key=a\n").ends_with("value=b=c\n"));
    assert!(ask(&mut server, 0, "cmd=get kvsname=job key=x\n").contains("rc=-1"));
    assert!(ask(&mut server, 0, "cmd=finalize\n").starts_with("cmd=finalize_ack"));
    assert_eq!(server.stage(0), Stage::Finalised);
    assert_eq!(server.poll_event(), None);
}

/// A finding of the fuzz target `pmi_server`: cards came as a PMI-1 line to a rank that was told to
/// speak PMI-2.
#[test]
fn a_rank_that_waits_keeps_its_dialect() {
    let mut server = server(2);
    assert_eq!(ask(&mut server, 0, "cmd=verbena_exchange card=A\n"), "");
    assert!(ask(&mut server, 0, "cmd=init pmi_version=2\n").contains("pmi_version=1"));
    server.handle_bytes(1, b"cmd=verbena_exchange card=B\n");
    let all = outputs(&mut server);
    assert!(all.iter().all(|(_, text)| text == "cmd=verbena_cards cards=A,B\n"), "{all:?}");
}

#[test]
fn a_whole_pmi2_life() {
    let mut server = server(1);
    assert!(ask(&mut server, 0, "cmd=init pmi_version=2 pmi_subversion=0\n").contains("pmi_version=2"));
    let full = ask(&mut server, 0, &counted("cmd=fullinit;pmirank=0;threaded=FALSE;"));
    assert!(full.contains("rank=0;size=1;appnum=0;"), "{full}");
    assert!(ask(&mut server, 0, &counted("cmd=kvs-put;key=k;value=a;;b;")).contains("rc=0"));
    assert!(ask(&mut server, 0, &counted("cmd=kvs-fence;")).contains("cmd=kvs-fence-response;rc=0;"));
    assert!(ask(&mut server, 0, &counted("cmd=kvs-get;jobid=job;key=k;")).contains("found=TRUE;value=a;;b;"));
    assert!(ask(&mut server, 0, &counted("cmd=kvs-get;jobid=job;key=z;")).contains("found=FALSE"));
    assert!(
        ask(&mut server, 0, &counted("cmd=frobnicate;thrid=5;")).contains("frobnicate-response;thrid=5;rc=1")
    );
    assert!(ask(&mut server, 0, &counted("cmd=finalize;")).contains("finalize-response;rc=0"));
    assert_eq!(server.stage(0), Stage::Finalised);
}

#[test]
fn a_barrier_lets_nobody_through_before_the_last() {
    let mut server = server(3);
    for rank in [2, 0] {
        server.handle_bytes(rank, b"cmd=barrier_in\n");
        assert_eq!(outputs(&mut server), []);
        assert!(server.someone_waits());
    }
    server.handle_bytes(1, b"cmd=barrier_in\n");
    let ranks: Vec<u32> = outputs(&mut server).iter().map(|(rank, _)| *rank).collect();
    assert_eq!(ranks, [0, 1, 2]);
    assert!(!server.someone_waits());
}

#[test]
fn an_exchange_gives_all_cards_to_all_and_can_be_repeated() {
    let mut server = server(2);
    for (a, b) in [("AA", "BB"), ("", "CC")] {
        server.handle_bytes(1, format!("cmd=verbena_exchange card={b}\n").as_bytes());
        assert_eq!(outputs(&mut server), []);
        server.handle_bytes(0, format!("cmd=verbena_exchange card={a}\n").as_bytes());
        let text = format!("cmd=verbena_cards cards={a},{b}\n");
        assert_eq!(outputs(&mut server), [(0, text.clone()), (1, text)]);
    }
}

#[test]
fn attributes_of_a_node_are_seen_on_that_node_only() {
    let mut server = server(3);
    let mut two = |rank, text: &str| ask(&mut server, rank, text);
    for rank in 0..3 {
        two(rank, "cmd=init pmi_version=2 pmi_subversion=0\n");
    }
    assert!(two(0, &counted("cmd=info-putnodeattr;key=k;value=v;")).contains("rc=0"));
    assert!(two(1, &counted("cmd=info-getnodeattr;key=k;")).contains("found=TRUE;value=v"));
    assert!(two(2, &counted("cmd=info-getnodeattr;key=k;")).contains("found=FALSE"));
    let mapping = two(2, &counted("cmd=info-getjobattr;key=PMI_process_mapping;"));
    assert!(mapping.contains("(vector,(0,1,2),(1,1,1))"), "{mapping}");
}

#[test]
fn an_exchange_against_a_barrier_is_refused_and_does_not_hang() {
    let mut server = server(2);
    server.handle_bytes(0, b"cmd=verbena_exchange card=AA\n");
    server.handle_bytes(1, b"cmd=barrier_in\n");
    let all = outputs(&mut server);
    assert!(all[0].1.contains("rc=-1"), "{all:?}");
    assert!(all[1].1.starts_with("cmd=barrier_out"), "{all:?}");
}

#[test]
fn aborts_in_both_versions() {
    let mut server = server(2);
    server.handle_bytes(0, b"cmd=abort exitcode=7 message=so long\n");
    server.handle_bytes(1, b"cmd=init pmi_version=2\n");
    server.handle_bytes(1, counted("cmd=abort;isworld=TRUE;exitcode=8;msg=bye;").as_bytes());
    assert_eq!(server.poll_event(), Some(Event::Abort { rank: 0, code: 7, reason: None }));
    assert_eq!(server.poll_event(), Some(Event::Abort { rank: 1, code: 8, reason: None }));
}

#[test]
fn a_spawn_in_blocks_is_one_order() {
    let mut server = server(1);
    let first = "mcmd=spawn\nnprocs=2\nexecname=x\ntotspawns=2\nspawnssofar=1\nargcnt=2\narg1=a b\narg2=:\n\
                 preput_num=1\npreput_key_0=PORT\npreput_val_0=tag#0 c=d\ninfo_num=2\ninfo_key_0=wdir\n\
                 info_val_0=/tmp\ninfo_key_1=colour\ninfo_val_1=red\nendcmd\n";
    let second = "mcmd=spawn\nnprocs=1\nexecname=y\ntotspawns=2\nspawnssofar=2\nargcnt=0\nendcmd\n";
    assert_eq!(ask(&mut server, 0, first), "");
    assert_eq!((ask(&mut server, 0, &second[..20]), server.poll_event()), (String::new(), None));
    assert_eq!(ask(&mut server, 0, &second[20..]), "");
    let Some(Event::Spawn { rank: 0, words, parent, .. }) = server.poll_event() else { panic!("an order") };
    let text: Vec<&str> = words.iter().map(|word| word.to_str().unwrap()).collect();
    assert_eq!(text.join(" "), "-n 2 -wdir /tmp -- x a b :: : -n 1 -- y");
    let values = verbena_boot::spawn::values_of(&parent).unwrap();
    assert_eq!(values, [("PORT".to_owned(), "tag#0 c=d".to_owned())]);
    server.answer_spawn(0, &Ok(1));
    assert_eq!(outputs(&mut server)[0].1, "cmd=spawn_result rc=0\n");
    // The next one is its own.
    let alone = second.replace("totspawns=2", "totspawns=1").replace("sofar=2", "sofar=1");
    ask(&mut server, 0, &alone);
    assert!(matches!(server.poll_event(), Some(Event::Spawn { words, .. }) if words.len() == 4));
    server.answer_spawn(0, &Err((vec![0], "no such\nprogram".into())));
    assert_eq!(outputs(&mut server)[0].1, "cmd=spawn_result rc=-1 msg=no_such_program\n");
    assert!(ask(&mut server, 0, "cmd=get_maxes\n").contains("maxes"));
    assert!(ask(&mut server, 0, "cmd=get kvsname=job key=preset\n").contains("value=value"));
}

#[test]
fn a_spawn_names_the_ranks_that_part_from_it_later() {
    let mut server = server(3);
    let (words, ranks) = (card::encode(b"x\0"), card::encode(&verbena_boot::spawn::bits(&[0, 2, 3])));
    ask(&mut server, 2, &format!("cmd=verbena_spawn words={words} parent=p ranks={ranks}\n"));
    let (words, parent) = (vec!["x".into()], "p".into());
    let expected = Event::Spawn { rank: 2, words, parent, ranks: vec![0, 2] };
    assert_eq!(server.poll_event(), Some(expected), "rank 3 is none of the job");
    ask(&mut server, 0, "cmd=verbena_spawn_parted number=7\n");
    assert_eq!(server.poll_event(), Some(Event::SpawnParted { rank: 0, number: 7 }));
}

#[test]
fn a_spawn_that_makes_no_sense_is_refused() {
    let mut server = server(1);
    assert!(ask(&mut server, 0, "mcmd=spawn\nendcmd\n").starts_with("cmd=spawn_result rc=-1"));
    assert!(ask(&mut server, 0, "cmd=spawn nprocs=1\n").starts_with("cmd=spawn_result rc=-1"));
    assert!(ask(&mut server, 0, "cmd=get_maxes\n").contains("maxes"));
    ask(&mut server, 0, "mcmd=spawn\n");
    let line = format!("arg1={}\n", "x".repeat(MESSAGE_LENGTH_MAX / 2));
    (0..3).for_each(|_| server.handle_bytes(0, line.as_bytes()));
    assert!(matches!(server.poll_event(), Some(Event::Garbled { rank: 0, .. })));
}

#[test]
fn names_are_published_and_found() {
    let mut server = server(1);
    assert!(ask(&mut server, 0, "cmd=publish_name service=s port=p\n").contains("publish_result rc=0"));
    assert!(ask(&mut server, 0, "cmd=publish_name service=s port=q\n").contains("publish_result rc=1"));
    assert!(ask(&mut server, 0, "cmd=lookup_name service=s\n").contains("port=p"));
    assert!(ask(&mut server, 0, "cmd=unpublish_name service=s\n").contains("rc=0"));
    assert!(ask(&mut server, 0, "cmd=lookup_name service=s\n").contains("rc=1"));
}

#[test]
fn names_go_with_the_rank_that_published_them() {
    let mut server = server(3);
    for rank in 0..3 {
        ask(&mut server, rank, &format!("cmd=publish_name service=s{rank} port=p\n"));
    }
    let known = |server: &mut Server| {
        let mut is_known =
            |n: &u32| ask(server, 0, &format!("cmd=lookup_name service=s{n}\n")).contains("rc=0");
        (0..3).filter(|n| is_known(n)).collect::<Vec<u32>>()
    };
    assert_eq!(known(&mut server), [0, 1, 2]);
    server.forget_names(1);
    assert_eq!(known(&mut server), [0, 2]);
    assert!(ask(&mut server, 2, "cmd=verbena_bye\n").is_empty());
    assert_eq!((known(&mut server), server.stored_bytes), (vec![0], 3));
}

#[test]
fn garbage_is_an_event_and_never_a_panic() {
    for garbage in [&b"\xff\xfe\n"[..], b"hello\n", &[b'x'; MESSAGE_LENGTH_MAX + 1]] {
        let mut server = server(1);
        server.handle_bytes(0, garbage);
        assert!(matches!(server.poll_event(), Some(Event::Garbled { rank: 0, .. })));
    }
    let mut server = server(1);
    server.handle_bytes(0, b"cmd=init pmi_version=2\nxxxxxx");
    assert!(matches!(server.poll_event(), Some(Event::Garbled { rank: 0, .. })));
}

#[test]
fn commands_without_their_fields_never_panic() {
    let one = ["init", "put", "get", "abort", "publish_name", "lookup_name", "verbena_exchange", "what"];
    let mut peer = server(1);
    for cmd in one {
        peer.handle_bytes(0, format!("cmd={cmd}\n").as_bytes());
    }
    let two = ["fullinit", "kvs-put", "kvs-get", "info-getjobattr", "info-getnodeattr", "abort", "what"];
    peer.handle_bytes(0, b"cmd=init pmi_version=2\n");
    for cmd in two {
        peer.handle_bytes(0, counted(&format!("cmd={cmd};")).as_bytes());
    }
    assert!(outputs(&mut peer).len() >= 12);
}

#[test]
fn a_rank_that_stores_without_end_is_refused_and_the_rest_goes_on() {
    let mut server = server(2);
    let value = "v".repeat(VALUE_LENGTH_MAX);
    let room = STORE_BYTES_MAX + 2 * STORE_BYTES_MAX_EACH;
    let mut refused = 0;
    for i in 0..room / VALUE_LENGTH_MAX + 10 {
        let answer = ask(&mut server, 0, &format!("cmd=put kvsname=job key=k{i} value={value}\n"));
        refused += usize::from(answer.contains("rc=-1") && answer.contains("stores_no_more"));
    }
    assert!(refused > 9, "{refused}");
    assert!(server.stored_bytes <= room, "{}", server.stored_bytes);
    assert!(ask(&mut server, 1, &format!("cmd=publish_name service=s port={value}\n")).contains("rc=-1"));
    // A value that replaces another one needs no new room.
    assert!(ask(&mut server, 1, &format!("cmd=put kvsname=job key=k0 value={value}\n")).contains("rc=0"));
    assert!(ask(&mut server, 1, "cmd=get kvsname=job key=k1\n").contains("rc=0"));
    server.handle_bytes(1, b"cmd=init pmi_version=2\n");
    outputs(&mut server);
    let put = counted(&format!("cmd=kvs-put;key=new;value={value};"));
    assert!(ask(&mut server, 1, &put).contains("rc=1;errmsg=the_launcher_stores_no_more"));
}

#[test]
fn names_that_are_taken_back_make_room() {
    let mut server = server(1);
    for _ in 0..3 {
        ask(&mut server, 0, "cmd=publish_name service=s port=p\n");
        assert_eq!(server.stored_bytes, 2);
        ask(&mut server, 0, "cmd=unpublish_name service=s\n");
        assert_eq!(server.stored_bytes, 0);
    }
}
