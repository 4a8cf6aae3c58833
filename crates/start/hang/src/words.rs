//! Ranks, messages and waits in words.

use crate::rank::{Place, Rank, RunState};
use crate::snapshot::{Awaited, AwaitedLock, Collective, Message, Operation, Wait};
use crate::waits::{COMPUTES_PERCENT, Doing, Scene, collective_of};

/// The end of a path of which more is not known, of a function that calls itself.
pub const AND_MORE: &str = " and more";
/// The most operations of a wait that are told one by one.
const OPERATIONS_MAX: usize = 3;
/// The most places of a rank that are told.
const PLACES_MAX: usize = 2;
/// Fewer places of one function on end are told one by one.
const REPEATS_MIN: usize = 4;

/// The numbers as a person writes them: `0-2, 5`.
pub fn numbers(ranks: &[u32]) -> String {
    let mut sorted = ranks.to_vec();
    sorted.sort_unstable();
    let ranges = crate::snapshot::Communicator::ranges(sorted.iter().copied());
    if ranges.is_empty() && !sorted.is_empty() {
        return format!("{} ranks from {} to {}", sorted.len(), sorted[0], sorted[sorted.len() - 1]);
    }
    let parts: Vec<String> = ranges.iter().map(|&range| text_of(range)).collect();
    parts.join(", ")
}

fn text_of((first, last): (u32, u32)) -> String {
    match last - first {
        0 => first.to_string(),
        1 => format!("{first}, {last}"),
        _ => format!("{first}-{last}"),
    }
}

/// The ranks with their noun.
pub fn ranks(ranks: &[u32]) -> String {
    match ranks {
        [one] => format!("rank {one}"),
        several => format!("ranks {}", numbers(several)),
    }
}

/// A number with its noun.
pub fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// One of two words, by whether there is one rank or several.
pub fn by_number<'a>(ranks: &[u32], one: &'a str, several: &'a str) -> &'a str {
    if ranks.len() == 1 { one } else { several }
}

/// A length in the largest unit that it is a whole number of.
pub fn length(bytes: u64) -> String {
    match bytes {
        1 => "1 byte".into(),
        0 => "0 bytes".into(),
        _ if bytes.is_multiple_of(1 << 30) => format!("{} GiB", bytes >> 30),
        _ if bytes.is_multiple_of(1 << 20) => format!("{} MiB", bytes >> 20),
        _ if bytes.is_multiple_of(1 << 10) => format!("{} KiB", bytes >> 10),
        _ => format!("{bytes} bytes"),
    }
}

/// A time as a person tells it.
pub fn duration(milliseconds: u64) -> String {
    match milliseconds {
        0..10_000 => format!("{:.1} s", milliseconds as f64 / 1000.0),
        10_000..600_000 => format!("{} s", milliseconds / 1000),
        _ => format!("{} min", milliseconds / 60_000),
    }
}

/// The name of a communicator.
pub fn communicator(scene: &Scene<'_>, context: u64) -> String {
    match scene.communicator(context) {
        Some(known) if !known.name.is_empty() => known.name.clone(),
        Some(_) => "a communicator without a name".into(),
        None => "an object of which more is not known, or a freed one".into(),
    }
}

fn tag(tag: Option<i32>) -> String {
    tag.map_or("any tag".into(), |tag| format!("tag {tag}"))
}

/// A process at the other end. Those of another job, or that this job spawned, have numbers behind
/// its ranks here, which nobody else knows.
fn peer(scene: &Scene<'_>, process: Option<u32>) -> String {
    match process {
        None => "any rank".into(),
        Some(rank) if scene.rank(rank).is_some() => format!("rank {rank}"),
        Some(_) => "a process of another job".into(),
    }
}

/// Several processes at the other end.
fn peers(scene: &Scene<'_>, processes: &[u32]) -> String {
    let (own, others): (Vec<u32>, Vec<u32>) =
        processes.iter().copied().partition(|process| scene.rank(*process).is_some());
    let far = match others.len() {
        0 => return ranks(&own),
        1 => "a process of another job".to_string(),
        count => format!("{count} processes of another job"),
    };
    if own.is_empty() { far } else { format!("{} and {far}", ranks(&own)) }
}

/// A message that is waited for, after "for".
pub fn awaited_message(scene: &Scene<'_>, message: &Message) -> String {
    let on = communicator(scene, message.communicator());
    format!("a message from {} with {} on {on}", peer(scene, message.process), tag(message.tag))
}

/// A message that was sent.
pub fn sent_message(scene: &Scene<'_>, message: &Message) -> String {
    let on = communicator(scene, message.communicator());
    format!("{} with {} on {on}", length(message.bytes), tag(message.tag))
}

fn sent(scene: &Scene<'_>, message: &Message) -> String {
    format!("{} to receive {}", peer(scene, message.process), sent_message(scene, message))
}

/// A collective with its number, after "in".
pub fn collective(scene: &Scene<'_>, collective: &Collective) -> String {
    let call = if collective.call.is_empty() { "a collective" } else { &collective.call };
    // Accesses to a file are counted with the nonblocking ones, whether they are or not.
    let is_access = collective.call.starts_with("MPI_File_");
    let sort = if collective.nonblocking && !is_access { "nonblocking collective" } else { "collective" };
    let on = communicator(scene, collective.context);
    format!("{call} ({sort} {} on {on})", collective.number)
}

/// The collective that a wait is for. If it is not known of which call it is, it is that of the
/// call that waits.
pub fn awaited_collective(wait: &Wait) -> Option<Collective> {
    let own = collective_of(wait)?.clone();
    let is_of_call = own.call.is_empty() && matches!(wait.awaited, Awaited::Collective(_));
    Some(if is_of_call { Collective { call: wait.call.clone(), ..own } } else { own })
}

fn operation(scene: &Scene<'_>, operation: &Operation) -> String {
    match operation {
        Operation::Send(message) if message.is_the_programs() => sent(scene, message),
        Operation::Receive(message) if message.is_the_programs() => awaited_message(scene, message),
        Operation::Held(message) if message.is_the_programs() => {
            let to = peer(scene, message.process);
            format!("room at {to}, which has not received {}", sent_message(scene, message))
        }
        Operation::Send(message) | Operation::Held(message) | Operation::Receive(message) => {
            format!("{}, in a message of MPI's own", peer(scene, message.process))
        }
        Operation::Collective(own) => format!("the others in {}", collective(scene, own)),
        Operation::Other => "an operation of another kind".into(),
    }
}

fn operations(scene: &Scene<'_>, all: &[Operation], join: &str) -> String {
    let told: Vec<String> = all.iter().take(OPERATIONS_MAX).map(|one| operation(scene, one)).collect();
    let more = match all.len().saturating_sub(OPERATIONS_MAX) {
        0 => String::new(),
        more => format!(", {join} {more} more"),
    };
    format!("{}{more}", told.join(&format!(", {join} ")))
}

/// The name of a window.
pub fn window(name: &str) -> String {
    if name.is_empty() { "a window without a name".into() } else { format!("window {name}") }
}

fn awaited_lock(scene: &Scene<'_>, number: u32, lock: &AwaitedLock) -> String {
    let sort = if lock.exclusive { "exclusive" } else { "shared" };
    let holders: Vec<u32> =
        scene.holders(lock.context, lock.owner).into_iter().filter(|&holder| holder != number).collect();
    let held = match holders.is_empty() {
        true => String::new(),
        false => format!(", which {} {}", ranks(&holders), by_number(&holders, "holds", "hold")),
    };
    let owner = peer(scene, Some(lock.owner));
    format!("the {sort} lock of {owner}'s part of {}{held}", window(&lock.window))
}

/// The wait of a rank: "waits in ... for ...".
pub fn wait(scene: &Scene<'_>, number: u32, wait: &Wait) -> String {
    let call = if wait.call.is_empty() { "an MPI call" } else { &wait.call };
    if let Awaited::Collective(own) = &wait.awaited {
        return format!("waits in {}", in_collective(scene, number, call, own));
    }
    format!("waits in {call}{}", awaited(scene, number, &wait.awaited))
}

/// The things that a rank waits or polls for: " for ..."; empty if more is not known.
fn awaited(scene: &Scene<'_>, number: u32, awaited: &Awaited) -> String {
    let what = match awaited {
        Awaited::All(operations) | Awaited::Any(operations) if operations.is_empty() => return String::new(),
        Awaited::All(all) => operations(scene, all, "and for"),
        Awaited::Any(all) => operations(scene, all, "or for"),
        Awaited::Collective(own) => format!("the others in {}", collective(scene, own)),
        Awaited::Probe(message) => awaited_message(scene, message),
        Awaited::Lock(lock) => awaited_lock(scene, number, lock),
        Awaited::Epoch { window: name, processes } => {
            format!("{} at {}", peers(scene, processes), window(name))
        }
        Awaited::OneSided { processes, .. } if processes.is_empty() => return String::new(),
        Awaited::OneSided { window: name, processes } => {
            format!("one-sided operations on {} at {}", window(name), peers(scene, processes))
        }
        Awaited::OtherJob(what) => what.clone(),
        Awaited::Other => return String::new(),
    };
    format!(" for {what}")
}

fn in_collective(scene: &Scene<'_>, number: u32, call: &str, own: &Collective) -> String {
    // The function that the program called may be made of a collective of another name.
    let within = if own.call.is_empty() && call != "an MPI call" {
        collective(scene, &Collective { call: call.into(), ..own.clone() })
    } else if own.call.is_empty() || own.call == call || call == "an MPI call" {
        collective(scene, own)
    } else {
        format!("{call}, there in {}", collective(scene, own))
    };
    let missing: Vec<u32> = scene.blockers(number).iter().map(|blocker| blocker.rank).collect();
    if missing.is_empty() { within } else { format!("{within} for {}", peers(scene, &missing)) }
}

/// A rank's doings.
pub fn doing(scene: &Scene<'_>, rank: &Rank) -> String {
    match scene.doing(rank.number) {
        Doing::Ended => "has ended".into(),
        Doing::Elsewhere => "belongs to another job".into(),
        Doing::Left => "has called MPI_Finalize".into(),
        Doing::Fresh => format!("has not called MPI_Init{}", processor(rank)),
        Doing::Starting => "waits in MPI_Init for all others".into(),
        Doing::Stopped => {
            let within = scene
                .wait(rank.number)
                .map_or(String::new(), |own| format!("; it {}", wait(scene, rank.number, own)));
            format!("is stopped by a signal (SIGSTOP, or Ctrl-Z){within}")
        }
        Doing::Traced => "is held by a debugger".into(),
        Doing::Waiting(own) if scene.computes_beside(rank.number) => {
            let percent = rank.processor_percent.unwrap_or(0);
            let own = wait(scene, rank.number, own);
            format!("{own}, while another of its threads computes ({percent}% of a processor)")
        }
        Doing::Waiting(own) => wait(scene, rank.number, own),
        Doing::Outside => match (rank.polls(), scene.polled(rank.number)) {
            (None, None) => match asleep(rank) {
                Some(asleep) => {
                    let within = rank.call().map_or("outside MPI".into(), |call| format!("in {call}"));
                    format!("is {within}, {asleep}")
                }
                None => format!("does not wait in MPI{}", processor(rank)),
            },
            // A look may find it between two polls.
            (call, polled) => {
                let call = call.map_or(String::new(), |call| format!(" by {call}"));
                let what = polled.map_or(String::new(), |polled| awaited(scene, rank.number, polled));
                let percent = rank.processor_percent;
                let share = percent.map_or(String::new(), |percent| format!(" ({percent}% of a processor)"));
                format!("polls{call}{what}{share}")
            }
        },
    }
}

/// The doings of a rank that does not wait in MPI.
fn processor(rank: &Rank) -> String {
    match (rank.processor_percent, rank.state) {
        (Some(percent), _) if percent >= COMPUTES_PERCENT => {
            format!(": it computes ({percent}% of a processor)")
        }
        (None, RunState::Running) => ": it computes".into(),
        _ => asleep(rank).map_or(String::new(), |asleep| format!(", {asleep}")),
    }
}

/// The sleep of a rank that uses no processor: "sleeping in the kernel (read of FILE)".
pub fn asleep(rank: &Rank) -> Option<String> {
    let is_idle = rank.processor_percent.is_none_or(|percent| percent < COMPUTES_PERCENT);
    (rank.state == RunState::Sleeping && is_idle).then(|| match rank.asleep_in.as_deref() {
        None | Some("") => "sleeping in the kernel".into(),
        Some(call) => format!("sleeping in the kernel ({call})"),
    })
}

/// The places of the program in a rank's first wait; empty if none is known.
pub fn places(rank: &Rank) -> String {
    let waits = rank.snapshot.as_ref().and_then(|snapshot| snapshot.waits.first());
    let lines = waits.map_or(&rank.python, |wait| &wait.python);
    if !lines.is_empty() {
        let told: Vec<&str> = lines.iter().take(PLACES_MAX).map(String::as_str).collect();
        return format!(", at {}", told.join(", called from "));
    }
    let known = rank.places.first().map_or(&[][..], |places| places);
    // The call in which it polls or sleeps is told before.
    let is_told = rank.polls().is_some() || rank.call().is_some() && rank.asleep_in.is_some();
    let known = if is_told { &known[1..] } else { known };
    let told: Vec<String> = known.iter().take(PLACES_MAX).map(place).collect();
    if told.is_empty() { String::new() } else { format!(", at {}", told.join(", called from ")) }
}

/// All places of a thread, the innermost first: "at f (a.c:3), called from main (a.c:9)". Of places
/// without a name that follow each other in a file, the innermost stands for all; a place that
/// comes several times on end is told once.
pub fn path(places: &[Place]) -> String {
    let mut told: Vec<&Place> = places.iter().collect();
    told.dedup_by(|outer, inner| nameless_in(outer).is_some_and(|file| nameless_in(inner) == Some(file)));
    let groups =
        told.chunk_by(|inner, outer| inner.function == outer.function && nameless_in(inner).is_none());
    let group = |same: &[&Place]| match same.len() {
        1..REPEATS_MIN => same.iter().map(|one| place(one)).collect(),
        times => vec![format!("{}, {times} times{}", place(same[0]), and_more(same, places))],
    };
    let told: Vec<String> = groups.flat_map(group).collect();
    if told.is_empty() { String::new() } else { format!("at {}", told.join(", called from ")) }
}

/// The words behind the number of repeats of a place with which all that is known ends: there may
/// be more.
fn and_more(same: &[&Place], all: &[Place]) -> &'static str {
    let is_last = all.last().is_some_and(|last| std::ptr::eq(last, same[same.len() - 1]));
    if is_last { AND_MORE } else { "" }
}

/// The file of a place in it of which no name is known.
fn nameless_in(place: &Place) -> Option<&str> {
    let (file, _) = place.function.split_once("+0x").filter(|_| place.line.is_none())?;
    Some(file)
}

fn place(place: &Place) -> String {
    match &place.line {
        Some((file, line)) => {
            let name = file.rsplit('/').next().unwrap_or(file);
            format!("{} ({name}:{line})", place.function)
        }
        None => place.function.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Cast, barrier, collective as called, lock, receive, send};

    fn said(cast: &Cast, number: u32) -> String {
        let scene = Scene::new(cast.ranks());
        doing(&scene, &cast.ranks()[number as usize])
    }

    #[test]
    fn numbers_are_told_as_ranges() {
        assert_eq!(numbers(&[0, 1, 2, 5, 7, 8]), "0-2, 5, 7, 8");
        assert_eq!((ranks(&[3]).as_str(), ranks(&[3, 4]).as_str()), ("rank 3", "ranks 3, 4"));
        let many: Vec<u32> = (0..200).map(|n| 3 * n).collect();
        assert_eq!(numbers(&many), "200 ranks from 0 to 597");
    }

    #[test]
    fn lengths_and_times_are_for_people() {
        assert_eq!(
            [0, 1, 8, 2048, 3 << 20, 1000].map(length).join("; "),
            "0 bytes; 1 byte; 8 bytes; 2 KiB; 3 MiB; 1000 bytes"
        );
        assert_eq!([1500, 61_000, 900_000].map(duration), ["1.5 s", "61 s", "15 min"]);
    }

    #[test]
    fn waits_are_told() {
        let cast = Cast::new(4).waits(0, send(1, 5)).waits(1, receive(2, 7)).waits(2, barrier(3)).outside(3);
        assert_eq!(
            said(&cast, 0),
            "waits in MPI_Send for rank 1 to receive 1 MiB with tag 5 on MPI_COMM_WORLD"
        );
        assert_eq!(
            said(&cast, 1),
            "waits in MPI_Recv for a message from rank 2 with tag 7 on MPI_COMM_WORLD"
        );
        let barrier = "waits in MPI_Barrier (collective 3 on MPI_COMM_WORLD) for ranks 0, 1, 3";
        assert_eq!(said(&cast, 2), barrier);
        assert_eq!(said(&cast, 3), "does not wait in MPI: it computes");
    }

    #[test]
    fn a_process_behind_the_ranks_is_of_another_job() {
        let mut cast = Cast::new(2).waits(0, send(2, 5)).waits(1, receive(7, 7));
        let other = "a process of another job";
        let text = format!("waits in MPI_Send for {other} to receive 1 MiB with tag 5 on MPI_COMM_WORLD");
        assert_eq!(said(&cast, 0), text);
        assert_eq!(
            said(&cast, 1),
            format!("waits in MPI_Recv for a message from {other} with tag 7 on MPI_COMM_WORLD")
        );
        cast.wait(0).awaited = Awaited::Epoch { window: "w".into(), processes: vec![1, 2, 3] };
        assert_eq!(said(&cast, 0), "waits in MPI_Send for rank 1 and 2 processes of another job at window w");
        cast.wait(0).awaited = Awaited::OneSided { window: "w".into(), processes: vec![1] };
        assert_eq!(said(&cast, 0), "waits in MPI_Send for one-sided operations on window w at rank 1");
    }

    #[test]
    fn a_call_within_another_is_told_with_both() {
        let mut cast = Cast::new(1).waits(0, called(crate::testing::WORLD, "MPI_Comm_split", 1));
        cast.wait(0).call = "MPI_Win_create".into();
        assert!(
            said(&cast, 0).starts_with("waits in MPI_Win_create, there in MPI_Comm_split (collective 1 ")
        );
    }

    #[test]
    fn a_collective_without_a_name_has_that_of_the_call() {
        let mut cast = Cast::new(1).waits(0, called(crate::testing::WORLD, "", 4));
        cast.wait(0).call = "MPI_Bcast".into();
        assert_eq!(said(&cast, 0), "waits in MPI_Bcast (collective 4 on MPI_COMM_WORLD)");
    }

    #[test]
    fn a_lock_is_told_with_its_holder() {
        let cast = Cast::new(3).waits(0, lock(1)).holds(2, 1);
        let text = "waits in MPI_Win_lock for the exclusive lock of rank 1's part of window table, which rank 2 holds";
        assert_eq!(said(&cast, 0), text);
    }

    #[test]
    fn a_rank_that_polls_does_not_compute() {
        let mut cast = Cast::new(1).outside(0);
        let at = |function: &str| Place { function: function.into(), line: None };
        cast.rank(0).places = vec![vec![at("PMPI_Iprobe"), at("main")]];
        assert_eq!(said(&cast, 0), "polls by MPI_Iprobe");
        cast.rank(0).processor_percent = Some(97);
        assert_eq!(said(&cast, 0), "polls by MPI_Iprobe (97% of a processor)");
        assert_eq!(places(&cast.ranks()[0]), ", at main");
        cast.snapshot(0).polled = Some(Awaited::Probe(crate::testing::message(0, 1, 7)));
        cast.rank(0).is_answered = true;
        let what =
            "for a message from a process of another job with tag 7 on MPI_COMM_WORLD (97% of a processor)";
        assert_eq!(said(&cast, 0), format!("polls by MPI_Iprobe {what}"));
        cast.rank(0).places[0][0] = at("step");
        assert_eq!(said(&cast, 0), format!("polls {what}"));
        cast.rank(0).places[0][0] = at("MPI_Testall");
        assert_eq!(cast.ranks()[0].polls(), Some("MPI_Testall"));
        cast.rank(0).places[0][0] = at("MPI_Send");
        assert_eq!(cast.ranks()[0].polls(), None);
    }

    #[test]
    fn a_rank_that_sleeps_is_told_with_its_system_call() {
        let mut cast = Cast::new(1);
        assert_eq!(said(&cast, 0), "is outside MPI, sleeping in the kernel");
        let at = |function: &str| Place { function: function.into(), line: None };
        let rank = cast.rank(0);
        (rank.asleep_in, rank.processor_percent) = (Some("read of /a".into()), Some(3));
        rank.places = vec![vec![at("main")]];
        assert_eq!(said(&cast, 0), "is outside MPI, sleeping in the kernel (read of /a)");
        assert_eq!(places(&cast.ranks()[0]), ", at main");
        cast.rank(0).places[0].insert(0, at("PMPI_File_read"));
        assert_eq!(said(&cast, 0), "is in MPI_File_read, sleeping in the kernel (read of /a)");
        assert_eq!(places(&cast.ranks()[0]), ", at main");
        cast.rank(0).processor_percent = Some(50);
        assert_eq!(said(&cast, 0), "does not wait in MPI: it computes (50% of a processor)");
        cast.rank(0).stage = crate::rank::Stage::Fresh;
        cast.rank(0).processor_percent = None;
        assert_eq!(said(&cast, 0), "has not called MPI_Init, sleeping in the kernel (read of /a)");
    }

    #[test]
    fn places_are_told_innermost_first() {
        let mut cast = Cast::new(1).waits(0, receive(0, 1));
        let at = |function: &str, line| Place {
            function: function.into(),
            line: Some(("/a/ring.c".into(), line)),
        };
        cast.rank(0).places = vec![vec![at("swap", 12), at("main", 30), at("start", 1)]];
        assert_eq!(places(&cast.ranks()[0]), ", at swap (ring.c:12), called from main (ring.c:30)");
        cast.wait(0).python = vec!["ring.py:3 in main".into()];
        assert_eq!(places(&cast.ranks()[0]), ", at ring.py:3 in main");
    }

    #[test]
    fn a_function_that_calls_itself_is_told_once() {
        let at = |function: &str| Place { function: function.into(), line: None };
        let mut all = vec![at("rec"); 12];
        assert_eq!(path(&all), "at rec, 12 times and more");
        all.push(at("main"));
        assert_eq!(path(&all), "at rec, 12 times, called from main");
        assert_eq!(path(&all[11..]), "at rec, called from main");
    }

    #[test]
    fn places_without_a_name_are_told_once_for_each_file() {
        let at = |function: &str| Place { function: function.into(), line: None };
        let all = ["c.so+0x1", "m.so+0x2", "m.so+0x3", "f", "m.so+0x4", "main", "main"].map(at);
        let told = ["c.so+0x1", "m.so+0x2", "f", "m.so+0x4", "main", "main"].join(", called from ");
        assert_eq!(path(&all), format!("at {told}"));
    }
}
