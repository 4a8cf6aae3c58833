//! The metrics, their units, and how a point of a measurement is written on a command line.

mod point;

pub use point::{Point, format_size, parse_size};

use serde::{Deserialize, Serialize};

/// A quantity that the benchmarks measure. The methods are stated where the loops are: `pair`,
/// `collective`, `kernel`, `one_sided`, `files`, `floor`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Half the round trip of a ping-pong.
    Latency,
    /// One-way stream of windows.
    Bandwidth,
    /// Two-way stream of windows; the sum of both directions.
    Bidirectional,
    /// Payload over half the round trip of a ping-pong.
    PingPong,
    /// The ping-pong of one array that stays, while another is allocated and freed around each
    /// round trip: what [`PingPongMoving`](Metric::PingPongMoving) does beside its messages.
    PingPongStaying,
    /// The ping-pong of arrays that are allocated before each round trip and freed after it.
    PingPongMoving,
    /// The ping-pong of several pairs of ranks at once, all together.
    MultiPingPong,
    /// Messages per second of a one-way stream of windows.
    Rate,
    /// The rate by one thread of each rank under `MPI_THREAD_MULTIPLE`.
    #[serde(rename = "rate_1_thread")]
    Rate1Thread,
    /// The rate by two threads of each rank, each with its partner on the other and on a
    /// communicator of their own: all messages together.
    #[serde(rename = "rate_2_threads")]
    Rate2Threads,
    /// The rate by four threads.
    #[serde(rename = "rate_4_threads")]
    Rate4Threads,
    /// `MPI_Barrier`.
    Barrier,
    /// `MPI_Bcast`.
    Bcast,
    /// `MPI_Reduce`.
    Reduce,
    /// `MPI_Allreduce`.
    Allreduce,
    /// `MPI_Reduce_scatter_block`.
    ReduceScatter,
    /// `MPI_Scan`.
    Scan,
    /// `MPI_Gather`.
    Gather,
    /// `MPI_Scatter`.
    Scatter,
    /// `MPI_Allgather`.
    Allgather,
    /// `MPI_Alltoall`.
    Alltoall,
    /// A byte from rank 0 to each other rank and back.
    FanOut,
    /// A round of a computation in the manner of the NAS kernel IS (sorting integers).
    KernelIs,
    /// The time of CG (conjugate gradients).
    KernelCg,
    /// The time of MG (multigrid cycles).
    KernelMg,
    /// The time of LU (a wavefront there and back).
    KernelLu,
    /// The time of FT (a Fourier transform in three dimensions).
    KernelFt,
    /// The time of SP (scalar systems along lines).
    KernelSp,
    /// The time of BT (systems of blocks along lines).
    KernelBt,
    /// The time of SMG2000 (cycles of a semicoarsening multigrid): many small messages to many
    /// ranks.
    KernelSmg,
    /// The first time that every rank speaks to every other.
    Connect,
    /// The processor's time of a rank for it.
    ConnectProcessor,
    /// A process's own memory after that.
    ConnectMemory,
    /// `mpiexec` of a program that initialises MPI, meets in a barrier and ends.
    Startup,
    /// One way of a cache line between two pinned threads, without MPI: no message can be faster.
    CacheLine,
    /// `memcpy` by one thread, without MPI.
    Copy,
    /// The fan-out between as many processes over pipes, without MPI.
    PipeFanOut,
    /// `memcpy` by two threads, a half each, without MPI.
    CopyBoth,
    /// `process_vm_readv` of another process's memory, without MPI.
    Read,
    /// The read of one half, while the other process writes the other half.
    ReadBoth,
    /// One way of a byte through a pipe to another process, without MPI.
    Pipe,
    /// A look at a number of rings of the channel `rc` when nothing has come, without MPI.
    PollingSet,
    /// Half the round trip between two ranks of a node, while one of them also has a connection to
    /// another node.
    NodeLatency,
    /// Half the round trip between two nodes, while one of the ranks has a partner on its node.
    NetworkLatency,
    /// [`NodeLatency`](Metric::NodeLatency) with receives from any source.
    NodeLatencyAny,
    /// [`NetworkLatency`](Metric::NetworkLatency) with receives from any source.
    NetworkLatencyAny,
    /// The discovery of a message, by stamps of the common clock, in bursts of so many from the
    /// node and from the network in turn, which receives take that name their sender.
    DiscoveryNamed,
    /// [`DiscoveryNamed`](Metric::DiscoveryNamed) with receives from any source.
    DiscoveryAny,
    /// Half the round trip to the two last ranks in turn, when all ranks have a connection to rank
    /// 0 and only these talk.
    FewTalk,
    /// An exchange in bursts of 100 from the node and from the network in turn.
    #[serde(rename = "discovery_100")]
    Discovery100,
    /// The discovery in bursts of 200.
    #[serde(rename = "discovery_200")]
    Discovery200,
    /// The time that a computation loses beside the receiving of a message.
    OverlapLoss,
    /// The processor time that this takes, in parts of the transfer's.
    Processor,
    /// The time by which the computation takes longer.
    OverlapTime,
    /// `MPI_Put` and `MPI_Win_flush`, by one rank.
    Put,
    /// `MPI_Get` and `MPI_Win_flush`.
    Get,
    /// Many puts before each flush.
    PutBandwidth,
    /// Many gets before each flush.
    GetBandwidth,
    /// Puts per second, with many before each flush.
    PutRate,
    /// Gets per second, with many before each flush.
    GetRate,
    /// [`Put`](Metric::Put) to memory of the program (`MPI_Win_create`).
    CreatedPut,
    /// [`Get`](Metric::Get) from memory of the program.
    CreatedGet,
    /// Many puts to memory of the program.
    CreatedPutBandwidth,
    /// Many gets from memory of the program.
    CreatedGetBandwidth,
    /// `MPI_Accumulate` of doubles and a flush, by all ranks at one.
    Accumulate,
    /// `MPI_Fetch_and_op` and a flush, by all ranks at one.
    FetchAndOp,
    /// `MPI_Compare_and_swap` and a flush, by all ranks at one.
    CompareAndSwap,
    /// An exclusive lock, a put of 8 bytes, and the unlock, by all ranks at one.
    LockPutUnlock,
    /// A put of 8 bytes to a neighbour and `MPI_Win_fence`, by all ranks.
    Fence,
    /// A post, a start, a put of 8 bytes, a complete and a wait, by neighbours.
    Pscw,
    /// `MPI_Win_allocate` and `MPI_Win_free`, by all ranks.
    Window,
    /// An accumulate and a flush at a target that computes meanwhile.
    AccumulateComputing,
    /// An accumulate at memory of the program, of a target that computes meanwhile.
    CreatedAccumulateComputing,
    /// `MPI_File_open` and `MPI_File_close`, by all ranks.
    FileOpen,
    /// `MPI_File_write_at_all` of blocks that lie side by side.
    FileWriteAll,
    /// `MPI_File_read_at_all` of such blocks.
    FileReadAll,
    /// `MPI_File_write_at_all` of pieces that take turns.
    FileStridedWriteAll,
    /// `MPI_File_read_at_all` of such pieces.
    FileStridedReadAll,
    /// `MPI_File_write_at` of such pieces.
    FileStridedWrite,
    /// `MPI_File_write_shared`, by all ranks.
    FileWriteShared,
    /// `MPI_File_write_ordered`.
    FileWriteOrdered,
}

/// The ways to measure a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Measured between two ranks.
    Pair,
    /// Measured between threads of two ranks.
    Threads,
    /// Measured by all ranks of `MPI_COMM_WORLD`.
    Collective,
    /// Measured between several pairs of ranks at once.
    Pairs,
    /// Measured by all ranks: many operations of several sizes.
    Kernel,
    /// Measured by all ranks of a job that has just started.
    Everyone,
    /// Measured between three ranks on two nodes.
    Mixed,
    /// Measured between three ranks on two nodes whose clock is the same.
    Discovery,
    /// Measured between rank 0 and two others, while the rest have connections.
    FewTalk,
    /// The point is measured between two ranks; one of them computes.
    Overlap,
    /// Measured on a window of all ranks.
    OneSided,
    /// Measured on a file of all ranks.
    File,
    /// Measured from outside, around the launcher.
    Startup,
    /// Measured in this process (and its children), without MPI.
    Floor,
}

/// Every metric with its name, in the order of their declarations.
const NAMES: [(Metric, &str); 81] = [
    (Metric::Latency, "latency"),
    (Metric::Bandwidth, "bandwidth"),
    (Metric::Bidirectional, "bidirectional"),
    (Metric::PingPong, "ping_pong"),
    (Metric::PingPongStaying, "ping_pong_staying"),
    (Metric::PingPongMoving, "ping_pong_moving"),
    (Metric::MultiPingPong, "multi_ping_pong"),
    (Metric::Rate, "rate"),
    (Metric::Rate1Thread, "rate_1_thread"),
    (Metric::Rate2Threads, "rate_2_threads"),
    (Metric::Rate4Threads, "rate_4_threads"),
    (Metric::Barrier, "barrier"),
    (Metric::Bcast, "bcast"),
    (Metric::Reduce, "reduce"),
    (Metric::Allreduce, "allreduce"),
    (Metric::ReduceScatter, "reduce_scatter"),
    (Metric::Scan, "scan"),
    (Metric::Gather, "gather"),
    (Metric::Scatter, "scatter"),
    (Metric::Allgather, "allgather"),
    (Metric::Alltoall, "alltoall"),
    (Metric::FanOut, "fan_out"),
    (Metric::KernelIs, "kernel_is"),
    (Metric::KernelCg, "kernel_cg"),
    (Metric::KernelMg, "kernel_mg"),
    (Metric::KernelLu, "kernel_lu"),
    (Metric::KernelFt, "kernel_ft"),
    (Metric::KernelSp, "kernel_sp"),
    (Metric::KernelBt, "kernel_bt"),
    (Metric::KernelSmg, "kernel_smg"),
    (Metric::Connect, "connect"),
    (Metric::ConnectProcessor, "connect_processor"),
    (Metric::ConnectMemory, "connect_memory"),
    (Metric::Startup, "startup"),
    (Metric::CacheLine, "cache_line"),
    (Metric::Copy, "copy"),
    (Metric::PipeFanOut, "pipe_fan_out"),
    (Metric::CopyBoth, "copy_both"),
    (Metric::Read, "read"),
    (Metric::ReadBoth, "read_both"),
    (Metric::Pipe, "pipe"),
    (Metric::PollingSet, "polling_set"),
    (Metric::NodeLatency, "node_latency"),
    (Metric::NetworkLatency, "network_latency"),
    (Metric::NodeLatencyAny, "node_latency_any"),
    (Metric::NetworkLatencyAny, "network_latency_any"),
    (Metric::DiscoveryNamed, "discovery_named"),
    (Metric::DiscoveryAny, "discovery_any"),
    (Metric::FewTalk, "few_talk"),
    (Metric::Discovery100, "discovery_100"),
    (Metric::Discovery200, "discovery_200"),
    (Metric::OverlapLoss, "overlap_loss"),
    (Metric::Processor, "processor"),
    (Metric::OverlapTime, "overlap_time"),
    (Metric::Put, "put"),
    (Metric::Get, "get"),
    (Metric::PutBandwidth, "put_bandwidth"),
    (Metric::GetBandwidth, "get_bandwidth"),
    (Metric::PutRate, "put_rate"),
    (Metric::GetRate, "get_rate"),
    (Metric::CreatedPut, "created_put"),
    (Metric::CreatedGet, "created_get"),
    (Metric::CreatedPutBandwidth, "created_put_bandwidth"),
    (Metric::CreatedGetBandwidth, "created_get_bandwidth"),
    (Metric::Accumulate, "accumulate"),
    (Metric::FetchAndOp, "fetch_and_op"),
    (Metric::CompareAndSwap, "compare_and_swap"),
    (Metric::LockPutUnlock, "lock_put_unlock"),
    (Metric::Fence, "fence"),
    (Metric::Pscw, "pscw"),
    (Metric::Window, "window"),
    (Metric::AccumulateComputing, "accumulate_computing"),
    (Metric::CreatedAccumulateComputing, "created_accumulate_computing"),
    (Metric::FileOpen, "file_open"),
    (Metric::FileWriteAll, "file_write_all"),
    (Metric::FileReadAll, "file_read_all"),
    (Metric::FileStridedWriteAll, "file_strided_write_all"),
    (Metric::FileStridedReadAll, "file_strided_read_all"),
    (Metric::FileStridedWrite, "file_strided_write"),
    (Metric::FileWriteShared, "file_write_shared"),
    (Metric::FileWriteOrdered, "file_write_ordered"),
];

impl Metric {
    /// Every metric.
    pub const ALL: [Metric; NAMES.len()] = {
        let mut all = [Metric::Latency; NAMES.len()];
        let mut at = 0;
        while at < all.len() {
            all[at] = NAMES[at].0;
            at += 1;
        }
        all
    };

    /// The name in reports and on the command line.
    pub fn name(self) -> &'static str {
        NAMES[self as usize].1
    }

    /// The unit of its values.
    pub fn unit(self) -> &'static str {
        match self {
            Metric::Rate | Metric::Rate1Thread | Metric::Rate2Threads | Metric::Rate4Threads => "Mmsg/s",
            Metric::Bandwidth | Metric::Bidirectional | Metric::PingPong | Metric::MultiPingPong => "GB/s",
            Metric::PingPongStaying | Metric::PingPongMoving => "GB/s",
            Metric::Copy | Metric::CopyBoth | Metric::Read | Metric::ReadBoth => "GB/s",
            Metric::PutBandwidth | Metric::GetBandwidth => "GB/s",
            Metric::CreatedPutBandwidth | Metric::CreatedGetBandwidth => "GB/s",
            Metric::FileWriteAll | Metric::FileReadAll | Metric::FileStridedWrite => "GB/s",
            Metric::FileStridedWriteAll | Metric::FileStridedReadAll => "GB/s",
            Metric::PutRate | Metric::GetRate => "Mop/s",
            Metric::Startup | Metric::Connect | Metric::ConnectProcessor => "ms",
            Metric::ConnectMemory => "MiB",
            Metric::OverlapLoss | Metric::Processor => "%",
            _ => "us",
        }
    }

    /// Returns whether the values are amounts in a time, not times.
    pub fn is_speed(self) -> bool {
        matches!(self.unit(), "Mmsg/s" | "Mop/s" | "GB/s")
    }

    /// Returns how the metric is measured.
    pub fn family(self) -> Family {
        match self {
            Metric::Latency | Metric::Bandwidth | Metric::Bidirectional => Family::Pair,
            Metric::PingPong | Metric::PingPongStaying | Metric::PingPongMoving => Family::Pair,
            Metric::Rate => Family::Pair,
            Metric::MultiPingPong => Family::Pairs,
            _ if self.threads().is_some() => Family::Threads,
            Metric::KernelIs | Metric::KernelCg | Metric::KernelMg | Metric::KernelLu => Family::Kernel,
            Metric::KernelFt | Metric::KernelSp | Metric::KernelBt | Metric::KernelSmg => Family::Kernel,
            Metric::Connect | Metric::ConnectProcessor | Metric::ConnectMemory => Family::Everyone,
            Metric::Startup => Family::Startup,
            Metric::NodeLatency | Metric::NetworkLatency => Family::Mixed,
            Metric::NodeLatencyAny | Metric::NetworkLatencyAny => Family::Mixed,
            Metric::DiscoveryNamed | Metric::DiscoveryAny => Family::Discovery,
            Metric::FewTalk => Family::FewTalk,
            Metric::Discovery100 | Metric::Discovery200 => Family::Mixed,
            Metric::OverlapLoss | Metric::Processor | Metric::OverlapTime => Family::Overlap,
            Metric::CacheLine | Metric::Pipe | Metric::PipeFanOut | Metric::PollingSet => Family::Floor,
            Metric::Copy | Metric::CopyBoth | Metric::Read | Metric::ReadBoth => Family::Floor,
            Metric::Put | Metric::PutBandwidth | Metric::PutRate => Family::OneSided,
            Metric::Get | Metric::GetBandwidth | Metric::GetRate => Family::OneSided,
            Metric::CreatedPut | Metric::CreatedPutBandwidth => Family::OneSided,
            Metric::CreatedGet | Metric::CreatedGetBandwidth => Family::OneSided,
            Metric::Accumulate | Metric::FetchAndOp | Metric::CompareAndSwap => Family::OneSided,
            Metric::LockPutUnlock | Metric::Fence | Metric::Pscw => Family::OneSided,
            Metric::AccumulateComputing | Metric::CreatedAccumulateComputing => Family::OneSided,
            Metric::Window => Family::OneSided,
            Metric::FileOpen | Metric::FileWriteAll | Metric::FileReadAll => Family::File,
            Metric::FileStridedWriteAll | Metric::FileStridedReadAll => Family::File,
            Metric::FileStridedWrite | Metric::FileWriteShared | Metric::FileWriteOrdered => Family::File,
            _ => Family::Collective,
        }
    }

    /// Returns whether the metric has a message size.
    pub fn has_size(self) -> bool {
        use Metric::*;
        !matches!(
            self,
            Barrier
                | FanOut
                | Startup
                | CacheLine
                | Pipe
                | PipeFanOut
                | Discovery100
                | Discovery200
                | Connect
                | ConnectProcessor
                | ConnectMemory
                | FetchAndOp
                | CompareAndSwap
                | LockPutUnlock
                | Fence
                | Pscw
                | Window
                | AccumulateComputing
                | CreatedAccumulateComputing
                | FileOpen
        )
    }

    /// The threads of each rank, for the metrics of threads.
    pub fn threads(self) -> Option<usize> {
        match self {
            Metric::Rate1Thread => Some(1),
            Metric::Rate2Threads => Some(2),
            Metric::Rate4Threads => Some(4),
            _ => None,
        }
    }

    /// Returns whether it depends on the number of ranks (or processes, for a floor).
    pub fn has_ranks(self) -> bool {
        let by_all = matches!(self.family(), Family::Collective | Family::Kernel | Family::Mixed);
        let by_few = matches!(self.family(), Family::Discovery | Family::FewTalk);
        let by_job = matches!(self.family(), Family::Startup | Family::Everyone | Family::Pairs);
        let on_object = matches!(self.family(), Family::OneSided | Family::File);
        by_all || by_few || by_job || on_object || self == Metric::PipeFanOut
    }

    /// Returns whether it adds doubles, so that its size must be a multiple of eight bytes.
    pub fn adds_doubles(self) -> bool {
        matches!(self, Metric::Reduce | Metric::Allreduce | Metric::ReduceScatter | Metric::Scan)
            || self == Metric::Accumulate
    }
}
