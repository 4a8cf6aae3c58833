//! The PMIx client against servers that we make up: one that answers as OpenPMIx does, and others
//! that answer wrongly, halfway or not at all. An error each time, in bounded time.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use verbena_boot::BootError;
use verbena_boot::client::Client;
use verbena_boot::environment::{Place, Process, Proof};
use verbena_boot::pmix::pack::Packer;
use verbena_boot::pmix::{Dialect, HEADER_BYTES, Header, kind};

/// The time that a silent server is waited for.
const LIMIT: Duration = Duration::from_millis(300);
/// Every error must come within this time.
const TIME_MAX: Duration = Duration::from_secs(5);

/// Starts a server that does this with the connection, and connects to it.
fn against(
    server: impl FnOnce(&mut TcpStream) -> std::io::Result<()> + Send + 'static,
) -> (Result<(Client, Process), BootError>, JoinHandle<()>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let serving = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        // A client that has seen an error hangs up.
        let _ = server(&mut stream);
    });
    let place =
        Place { address, dialect: Dialect::V3, proof: Proof::Native, namespace: "job@1".into(), rank: 1 };
    (Client::open_pmix(&place, LIMIT), serving)
}

/// Reads the introduction.
fn introduced(stream: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let mut header = [0; HEADER_BYTES];
    stream.read_exact(&mut header)?;
    let length = u32::from_ne_bytes(header[8..12].try_into().unwrap());
    let mut body = vec![0; length as usize];
    stream.read_exact(&mut body)?;
    Ok(body)
}

/// Reads the introduction and takes the client as number 7.
fn accept(stream: &mut TcpStream) -> std::io::Result<()> {
    let body = introduced(stream)?;
    assert!(body.starts_with(b"native\0"), "{body:?}");
    stream.write_all(&[0, 0, 0, 0, 0, 0, 0, 7])
}

/// Reads a request: its header and body.
fn request(stream: &mut TcpStream) -> std::io::Result<(Header, Vec<u8>)> {
    let mut header = [0; HEADER_BYTES];
    stream.read_exact(&mut header)?;
    let header = Header::parse(&header).unwrap();
    assert_eq!(header.index, 7);
    let mut body = vec![0; header.length as usize];
    stream.read_exact(&mut body)?;
    Ok((header, body))
}

fn answer(stream: &mut TcpStream, tag: u32, body: &[u8]) -> std::io::Result<()> {
    let header = Header { index: 7, tag, length: body.len() as u32 };
    stream.write_all(&[&header.emit()[..], body].concat())
}

fn status(status: i32) -> Vec<u8> {
    let mut packer = Packer::default();
    packer.status(status);
    packer.done()
}

fn job(size: u32) -> Vec<u8> {
    let mut packer = Packer::default();
    packer.text("job@1");
    let mut body = packer.done();
    body.extend([0, 0, 0, 1, 0, 0, 0, 14]);
    body.extend(b"pmix.job.size\0");
    body.extend(kind::UINT32.to_be_bytes());
    body.extend(size.to_be_bytes());
    body
}

/// The card of rank 0, as an answer to a request for it.
fn card(key: &str) -> Vec<u8> {
    let mut inner = Packer::default();
    inner.process("job@1", 0);
    inner.pair("other", b"x");
    inner.pair(key, b"its card");
    let inner = inner.done();
    let mut body = status(0);
    body.extend([0, 0, 0, 1]);
    body.extend(kind::UINT64.to_be_bytes());
    body.extend((inner.len() as u64).to_be_bytes());
    body.extend(inner);
    body
}

/// Serves a client as OpenPMIx does, until it says good-bye.
fn good(stream: &mut TcpStream) -> std::io::Result<()> {
    accept(stream)?;
    loop {
        // An event that nobody asked for.
        answer(stream, 0, b"an event")?;
        let (header, body) = request(stream)?;
        match body[4] {
            kind::REQUEST => answer(stream, header.tag, &job(2))?,
            kind::GET => answer(stream, header.tag, &card("vb-1"))?,
            kind::FINALIZE => return answer(stream, header.tag, &status(0)),
            _ => answer(stream, header.tag, &status(0))?,
        }
    }
}

#[test]
fn a_good_server_tells_all_and_exchanges_cards() {
    let (opened, serving) = against(good);
    let (mut client, process) = opened.unwrap();
    assert_eq!((client.kind(), process.rank, process.size, process.job.as_str()), ("pmix", 1, 2, "job@1"));
    assert_eq!(client.exchange(&process, b"mine").unwrap(), [b"its card".to_vec(), b"mine".to_vec()]);
    client.barrier().unwrap();
    client.finalize().unwrap();
    serving.join().unwrap();
}

/// Checks that a server ends in an error with these words, soon and in four parts.
fn fails(server: impl FnOnce(&mut TcpStream) -> std::io::Result<()> + Send + 'static, words: &str) {
    let start = Instant::now();
    let (opened, _serving) = against(server);
    let error = opened.err().unwrap_or_else(|| panic!("no error: {words}"));
    let text = error.to_string();
    assert!(text.contains(words) && text.lines().count() == 4, "{words}: {text}");
    assert!(start.elapsed() < TIME_MAX, "{words}");
}

/// Keeps the connection open without a word.
fn nothing() -> std::io::Result<()> {
    thread::sleep(2 * LIMIT);
    Ok(())
}

#[test]
fn a_server_that_answers_nothing() {
    fails(|_| nothing(), "does not answer");
    fails(
        |stream| {
            accept(stream)?;
            nothing()
        },
        "PMIx command 'job data', after 0.3 s",
    );
}

#[test]
fn a_server_that_answers_half_a_message() {
    let half = |cut: usize| {
        move |stream: &mut TcpStream| {
            accept(stream)?;
            let (header, _) = request(stream)?;
            let body = job(2);
            let whole = Header { index: 7, tag: header.tag, length: body.len() as u32 };
            let message = [&whole.emit()[..], &body].concat();
            stream.write_all(&message[..cut])?;
            nothing()
        }
    };
    for cut in [1, HEADER_BYTES - 1, HEADER_BYTES, HEADER_BYTES + 5] {
        fails(half(cut), "does not answer");
    }
    fails(
        |stream| {
            introduced(stream)?;
            stream.write_all(&[0, 0])?;
            nothing()
        },
        "PMIx command 'connect'",
    );
}

#[test]
fn a_server_that_answers_garbage() {
    fails(
        |stream| {
            introduced(stream)?;
            stream.write_all(b"SSH-2.0-OpenSSH_9.2\r\n")
        },
        "refused a command",
    );
    for garbage in [&b""[..], b"garbage", &[0xff; 100], &[0, 0, 0, 1, 0, 0, 0, 9]] {
        fails(
            move |stream| {
                accept(stream)?;
                let (header, _) = request(stream)?;
                answer(stream, header.tag, garbage)?;
                nothing()
            },
            "is not PMIx",
        );
    }
    fails(
        |stream| {
            accept(stream)?;
            request(stream)?;
            stream.write_all(&[0xff; 64])?;
            nothing()
        },
        "the length of a message is 4294967295",
    );
    fails(
        |stream| {
            accept(stream)?;
            let (header, _) = request(stream)?;
            answer(stream, header.tag, &job(1))?;
            nothing()
        },
        "expected more than 1 processes",
    );
}

#[test]
fn a_server_that_refuses_or_hangs_up() {
    for (status, words) in [(-12_i32, "status -12"), (-14, "a proof that this client cannot give")] {
        fails(
            move |stream| {
                introduced(stream)?;
                stream.write_all(&status.to_be_bytes())?;
                nothing()
            },
            words,
        );
    }
    fails(|stream| introduced(stream).map(drop), "Lost the line to the launcher");
    fails(accept, "Lost the line to the launcher");
}

#[test]
fn refusals_and_lost_cards_in_the_exchange() {
    let exchange = |at: u8, reply: Vec<u8>| {
        let (opened, _serving) = against(move |stream| {
            accept(stream)?;
            loop {
                let (header, body) = request(stream)?;
                let usual = if body[4] == kind::REQUEST { job(2) } else { status(0) };
                answer(stream, header.tag, if body[4] == at { &reply } else { &usual })?;
            }
        });
        let (mut client, process) = opened.unwrap();
        client.exchange(&process, b"mine").unwrap_err()
    };
    assert!(matches!(exchange(kind::COMMIT, status(-1)), BootError::RefusedByPmix { .. }));
    assert!(matches!(exchange(kind::FENCE, status(-24)), BootError::RefusedByPmix { .. }));
    assert!(matches!(exchange(kind::GET, status(-46)), BootError::RefusedByPmix { .. }));
    assert!(matches!(exchange(kind::GET, status(0)), BootError::BadCard { rank: 0, .. }));
    assert!(matches!(exchange(kind::GET, card("vb-9")), BootError::BadCard { rank: 0, .. }));
    assert!(matches!(exchange(kind::GET, b"garbage".to_vec()), BootError::NotPmix { .. }));
}

#[test]
fn an_abort_waits_for_a_silent_server_only_a_moment() {
    let (opened, _serving) = against(|stream| {
        accept(stream)?;
        let (header, _) = request(stream)?;
        answer(stream, header.tag, &job(2))?;
        let (_, body) = request(stream)?;
        assert_eq!(body[4], kind::ABORT);
        nothing()
    });
    let start = Instant::now();
    assert!(opened.unwrap().0.abort(7, "why").is_err());
    assert!(start.elapsed() < TIME_MAX);
}

#[test]
fn a_server_that_is_not_there() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let place = Place { address, dialect: Dialect::V21, proof: Proof::None, namespace: "n".into(), rank: 0 };
    let text = Client::open_pmix(&place, LIMIT).unwrap_err().to_string();
    assert!(text.contains("PMIX_SERVER_URI at 127.0.0.1"), "{text}");
}
