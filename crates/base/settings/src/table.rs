//! The table. An entry reads: name, type with default and range, category, unit, scope, until when
//! it may change, and the source; the comment above it is the help text that a user reads.

use crate::kinds::{Automatic, Choice, Flag, Names, Number, Text};
use crate::setting::{About, Category, Scope, Setting, Unit, When};

macro_rules! settings {
    ($($(#[doc = $help:literal])+ $name:ident: $type:ident($($argument:expr),*), $category:ident, $unit:ident, $scope:ident, $when:ident, $source:literal;)*) => {
        $(
            $(#[doc = $help])+
            pub static $name: $type = $type::new(
                About {
                    name: concat!("VERBENA_", stringify!($name)),
                    help: concat!($($help),+).trim_ascii(),
                    source: $source,
                    category: Category::$category,
                    unit: Unit::$unit,
                    scope: Scope::$scope,
                    when: When::$when,
                },
                $($argument),*
            );
        )*

        /// Every setting, in the order of the table.
        pub static ALL: &[&(dyn std::ops::Deref<Target = Setting> + Sync)] = &[$(&$name),*];
    };
}

settings! {
    /// a file of settings in TOML: a line for each, as in coll_bcast_whole_bytes_max = 65536; the
    /// environment goes before it
    SETTINGS: Text("none"), Startup, None, Process, Start, "";
    /// speak this version of PMI with the launcher, without Verbena's extension; auto: what the
    /// launcher speaks
    PMI: Choice(&["auto", "1", "2"], 0), Startup, None, Process, Start, "";
    /// 0: where a rank crashed is not told; a program that handles SIGSEGV and the like by itself
    /// is left alone anyway
    CRASH_REPORTS: Flag(true), Startup, None, Process, Start, "";
    /// go on when others are killed: auto, if the program asks for it; survive, always; end, never
    LOST_RANKS: Choice(&["auto", "survive", "end"], 0), Startup, None, Process, Start, "";
    /// the error handler that MPI_COMM_WORLD, MPI_COMM_SELF and the communicator with a parent have
    /// first, and that holds before they are there; mpiexec sets it by -initial-errhandler
    INITIAL_ERRHANDLER: Choice(&["mpi_errors_are_fatal", "mpi_errors_abort", "mpi_errors_return"], 0), Startup, None, Process, Start, "MPI-5.0, 9.3 and 11.8.4";
    /// kinds of memory that the program asks for, with commas between, such as mpi:alloc_mem; those
    /// that are there are named by the info key mpi_memory_alloc_kinds. mpiexec sets it by
    /// -memory-alloc-kinds
    MEMORY_KINDS: Text("mpi,system"), Startup, None, Process, Start, "MPI-5.0, 12.4.3";
    /// what each process tells of itself: info for its channels, over which it reached whom and
    /// why; debug for its settings and counts too
    LOG: Choice(&["none", "info", "debug"], 0), Startup, None, Process, Start, "";
    /// the log goes to this file with the rank at the end, as in FILE.3
    LOG_FILE: Text("standard error"), Startup, None, Process, Start, "";
    /// how mpiexec starts on other hosts: ssh, srun, fork, or a command that is called as COMMAND
    /// HOST COMMAND-LINE
    LAUNCHER: Text("ssh, or srun inside an allocation of Slurm"), Launcher, None, Process, Start, "MPI-5.0, 11.5";
    /// how long mpiexec waits for a host that has no address yet before it starts ssh all the same;
    /// 0: not at all
    RESOLVE_SECONDS: Automatic("10, or 120 under Kubernetes' mpi-operator", 0..=1 << 30), Launcher, Seconds, Process, Start, "";
    /// the directory of the names that programs started apart publish; hosts may share it
    NAMES: Text("verbena-names in XDG_RUNTIME_DIR, else in /tmp with the user's number"), Launcher, None, Process, Start, "MPI-5.0, 11.9.4";
    /// how long MPI_Comm_connect waits for the other side to accept, unless the info key timeout
    /// says otherwise
    CONNECT_SECONDS: Number(180, 1..=1 << 30), Launcher, Seconds, Process, Start, "MPI-5.0, 11.9.3";
    /// how long ranks have to end after a SIGTERM to mpiexec before they are killed; a second
    /// SIGTERM kills them at once; 0: as long as they like
    TERM_GRACE_SECONDS: Number(10, 0..=1 << 30), Launcher, Seconds, Process, Start, "";
    /// after so long without progress of any rank mpiexec says who waits for whom; it ends nothing.
    /// 0: never. A job that waits for a rank that computes has ten times as long. Under other
    /// launchers each rank says for what it has waited so long, if this is set
    HANG_SECONDS: Number(60, 0..=1 << 30), Launcher, Seconds, Process, Start, "";
    /// the channels to use; without cma nothing is copied between processes by system calls
    CHANNELS: Names("all that work here", &["loopback", "shm", "cma", "rc", "ud", "pipe", "ofi"]), Channel, None, Process, Start, "";
    /// 0 leaves out the channel cma (process_vm_readv and process_vm_writev)
    CMA: Flag(true), Channel, None, Process, Start, "";
    /// the shortest message that cma is used for; shorter ones go through shared memory
    CMA_BYTES_MIN: Number(12 << 10, 1..=1 << 40), Channel, Bytes, Process, Start, "paper 3, 4.1; measured with verbena bench";
    /// engines beside the first one, for messages between two processes on communicators of one
    /// node other than MPI_COMM_WORLD: threads that use different ones do not wait for each other.
    /// The least value of the node's processes counts; there are none if one of them does not ask
    /// for MPI_THREAD_MULTIPLE, or traces messages
    THREAD_ENGINES: Number(4, 0..=7), Channel, None, Process, Start, "MPI-5.0, 11.6";
    /// size of each ring in shared memory; the next power of two counts
    SHM_RING_BYTES: Automatic("by the number of ranks on the node and the free memory", 1..=1 << 28), Channel, Bytes, Node, Start, "";
    /// bytes of the cells of each rank, in which messages of some kilobytes go through shared
    /// memory; pages are taken when they are first used. 0: there are none
    SHM_CELLS: Automatic("by the number of ranks on the node and the free memory", 0..=1 << 30), Channel, Bytes, Node, Start, "";
    /// the shortest message that goes in a cell; where CMA_BYTES_MIN is set, longer ones than that
    /// do not
    SHM_CELL_BYTES_MIN: Number(2 << 10, 64..=1 << 30), Channel, Bytes, Process, Start, "measured with verbena bench";
    /// how a cell is written that this process did not receive last: through the caches or past
    /// them; auto: by what that costs just now
    SHM_CELL_STORES: Choice(&["auto", "plain", "nontemporal"], 0), Channel, None, Process, Start, "";
    /// 0: windows have no memory that all ranks of a node have mapped. MPI_Win_allocate and
    /// MPI_Alloc_mem then take private memory, and processes reach each other's windows by system
    /// calls or messages
    WINDOW_HEAP: Flag(true), Channel, None, Node, Start, "MPI-5.0, 12.2.2 and 12.2.3";
    /// 0: puts and gets between nodes go as messages, which the target must look at. Otherwise the
    /// origin's device writes and reads the target's memory where the channel rc leads there, or
    /// ofi if its provider can
    WINDOW_DEVICE: Flag(true), Channel, None, Process, Start, "MPI-5.0, 12.3";
    /// the verbs device of the channel rc, with a port if need be, as in mlx5_0:1; of several,
    /// separated by commas, the first RC_RAILS that work
    RC_DEVICE: Text("the active port with the highest rate that works"), Channel, None, Process, Start, "";
    /// ports that rc uses at most, each as a channel of its own (rc, rc.1, ...): when one fails,
    /// another takes its place; those of RC_DEVICE in its order, else the quickest first
    RC_RAILS: Automatic("those of RC_DEVICE, else all active ports of the best one's rate and sort", 1..=8), Channel, None, Process, Start, "paper 4, 4.2; paper 5";
    /// the entry of the port's table of addresses that rc uses; verbena info shows the table
    RC_GID_INDEX: Automatic("RoCE v2 before RoCE v1, and IPv4 before IPv6", 0..=255), Channel, None, Process, Start, "InfiniBand specification, annexes A16 and A17";
    /// the largest payload of a packet on the wire; the smaller of both ends counts
    RC_MTU_BYTES: Automatic("what the port has", 256..=4096), Channel, Bytes, Process, Start, "InfiniBand specification, 9.2";
    /// the entry of the port's table of partition keys that rc uses
    RC_PARTITION_INDEX: Number(0, 0..=65535), Channel, None, Process, Start, "InfiniBand specification, 10.9";
    /// the service level of all packets of rc
    RC_SERVICE_LEVEL: Number(0, 0..=15), Channel, None, Process, Start, "paper 1, 8; InfiniBand specification, 7.6";
    /// the traffic class (with RoCE v2: the type of service) of all packets of rc
    RC_TRAFFIC_CLASS: Number(0, 0..=255), Channel, None, Process, Start, "paper 1, 8; InfiniBand specification, 8.3";
    /// pieces of work under way on one queue pair of rc, RDMA reads apart
    RC_WORK_MAX: Number(128, 2..=32768), Channel, None, Process, Start, "paper 1, 2.2";
    /// receive buffers that the device holds for rc, in the shared queue or for one queue pair
    RC_RECEIVES_MAX: Automatic("4096 in a shared queue, 128 for one queue pair", 1..=1 << 20), Channel, None, Process, Start, "paper 1, 3.1";
    /// RDMA reads under way on one queue pair of rc
    RC_READS_MAX: Automatic("what the device can do, but at most 16", 1..=255), Channel, None, Process, Start, "InfiniBand specification, 11.2.4.2";
    /// without an acknowledgement a queue pair sends again after 4.096 us times two to this power;
    /// 0: never
    RC_ACK_TIMEOUT: Number(14, 0..=31), Channel, None, Process, Start, "InfiniBand specification, 9.7.6.1.3; 12 to 14 measured best on Soft-RoCE with 1% loss";
    /// how often it sends again before the peer counts as lost; Soft-RoCE takes 7 for ever
    RC_RETRIES: Number(6, 0..=7), Channel, None, Process, Start, "InfiniBand specification, 9.7.6.1.3";
    /// how often it tries again if the peer has no receive buffer; 7: for ever
    RC_RECEIVER_RETRIES: Number(7, 0..=7), Channel, None, Process, Start, "InfiniBand specification, 9.7.5.2.8";
    /// code of the time that a peer waits before: 1 is 0.01 ms, 12 0.64 ms, 31 492 ms, 0 655 ms
    RC_RECEIVER_TIMER: Number(12, 0..=31), Channel, None, Process, Start, "InfiniBand specification, 9.7.5.2.8";

    /// slots of each one-way ring of the channel rc; paper 1 has 100
    RC_SLOTS: Number(32, 2..=65535), Channel, Slots, Process, Start, "paper 1, 4.1 and 6.4";
    /// size of a slot; a packet that needs more takes several in a row. Paper 1 has 2048
    RC_SLOT_BYTES: Number(2 << 10, 192..=4 << 20), Channel, Bytes, Process, Start, "paper 1, 5";
    // With 2048 messages of 2 to 16 KiB go by rendezvous: 4 KiB took twice as long on Soft-RoCE.
    /// size of a receive buffer, and of the largest packet that goes by send and receive; paper 1
    /// has 2048
    RC_BUFFER_BYTES: Automatic("for 16 KiB up to 8 ranks, then less, 2048 from 64 on", 192..=4 << 20), Channel, Bytes, Job, Start, "paper 1, 3.1 and 5; measured with verbena-papers rc";
    /// the longest message that rc sends eagerly; paper 1 has 2048 with all headers
    RC_EAGER_BYTES_MAX: Automatic("what fits a receive buffer", 0..=4 << 20), Channel, Bytes, Process, Start, "paper 1, 6.2.1";
    /// receive buffers posted for each connection, and so the packets that the peer may send by
    /// send and receive before it hears of credits
    RC_CREDITS: Automatic("4096 by the number of ranks, but 4 to 32", 4..=65535), Channel, Packets, Process, Start, "paper 1, 3.1";
    /// 0 posts the receive buffers to each queue pair and not to one shared receive queue
    RC_SHARED_RECEIVES: Flag(true), Channel, None, Process, Start, "paper 1, 3.1; paper 4, 2.1";
    /// receive buffers in the shared queue, however many connections there are; fewer while these
    /// have fewer credits together. If the device says that it runs low, half as many more are
    /// posted, up to RC_RECEIVES_MAX; while it is empty, senders wait (RC_RECEIVER_RETRIES)
    RC_POOL_RECEIVES: Automatic("1 MiB by the buffer's length, but at least 64", 4..=1 << 20), Channel, Packets, Process, Start, "paper 4, 2.1 and 4.1";
    /// buffers for sending by send and receive, over all connections
    RC_SEND_BUFFERS_MAX: Number(256, 2..=1 << 20), Channel, Packets, Process, Start, "paper 1, 3.1";
    /// who comes into the polling set, and so gets a ring: nobody, the first that are heard, those
    /// that are heard most, those that the program names (info key verbena_rc_poll of a
    /// communicator, a list of ranks), or all
    RC_POLL_POLICY: Choice(&["none", "first", "most", "hinted", "all"], 1), Channel, None, Process, Start, "paper 1, 4.7";
    /// the order in which the polling set is polled
    RC_POLL_ORDER: Choice(&["sequential", "circular", "priority"], 0), Channel, None, Process, Start, "paper 1, 4.7";
    /// the size of the polling set at most, unless all are in it
    RC_POLL_SET_MAX: Number(16, 0..=1 << 20), Channel, Ranks, Process, Start, "paper 1, 3.3 and 6.5";
    /// packets received between two looks at who is heard most; for the policy most and the order
    /// priority
    RC_POLL_REVIEW_EVERY: Number(1024, 1..=1 << 30), Channel, Packets, Process, Start, "paper 1, 4.7";
    /// peers whose rings this process writes into at most; more offers are declined
    RC_SENDER_RINGS_MAX: Number(64, 0..=1 << 20), Channel, Ranks, Process, Start, "paper 1, 4.6";
    /// how a packet in a ring is noticed: by flags in it, or by a head pointer that a second RDMA
    /// write brings
    RC_NOTIFY: Choice(&["piggyback", "pointer"], 0), Channel, None, Job, Start, "paper 2, 4.2 and 4.3";
    /// of the RDMA writes and inline sends, every how many-th is signalled
    RC_SIGNAL_EVERY: Number(32, 1..=1 << 20), Channel, Packets, Process, Start, "paper 1, 4.3";
    /// packets up to this size are copied into the descriptor, if the device takes them
    RC_INLINE_BYTES_MAX: Number(512, 0..=1 << 20), Channel, Bytes, Process, Start, "measured with verbena bench";
    /// a peer that does not answer for so long when a connection is made is given up; it answers
    /// only inside MPI
    RC_CONNECT_SECONDS_MAX: Number(3600, 1..=1 << 30), Channel, Seconds, Process, Start, "";
    /// while a process waits, a connected peer of rc that was silent for so long is asked whether
    /// it is there (its device answers); 0: never
    RC_KEEPALIVE_SECONDS: Number(5, 0..=1 << 30), Channel, Seconds, Process, Start, "InfiniBand specification, 9.4.3 and 9.9.2";
    /// if the device says for so long neither that this was answered nor that it failed, the peer
    /// is given up
    RC_KEEPALIVE_SECONDS_MAX: Number(60, 1..=1 << 30), Channel, Seconds, Process, Start, "";
    /// as RC_CONNECT_SECONDS_MAX, for a peer that another channel reaches too, or that a channel
    /// has just lost; it answers only inside MPI
    FAILOVER_SECONDS_MAX: Number(600, 1..=1 << 30), Channel, Seconds, Process, Start, "paper 4, 4.2";
    /// the shortest message that is read or written by RDMA between processes; shorter ones are
    /// copied
    RC_MEMORY_BYTES_MIN: Number(16 << 10, 1..=1 << 40), Channel, Bytes, Process, Start, "paper 2, 5";
    // Soft-RoCE acknowledges a piece as a whole. With 256 KiB the sender's timer ran out while a
    // piece was on the wire, and all of it went twice.
    /// the longest piece of a long message that is read or written at a time; packets go in between
    RC_PIECE_BYTES: Number(64 << 10, 1 << 10..=1 << 30), Channel, Bytes, Process, Start, "measured with verbena-papers rc";
    /// whether messages are read or written as took less so far, learnt by their length; the four
    /// costs below decide until that is known, or always. On Soft-RoCE, which takes no mixture, all
    /// are read
    RC_LEARN: Flag(true), Channel, None, Process, Start, "paper 2, 6 and figure 15";
    /// whether streams of packets go through rings or by send and receive as took less so far; else
    /// all go through rings while these have room
    RC_LEARN_PATH: Flag(true), Channel, None, Process, Start, "paper 1, 4.4";
    /// what the smallest RDMA read takes: with the three below this decides between reading and
    /// writing
    RC_READ_START_NS: Number(45_000, 0..=1 << 30), Channel, Nanoseconds, Process, Start, "paper 2, 6 and figure 15; measured on Soft-RoCE";
    /// what each byte adds to an RDMA read
    RC_READ_BYTE_PS: Number(12_900, 0..=1 << 30), Channel, Picoseconds, Process, Start, "paper 2, 6 and figure 15; measured on Soft-RoCE";
    /// what the smallest RDMA write takes, with what its handshake takes beyond two packets
    RC_WRITE_START_NS: Number(95_000, 0..=1 << 30), Channel, Nanoseconds, Process, Start, "paper 2, 6 and figure 15; measured on Soft-RoCE";
    /// what each byte adds to an RDMA write
    RC_WRITE_BYTE_PS: Number(11_800, 0..=1 << 30), Channel, Picoseconds, Process, Start, "paper 2, 6 and figure 15; measured on Soft-RoCE";
    /// 0 registers the program's memory for each operation; else registrations are kept where the
    /// kernel tells of memory given back (userfaultfd)
    RC_CACHE: Flag(true), Channel, None, Process, Start, "paper 1, 3.3; paper 2, 5";
    /// most bytes of the program's memory whose registration is kept
    RC_CACHE_BYTES_MAX: Automatic("4 GiB, or half of what may be locked", 0..=1 << 50), Channel, Bytes, Process, Start, "paper 2, 5";
    /// most registrations of the program's memory that are kept
    RC_CACHE_ENTRIES_MAX: Number(1024, 0..=1 << 20), Channel, None, Process, Start, "paper 2, 5";
    /// when libfabric is opened (channel ofi): auto, if a process is on another node and some
    /// process has no verbs device; always; never
    OFI: Choice(&["auto", "always", "never"], 0), Channel, None, Process, Start, "";
    /// the provider of libfabric that ofi uses; fi_info lists them
    OFI_PROVIDER: Text("a network with hardware of its own, else TCP"), Channel, None, Process, Start, "";
    /// the network interfaces, or devices of the provider, that ofi may use, separated by commas
    OFI_INTERFACE: Text("the quickest network that all processes have an address in"), Channel, None, Process, Start, "";
    /// the longest message that ofi sends through its buffers, with 56 bytes of headers
    OFI_MESSAGE_BYTES: Automatic("64 KiB over the Internet's protocols, 16 KiB over hardware, and the headers", 184..=1 << 24), Channel, Bytes, Job, Start, "measured with examples/overnet.c";
    /// size of each of the three buffers into which ofi receives many messages
    OFI_RECEIVE_BYTES: Number(1 << 20, 4096..=1 << 30), Channel, Bytes, Process, Start, "";
    /// buffers of ofi for sending, over all peers
    OFI_SEND_BUFFERS_MAX: Number(512, 2..=1 << 20), Channel, Packets, Process, Start, "";
    /// packets that ofi sends to a peer before that has told to have taken any
    OFI_WINDOW: Number(64, 2..=65535), Channel, Packets, Process, Start, "";
    // Over TCP on one machine 64 KiB take 24 us if they are asked for and 12 if they are copied.
    // Between emulated nodes, on a slower wire, 256 KiB take 1.1 ms read and 1.9 ms copied.
    /// the shortest message that ofi reads or writes where it lies, rather than copies
    OFI_MEMORY_BYTES_MIN: Automatic("above 64 KiB over the Internet's protocols, above 16 KiB over hardware", 1..=1 << 40), Channel, Bytes, Process, Start, "measured with examples/overnet.c";
    /// the longest piece of a long message that ofi reads or writes at a time
    OFI_PIECE_BYTES: Number(256 << 10, 1 << 10..=1 << 30), Channel, Bytes, Process, Start, "";
    /// what a remote memory access of ofi takes at least
    OFI_START_NS: Number(60_000, 0..=1 << 30), Channel, Nanoseconds, Process, Start, "";
    /// what each byte of a remote memory access of ofi adds
    OFI_BYTE_PS: Number(400, 0..=1 << 30), Channel, Picoseconds, Process, Start, "";
    /// a peer to which ofi can make no connection is given up after so long
    OFI_CONNECT_SECONDS_MAX: Number(120, 1..=1 << 30), Channel, Seconds, Process, Start, "";
    /// a process that waits sleeps until the network wakes it, where the provider of ofi has a
    /// descriptor for that
    OFI_SLEEP: Flag(true), Channel, None, Process, Start, "";

    /// where ud is open too, the peers that a process uses rc for at most: those with which it
    /// exchanges most; all others go by ud, and a connection that is less used is given back for
    /// one that is more. 0: all by ud. Where ud is not open (UD_RANKS_MIN), all go by rc
    RC_PEERS_MAX: Number(16, 0..=1 << 20), Channel, Ranks, Process, Start, "paper 4, 2.2 and 6";
    /// packets exchanged over networks between two looks at who these peers should be
    RC_PEERS_REVIEW_EVERY: Number(1024, 1..=1 << 30), Channel, Packets, Process, Start, "";
    /// jobs of more ranks than this open the channel ud by themselves, beside rc (RC_PEERS_MAX);
    /// else only where VERBENA_CHANNELS names it. It takes device, port and address by the settings
    /// of rc
    UD_RANKS_MIN: Number(64, 0..=1 << 30), Channel, Ranks, Job, Start, "paper 4, 2.2";
    /// device or port for ud, if not by RC_DEVICE: so each can outlive the other's device
    UD_DEVICE: Text("that of RC_DEVICE"), Channel, None, Process, Start, "paper 4, 4.2";
    /// queue pairs through which ud sends in turn; one more receives
    UD_SENDERS: Number(4, 1..=64), Channel, None, Process, Start, "paper 4, 4 and figure 2";
    /// receive buffers of ud, all posted from the beginning; what finds none is lost and sent again
    UD_RECEIVES: Automatic("640 KiB by the datagram's length, but at least 16", 16..=1 << 20), Channel, Packets, Process, Start, "paper 4, 4.1";
    /// datagrams up to 256 bytes that ud keeps until they are acknowledged
    UD_SHORT_BUFFERS_MAX: Number(1024, 8..=1 << 20), Channel, Packets, Process, Start, "paper 4, 4.2";
    /// longer datagrams that ud keeps until they are acknowledged
    UD_LONG_BUFFERS_MAX: Automatic("384 KiB by the datagram's length", 8..=1 << 20), Channel, Packets, Process, Start, "paper 4, 4.2";
    /// datagrams that one packet of ud consists of at most, which are acknowledged as a whole
    UD_FRAGMENTS_MAX: Automatic("for 16 KiB by the datagram's length, but at most 16", 1..=64), Channel, Packets, Process, Start, "paper 4, 4.2";
    /// the longest message that ud sends at once, without asking the receiver; paper 4's
    /// are one datagram, 2 KiB
    UD_EAGER_BYTES_MAX: Number(16 << 10, 0..=4 << 20), Channel, Bytes, Process, Start, "paper 4, 5.2.1";
    /// 0 makes ud send everything once and forget it: unsafe, since one lost datagram hangs the
    /// program; only to measure what reliability costs
    UD_RELIABLE: Flag(true), Channel, None, Job, Start, "paper 4, 4.2 and 5.1";
    /// whether ud's datagrams carry a CRC-32C from memory to memory; garbled ones are sent again
    UD_CHECKSUM: Flag(false), Channel, None, Job, Start, "paper 4, 3.1";
    /// datagrams to one peer that may be under way
    UD_WINDOW_MAX: Automatic("128, but at most half of the smallest receive pool of the job", 1..=256), Channel, Packets, Process, Start, "paper 4, 4.1";
    /// as many may be under way even after losses that later acknowledgements show; after a wait in
    /// vain it is one
    UD_WINDOW_MIN: Number(8, 1..=256), Channel, Packets, Process, Start, "RFC 5681";
    /// after so many datagrams an acknowledgement goes out at once
    UD_ACK_EVERY: Number(16, 1..=256), Channel, Packets, Process, Start, "paper 4, 4.2";
    /// an acknowledgement waits so long, or for a measured round trip (at most half of
    /// UD_RESEND_NS_MIN) if that is longer, for a packet the other way to ride on
    UD_ACK_DELAY_NS: Number(100_000, 0..=1 << 30), Channel, Nanoseconds, Job, Start, "paper 4, 4.2";
    // With 1% loss 8 B took 64, 54, 46 and 41 us with 2, 1, 0.5 and 0.25 ms; without loss 0.25 ms
    // costs 2 to 5%.
    /// the shortest wait for an acknowledgement before what is missing is sent again; longer by the
    /// measured round trips
    UD_RESEND_NS_MIN: Number(500_000, 1..=1 << 40), Channel, Nanoseconds, Process, Start, "paper 4, 4.2; RFC 6298";
    /// the longest such wait, however often it was in vain
    UD_RESEND_NS_MAX: Number(250_000_000, 1..=1 << 40), Channel, Nanoseconds, Process, Start, "paper 4, 4.2; RFC 6298";
    /// the wait while no round trip is measured
    UD_RESEND_NS_FIRST: Number(5_000_000, 1..=1 << 40), Channel, Nanoseconds, Process, Start, "paper 4, 4.2; RFC 6298";
    /// a sending queue pair that completes nothing for so long is passed over
    UD_LOCAL_NS_MAX: Number(1_000_000_000, 1..=1 << 40), Channel, Nanoseconds, Process, Start, "paper 4, 4.2";
    // With the longest wait of 0.25 s about a minute. A process that computes for longer costs a
    // connection; nothing is lost by that.
    /// the number of resends in a row without an answer after which ud gives up a peer that rc or
    /// another channel reaches too; a peer answers only inside MPI
    UD_RESENDS_MAX: Number(240, 1..=1 << 30), Channel, None, Process, Start, "paper 4, 4.2";
    /// any other peer that acknowledges nothing for so long is given up
    UD_SILENT_SECONDS_MAX: Number(3600, 1..=1 << 30), Channel, Seconds, Process, Start, "paper 4, 4.2";
    /// one in so many of ud's datagrams tells when it is done
    UD_SIGNAL_EVERY: Number(16, 1..=1024), Channel, Packets, Process, Start, "paper 1, 4.3";
    /// datagrams of ud up to this size are copied into the descriptor, if the device takes them
    UD_INLINE_BYTES_MAX: Number(256, 0..=1 << 16), Channel, Bytes, Process, Start, "measured with verbena bench";
    /// the design of the channel pipe: bytes with pointers by writes of their own; pointers that go
    /// with chunks; chunks copied while others are on their way; long buffers read by the receiver.
    /// The channel is opened only where CHANNELS names it, to compare it with rc
    PIPE_DESIGN: Choice(&["basic", "piggyback", "pipeline", "zero-copy"], 3), Channel, None, Job, Start, "paper 2, 4 and 5";
    /// size of the ring of each pipe
    PIPE_BYTES: Number(256 << 10, 128..=1 << 30), Channel, Bytes, Job, Start, "paper 2, 4.2";
    /// size of a chunk of a pipe, of which every message takes at least one
    PIPE_CHUNK_BYTES: Number(16 << 10, 64..=4 << 20), Channel, Bytes, Job, Start, "paper 2, 4.4.1";
    /// the shortest buffer that is read by the receiver and not copied (PIPE_DESIGN); the eager
    /// limit of pipe is one byte less, in all designs
    PIPE_ZERO_COPY_BYTES_MIN: Number(32 << 10, 129..=4 << 20), Channel, Bytes, Job, Start, "paper 2, 5";

    /// the longest message that is sent at once, without asking the receiver
    EAGER_BYTES_MAX: Automatic("what the channel takes in one packet, or less where reading the sender's memory is quicker", 0..=1 << 40), Engine, Bytes, Process, Start, "paper 1, 2.1";
    /// unexpected messages held for one peer before it is asked to send by rendezvous only
    UNEXPECTED_BYTES_MAX: Number(4 << 20, 0..=1 << 40), Engine, Bytes, Process, Anytime, "MPI-5.0, 3.5";
    /// how long messages go: auto (what the channels' costs make the quickest), copy (all copied
    /// into the ring, then transferred: over rc; elsewhere as pipeline), pipeline (copied and
    /// transferred chunk by chunk), read (the receiver reads the sender's memory), write (the
    /// sender writes the receiver's); what can be neither read nor written goes by pipeline
    LARGE: Choice(&["auto", "copy", "pipeline", "read", "write"], 0), Engine, None, Process, Anytime, "paper 2, 4 to 6";
    /// 0 lets no message be read or written by RDMA between nodes: long ones go in packets
    BULK: Flag(true), Engine, None, Process, Anytime, "paper 5, 2 and 4 (bulkxfer)";
    /// the shortest message read or written by RDMA between nodes, on any channel; paper 5: 150 KB
    BULK_BYTES_MIN: Automatic("by the channel: RC_MEMORY_BYTES_MIN, OFI_MEMORY_BYTES_MIN", 1..=1 << 40), Engine, Bytes, Process, Anytime, "paper 5, 5 (MP_BULK_MIN_MSG_SIZE)";
    /// the shortest message that is striped over the rails to a process (RC_RAILS)
    RAILS_BYTES_MIN: Number(150 << 10, 1..=1 << 40), Engine, Bytes, Process, Anytime, "paper 5, 2 and 5";
    /// the shortest piece of such a message that a rail gets; quicker rails take longer ones
    RAILS_PIECE_BYTES_MIN: Number(32 << 10, 1..=1 << 40), Engine, Bytes, Process, Anytime, "paper 5, 2";
    /// the chunks in which a long message goes through the ring by copy and pipeline
    CHUNK_BYTES: Automatic("what the channel takes in one packet", 1 << 10..=32 << 10), Engine, Bytes, Process, Anytime, "paper 2, 4.4.1";
    // 2 MB both ways at once took 313 us in pieces of 128 KiB, 275 in pieces of 512 KiB.
    /// the piece of a long message that one of the two sides copies at a time
    CLAIM_BYTES: Number(512 << 10, 4 << 10..=1 << 40), Engine, Bytes, Process, Anytime, "measured with verbena bench";
    /// whether long messages on a node go in packets, or are copied by the receiver or both ends by
    /// system calls, as took less so far; else they are copied wherever they can be
    NODE_LEARN: Flag(true), Engine, None, Process, Anytime, "measured with verbena bench";
    /// whether sender and receiver both copy a long message
    COPY_BY_BOTH: Flag(true), Engine, None, Process, Anytime, "";
    /// the shortest message that sender and receiver both copy
    COPY_BY_BOTH_BYTES_MIN: Number(64 << 10, 0..=1 << 40), Engine, Bytes, Process, Anytime, "measured with verbena bench";

    /// which channel a wait looks at how often: auto (dynamic with a core for each rank of the
    /// node, else all), all (each in every round), latency (the quicker, the oftener), overhead
    /// (the cheaper to poll, the oftener), ratio (shared memory polling_ratio times for each look
    /// at the network), dynamic (by where the last messages came from)
    POLLING: Choice(&["auto", "all", "latency", "overhead", "ratio", "dynamic"], 0), Engine, None, Process, Anytime, "paper 3, 3.2; measured with verbena-papers polling";
    /// looks at shared memory for each look at the network; with dynamic the most of them
    POLLING_RATIO: Number(50, 1..=1000), Engine, Rounds, Process, Anytime, "paper 3, 3.3.1; the model of its costs";
    /// with dynamic, messages between two calculations of the ratios
    POLLING_UPDATE_EVERY: Number(1, 1..=1_000_000), Engine, Packets, Process, Anytime, "paper 3, 3.2.2 and 3.3.2";
    /// with dynamic, the last messages that count for the ratios
    POLLING_HISTORY: Number(4, 1..=1_000_000), Engine, Packets, Process, Anytime, "paper 3, 3.2.2; the model of its costs";

    /// traces calls and messages: each rank writes NAME.RANK.json at the end, for verbena trace
    /// (timeline, profile, where the time of a message went); slows small messages down
    TRACE: Text("none"), Engine, None, Process, Start, "paper 1, 6.3.2";
    /// the clock of the trace: the monotonic clock, or the processor's time-stamp counter, which is
    /// quicker to read but must be the same on all cores
    TRACE_CLOCK: Choice(&["monotonic", "counter"], 0), Engine, None, Process, Start, "";
    /// messages that a rank traces at most, each way, and calls; there is room for them from the
    /// beginning
    TRACE_RECORDS_MAX: Number(1 << 16, 1..=1 << 30), Engine, None, Process, Start, "";

    /// 1 lets each message say what its elements are: a receive of others fails with MPI_ERR_TYPE,
    /// and so do collectives that move elements of different sorts (those that reduce fail in any
    /// case, and those of different sizes); every call then takes the general way
    CHECK_TYPES: Flag(false), Engine, None, Job, Start, "MPI-5.0, 3.3.1";
    /// whether calls fail with MPI_ERR_BUFFER, rather than crash, if a buffer lies in the memory of
    /// a GPU: auto, if the program had loaded the library of a GPU (CUDA, HIP, Level Zero) before
    /// it initialised MPI; every call then takes the general way, and looks at its buffers
    CHECK_BUFFERS: Choice(&["auto", "always", "never"], 0), Engine, None, Process, Start, "";

    /// a thread of the library makes progress while the program computes; every call then takes
    /// locks
    PROGRESS_THREAD: Flag(false), Wait, None, Process, Start, "paper 5; MPI-5.0, 3.7.4";
    /// rounds of pure spinning before a wait begins to yield
    WAIT_SPINS: Automatic("100 with a core for each rank of the node, else 0", 0..=1_000_000_000), Wait, Rounds, Process, Start, "paper 3, 4.2";
    /// rounds of yielding before a wait sleeps
    WAIT_YIELDS: Automatic("60000 with a core for each rank of the node, else at most 200 by the ranks for a core", 0..=1_000_000_000), Wait, Rounds, Process, Start, "paper 3, 4.2";
    /// of the rounds of yielding, every how many-th gives up the core; the others only pause it
    WAIT_YIELD_EVERY: Automatic("32 with a core for each rank of the node, else 1", 1..=1_000_000_000), Wait, Rounds, Process, Start, "";

    /// 0 makes collectives between processes of one node go by messages; what rank 0 of a
    /// communicator has counts
    BOARDS: Flag(true), Collective, None, Job, Start, "";
    /// largest record of a short collective over a board, for up to 16 ranks
    COLL_SHORT_FEW_BYTES_MAX: Number(8 << 10, 0..=8 << 10), Collective, Bytes, Job, Anytime, "";
    /// largest record of a short collective over a board, for more than 16 ranks
    COLL_SHORT_MANY_BYTES_MAX: Number(2 << 10, 0..=4000), Collective, Bytes, Job, Anytime, "";
    /// smallest vector that two ranks of a node reduce in place, in each other's slots of a board
    COLL_IN_PLACE_BYTES_MIN: Number(9 << 10, 1..=1 << 40), Collective, Bytes, Job, Anytime, "measured with verbena bench";
    /// pieces in which they do so
    COLL_IN_PLACE_PIECE_BYTES: Number(8 << 10, 64..=64 << 10), Collective, Bytes, Job, Anytime, "measured with verbena bench";
    /// most bytes that a rank has for others in an exchange of all blocks over a board, if a board
    /// has room for as many: 256K a rank up to 8 ranks, 128K up to 16, 64K up to 32, 32K beyond
    COLL_BOARD_EXCHANGE_BYTES_MAX: Number(256 << 10, 0..=256 << 10), Collective, Bytes, Job, Anytime, "measured with verbena bench";
    /// smallest vector that two ranks exchange over a board, with an operation of the program's own
    COLL_BOARD_EXCHANGE_BYTES_MIN: Number(128 << 10, 0..=1 << 40), Collective, Bytes, Job, Anytime, "";
    /// pieces in which two ranks exchange such vectors over a board
    COLL_BOARD_EXCHANGE_PIECE_BYTES: Number(64 << 10, 64..=64 << 10), Collective, Bytes, Job, Anytime, "";
    /// pieces of a vector that more than two ranks reduce over a board, a part each
    COLL_BOARD_PARTS_PIECE_BYTES: Number(64 << 10, 64..=64 << 10), Collective, Bytes, Job, Anytime, "";
    // 16 KiB at 8 ranks took 75 to 119 us with 6 KiB, and 38 to 49 with 2 KiB.
    /// smallest share of a vector, of which each has one, that ranks of a node reduce in rounds, or
    /// in each other's memory (by cma); of two ranks, only what they do not reduce in place
    COLL_DIRECT_SHARE_BYTES_MIN: Number(2 << 10, 0..=1 << 40), Collective, Bytes, Job, Anytime, "measured with verbena bench";
    /// smallest part of such a vector that one rank reduces at a time
    COLL_DIRECT_PIECE_BYTES_MIN: Number(8 << 10, 64..=64 << 10), Collective, Bytes, Job, Anytime, "measured with verbena bench";
    /// largest part of it that one rank reduces at a time in rounds; in other ranks' memory, up to
    /// a slot of a board
    COLL_ROUND_PIECE_BYTES_MAX: Number(16 << 10, 64..=64 << 10), Collective, Bytes, Job, Anytime, "measured with verbena bench";
    /// smallest message that is broadcast over a board, among more than two ranks
    COLL_BOARD_BCAST_BYTES_MIN: Number(64 << 10, 0..=1 << 40), Collective, Bytes, Job, Anytime, "";
    /// pieces in which a long message is broadcast over a board
    COLL_BOARD_BCAST_PIECE_BYTES: Number(64 << 10, 64..=64 << 10), Collective, Bytes, Job, Anytime, "";
    /// largest message that a broadcast sends whole down a tree
    COLL_BCAST_WHOLE_BYTES_MAX: Number(128 << 10, 0..=1 << 40), Collective, Bytes, Job, Anytime, "";
    /// largest number of ranks for which a long broadcast is a chain
    COLL_BCAST_CHAIN_RANKS_MAX: Number(8, 0..=1 << 30), Collective, Ranks, Job, Anytime, "";
    /// smallest piece of such a chain
    COLL_BCAST_PIECE_BYTES_MIN: Number(64 << 10, 1..=1 << 40), Collective, Bytes, Job, Anytime, "";
    /// largest vector that a reduction sends whole
    COLL_REDUCE_WHOLE_BYTES_MAX: Number(8 << 10, 0..=1 << 40), Collective, Bytes, Job, Anytime, "";
    /// largest vector for halving; longer ones go round a ring if the number of ranks is no power
    /// of two
    COLL_ALLREDUCE_HALVING_BYTES_MAX: Number(4 << 20, 0..=1 << 40), Collective, Bytes, Job, Anytime, "";
    /// largest number of ranks for which gather and scatter are linear at any size
    COLL_ROOTED_LINEAR_RANKS_MAX: Number(4, 0..=1 << 30), Collective, Ranks, Job, Anytime, "";
    /// largest block that goes up or down a tree in gather and scatter
    COLL_ROOTED_TREE_BLOCK_BYTES_MAX: Number(2 << 10, 0..=1 << 40), Collective, Bytes, Job, Anytime, "";
    /// largest total for the logarithmic algorithms of allgather
    COLL_ALLGATHER_SHORT_TOTAL_BYTES_MAX: Number(32 << 10, 0..=1 << 40), Collective, Bytes, Job, Anytime, "";
    /// largest block for Bruck's alltoall
    COLL_ALLTOALL_BRUCK_BLOCK_BYTES_MAX: Number(128, 0..=1 << 40), Collective, Bytes, Job, Anytime, "";
    /// least number of ranks for Bruck's alltoall
    COLL_ALLTOALL_BRUCK_RANKS_MIN: Number(8, 1..=1 << 30), Collective, Ranks, Job, Anytime, "";
    /// largest block of an alltoall that goes out to many ranks at once
    COLL_ALLTOALL_WIDE_BLOCK_BYTES_MAX: Number(32 << 10, 0..=1 << 40), Collective, Bytes, Job, Anytime, "";
    /// exchanges at once for such blocks
    COLL_ALLTOALL_WIDE_WINDOW: Number(32, 1..=1 << 30), Collective, Exchanges, Job, Anytime, "";
    /// exchanges at once for longer blocks
    COLL_ALLTOALL_NARROW_WINDOW: Number(2, 1..=1 << 30), Collective, Exchanges, Job, Anytime, "";
    /// largest operand, over all ranks, of the halving reduce-scatter
    COLL_REDUCE_SCATTER_HALVING_BYTES_MAX: Number(64 << 10, 0..=1 << 40), Collective, Bytes, Job, Anytime, "";

    /// reads and writes of many pieces of a file go through io_uring, where the kernel allows it
    FILE_IO_URING: Flag(true), File, None, Process, Start, "";
    /// threads that work on files beside the program; up to 16 times as many while some are stuck
    FILE_THREADS_MAX: Number(4, 1..=256), File, None, Process, Start, "MPI-5.0, 14.4.1";
    /// operations on files that wait for such a thread at most; the call that starts one more
    /// carries it out itself
    FILE_JOBS_MAX: Number(256, 1..=1 << 20), File, None, Process, Start, "MPI-5.0, 14.4.1";

    /// the C compiler that mpicc runs, with arguments if need be
    CC: Text("cc"), Compiler, None, Process, Start, "";
    /// the C++ compiler that mpicxx runs, with arguments if need be
    CXX: Text("c++"), Compiler, None, Process, Start, "";
    /// the Fortran compiler that mpifort runs, with arguments if need be
    FC: Text("gfortran"), Compiler, None, Process, Start, "";
    /// the installation that mpicc compiles and links against
    PREFIX: Text("the installation that mpicc lies in"), Compiler, None, Process, Start, "";
}

/// The settings, in the order of the table.
pub fn all() -> impl Iterator<Item = &'static Setting> {
    ALL.iter().map(|setting| &***setting)
}
