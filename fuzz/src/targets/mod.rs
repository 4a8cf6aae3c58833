//! The targets, one table for all drivers.
//!
//! | module | what comes from where |
//! | --- | --- |
//! | [`wire`] | packets, frames and cards of the channels, from other processes |
//! | [`reliable`] | fragments and acknowledgements of `ud` |
//! | [`boot`] | PMI and PMIx, from ranks and launchers; frames of agents |
//! | [`snapshot`] | what ranks say of themselves, for reports of hangs |
//! | [`user`] | host files, command lines and settings, from users |
//! | [`pipe`] | bytes in the memory of `pipe`, from a peer gone wild |
//! | [`engine`] | packets for the engine, from a peer gone wild |
//! | [`datatype`] | arguments of datatype constructors |
//! | [`datatype_wire`] | datatypes that other processes describe |
//! | [`view`] | views of files |
//! | [`window`] | requests for windows, from origins gone wild |

pub mod boot;
pub mod datatype;
pub mod datatype_wire;
pub mod engine;
pub mod pipe;
pub mod reliable;
pub mod snapshot;
pub mod user;
pub mod view;
pub mod window;
pub mod wire;

use verbena_infiniband::{rc, ud};
use verbena_node::shm;

/// A rule that must hold of any input.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The name, also of the folder of inputs.
    pub name: &'static str,
    /// The subject of the target.
    pub about: &'static str,
    /// Inputs that `make test` tries.
    pub inputs: u64,
    /// Words of its language.
    pub words: &'static [&'static [u8]],
    /// Panics if it does not hold of these bytes.
    pub run: fn(&[u8]),
}

const PMI_WORDS: &[&[u8]] = &[
    b"cmd=",
    b"mcmd=spawn\n",
    b"endcmd\n",
    b"cmd=init pmi_version=1\n",
    b"cmd=init pmi_version=2\n",
    b" key=k",
    b";key=k;",
    b" value=v",
    b"value=a;;b;",
    b"cmd=put",
    b"cmd=get",
    b"cmd=barrier_in\n",
    b"cmd=verbena_hello\n",
    b"cmd=verbena_bye\n",
    b"cmd=verbena_exchange card=AAAA\n",
    b"cmd=finalize\n",
    b"cmd=abort exitcode=-3 message=a b\n",
    b"    22cmd=kvs-fence;;;;;;;;;",
    b"    14cmd=fullinit;",
    b"cmd=kvs-put;",
    b"cmd=kvs-get;",
    b"thrid=1;",
    b"\n",
    b";",
    b" ",
    b"000012",
    b"999999",
    b"\xc3\xa9",
];

const PMIX_WORDS: &[&[u8]] = &[
    &[0, 0, 0, 1],
    &[0, 0, 0, 1, 0, 0, 0, 2, b'n', 0],
    b"\0\0\0\x0epmix.job.size\0",
    &[0, 14, 0, 0, 0, 4],
    b"\0\0\0\x0bpmix.pblob\0",
    b"\0\0\0\x05vb-1\0",
    &[0, 27, 0, 15, 0, 0, 0, 0, 0, 0, 0, 8],
    &[0, 39, 0, 24],
    &[0, 15, 0, 0, 0, 0, 0, 0, 0, 2],
    &[0, 21],
    &[0, 4, 0, 15],
    &[255; 8],
];

const HOST_WORDS: &[&[u8]] = &[
    b"node",
    b":2",
    b",",
    b"\n",
    b"[1-3]",
    b"[01-20,7]",
    b"(x3)",
    b"slots=4",
    b" max_slots=8",
    b" # c",
    b"[::1]",
    b":65536",
    b"-",
    b"=",
    b"4294967295",
    b"localhost",
    b" ",
    b"[",
    b"]",
    b"0",
];

const COMMAND_WORDS: &[&[u8]] = &[
    b"-n\n2\n",
    b"-np\n",
    b"-host\n",
    b"a:2,b:2\n",
    b"-ppn\n1\n",
    b":\n",
    b"./program\n",
    b"-genv\nA\n1\n",
    b"-env\nB\n2\n",
    b"-x\nC=3\n",
    b"--timeout\n",
    b"1.5\n",
    b"-1\n",
    b"1e300\n",
    b"NaN\n",
    b"--launcher\nfork\n",
    b"-l\n",
    b"-wdir\n.\n",
    b"-genvlist\nA,B\n",
    b"-genvall\n",
    b"--\n",
    b"65536\n",
    b"4294967295\n",
    b"--prefix\n/x\n",
    b"-help\n",
    b"--bind-to\ncore:2\n",
    b"--map-by\nppr:2:numa:pe=2\n",
    b"--rank-by\nfill\n",
    b"-genv\nA=1\n",
    b"--mca\na\nb\n",
    b"-configfile\n",
    b"-N\n2\n",
    b"-outfile-pattern\n%r.%h\n",
    b"\xff\n",
];

const SETTING_WORDS: &[&[u8]] = &[
    b"CHANNELS=",
    b"shm,cma",
    b"\n",
    b"UNEXPECTED_BYTES_MAX=",
    b"4K",
    b"9223372036854775807",
    b"G",
    b"auto",
    b"-1",
    b"yes",
    b"LARGE=",
    b"BULK=",
    b"SETTINGS=f\n",
    b"=",
    b"#",
    b"[a]",
    b"\"x\"",
    b"rc_peers_max = 3",
    b"'",
    b"{a=1}",
    b"1e9",
    b"POLLING=",
    b"0x10",
];

macro_rules! target {
    ($name:literal, $inputs:literal, $run:path, $words:expr, $about:literal) => {
        Target { name: $name, about: $about, inputs: $inputs, words: $words, run: $run }
    };
}

static ALL: &[Target] = &[
    target!("packet", 20_000, wire::packet, &[], "the header of a packet"),
    target!("rc_frame", 20_000, rc::fuzzing::frame, &[], "the prefix of a packet of rc"),
    target!("rc_talk", 20_000, rc::fuzzing::talk, &[b"vRC1"], "offers, acceptances and hellos of rc"),
    target!(
        "rc_elided_header",
        5_000,
        rc::fuzzing::elided_header,
        &[&[1; 32], &[0; 32]],
        "headers that rc leaves out"
    ),
    target!("ud_frame", 20_000, ud::fuzzing::frame, &[b"vUD2", &[2, 1, 0]], "datagrams of ud"),
    target!("ud_header", 20_000, ud::fuzzing::header, &[&[0x80], &[1]], "headers in datagrams of ud"),
    target!("ud_card", 5_000, ud::fuzzing::card, &[&[7; 40]], "cards of ud"),
    target!(
        "pipe_talk",
        20_000,
        verbena_infiniband::pipe::fuzzing::talk,
        &[&[1], &[2], &[3]],
        "chunks and inboxes of pipe"
    ),
    target!("pipe_inbox", 3_000, pipe::inbox, &[&[1], &[2], &[3]], "what a peer may write into a pipe"),
    target!("ofi_frame", 20_000, wire::ofi_frame, &[], "what stands before messages of ofi"),
    target!(
        "ofi_card",
        20_000,
        wire::ofi_card,
        &[b"\x04\x0a\x00\x00\x01", b"\x03tcp"],
        "notices and contacts of ofi"
    ),
    target!("shm_card", 5_000, shm::fuzzing::card, &[&[3; 25]], "cards of shm"),
    target!("assembly", 3_000, reliable::assembly, &[], "groups of fragments"),
    target!("incoming", 3_000, reliable::incoming, &[], "numbers of fragments"),
    target!("outgoing", 3_000, reliable::outgoing, &[], "acknowledgements of fragments"),
    target!("boot_card", 10_000, boot::card, &[b"3:", b"AAAA", b"-_", b"9999:"], "cards as text"),
    target!(
        "port_name",
        10_000,
        boot::port_name,
        &[b"verbena1:", b"0000000000000012:", b"10.0.0.1,", b":40000:", b"00112233445566778899aabbccddeeff"],
        "names of ports, and words of spawned programs"
    ),
    target!("pmi_text", 10_000, boot::pmi_text, PMI_WORDS, "texts of PMI 1 and 2"),
    target!("pmi_server", 5_000, boot::pmi_server, PMI_WORDS, "what ranks say to mpiexec"),
    target!("pmix_answer", 10_000, boot::pmix_answer, PMIX_WORDS, "answers of a server of PMIx"),
    target!(
        "agent",
        10_000,
        boot::agent,
        &[b"verbena-mpiexec 1 ", b"verbena-agent ", b"\n", &[1, 0, 0, 0, 6, b'\n']],
        "frames between mpiexec and its agents"
    ),
    target!(
        "snapshot",
        10_000,
        snapshot::snapshot,
        &[
            b"|",
            &[1, 8, b'M', b'P', b'I', b'_', b'R', b'e', b'c', b'v', 0],
            &[0; 7],
            &[3, 1, 0, 1, 1, 2, 14, 4]
        ],
        "what ranks say of themselves"
    ),
    target!("hosts", 2_000, user::hosts, HOST_WORDS, "lists and files of hosts, allocations"),
    target!("command_line", 500, user::command_line, COMMAND_WORDS, "the command line of mpiexec"),
    target!("settings", 2_000, user::settings, SETTING_WORDS, "settings by variables and file"),
    target!("engine", 2_000, engine::packets, &[], "the engine, fed by arbitrary packets"),
    target!(
        "datatype",
        3_000,
        datatype::constructors,
        &[],
        "datatypes of any arguments, packed and unpacked"
    ),
    target!(
        "datatype_wire",
        5_000,
        datatype_wire::descriptions,
        &[&[0, 9], &[4, 1, 6, 0, 0, 1, 1], &[6, 3, 4, 2, 10, 0, 0, 1, 1], &[1, 1], &[0, 0]],
        "datatypes as bytes, from other processes"
    ),
    target!("view", 3_000, view::view, &[], "views of files"),
    target!(
        "window_request",
        20_000,
        window::request,
        &[&[0, 0, 1, 0], &[2, 2, 1, 0], &[5, 1, 0, 0], &[0; 8], &[8, 0, 0, 0, 0, 0, 0, 0]],
        "requests for windows"
    ),
    target!(
        "window_answer",
        20_000,
        window::answer,
        &[&[0, 0, 0, 0], &[1; 1], &[2; 1], &[0; 64], &[8, 0, 0, 0, 0, 0, 0, 0]],
        "answers of targets about their memory"
    ),
    target!("window_service", 1_000, window::service, &[], "a window, asked for anything by an origin"),
];

/// All targets.
pub fn all() -> &'static [Target] {
    ALL
}

/// The target of this name.
pub fn find(name: &str) -> Option<&'static Target> {
    ALL.iter().find(|target| target.name == name)
}
