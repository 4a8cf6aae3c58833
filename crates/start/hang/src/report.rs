//! The whole text of a report: what happened, each rank's part, the likely cause, what to do.

use crate::circle::Circle;
use crate::near_miss::{Differs, NearMiss};
use crate::rank::{Rank, Stage};
use crate::reason::{self, Reason};
use crate::waits::{Doing, Scene, Why};
use crate::words;
use std::fmt;

/// The most lines about ranks.
const LINES_MAX: usize = 24;

/// A report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The event, in a sentence.
    pub what: String,
    /// A sentence for each rank, or for several that do the same.
    pub lines: Vec<String>,
    /// The likely cause.
    pub cause: String,
    /// The remedy.
    pub remedy: String,
    /// The reason.
    pub reason: Reason,
    /// True if the job will never go on by itself.
    pub is_certain: bool,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        self.lines.iter().try_for_each(|line| write!(f, "\n    {line}"))?;
        write!(f, "\n  likely cause: {}\n  what to do: {}", self.cause, self.remedy)
    }
}

/// Explains why nothing moves; `None` if no rank waits. `still_ms`: the time for which nothing has
/// moved, if that is known.
pub fn explain(ranks: &[Rank], still_ms: Option<u64>) -> Option<Report> {
    let scene = Scene::new(ranks);
    if !scene.someone_waits() && scene.polling().is_empty() {
        return None;
    }
    let reason = reason::find(&scene);
    let (cause, remedy) = judgement(&scene, &reason);
    let still = match still_ms {
        _ if !scene.someone_waits() => "No rank waits in MPI".into(),
        Some(still) => {
            let still = waited_ms(&scene).map_or(still, |waited| waited.max(still));
            format!("No rank has got any further in MPI for {}", words::duration(still))
        }
        None => "These ranks wait".into(),
    };
    let what = format!("{still} ({}):", words::count(ranks.len(), "rank"));
    // Names come from the ranks.
    let clean = |text: String| text.replace(char::is_control, " ");
    let lines = lines(&scene).into_iter().map(clean).collect();
    let is_certain = reason.is_certain(&scene);
    Some(Report { what, lines, cause: clean(cause), remedy: clean(remedy), reason, is_certain })
}

/// The time for which all ranks have waited that have not ended; `None` if any does something else.
/// Who looks at them now and then notices later that nothing moves.
fn waited_ms(scene: &Scene<'_>) -> Option<u64> {
    let waited = scene.ranks().iter().filter_map(|rank| match scene.doing(rank.number) {
        Doing::Ended | Doing::Left => None,
        Doing::Waiting(wait) => Some(rank.now_ms.checked_sub(wait.began_ms)),
        _ => Some(None),
    });
    waited.collect::<Option<Vec<u64>>>()?.into_iter().min()
}

/// The sentences about all ranks; those who do the same share one.
pub fn lines(scene: &Scene<'_>) -> Vec<String> {
    let mut groups: Vec<(String, Vec<u32>, u64)> = Vec::new();
    for rank in scene.ranks() {
        let text = format!("{}{}", words::doing(scene, rank), words::places(rank));
        let age = scene.wait(rank.number).map_or(0, |wait| rank.now_ms.saturating_sub(wait.began_ms));
        match groups.iter_mut().find(|(own, ..)| *own == text) {
            Some((_, ranks, longest)) => {
                ranks.push(rank.number);
                *longest = age.max(*longest);
            }
            None => groups.push((text, vec![rank.number], age)),
        }
    }
    let left = groups.len().saturating_sub(LINES_MAX);
    let unsaid: usize = groups.iter().skip(LINES_MAX).map(|(_, ranks, _)| ranks.len()).sum();
    let line = |(text, ranks, age): &(String, Vec<u32>, u64)| {
        let text = if ranks.len() == 1 { text.clone() } else { of_several(text) };
        let since = if *age > 0 { format!(", since {}", words::duration(*age)) } else { String::new() };
        format!("{} {text}{since}", words::ranks(ranks))
    };
    let mut lines: Vec<String> = groups.iter().take(LINES_MAX).map(line).collect();
    if left > 0 {
        let (unsaid, left) = (words::count(unsaid, "more rank"), words::count(left, "other place"));
        lines.push(format!("and {unsaid}, in {left}"));
    }
    lines
}

/// The sentence about one rank as one about several.
fn of_several(text: &str) -> String {
    for (one, several) in [
        ("waits in", "wait in"),
        ("is ", "are "),
        ("has ", "have "),
        ("does not wait", "do not wait"),
        ("polls", "poll"),
    ] {
        if let Some(rest) = text.strip_prefix(one) {
            return format!("{several}{rest}").replace(": it computes", ": they compute");
        }
    }
    text.into()
}

/// The likely cause, and what to do.
fn judgement(scene: &Scene<'_>, reason: &Reason) -> (String, String) {
    match reason {
        Reason::Stopped(those) => stopped(scene, those),
        Reason::Traced(those) => (
            format!("a debugger holds {}, and the others wait", words::ranks(those)),
            "let it go on in the debugger".into(),
        ),
        Reason::Gone(those) => (
            format!(
                "{} {} left MPI, and others still wait for {}",
                words::ranks(those),
                words::by_number(those, "has", "have"),
                words::by_number(those, "it", "them")
            ),
            "let every rank make the calls that the others wait for, before MPI_Finalize".into(),
        ),
        Reason::NotBegun(those) => (
            format!(
                "{} {} not called MPI_Init, for which the others wait",
                words::ranks(those),
                words::by_number(those, "has", "have")
            ),
            "see what these ranks do before it; start only programs that are built for this library".into(),
        ),
        Reason::NoRoom { sender, receiver } => no_room(scene, *sender, *receiver),
        Reason::NearMiss(miss) => near_miss(scene, miss),
        Reason::Lock { waiting, lock, holders } => (
            format!(
                "rank {waiting} waits for the lock of rank {}'s part of {}; {} {} it and {} not called \
                 MPI_Win_unlock",
                lock.owner,
                words::window(&lock.window),
                words::ranks(holders),
                words::by_number(holders, "holds", "hold"),
                words::by_number(holders, "has", "have"),
            ),
            "call MPI_Win_unlock (or MPI_Win_unlock_all) before anything that waits for other ranks \
             (MPI-5.0, 12.5.3)"
                .into(),
        ),
        Reason::Circle(circle) => circle_of(scene, circle),
        Reason::Missing { waiting, missing } => missing_in(scene, *waiting, missing),
        Reason::Outside(those) => outside(scene, those),
        Reason::Polling(those) => polling(scene, those),
        Reason::Elsewhere(rank) => (
            format!("rank {rank} waits for processes of another job, of which nothing is known here"),
            "look at that job: its mpiexec tells what its ranks wait for".into(),
        ),
        Reason::NoMessage(rank) => (
            format!("rank {rank} waits for a message that no rank has sent, and all others wait too"),
            "look for the send that is missing, or that names another rank, tag or communicator".into(),
        ),
        Reason::Unknown => (
            "the ranks wait for each other in a way that the report cannot name".into(),
            format!(
                "look at the places above; attach a debugger to one of the ranks ({})",
                debugger(scene, &scene.ranks().iter().map(|rank| rank.number).collect::<Vec<_>>())
            ),
        ),
    }
}

fn stopped(scene: &Scene<'_>, those: &[u32]) -> (String, String) {
    let command = |number: u32| {
        scene.rank(number).map_or(String::new(), |rank| format!("kill -CONT {} on {}", rank.pid, rank.host))
    };
    (
        format!(
            "{} {} stopped by a signal, and the others wait for {}",
            words::ranks(those),
            words::by_number(those, "is", "are"),
            words::by_number(those, "it", "them")
        ),
        format!(
            "let it go on: {}",
            those.iter().take(3).map(|&one| command(one)).collect::<Vec<_>>().join("; ")
        ),
    )
}

/// The command that attaches a debugger to the first of these ranks that still runs.
fn debugger(scene: &Scene<'_>, those: &[u32]) -> String {
    let runs = |rank: &&Rank| rank.stage != Stage::Ended;
    let rank = those.iter().filter_map(|&rank| scene.rank(rank)).find(runs);
    rank.map_or("gdb -p PID".into(), |rank| format!("gdb -p {} on {}", rank.pid, rank.host))
}

fn polling(scene: &Scene<'_>, those: &[u32]) -> (String, String) {
    (
        format!(
            "{} {} MPI again and again without a wait there: what {} by MPI_Test or MPI_Iprobe does not come, or \
             the program is only slow",
            words::ranks(those),
            words::by_number(those, "calls", "call"),
            words::by_number(those, "it asks for", "they ask for"),
        ),
        format!(
            "compare source, tag and communicator of what is polled for with those of the send; look at what the \
             ranks do ({}, py-spy dump)",
            debugger(scene, those)
        ),
    )
}

fn outside(scene: &Scene<'_>, those: &[u32]) -> (String, String) {
    let call = |&rank: &u32| scene.rank(rank).and_then(Rank::polls);
    if those.iter().all(|rank| call(rank).is_some() || scene.polled(*rank).is_some()) {
        return (
            format!(
                "the others wait for {}, which {}{}: what {} does not come",
                words::ranks(those),
                words::by_number(those, "polls", "poll"),
                those.iter().find_map(call).map_or(String::new(), |call| format!(" by {call}")),
                words::by_number(those, "it polls for", "they poll for"),
            ),
            format!(
                "compare source, tag and communicator of what is polled for with those of the send ({})",
                debugger(scene, those)
            ),
        );
    }
    let sleeps = |&rank: &u32| scene.rank(rank).and_then(words::asleep).is_some();
    if those.iter().all(sleeps) {
        return (
            format!(
                "the others wait for {}, which {} in the kernel: {} for input, a lock, a time or another process",
                words::ranks(those),
                words::by_number(those, "sleeps", "sleep"),
                words::by_number(those, "it waits", "they wait"),
            ),
            format!(
                "if that is meant to take so long, nothing; else give {} what {} for, or let no rank wait for it \
                 between calls of MPI ({}, py-spy dump)",
                words::by_number(those, "it", "them"),
                words::by_number(those, "it waits", "they wait"),
                debugger(scene, those)
            ),
        );
    }
    (
        format!(
            "the others wait for {}, which {} no MPI function that would let them go on: {} or {} outside MPI",
            words::ranks(those),
            words::by_number(those, "calls", "call"),
            words::by_number(those, "it computes", "they compute"),
            words::by_number(those, "waits", "wait"),
        ),
        format!(
            "if that is meant to take so long, nothing; else look at what it does ({}, py-spy dump), \
             and whether it calls MPI at all on its way",
            debugger(scene, those)
        ),
    )
}

fn no_room(scene: &Scene<'_>, sender: u32, receiver: u32) -> (String, String) {
    let snapshot = scene.rank(receiver).and_then(|rank| rank.snapshot.as_ref());
    let room = snapshot.map_or(0, |snapshot| snapshot.unexpected_bytes_max);
    (
        format!(
            "rank {receiver} has its room for messages of rank {sender} that no receive asked for full \
             (VERBENA_UNEXPECTED_BYTES_MAX, {}): there short sends wait for their receive too",
            words::length(room)
        ),
        format!(
            "let rank {receiver} receive these messages earlier, or raise VERBENA_UNEXPECTED_BYTES_MAX above \
             the bytes that rank {sender} sends ahead"
        ),
    )
}

fn near_miss(scene: &Scene<'_>, miss: &NearMiss) -> (String, String) {
    let (receiver, wanted, sent) = (miss.receiver, &miss.wanted, &miss.sent);
    let sender = sent.process.map_or("another rank".into(), |rank| format!("rank {rank}"));
    let tag = |tag: Option<i32>| tag.map_or("any tag".into(), |tag| format!("tag {tag}"));
    let on = |message: &crate::Message| words::communicator(scene, message.communicator());
    let wanted_sender = wanted.process.map_or("any rank".into(), |rank| format!("rank {rank}"));
    let waits = if scene.polled(receiver).is_some() { "polls" } else { "waits" };
    match miss.differs {
        Differs::Tag => (
            format!(
                "rank {receiver} {waits} for {} from {wanted_sender}, which sent {}",
                tag(wanted.tag),
                tag(sent.tag)
            ),
            "use the same tag in the send and in the receive, or MPI_ANY_TAG".into(),
        ),
        Differs::Communicator => (
            format!(
                "rank {receiver} {waits} for {} from {wanted_sender} on {}; {sender} sent it on {}",
                tag(wanted.tag),
                on(wanted),
                on(sent)
            ),
            "send and receive on the same communicator".into(),
        ),
        Differs::Sender => (
            format!(
                "rank {receiver} {waits} for {} from {wanted_sender}; {sender} sent one with that tag",
                tag(wanted.tag)
            ),
            "name the rank that sends as the source of the receive, or MPI_ANY_SOURCE".into(),
        ),
    }
}

fn circle_of(scene: &Scene<'_>, circle: &Circle) -> (String, String) {
    let those = words::ranks(&circle.ranks);
    if circle.is_of(Why::Receive) {
        let cause = match circle.ranks.len() {
            1 => format!("{those} sends to itself and receives only afterwards"),
            _ => format!("{those} send to each other first, and each would receive only afterwards"),
        };
        let remedy = "let one of them receive first, or use MPI_Sendrecv, or MPI_Isend and MPI_Wait: a long \
                      send waits for its receive (MPI-5.0, 3.5)";
        return (cause, remedy.into());
    }
    if circle.is_of(Why::Send) {
        return (
            format!("{those} each wait for a message from the next, and each would send only afterwards"),
            "let one of them send first, or use MPI_Sendrecv; compare the ranks and tags of both sides"
                .into(),
        );
    }
    if circle.is_of(Why::Collective) {
        return (
            format!(
                "{those} are in different collectives ({}), and each waits for the others in its own",
                collectives(scene, &circle.ranks)
            ),
            "make all ranks of a communicator, window or file call the same collectives in the same order (MPI-5.0, 6.14)"
                .into(),
        );
    }
    let at = circle.whys.iter().position(|why| *why == Why::Collective);
    if let Some(at) = at {
        let before = circle.ranks[(at + circle.ranks.len() - 1) % circle.ranks.len()];
        let blockers = scene.blockers(before).into_iter();
        let missing = blockers.filter(|blocker| blocker.why == Why::Collective).map(|blocker| blocker.rank);
        return missing_in(scene, before, &missing.collect::<Vec<_>>());
    }
    (
        format!("{those} wait for each other in a circle"),
        "change the order of the calls on one of them, so that it does first what the next one waits for"
            .into(),
    )
}

/// The different collectives in which these ranks are.
fn collectives(scene: &Scene<'_>, ranks: &[u32]) -> String {
    let waits = ranks.iter().filter_map(|&rank| scene.wait(rank));
    let mut names: Vec<String> = waits
        .filter_map(words::awaited_collective)
        .map(|own| format!("{} on {}", own.call, words::communicator(scene, own.context)))
        .collect();
    names.dedup();
    names.join("; ")
}

fn missing_in(scene: &Scene<'_>, waiting: u32, missing: &[u32]) -> (String, String) {
    let collective = scene.wait(waiting).and_then(words::awaited_collective);
    let name = collective.map_or("the collective".into(), |own| words::collective(scene, &own));
    let elsewhere = missing.iter().find_map(|&rank| Some((rank, scene.wait(rank)?)));
    let there = elsewhere.map_or(String::new(), |(rank, wait)| {
        let who = if missing.len() == 1 { "it".into() } else { words::ranks(&[rank]) };
        format!("; {who} {}", words::wait(scene, rank, wait))
    });
    (
        format!(
            "{} {} not in {name}, in which {}{there}",
            words::ranks(missing),
            words::by_number(missing, "is", "are"),
            if missing.len() + 1 == scene.ranks().len() {
                format!("rank {waiting} is")
            } else {
                "the others are".into()
            },
        ),
        "make every rank of the communicator, window or file call each collective, and finish before it what it waits for"
            .into(),
    )
}

#[cfg(test)]
mod tests;
