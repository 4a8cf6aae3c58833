//! The jobs behind a value: which of them count, and their least, median and most.
//!
//! A job is thrown out if the machine disturbed it:
//!
//! - it *waited*: a rank was ready to run and had no processor for a fifth of the time more than in
//!   the job of its variant that waited least (the kernel's account), though there are as many
//!   processors as ranks that do not nap. Some waiting is the device's: where it is software, its
//!   threads need processors too;
//! - it was *stolen* from: a host took more than a tenth of the processors' time;
//! - a *tick*: a message took as long as a tick of the scheduler (4 ms), where the same message
//!   takes microseconds otherwise; or a round trip or window of short messages took a whole number
//!   of ticks, to a tenth of a millisecond: then the scheduler was measured, whatever the ratio;
//! - the *device* was slow: in the same round the bare device took longer for a write than for a
//!   send, which no device does. That does not count where the two are what is compared.

use super::results::{Measured, Results, Series};
use verbena_lab::experiment::is_one_speed;
use verbena_lab::report::Job;
use verbena_lab::timing::median;

/// The fewest jobs of a value.
pub(super) const JOBS_MIN: usize = 5;
/// The part of its time for which an undisturbed rank may wait longer for a processor.
const WAITED_MAX: f64 = 0.2;
/// The part of the processors' time that a host may take.
const STOLEN_MAX: f64 = 0.1;
/// Nearly a tick of a kernel with 250 of them a second, in microseconds.
const TICK_US: f64 = 3600.0;
/// A message that takes less, in microseconds, does not take a tick by itself.
const SHORT_US: f64 = 1000.0;
/// A tick in seconds, the distance that counts as none, and the ticks up to which that is told.
const TICK_S: f64 = 4e-3;
const ON_TICK_S: f64 = 1e-4;
const TICKS_MAX: f64 = 10.0;
/// Messages between pairs of ranks, which are short up to this length.
const PAIRS: [&str; 5] = ["latency", "bandwidth", "ping_pong", "multi_ping_pong", "rate"];
const SHORT_BYTES: f64 = 65536.0;
/// The bare device.
const WRITE: &str = "ib_write";
const SEND: &str = "ib_send";
const READ: &str = "ib_read";
const DATAGRAM: &str = "ib_send UD";
/// The beginning of the experiments of `verbena bench verbs`.
const OURS: &str = "verbs ";

/// The jobs of a value that count, and how many do not.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Jobs {
    /// The values of the jobs that count.
    pub values: Vec<f64>,
    /// The reasons of those that were thrown out.
    pub thrown: Vec<&'static str>,
}

impl Jobs {
    /// The median.
    pub(super) fn median(&self) -> Option<f64> {
        median(&self.values)
    }

    /// The least and the most.
    pub(super) fn range(&self) -> Option<(f64, f64)> {
        let least = self.values.iter().copied().reduce(f64::min)?;
        Some((least, self.values.iter().copied().reduce(f64::max)?))
    }

    /// Returns whether there are enough of them.
    pub(super) fn suffice(&self) -> bool {
        self.values.len() >= JOBS_MIN
    }
}

/// The jobs of a value in its experiment; `bare` if the bare device is compared with itself.
pub(super) fn of(results: &Results, series: &Series, measured: &Measured, bare: bool) -> Jobs {
    let usual = Usual { least_us: least_us(results, series, measured), waited: least_waited(measured) };
    let slow = if bare { Vec::new() } else { slow_rounds(results, series, measured) };
    let mut jobs = Jobs::default();
    for (round, job) in measured.jobs.iter().enumerate() {
        let reason = disturbance(job, measured, &usual)
            .or_else(|| slow.get(round).copied().unwrap_or(false).then_some("the device was slow"));
        match reason {
            Some(reason) => jobs.thrown.push(reason),
            None => jobs.values.push(job.value),
        }
    }
    jobs
}

/// Returns whether the bare device is on both sides.
pub(super) fn is_bare(one: &Series, other: &Series) -> bool {
    [one, other].iter().all(|series| is_device(series))
}

/// Returns whether a series is the bare device's, by perftest or by our own program: there is no
/// library that could count.
pub(super) fn is_device(series: &Series) -> bool {
    [WRITE, SEND, READ, DATAGRAM].contains(&series.name.as_str()) || series.experiment.starts_with(OURS)
}

/// Measurements of polling, in which one rank of three naps while the others talk.
const TALKS: [&str; 2] = ["node_latency", "network_latency"];
const DISCOVERY: &str = "discovery_";

/// The ranks that need a processor at a time.
fn busy(measured: &Measured) -> usize {
    let metric = measured.metric.as_str();
    let naps = TALKS.contains(&metric.trim_end_matches("_any")) || metric.starts_with(DISCOVERY);
    measured.ranks - usize::from(naps && measured.ranks > 2)
}

/// The least of what jobs at this place took and waited.
struct Usual {
    least_us: Option<f64>,
    waited: f64,
}

/// The least part of its time for which a job waited.
fn least_waited(measured: &Measured) -> f64 {
    let waited = measured.jobs.iter().filter_map(|job| job.witness.as_ref()?.waited);
    waited.reduce(f64::min).unwrap_or(0.0)
}

fn disturbance(job: &Job, measured: &Measured, usual: &Usual) -> Option<&'static str> {
    if let Some(witness) = &job.witness {
        let alone = busy(measured) <= witness.processors;
        if alone && witness.waited.is_some_and(|waited| waited > usual.waited + WAITED_MAX) {
            return Some("it waited for a processor");
        }
        if witness.stolen.is_some_and(|stolen| stolen > STOLEN_MAX) {
            return Some("the host took its processors");
        }
    }
    if job.witness.as_ref().is_some_and(|witness| is_of_ticks(measured, witness.iteration_s)) {
        return Some("it took whole ticks of the scheduler");
    }
    let is_short = usual.least_us.is_some_and(|least| least < SHORT_US);
    let is_tick = is_short && time_us(measured, job.value).is_some_and(|time| time >= TICK_US);
    is_tick.then_some("a tick of the scheduler")
}

/// Returns whether an iteration of short messages took a few whole ticks.
fn is_of_ticks(measured: &Measured, iteration_s: f64) -> bool {
    let is_short = measured.x.is_some_and(|bytes| bytes <= SHORT_BYTES);
    let ticks = (iteration_s / TICK_S).round();
    let is_whole = (iteration_s - ticks * TICK_S).abs() < ON_TICK_S;
    PAIRS.contains(&measured.metric.as_str()) && is_short && is_whole && (1.0..=TICKS_MAX).contains(&ticks)
}

/// The time of a message of this value, in microseconds.
fn time_us(measured: &Measured, value: f64) -> Option<f64> {
    match measured.unit.as_str() {
        "us" => Some(value),
        "GB/s" => Some(measured.x? / value / 1e3),
        "Mmsg/s" => Some(1.0 / value),
        _ => None,
    }
}

/// The shortest time of a message at the same place of the experiment, by any variant.
fn least_us(results: &Results, series: &Series, measured: &Measured) -> Option<f64> {
    let others = results.series.iter().filter(|other| other.experiment == series.experiment);
    let places = others.filter_map(|other| other.same(measured));
    let times = places.flat_map(|place| place.jobs.iter().filter_map(|job| time_us(place, job.value)));
    times.reduce(f64::min)
}

/// The rounds in which the bare device was slow at this place, where that was measured.
fn slow_rounds(results: &Results, series: &Series, measured: &Measured) -> Vec<bool> {
    let jobs = |name: &str| {
        let of =
            results.series.iter().rfind(|other| other.experiment == series.experiment && other.name == name);
        of.and_then(|other| other.same(measured)).map_or(&[][..], |place| &place.jobs[..])
    };
    jobs(WRITE).iter().zip(jobs(SEND)).map(|(write, send)| !is_one_speed(write.value, send.value)).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use verbena_lab::witness::Witness;

    /// A series of latencies of 8 B, job by job.
    pub(crate) fn latencies(experiment: &str, name: &str, values: &[f64]) -> Series {
        let jobs = values.iter().map(|value| Job { value: *value, witness: None }).collect();
        let point = Measured {
            metric: "latency".into(),
            unit: "us".into(),
            x: Some(8.0),
            ranks: 2,
            value: median(values),
            jobs,
            ..Measured::default()
        };
        Series { experiment: experiment.into(), name: name.into(), points: vec![point], ..Series::default() }
    }

    fn clean(series: Vec<Series>, bare: bool) -> Jobs {
        let results = Results { series, ..Results::default() };
        of(&results, &results.series[0], &results.series[0].points[0], bare)
    }

    #[test]
    fn a_tick_is_thrown_out_where_microseconds_are_measured() {
        let jobs = clean(vec![latencies("e", "a", &[30.0, 31.0, 4000.0, 29.0, 30.0])], false);
        assert_eq!((jobs.values.len(), jobs.thrown.len(), jobs.suffice()), (4, 1, false));
        // Another variant shows that the message takes microseconds.
        let ticks = vec![latencies("e", "a", &[4000.0; 5]), latencies("e", "b", &[30.0; 5])];
        assert!(clean(ticks, false).values.is_empty());
        let slow = clean(vec![latencies("e", "a", &[5000.0; 5])], false);
        assert_eq!((slow.values.len(), slow.suffice()), (5, true));
    }

    #[test]
    fn a_round_with_a_slow_device_is_thrown_out_unless_the_device_is_compared() {
        let all = || {
            vec![
                latencies("e", "RDMA eager", &[1.0, 2.0, 3.0]),
                latencies("e", "ib_write", &[9.0, 8.0, 9.0]),
                latencies("e", "ib_send", &[10.0, 10.0, 7.0]),
            ]
        };
        assert_eq!(clean(all(), false).values, [1.0, 2.0]);
        assert_eq!(clean(all(), true).values, [1.0, 2.0, 3.0]);
        assert!(is_bare(&all()[1], &all()[2]) && !is_bare(&all()[0], &all()[1]));
    }

    #[test]
    fn a_job_that_waited_or_was_stolen_from_is_thrown_out() {
        let with = |processors, waited: Option<f64>, stolen| {
            let mut series = latencies("e", "a", &[1.0, 1.0]);
            let [one, other] = &mut series.points[0].jobs[..] else { panic!("two jobs") };
            one.witness = Some(Witness { processors, waited, stolen, ..Witness::default() });
            let waited = waited.map(|_| 0.01);
            other.witness = Some(Witness { processors, waited, ..Witness::default() });
            clean(vec![series], false).thrown.len()
        };
        assert_eq!(with(2, Some(0.5), None), 1);
        assert_eq!(with(2, Some(0.01), Some(0.5)), 1);
        assert_eq!(with(2, Some(0.01), Some(0.0)), 0);
        // Two ranks on one processor wait for each other by design.
        assert_eq!(with(1, Some(0.5), None), 0);
        assert_eq!(with(2, None, None), 0);
        // The threads of a device in software take processors from every job alike.
        let mut series = latencies("e", "a", &[1.0; 5]);
        for job in &mut series.points[0].jobs {
            job.witness = Some(Witness { processors: 2, waited: Some(0.45), ..Witness::default() });
        }
        assert_eq!(clean(vec![series], false).values.len(), 5);
    }

    #[test]
    fn a_rank_that_naps_needs_no_processor() {
        let thrown = |metric: &str| {
            let mut series = latencies("e", "a", &[1.0, 1.0]);
            series.points[0].metric = metric.into();
            series.points[0].ranks = 3;
            for (job, waited) in series.points[0].jobs.iter_mut().zip([0.01, 0.5]) {
                job.witness = Some(Witness { processors: 2, waited: Some(waited), ..Witness::default() });
            }
            clean(vec![series], false).thrown.len()
        };
        let polling = ["node_latency", "network_latency_any", "discovery_any", "discovery_100"];
        assert_eq!(polling.map(thrown), [1; 4]);
        assert_eq!(thrown("kernel_is"), 0);
    }

    #[test]
    fn windows_of_whole_ticks_are_thrown_out() {
        let with = |metric: &str, iteration_s| {
            let mut series = latencies("e", "a", &[1.0]);
            series.points[0].metric = metric.into();
            series.points[0].jobs[0].witness =
                Some(Witness { processors: 2, iteration_s, ..Witness::default() });
            clean(vec![series], false).thrown.len()
        };
        assert_eq!(
            (with("bandwidth", 15.94e-3), with("bandwidth", 31.95e-3), with("latency", 8.03e-3)),
            (1, 1, 1)
        );
        assert_eq!((with("bandwidth", 17.1e-3), with("latency", 60e-6), with("bandwidth", 0.4)), (0, 0, 0));
        // A kernel may take that long by itself.
        assert_eq!((with("kernel_is", 16e-3), with("latency", 0.0)), (0, 0));
    }

    #[test]
    fn least_and_most_are_told() {
        let jobs = Jobs { values: vec![3.0, 1.0, 2.0], thrown: Vec::new() };
        assert_eq!((jobs.range(), jobs.median()), (Some((1.0, 3.0)), Some(2.0)));
    }
}
