//! `verbena bench`: micro-benchmarks of an MPI library on this machine. The measuring code is in
//! `verbena_lab`.

mod compare;
mod progress;
mod verbs;

use crate::quiet::{BUSY_PERCENT_MAX, busy_percent};
use anyhow::{Context, Result, anyhow, bail};
use clap::{Args, ValueEnum};
use progress::Progress;
use serde::Serialize;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Duration;
use verbena_fault::Fault;
use verbena_lab::busy::Busy;
use verbena_lab::campaign::Campaign;
use verbena_lab::files::FOLDER;
use verbena_lab::job::Launch;
use verbena_lab::metric::{Family, Metric, Point, parse_size};
use verbena_lab::report::Report;
use verbena_lab::timing::Effort;
use verbena_lab::{chart, kernels, output, place, table};

/// The group of metrics to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum What {
    /// Ping-pong between two ranks
    Latency,
    /// One-way and two-way streams between two ranks
    Bandwidth,
    /// Small messages a second between two ranks
    Rate,
    /// Barrier, bcast, reduce, allreduce, ... on all ranks
    Collectives,
    /// One-sided communication on windows of all ranks: puts, gets, atomic operations, locks,
    /// fences
    Rma,
    /// Files that all ranks open together: in a folder of --folder
    Io,
    /// Small messages a second between threads of two ranks
    Threads,
    /// Small computations with the communication of the NAS parallel benchmarks and SMG, on all
    /// ranks
    Kernels,
    /// mpiexec of a program that does nothing
    Startup,
    /// The best that the machine can do without MPI
    Floor,
    /// The verbs device without MPI, between two ranks; --launcher-arg=-hosts and
    /// --launcher-arg=a,b name their hosts
    #[value(alias = "rc")]
    Verbs,
    /// All of these but verbs, kernels and io
    All,
}

/// The options of `verbena bench`.
#[derive(Args, Debug)]
pub(crate) struct BenchArgs {
    /// Measurement to make
    #[arg(value_enum, default_value = "all")]
    what: What,
    /// Ranks for collectives, windows and the start-up, as in 2,4 (pairs are measured at 2)
    #[arg(short = 'n', long, value_delimiter = ',', default_value = "2")]
    ranks: Vec<usize>,
    /// Message sizes, as in 8,1K,64K,1M (powers of 1024)
    #[arg(long, value_delimiter = ',', value_parser = parse_size)]
    sizes: Vec<usize>,
    /// Exactly these points instead of WHAT and --sizes, as in latency:8,bcast:1M,barrier
    #[arg(long, value_delimiter = ',', conflicts_with = "sizes")]
    points: Vec<Point>,
    /// Repetitions of the whole [default: 1, with --compare 3]
    #[arg(long)]
    rounds: Option<usize>,
    /// Time for the repetitions of one point, in milliseconds
    #[arg(long, default_value_t = 60)]
    point_ms: u64,
    /// Repetitions of one point in a round
    #[arg(long, default_value_t = 5)]
    repetitions: usize,
    /// Messages in flight in the window tests
    #[arg(long, default_value_t = 64)]
    window: usize,
    /// Leave the buffers of latency, bandwidth and rate as they are between messages: copies by the
    /// kernel then look quicker than they are in a program
    #[arg(long)]
    unwritten: bool,
    /// The folder of the file that io writes [default: that for temporary files]
    #[arg(long)]
    folder: Option<PathBuf>,
    /// Processes that spin during the whole run, as other users' programs would
    #[arg(long, value_name = "N", default_value_t = 0)]
    busy: usize,
    /// Few sizes, 10 ms a point: a first impression
    #[arg(long)]
    quick: bool,
    /// The longest that one point may take, in seconds
    #[arg(long, default_value_t = 30.0)]
    limit_s: f64,
    /// The launcher [default: mpiexec beside this program]
    #[arg(long)]
    mpiexec: Option<PathBuf>,
    /// A further option for the launcher (may be repeated)
    #[arg(long = "launcher-arg", allow_hyphen_values = true)]
    launcher_args: Vec<String>,
    /// The MPI library [default: Verbena's, ../lib/libmpi_abi.so.1 seen from this program]
    #[arg(long)]
    library: Option<PathBuf>,
    /// Two libraries, measured in turns and shown side by side; each under the mpiexec of its own
    /// installation, if there is one
    #[arg(long, num_args = 2, value_names = ["A", "B"], conflicts_with = "library")]
    compare: Vec<PathBuf>,
    /// Write the result as JSON to FILE (- for standard output, instead of the tables)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// No plot in the terminal (none is drawn into a pipe or a file)
    #[arg(long)]
    no_chart: bool,
}

/// Runs `verbena bench`.
///
/// # Errors
/// Something needed is missing, a file cannot be written, or points could not be measured.
pub(crate) fn run(args: &BenchArgs) -> Result<()> {
    if args.what == What::Verbs {
        return verbs::run(args);
    }
    if let [a, b] = &args.compare[..] {
        return compare::run(args, [a, b]);
    }
    let campaign = plan(args, args.library.as_deref())?;
    let mut report = Report { entries: campaign.entries(), ..Report::of_this_command() };
    warn_if_busy();
    let busy = Busy::start(args.busy)?;
    let mut progress = Progress::new(report.entries.len() * campaign.rounds);
    let outcome = campaign.run(&mut report, &mut |text| progress.tell(text));
    drop((busy, progress));
    show(args, &report)?;
    outcome?;
    match report.entries.iter().filter(|entry| entry.failure.is_some()).count() {
        0 => Ok(()),
        failed => {
            bail!("{failed} of {} points could not be measured; the reasons are above", report.entries.len())
        }
    }
}

/// Says before anything is measured that other programs use the machine; returns whether they do.
fn warn_if_busy() -> bool {
    let percent = busy_percent().filter(|percent| *percent > BUSY_PERCENT_MAX);
    if let Some(percent) = percent {
        eprintln!(
            "warning: other programs took {percent}% of the processors' time when this began: the figures may be \
             theirs as well"
        );
    }
    percent.is_some()
}

impl BenchArgs {
    /// Returns the milliseconds for a point.
    fn point_ms(&self) -> u64 {
        if self.quick { self.point_ms.min(10) } else { self.point_ms }
    }
}

fn limit(args: &BenchArgs) -> Result<Duration> {
    Duration::try_from_secs_f64(args.limit_s).map_err(|_| anyhow!("--limit-s must be positive"))
}

/// Plans the measurement of this library, or of Verbena's.
fn plan(args: &BenchArgs, library: Option<&Path>) -> Result<Campaign> {
    let points = if args.points.is_empty() { points(args)? } else { args.points.clone() };
    if args.ranks.contains(&0)
        || args.rounds == Some(0)
        || args.repetitions == 0
        || args.point_ms == 0
        || args.window == 0
    {
        bail!("ranks, rounds, repetitions, milliseconds and the window must be at least 1");
    }
    // The ranks of another host may have the folder, though it is not here.
    if args.launcher_args.is_empty() && points.iter().any(|point| point.metric.family() == Family::File) {
        try_folder(&args.folder.clone().unwrap_or_else(std::env::temp_dir))?;
    }
    let (limit, point_ms) = (limit(args)?, args.point_ms());
    let needs_mpi = points.iter().any(|point| point.metric.family() != Family::Floor);
    let launch = needs_mpi.then(|| launch(args, library, point_ms, limit)).transpose()?;
    let effort =
        Effort { point: Duration::from_millis(point_ms), repetitions: args.repetitions, window: args.window };
    Ok(Campaign { launch, points, ranks: args.ranks.clone(), rounds: args.rounds.unwrap_or(1), effort })
}

/// Refuses a folder in which no file can be made.
fn try_folder(folder: &Path) -> Result<(), Fault> {
    let file = folder.join(format!("verbena-bench-{}.try", std::process::id()));
    let made = std::fs::OpenOptions::new().write(true).create_new(true).open(&file);
    made.and_then(|_| std::fs::remove_file(&file)).map_err(|error| {
        Fault::new(
            "the file that is to be measured cannot be written",
            format!("the folder {}", folder.display()),
            error.to_string(),
            "name a folder by --folder that is there and may be written to",
        )
    })
}

fn launch(args: &BenchArgs, library: Option<&Path>, point_ms: u64, limit: Duration) -> Result<Launch> {
    let library = library.map_or_else(place::library, |library| Ok(library.to_path_buf()))?;
    Ok(Launch {
        mpiexec: args.mpiexec.clone().map_or_else(place::mpiexec, Ok)?,
        launcher_args: args.launcher_args.clone(),
        // The ranks may start in another folder; a bare name is left to the dynamic linker's
        // search.
        library: if library.exists() { library.canonicalize()? } else { library },
        point_ms,
        repetitions: args.repetitions,
        window: args.window,
        environment: args.folder.iter().map(|folder| (FOLDER.into(), folder.display().to_string())).collect(),
        unwritten: args.unwritten,
        of_ranks: Vec::new(),
        limit,
    })
}

/// Returns the points that WHAT, --sizes and --quick select.
fn points(args: &BenchArgs) -> Result<Vec<Point>> {
    let mut points = Vec::new();
    for metric in Metric::ALL.into_iter().filter(|&metric| asked(args.what, metric)) {
        for &bytes in sizes(args, metric).iter() {
            let point = Point { metric, bytes };
            if let Some(reason) = unfit(args, point) {
                eprintln!("{} is left out: {reason}", metric.name());
                continue;
            }
            match point.checked() {
                Ok(point) => points.push(point),
                // A list of sizes for several metrics may hold some that one metric cannot have.
                Err(_) if args.what == What::All || args.what == What::Collectives => {}
                Err(reason) => bail!(reason),
            }
        }
    }
    Ok(points)
}

/// Returns why a kernel that was not named by itself cannot be divided among this many ranks.
fn unfit(args: &BenchArgs, point: Point) -> Option<String> {
    let is_kernel = point.metric.family() == Family::Kernel;
    args.ranks.iter().filter(|_| is_kernel).find_map(|&ranks| kernels::refusal(point, ranks))
}

fn asked(what: What, metric: Metric) -> bool {
    match what {
        What::All => !matches!(
            metric.family(),
            Family::Kernel
                | Family::Mixed
                | Family::Discovery
                | Family::FewTalk
                | Family::Overlap
                | Family::Pairs
                | Family::Everyone
                | Family::File
        ),
        What::Kernels => metric.family() == Family::Kernel,
        What::Latency => metric == Metric::Latency,
        What::Bandwidth => matches!(metric, Metric::Bandwidth | Metric::Bidirectional | Metric::PingPong),
        What::Rate => metric == Metric::Rate,
        What::Collectives => metric.family() == Family::Collective,
        What::Rma => metric.family() == Family::OneSided,
        What::Io => metric.family() == Family::File,
        What::Threads => metric.family() == Family::Threads,
        What::Startup => metric == Metric::Startup,
        What::Floor => metric.family() == Family::Floor,
        What::Verbs => false,
    }
}

/// The sizes for a metric: the user's, or a fair choice.
fn sizes(args: &BenchArgs, metric: Metric) -> Vec<usize> {
    let powers =
        |from: u32, to: u32, step: usize| (from..=to).step_by(step).map(|power| 1 << power).collect();
    match metric {
        _ if !metric.has_size() => vec![0],
        Metric::PollingSet => powers(0, 7, 1),
        _ if !args.sizes.is_empty() => args.sizes.clone(),
        Metric::Rate | Metric::PutRate | Metric::GetRate => vec![8, 1024],
        _ if metric.family() == Family::OneSided => sizes_one_sided(args, metric),
        Metric::FileWriteAll | Metric::FileReadAll => vec![1 << 20],
        _ if metric.family() == Family::File => vec![64],
        _ if metric.threads().is_some() => vec![8],
        _ if metric.family() == Family::Floor && args.quick => vec![64 << 10],
        _ if metric.family() == Family::Floor => powers(12, 22, 2),
        _ if args.quick => vec![8, 1 << 10, 64 << 10, 1 << 20],
        Metric::Latency => powers(0, 20, 1),
        Metric::Bandwidth | Metric::Bidirectional | Metric::PingPong => powers(10, 22, 1),
        _ if metric.family() == Family::Kernel => vec![16 << 10],
        Metric::Alltoall | Metric::Allgather | Metric::Gather | Metric::Scatter => powers(3, 17, 2),
        _ => powers(3, 21, 2),
    }
}

/// The sizes for a metric of one-sided communication.
fn sizes_one_sided(args: &BenchArgs, metric: Metric) -> Vec<usize> {
    match (metric.is_speed(), args.quick) {
        (true, true) => vec![64 << 10, 1 << 20],
        (true, false) => (12..=22).step_by(2).map(|power| 1 << power).collect(),
        (false, true) => vec![8, 64 << 10],
        (false, false) => (3..=18).step_by(3).map(|power| 1 << power).collect(),
    }
}

/// Writes the result as JSON where that is wanted; returns whether it took the place of the tables.
fn write_json(args: &BenchArgs, result: &impl Serialize) -> Result<bool> {
    match &args.json {
        Some(path) if path == Path::new("-") => {
            output::line(&serde_json::to_string_pretty(result)?)?;
            return Ok(true);
        }
        Some(path) => std::fs::write(path, serde_json::to_string_pretty(result)?)
            .with_context(|| format!("cannot write the result to {}", path.display()))?,
        None => {}
    }
    Ok(false)
}

/// Says what the pairs did with their buffers.
fn about_buffers(unwritten: bool) -> &'static str {
    if unwritten {
        "Between two ranks: buffers were left as they were between messages.\n"
    } else {
        "Between two ranks: before each message (or window) a byte of every line of the send buffer was \
         written, and\nafter it a byte of every line received was read.\n"
    }
}

fn show(args: &BenchArgs, report: &Report) -> Result<()> {
    if !write_json(args, report)? {
        output::print(&table::render(report))?;
        if report.entries.iter().any(|entry| entry.metric.family() == Family::Pair) {
            output::print(about_buffers(args.unwritten))?;
        }
        if !args.no_chart && std::io::stdout().is_terminal() {
            output::print(&chart::render(report))?;
        }
    }
    Ok(())
}
