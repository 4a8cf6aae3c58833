//! Messages as a server of OpenPMIx sends and takes them.

use super::*;

#[test]
fn the_introduction_names_who_we_are() {
    let identity = Identity {
        namespace: "job@1",
        rank: 3,
        dialect: Dialect::V3,
        security: Security::Native { user: 0, group: 0 },
    };
    let message = identity.emit();
    assert_eq!(message[..8], [0xff; 8]);
    let length = u32::from_ne_bytes(message[8..12].try_into().unwrap()) as usize;
    assert_eq!(message.len(), HEADER_BYTES + length);
    let body = b"native\0\0\0\0\x08\0\0\0\0\0\0\0\0\0job@1\0\0\0\0\x033.2.3\0v3\0\x01hash\0";
    assert_eq!(&message[HEADER_BYTES..], body);
    let munge = Identity { security: Security::Munge(b"MUNGE:x:\0".to_vec()), ..identity.clone() }.emit();
    assert!(munge[HEADER_BYTES..].starts_with(b"munge\0\0\0\0\x09MUNGE:x:\0\0job@1\0"));
    let none = Identity { security: Security::None, ..identity }.emit();
    assert!(none[HEADER_BYTES..].starts_with(b"none\0\0\0\0\0\0job@1\0"));
}

#[test]
fn headers_come_back_and_long_ones_are_refused() {
    let header = Header { index: 2, tag: 101, length: 7 };
    assert_eq!(header.emit(), [0, 0, 0, 2, 0, 0, 0, 101, 0, 0, 0, 7, 0, 0, 0, 0]);
    assert_eq!(Header::parse(&header.emit()), Ok(header));
    let long = Header { length: BODY_BYTES_MAX as u32 + 1, ..header };
    assert!(Header::parse(&long.emit()).is_err());
}

#[test]
fn requests_are_packed_as_the_server_reads_them() {
    assert_eq!(job_request(), [0, 0, 0, 1, 0]);
    assert_eq!(finalize_request(), [0, 0, 0, 1, 5]);
    let get = get_request("n", 2, "k");
    let expected = [
        &[0, 0, 0, 1, 4][..],
        &[0, 0, 0, 1, 0, 0, 0, 2, b'n', 0],
        &[0, 0, 0, 1, 0, 0, 0, 2],
        &[0, 0, 0, 1, 0, 15, 0, 0, 0, 0, 0, 0, 0, 0],
        &[0, 0, 0, 1, 0, 0, 0, 2, b'k', 0],
    ];
    assert_eq!(get, expected.concat());
    let fence = fence_request("n", true);
    assert!(fence.ends_with(b"pmix.collect\0\0\0\0\0\0\x01\x01"), "{fence:?}");
    assert!(fence_request("n", false).len() < fence.len());
    assert!(abort_request(-1, "why").windows(4).any(|word| word == [0xff; 4]));
    let commit = commit_request("k", b"value");
    assert_eq!(commit.windows(5).filter(|word| word == b"value").count(), 2, "local and remote");
}

/// An item of a job's data.
fn pair(name: &str, kind: u16, value: &[u8]) -> Vec<u8> {
    let mut item =
        [&[0, 0, 0, 1][..], &(name.len() as u32 + 1).to_be_bytes(), name.as_bytes(), &[0]].concat();
    item.extend(kind.to_be_bytes());
    item.extend_from_slice(value);
    item
}

fn job(items: &[Vec<u8>]) -> Vec<u8> {
    [&[0, 0, 0, 1, 0, 0, 0, 2, b'n', 0][..], &items.concat()].concat()
}

/// The data of one process: its rank and an application.
fn process(rank: u8, appnum: u8) -> Vec<u8> {
    let inner = [vec![0, 0, 0, 1, 0, 0, 0, rank], pair(APPNUM, kind::UINT32, &[0, 0, 0, appnum])].concat();
    let size = [&[0, 15, 0, 0, 0, 0, 0, 0, 0][..], &[inner.len() as u8]].concat();
    pair(PROCESS_DATA, kind::OBJECT, &[size, inner].concat())
}

#[test]
fn the_size_is_found_among_values_of_every_type() {
    let array =
        [&[0, 24][..], &[0, 15, 0, 0, 0, 0, 0, 0, 0, 1], b"\0\0\0\x02a\0", &[0; 4], &[0, 12, 9]].concat();
    let items = [
        pair("pmix.jobid", kind::STRING, b"\0\0\0\x02x\0"),
        pair("time", kind::TIMEVAL, &[0; 16]),
        pair("int", kind::INT, &[0, 9, 0, 0, 0, 5]),
        pair("sizes", kind::ARRAY, &[0, 4, 0, 15, 0, 0, 0, 0, 0, 0, 0, 1, 0, 15, 0, 0, 0, 0, 0, 0, 0, 7]),
        pair("infos", kind::ARRAY, &array),
        pair("who", kind::PROCESS, b"\0\0\0\x02n\0\0\0\0\x01"),
        process(0, 7),
        process(1, 3),
        pair(UNIVERSE_SIZE, kind::UINT32, &[0, 0, 0, 8]),
        pair(JOB_SIZE, kind::UINT32, &[0, 0, 0, 4]),
    ];
    let data = JobData::parse(&job(&items), 1).unwrap();
    assert_eq!(data, JobData { size: Some(4), universe_size: Some(8), appnum: Some(3) });
}

/// A server that does not know a type in our dialect stops within the item, and goes on with the
/// next.
#[test]
fn a_value_of_an_unknown_type_is_passed_over() {
    let size = pair(JOB_SIZE, kind::UINT32, &[0, 0, 0, 4]);
    let nothing = pair("new", 999, &[]);
    let within = pair("infos", kind::ARRAY, b"\0\x18\0\x0f\0\0\0\0\0\0\0\x02\0\0\0\x02a\0\0\0\0\0\x03\xe7");
    for unknown in [nothing, within] {
        assert_eq!(JobData::parse(&job(&[unknown, size.clone()]), 0).unwrap().size, Some(4));
    }
    let something = pair("new", 999, &[1, 2, 3]);
    assert_eq!(JobData::parse(&job(&[size.clone(), something.clone()]), 0).unwrap().size, Some(4));
    assert!(JobData::parse(&job(&[something, size]), 0).is_err());
    assert!(JobData::parse(&job(&[]), 0).is_err(), "no size at all");
}

#[test]
fn values_come_back_from_the_process_that_stored_them() {
    let item = |bytes: &[u8]| {
        let size = [&[0, 0, 0, 1, 0, 15, 0, 0, 0, 0, 0, 0, 0][..], &[bytes.len() as u8]].concat();
        [size, bytes.to_vec()].concat()
    };
    let who = |rank: u8| vec![0, 0, 0, 1, 0, 0, 0, 2, b'n', 0, 0, 0, 0, rank];
    let mut pairs = Packer::default();
    pairs.pair("k", b"card");
    let body = [vec![0, 0, 0, 1, 0, 0, 0, 0], item(&[who(5), pairs.done()].concat())].concat();
    assert_eq!(status(&body), Ok(0));
    assert_eq!(found(&body, 5, "k"), Ok(Some(b"card".to_vec())));
    assert_eq!(found(&body, 4, "k"), Ok(None));
    assert_eq!(found(&body, 5, "l"), Ok(None));
    assert!(found(&body[..body.len() - 1], 5, "k").is_err());
}

#[test]
fn lies_about_lengths_are_errors() {
    for body in [
        &b"\0\0\0\x01\xff\xff\xff\xff"[..],
        b"\0\0\0\x02\0\0\0\x02n\0",
        &job(&[pair("a", kind::OBJECT, &[0, 15, 255, 255, 255, 255, 255, 255, 255, 255])]),
        &job(&[pair("a", kind::ARRAY, &[0, 12, 0, 15, 255, 255, 255, 255, 255, 255, 255, 255, 1, 2])]),
        &job(&[pair("a", kind::VALUE, &[0, 21].repeat(1000))]),
        &job(&[pair("a", kind::SIZE, &[0, 3])]),
    ] {
        assert!(JobData::parse(body, 0).is_err(), "{body:?}");
    }
    assert_eq!(status(&[]), Err(Malformed::Short("the number of values")));
}
