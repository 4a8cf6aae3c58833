//! The metrics, their units, and how a point of a measurement is written on a command line.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A quantity that the benchmarks measure. The methods are stated where the loops are: `pair`,
/// `collective`, `kernel`, `floor`.
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
    /// The rate by two threads of each rank, each with its partner on the other: all messages
    /// together.
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
    /// Measured from outside, around the launcher.
    Startup,
    /// Measured in this process (and its children), without MPI.
    Floor,
}

impl Metric {
    /// Every metric.
    pub const ALL: [Metric; 54] = [
        Metric::Latency,
        Metric::Bandwidth,
        Metric::Bidirectional,
        Metric::PingPong,
        Metric::PingPongStaying,
        Metric::PingPongMoving,
        Metric::MultiPingPong,
        Metric::Rate,
        Metric::Rate1Thread,
        Metric::Rate2Threads,
        Metric::Rate4Threads,
        Metric::Barrier,
        Metric::Bcast,
        Metric::Reduce,
        Metric::Allreduce,
        Metric::ReduceScatter,
        Metric::Scan,
        Metric::Gather,
        Metric::Scatter,
        Metric::Allgather,
        Metric::Alltoall,
        Metric::FanOut,
        Metric::KernelIs,
        Metric::KernelCg,
        Metric::KernelMg,
        Metric::KernelLu,
        Metric::KernelFt,
        Metric::KernelSp,
        Metric::KernelBt,
        Metric::KernelSmg,
        Metric::Connect,
        Metric::ConnectProcessor,
        Metric::ConnectMemory,
        Metric::Startup,
        Metric::CacheLine,
        Metric::Copy,
        Metric::PipeFanOut,
        Metric::CopyBoth,
        Metric::Read,
        Metric::ReadBoth,
        Metric::Pipe,
        Metric::PollingSet,
        Metric::NodeLatency,
        Metric::NetworkLatency,
        Metric::NodeLatencyAny,
        Metric::NetworkLatencyAny,
        Metric::DiscoveryNamed,
        Metric::DiscoveryAny,
        Metric::FewTalk,
        Metric::Discovery100,
        Metric::Discovery200,
        Metric::OverlapLoss,
        Metric::Processor,
        Metric::OverlapTime,
    ];

    /// The name in reports and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Latency => "latency",
            Metric::Bandwidth => "bandwidth",
            Metric::Bidirectional => "bidirectional",
            Metric::PingPong => "ping_pong",
            Metric::PingPongStaying => "ping_pong_staying",
            Metric::PingPongMoving => "ping_pong_moving",
            Metric::MultiPingPong => "multi_ping_pong",
            Metric::Rate => "rate",
            Metric::Rate1Thread => "rate_1_thread",
            Metric::Rate2Threads => "rate_2_threads",
            Metric::Rate4Threads => "rate_4_threads",
            Metric::Barrier => "barrier",
            Metric::Bcast => "bcast",
            Metric::Reduce => "reduce",
            Metric::Allreduce => "allreduce",
            Metric::ReduceScatter => "reduce_scatter",
            Metric::Scan => "scan",
            Metric::Gather => "gather",
            Metric::Scatter => "scatter",
            Metric::Allgather => "allgather",
            Metric::Alltoall => "alltoall",
            Metric::FanOut => "fan_out",
            Metric::KernelIs => "kernel_is",
            Metric::KernelCg => "kernel_cg",
            Metric::KernelMg => "kernel_mg",
            Metric::KernelLu => "kernel_lu",
            Metric::KernelFt => "kernel_ft",
            Metric::KernelSp => "kernel_sp",
            Metric::KernelBt => "kernel_bt",
            Metric::KernelSmg => "kernel_smg",
            Metric::Connect => "connect",
            Metric::ConnectProcessor => "connect_processor",
            Metric::ConnectMemory => "connect_memory",
            Metric::Startup => "startup",
            Metric::CacheLine => "cache_line",
            Metric::Copy => "copy",
            Metric::PipeFanOut => "pipe_fan_out",
            Metric::CopyBoth => "copy_both",
            Metric::Read => "read",
            Metric::ReadBoth => "read_both",
            Metric::Pipe => "pipe",
            Metric::PollingSet => "polling_set",
            Metric::NodeLatency => "node_latency",
            Metric::NetworkLatency => "network_latency",
            Metric::NodeLatencyAny => "node_latency_any",
            Metric::NetworkLatencyAny => "network_latency_any",
            Metric::DiscoveryNamed => "discovery_named",
            Metric::DiscoveryAny => "discovery_any",
            Metric::FewTalk => "few_talk",
            Metric::Discovery100 => "discovery_100",
            Metric::Discovery200 => "discovery_200",
            Metric::OverlapLoss => "overlap_loss",
            Metric::Processor => "processor",
            Metric::OverlapTime => "overlap_time",
        }
    }

    /// The unit of its values.
    pub fn unit(self) -> &'static str {
        match self {
            Metric::Rate | Metric::Rate1Thread | Metric::Rate2Threads | Metric::Rate4Threads => "Mmsg/s",
            Metric::Bandwidth | Metric::Bidirectional | Metric::PingPong | Metric::MultiPingPong => "GB/s",
            Metric::PingPongStaying | Metric::PingPongMoving => "GB/s",
            Metric::Copy | Metric::CopyBoth | Metric::Read | Metric::ReadBoth => "GB/s",
            Metric::Startup | Metric::Connect | Metric::ConnectProcessor => "ms",
            Metric::ConnectMemory => "MiB",
            Metric::OverlapLoss | Metric::Processor => "%",
            _ => "us",
        }
    }

    /// Returns whether the values are amounts in a time, not times.
    pub fn is_speed(self) -> bool {
        matches!(self.unit(), "Mmsg/s" | "GB/s")
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
        by_all || by_few || by_job || self == Metric::PipeFanOut
    }

    /// Returns whether it adds doubles, so that its size must be a multiple of eight bytes.
    pub fn adds_doubles(self) -> bool {
        matches!(self, Metric::Reduce | Metric::Allreduce | Metric::ReduceScatter | Metric::Scan)
    }
}

/// A point: a metric and the message size in bytes (0 where the metric has none). Written
/// `latency:8`, `bcast:1M`, `barrier`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Point {
    /// The metric to measure.
    pub metric: Metric,
    /// Bytes a message, or bytes a rank (and pair of ranks, for alltoall) in a collective; the
    /// number of rings for [`Metric::PollingSet`], the messages of a burst for those of discovery.
    pub bytes: usize,
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.metric.has_size() {
            true => write!(f, "{}:{}", self.metric.name(), self.bytes),
            false => write!(f, "{}", self.metric.name()),
        }
    }
}

impl FromStr for Point {
    type Err = String;

    fn from_str(text: &str) -> Result<Point, String> {
        let (name, size) = text.split_once(':').map_or((text, None), |(name, size)| (name, Some(size)));
        let metric = Metric::ALL.into_iter().find(|metric| metric.name() == name);
        let metric =
            metric.ok_or_else(|| format!("there is no metric named \"{name}\"; choose among {}", names()))?;
        let bytes = match (metric.has_size(), size) {
            (true, Some(size)) => parse_size(size)?,
            (true, None) => return Err(format!("{name} needs a size, as in {name}:1024")),
            (false, None) => 0,
            (false, Some(_)) => return Err(format!("{name} has no size")),
        };
        Point { metric, bytes }.checked()
    }
}

impl Point {
    /// The size for people: bytes, rings where the metric counts those, nothing where it has none.
    pub fn size_words(self) -> String {
        match self.metric {
            Metric::PollingSet if self.bytes == 1 => "1 ring".into(),
            Metric::PollingSet => format!("{} rings", self.bytes),
            Metric::DiscoveryNamed | Metric::DiscoveryAny => format!("bursts of {}", self.bytes),
            _ if self.metric.has_size() => format_size(self.bytes),
            _ => String::new(),
        }
    }

    /// Refuses sizes that the metric cannot have.
    pub fn checked(self) -> Result<Point, String> {
        if self.metric.adds_doubles() && (self.bytes == 0 || !self.bytes.is_multiple_of(size_of::<f64>())) {
            return Err(format!(
                "{} adds doubles: its size must be a multiple of 8, not {}",
                self.metric.name(),
                self.bytes
            ));
        }
        if self.bytes > i32::MAX as usize {
            return Err(format!("a message of {} bytes does not fit in an int", self.bytes));
        }
        Ok(self)
    }
}

fn names() -> String {
    Metric::ALL.map(Metric::name).join(", ")
}

/// Reads `8`, `64K`, `1M`, `1MiB`, `2G`: powers of 1024.
pub fn parse_size(text: &str) -> Result<usize, String> {
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, suffix) = text.split_at(split);
    let number: usize = digits.parse().map_err(|_| format!("\"{text}\" is no size; write 8, 64K or 1M"))?;
    let factor = match suffix.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        _ => return Err(format!("\"{suffix}\" is no unit of size; write K, M or G (powers of 1024)")),
    };
    number.checked_mul(factor).ok_or_else(|| format!("\"{text}\" is too large"))
}

/// Writes a size the way people say it: `8 B`, `64 KiB`, `1 MiB`.
pub fn format_size(bytes: usize) -> String {
    match bytes {
        b if b >= 1 << 20 && b.is_multiple_of(1 << 20) => format!("{} MiB", b >> 20),
        b if b >= 1 << 10 && b.is_multiple_of(1 << 10) => format!("{} KiB", b >> 10),
        b => format!("{b} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_read_as_they_are_written() {
        for text in ["latency:8", "bcast:1048576", "barrier", "startup", "copy:65536"] {
            assert_eq!(text.parse::<Point>().expect(text).to_string(), text);
        }
        assert_eq!("alltoall:1KiB".parse(), Ok(Point { metric: Metric::Alltoall, bytes: 1024 }));
    }

    #[test]
    fn senseless_points_are_refused_with_the_reason() {
        for (text, reason) in [
            ("warp:8", "no metric named \"warp\""),
            ("latency", "needs a size"),
            ("barrier:8", "has no size"),
            ("allreduce:12", "multiple of 8"),
            ("latency:3X", "no unit"),
            ("latency:4G", "does not fit"),
        ] {
            let refused = text.parse::<Point>().expect_err(text);
            assert!(refused.contains(reason), "{text}: {refused}");
        }
    }

    #[test]
    fn rings_are_no_bytes() {
        let words = |text: &str| text.parse::<Point>().expect(text).size_words();
        assert_eq!(["polling_set:128", "latency:65536", "barrier"].map(words), ["128 rings", "64 KiB", ""]);
    }

    #[test]
    fn sizes_read_well() {
        assert_eq!([8, 65536, 4 << 20, 1500].map(format_size), ["8 B", "64 KiB", "4 MiB", "1500 B"]);
    }
}
