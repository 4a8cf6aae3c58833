//! The whole text of a report: what happened, each rank's part, the likely cause, what to do.

use crate::circle::Circle;
use crate::near_miss::{Differs, NearMiss};
use crate::rank::Rank;
use crate::reason::{self, Reason};
use crate::waits::{Scene, Why};
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
    if !scene.someone_waits() {
        return None;
    }
    let reason = reason::find(&scene);
    let (cause, remedy) = judgement(&scene, &reason);
    let still = still_ms.map_or("These ranks wait".into(), |still| {
        format!("No rank has got any further in MPI for {}", words::duration(still))
    });
    let what = format!("{still} ({} ranks):", ranks.len());
    // Names come from the ranks.
    let clean = |text: String| text.replace(char::is_control, " ");
    let lines = lines(&scene).into_iter().map(clean).collect();
    let is_certain = reason.is_certain(&scene);
    Some(Report { what, lines, cause: clean(cause), remedy: clean(remedy), reason, is_certain })
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
        lines.push(format!("and {unsaid} more ranks, in {left} other places"));
    }
    lines
}

/// The sentence about one rank as one about several.
fn of_several(text: &str) -> String {
    for (one, several) in
        [("waits in", "wait in"), ("is ", "are "), ("has ", "have "), ("does not wait", "do not wait")]
    {
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
        Reason::Outside(those) => outside(those),
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
            "look at the places above; attach a debugger to one of the ranks (gdb -p PID)".into(),
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

fn outside(those: &[u32]) -> (String, String) {
    (
        format!(
            "the others wait for {}, which {} no MPI function that would let them go on: {} or {} outside MPI",
            words::ranks(those),
            words::by_number(those, "calls", "call"),
            words::by_number(those, "it computes", "they compute"),
            words::by_number(those, "waits", "wait"),
        ),
        "if that is meant to take so long, nothing; else look at what it does (gdb -p PID, py-spy dump), \
         and whether it calls MPI at all on its way"
            .into(),
    )
}

fn near_miss(scene: &Scene<'_>, miss: &NearMiss) -> (String, String) {
    let (receiver, wanted, sent) = (miss.receiver, &miss.wanted, &miss.sent);
    let sender = sent.process.map_or("another rank".into(), |rank| format!("rank {rank}"));
    let tag = |tag: Option<i32>| tag.map_or("any tag".into(), |tag| format!("tag {tag}"));
    let on = |message: &crate::Message| words::communicator(scene, message.communicator());
    let wanted_sender = wanted.process.map_or("any rank".into(), |rank| format!("rank {rank}"));
    match miss.differs {
        Differs::Tag => (
            format!(
                "rank {receiver} waits for {} from {wanted_sender}, which sent {}",
                tag(wanted.tag),
                tag(sent.tag)
            ),
            "use the same tag in the send and in the receive, or MPI_ANY_TAG".into(),
        ),
        Differs::Communicator => (
            format!(
                "rank {receiver} waits for {} from {wanted_sender} on {}; {sender} sent it on {}",
                tag(wanted.tag),
                on(wanted),
                on(sent)
            ),
            "send and receive on the same communicator".into(),
        ),
        Differs::Sender => (
            format!(
                "rank {receiver} waits for {} from {wanted_sender}; {sender} sent one with that tag",
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
            "make all ranks of a communicator call the same collectives in the same order (MPI-5.0, 6.14)"
                .into(),
        );
    }
    let at = circle.whys.iter().position(|why| *why == Why::Collective);
    if let Some(at) = at {
        let missing = circle.ranks[at];
        let before = circle.ranks[(at + circle.ranks.len() - 1) % circle.ranks.len()];
        return missing_in(scene, before, &[missing]);
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
        .filter_map(crate::waits::collective_of)
        .map(|own| format!("{} on {}", own.call, words::communicator(scene, own.context)))
        .collect();
    names.dedup();
    names.join("; ")
}

fn missing_in(scene: &Scene<'_>, waiting: u32, missing: &[u32]) -> (String, String) {
    let collective = scene.wait(waiting).and_then(crate::waits::collective_of);
    let name = collective.map_or("the collective".into(), |own| words::collective(scene, own));
    let elsewhere = missing.iter().find_map(|&rank| Some((rank, scene.wait(rank)?)));
    let there =
        elsewhere.map_or(String::new(), |(rank, wait)| format!("; it {}", words::wait(scene, rank, wait)));
    (
        format!(
            "{} {} not in {name}, in which the others are{there}",
            words::ranks(missing),
            words::by_number(missing, "is", "are"),
        ),
        "make every rank of the communicator call each collective, and finish before it what it waits for"
            .into(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rank::{RunState, Stage};
    use crate::testing::{Cast, OTHER, WORLD, barrier, collective, lock, message, receive, send};

    fn report(cast: &Cast) -> Report {
        explain(cast.ranks(), Some(60_000)).expect("a report")
    }

    #[track_caller]
    fn says(cast: &Cast, words: &[&str]) {
        let text = report(cast).to_string();
        for word in words {
            assert!(text.contains(word), "no {word:?} in\n{text}");
        }
    }

    #[test]
    fn two_blocking_sends() {
        let cast = Cast::new(2).waits(0, send(1, 5)).waits(1, send(0, 5));
        let text = "No rank has got any further in MPI for 60 s (2 ranks):\n    \
            rank 0 waits in MPI_Send for rank 1 to receive 1 MiB with tag 5 on MPI_COMM_WORLD, since 60 s\n    \
            rank 1 waits in MPI_Send for rank 0 to receive 1 MiB with tag 5 on MPI_COMM_WORLD, since 60 s\n  \
            likely cause: ranks 0, 1 send to each other first, and each would receive only afterwards\n  \
            what to do: let one of them receive first, or use MPI_Sendrecv, or MPI_Isend and MPI_Wait: a long \
            send waits for its receive (MPI-5.0, 3.5)";
        assert_eq!(report(&cast).to_string(), text);
    }

    #[test]
    fn two_blocking_receives() {
        let cast = Cast::new(2).waits(0, receive(1, 5)).waits(1, receive(0, 6));
        says(&cast, &["ranks 0, 1 each wait for a message from the next"]);
    }

    #[test]
    fn a_wrong_tag() {
        let cast = Cast::new(4).waits(3, receive(2, 7)).arrived(3, message(0, 2, 8)).waits(2, barrier(1));
        let cast = cast.waits(0, barrier(1)).waits(1, barrier(1));
        says(
            &cast,
            &[
                "ranks 0-2 wait in MPI_Barrier (collective 1 on MPI_COMM_WORLD) for rank 3, since 60 s",
                "likely cause: rank 3 waits for tag 7 from rank 2, which sent tag 8\n",
            ],
        );
    }

    #[test]
    fn a_wrong_communicator_and_a_wrong_sender() {
        let waits = || Cast::new(3).waits(0, receive(1, 7)).waits(1, barrier(1)).waits(2, barrier(1));
        let cast = waits().arrived(0, message(OTHER - WORLD, 1, 7));
        says(&cast, &["rank 0 waits for tag 7 from rank 1 on MPI_COMM_WORLD; rank 1 sent it on mine"]);
        let cast = waits().arrived(0, message(0, 2, 7));
        says(&cast, &["rank 0 waits for tag 7 from rank 1; rank 2 sent one with that tag"]);
    }

    #[test]
    fn a_rank_missing_in_a_collective() {
        let cast = Cast::new(3).waits(0, barrier(4)).waits(1, barrier(4)).waits(2, receive(0, 9));
        says(
            &cast,
            &[
                "likely cause: rank 2 is not in MPI_Barrier (collective 4 on MPI_COMM_WORLD), in which the others \
             are; it waits in MPI_Recv for a message from rank 0 with tag 9",
            ],
        );
    }

    #[test]
    fn different_collectives() {
        let cast = Cast::new(2)
            .waits(0, collective(WORLD, "MPI_Barrier", 1))
            .waits(1, collective(OTHER, "MPI_Allreduce", 1));
        says(&cast, &["are in different collectives (MPI_Barrier on MPI_COMM_WORLD; MPI_Allreduce on mine)"]);
    }

    #[test]
    fn a_lock_never_freed() {
        let cast = Cast::new(3).waits(0, lock(1)).holds(2, 1).waits(2, barrier(1)).waits(1, barrier(1));
        says(&cast, &["rank 2 holds it and has not called MPI_Win_unlock", "MPI_Win_unlock_all"]);
    }

    #[test]
    fn a_rank_that_computes_and_one_that_is_stopped() {
        let mut cast = Cast::new(3).waits(0, barrier(1)).waits(1, barrier(1)).outside(2);
        cast.rank(2).processor_percent = Some(99);
        says(
            &cast,
            &[
                "rank 2 does not wait in MPI: it computes (99% of a processor)",
                "the others wait for rank 2, which calls no MPI function",
            ],
        );
        cast.rank(2).state = RunState::Stopped;
        says(&cast, &["rank 2 is stopped by a signal (SIGSTOP", "kill -CONT 102 on node"]);
    }

    #[test]
    fn a_job_in_which_nobody_waits_has_no_report() {
        assert_eq!(explain(Cast::new(2).outside(0).outside(1).ranks(), None), None);
        assert_eq!(explain(&[], None), None);
    }

    #[test]
    fn many_ranks_take_few_lines() {
        let mut cast = Cast::new(200);
        for rank in 0..200 {
            cast = cast.waits(rank, receive((rank + 1) % 200, rank as i32));
        }
        let report = report(&cast);
        assert_eq!(report.lines.len(), LINES_MAX + 1);
        assert_eq!(report.lines[LINES_MAX], "and 176 more ranks, in 176 other places");
    }

    #[test]
    fn a_name_does_not_break_the_lines() {
        let mut cast = Cast::new(2).waits(0, barrier(1)).outside(1);
        cast.snapshot(0).communicators[0].name = "evil\n\x1b[2J".into();
        assert!(report(&cast).lines.iter().all(|line| !line.contains(char::is_control)));
    }

    #[test]
    fn thousands_of_ranks_are_explained_in_a_moment() {
        let size = 3000;
        let cast = (0..size - 1).fold(Cast::new(size), |cast, rank| cast.waits(rank, barrier(1)));
        says(&cast.outside(size - 1), &["ranks 0-2998 wait in MPI_Barrier", "wait for rank 2999"]);
    }

    #[test]
    fn a_rank_that_never_begins() {
        let mut cast = Cast::new(3);
        cast.rank(0).stage = Stage::Starting;
        cast.rank(1).stage = Stage::Starting;
        cast.rank(2).stage = Stage::Fresh;
        says(
            &cast,
            &[
                "ranks 0, 1 wait in MPI_Init for all others",
                "rank 2 has not called MPI_Init, for which the others wait",
            ],
        );
    }

    #[test]
    fn every_report_has_a_cause_and_a_remedy() {
        let calls = [send(1, 1), receive(1, 1), barrier(1), lock(1), ("MPI_Wait", crate::Awaited::Other)];
        for (call, awaited) in calls {
            let report = report(&Cast::new(2).waits(0, (call, awaited)).outside(1));
            assert!(!report.cause.is_empty() && !report.remedy.is_empty(), "{report}");
        }
    }
}
