//! The messages of ranks, launchers and agents to each other at start-up.

use arbitrary::{Result, Unstructured};
use std::fmt::Debug;
use verbena_boot::card as cards;
use verbena_boot::pmix::{self, HEADER_BYTES, Header, JobData};
use verbena_boot::port::name::PortName;
use verbena_boot::spawn::{join, split};
use verbena_boot::wire::{Dialect, Inbox, Message};
use verbena_launch::pmi::{About, Server};
use verbena_launch::wire::{Command, Frames, Key, Outbox, Report, find_answer, read_opening};

const DIALECTS: [Dialect; 2] = [Dialect::One, Dialect::Two];
/// The longest message that is taken here, in bytes.
const LIMIT: usize = 4096;
/// The longest frame of an agent that is taken here, in bytes.
const FRAME_BYTES_MAX: usize = 1 << 20;
/// Ranks of the job.
const RANKS: u32 = 3;

/// A card as text: any bytes survive, whole or in parts, and of other texts no more is believed
/// than they say.
pub fn card(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        if let Ok(card) = cards::decode(text) {
            assert_eq!(cards::encode(&card), text);
        }
        if let Ok((count, rest)) = cards::announced(text) {
            assert!((1..=9999).contains(&count) && text.ends_with(rest));
        }
    }
    let (limit, card) = data.split_first().map_or((20, data), |(&first, rest)| (first as usize, rest));
    let parts = cards::split(card, limit);
    assert!(parts.iter().all(|part| part.len() <= limit.max(16)));
    let (count, first) = cards::announced(&parts[0]).expect("the first part says how many there are");
    assert_eq!(count, parts.len());
    assert_eq!(cards::decode(&format!("{first}{}", parts[1..].concat())).as_deref(), Ok(card));
}

/// The name of a port: what is read is written again alike, and short; and words survive.
pub fn port_name(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data)
        && let Ok(name) = PortName::parse(text)
    {
        let written = name.to_string();
        assert!(written.len() < 256);
        assert_eq!(PortName::parse(&written), Ok(name));
    }
    let words = split(data);
    assert_eq!(split(&join(&words)), words);
}

/// Returns the frames of a text that comes in pieces of `piece` bytes, and what is wrong after
/// them.
fn frames(data: &[u8], piece: usize, dialect: Dialect) -> (Vec<String>, Option<String>) {
    let (mut inbox, mut frames) = (Inbox::new(LIMIT), Vec::new());
    for piece in data.chunks(piece.max(1)) {
        inbox.push(piece);
        loop {
            match inbox.next(dialect) {
                Ok(Some(frame)) => frames.push(frame),
                Ok(None) => break,
                Err(error) => return (frames, Some(error.to_string())),
            }
        }
    }
    (frames, None)
}

/// Tests texts of PMI: they give the same frames however they are cut, and a message arrives as it
/// was sent.
pub fn pmi_text(data: &[u8]) {
    for dialect in DIALECTS {
        let (whole, wrong) = frames(data, data.len(), dialect);
        let (single, wrong_too) = frames(data, 1, dialect);
        // A line that is too long is noticed before its end if it comes in pieces; the frames
        // before are the same.
        assert_eq!((&whole, wrong.is_some()), (&single, wrong_too.is_some()));
        for frame in whole {
            if let Ok(message) = Message::parse(&frame, dialect) {
                assert!(!message.cmd.is_empty());
                let _: Option<i32> = message.number("rc");
            }
        }
    }
    let _ = survives(&mut Unstructured::new(data));
}

fn survives(input: &mut Unstructured<'_>) -> Result<()> {
    let mut message = Message::new("put");
    for key in ["key", "value", "port"] {
        message = message.with(key, text(input)?);
    }
    for dialect in DIALECTS {
        let (frames, wrong) = frames(&message.emit(dialect), 7, dialect);
        assert_eq!((frames.len(), wrong), (1, None));
        assert_eq!(Message::parse(&frames[0], dialect), Ok(message.clone()));
    }
    Ok(())
}

/// A text that both dialects carry: no space and no end of line.
fn text(input: &mut Unstructured<'_>) -> Result<String> {
    let len = input.int_in_range(0..=40)?;
    let text = String::from_utf8_lossy(input.bytes(len)?).into_owned();
    Ok(text.replace(|c: char| c.is_whitespace() || c.is_control(), "_"))
}

/// Tests the answers of a server of PMIx, which may be anything: what is believed of them is there.
pub fn pmix_answer(data: &[u8]) {
    if let Some(header) = data.first_chunk::<HEADER_BYTES>().and_then(|bytes| Header::parse(bytes).ok()) {
        assert_eq!(header.emit()[..12], data[..12]);
        assert!(header.length as usize <= pmix::BODY_BYTES_MAX);
    }
    if let Ok(job) = JobData::parse(data, 1) {
        assert!(job.size.is_some());
    }
    if let Ok(status) = pmix::status(data) {
        assert!(data[4..].starts_with(&status.to_be_bytes()));
    }
    if let Ok(Some(card)) = pmix::found(data, 1, "vb-1") {
        assert!(card.is_empty() || data.windows(card.len()).any(|window| window == card));
    }
}

/// Tests the launcher's side of PMI with any input from its ranks: answers are messages of the
/// dialect that the rank speaks.
pub fn pmi_server(data: &[u8]) {
    let (appnums, nodes) = (vec![0; RANKS as usize], vec![0, 0, 1]);
    let mut server = Server::new(About { job: "job".into(), appnums, nodes, values: Vec::new() });
    let mut inboxes = [0; RANKS as usize].map(|_| (Inbox::new(1 << 20), Dialect::One));
    for line in data.split_inclusive(|&byte| byte == b'\n') {
        let rank = u32::from(line[0]) % RANKS;
        server.handle_bytes(rank, if line[0] < 9 { &line[1..] } else { line });
        while let Some((to, bytes)) = server.poll_output() {
            let (inbox, dialect) = &mut inboxes[to as usize];
            inbox.push(&bytes);
            let frame = inbox.next(*dialect).expect("well formed").expect("whole");
            let message = Message::parse(&frame, *dialect).expect("a message");
            if message.number("pmi_version") == Some(2) {
                *dialect = Dialect::Two;
            }
        }
        while server.poll_event().is_some() {}
        server.someone_waits();
    }
}

/// Frames between `mpiexec` and its agents, and the lines before them.
pub fn agent(data: &[u8]) {
    popped::<Command>(data);
    popped::<Report>(data);
    if let Some(opening) = std::str::from_utf8(data).ok().and_then(read_opening) {
        assert!(!opening.key.is_empty());
    }
    let key = Key::new([7; 16]);
    if let Some((_, range)) = find_answer(data, &key) {
        assert!(data[range].ends_with(format!(" {key}\n").as_bytes()));
    }
    // A shell does not know the key, so it cannot print it.
    if data.windows(32).any(|window| window == key.to_string().as_bytes()) {
        return;
    }
    let answer = format!("{}verbena-agent 1 {key}\n", String::from_utf8_lossy(data));
    assert!(find_answer(answer.as_bytes(), &key).is_some(), "noise before the answer does not hide it");
}

/// Checks that every message that is read survives being sent.
fn popped<T: serde::de::DeserializeOwned + serde::Serialize + PartialEq + Debug>(data: &[u8]) {
    let mut frames = Frames::of_at_most(FRAME_BYTES_MAX);
    frames.push(data);
    while let Ok(Some(message)) = frames.pop::<T>() {
        let (mut outbox, mut again) = (Outbox::default(), Frames::of_at_most(FRAME_BYTES_MAX));
        outbox.push(&message);
        again.push(outbox.pending());
        assert_eq!(again.pop::<T>(), Ok(Some(message)));
    }
}
