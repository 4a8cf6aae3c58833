//! Connections that are cut while something goes over them, and ends that give each other up.

use super::*;
use crate::memory::stuck;
use verbena_channel::Failover;

const BYTES: usize = 256 << 10;

fn fault() -> Fault {
    Fault::new("lost", "here", "a test", "nothing")
}

/// The port of an end, to which its peers connect.
fn port(end: &End) -> u16 {
    let address = end.channel.net.endpoint.address().expect("an address");
    u16::from_be_bytes([address[2], address[3]])
}

/// The address of one side of a socket of this process, as the system writes it; `None` if the
/// descriptor is no connected socket.
fn port_of(fd: i32, is_peer: bool) -> Option<u16> {
    // SAFETY: zeros are an address.
    let mut address: libc::sockaddr_in = unsafe { std::mem::zeroed() };
    let mut bytes = size_of::<libc::sockaddr_in>() as u32;
    let ask = if is_peer { libc::getpeername } else { libc::getsockname };
    // SAFETY: the address has as many bytes as are told.
    let code = unsafe { ask(fd, (&raw mut address).cast(), &raw mut bytes) };
    (code == 0 && i32::from(address.sin_family) == libc::AF_INET).then(|| u16::from_be(address.sin_port))
}

/// Cuts every connection to the ends, and returns how many ends of connections there were.
fn cut(ends: &[End; 2]) -> usize {
    let ports = [port(&ends[0]), port(&ends[1])];
    let leads = |fd: i32| {
        port_of(fd, true)
            .is_some_and(|to| ports.contains(&to) || ports.contains(&port_of(fd, false).unwrap_or(0)))
    };
    let all: Vec<i32> = (3..1024).filter(|&fd| leads(fd)).collect();
    // SAFETY: a shutdown closes no descriptor.
    all.iter().for_each(|&fd| _ = unsafe { libc::shutdown(fd, libc::SHUT_RDWR) });
    all.len()
}

#[test]
fn an_end_that_was_given_up_is_told_when_it_asks() {
    let Some(mut ends) = pair(|_| {}) else { return };
    send(&mut ends, 0, 0, b"first");
    until(&mut ends, "arriving", |ends| ends[1].arrived.packets.len() == 1);
    ends[1].channel.abandon(0, &fault());
    // Nobody takes it, and nothing fails.
    send(&mut ends, 0, 1, b"second");
    until(&mut ends, "hearing", |ends| !ends[0].arrived.broken.is_empty());
    let words = ends[0].arrived.broken[0].1.to_string();
    assert!(words.contains("rank 1 has given the connection up"), "{words}");
    assert_eq!(ends[1].arrived.packets.len(), 1);
    assert_eq!(ends[0].channel.undelivered(1).len(), 1);
}

#[test]
fn pieces_of_which_the_provider_never_tells_are_lost() {
    let Some(mut ends) = pair(|_| {}) else { return };
    send(&mut ends, 0, 0, b"first");
    until(&mut ends, "arriving", |ends| ends[1].arrived.packets.len() == 1);
    let owner = Owned::zeroed(64);
    let at = stuck(&mut ends[0].channel, 1, owner.lend(), 7);
    let begin = Instant::now();
    until(&mut ends, "the end", |ends| !ends[0].arrived.ended.is_empty());
    assert!(begin.elapsed() > Duration::from_secs(4), "five answers, a second apart");
    assert!(matches!(ends[0].arrived.ended[..], [(7, Err(_))]), "{:?}", ends[0].arrived.ended);
    assert!(matches!(ends[0].arrived.broken[..], [(1, _)]), "{:?}", ends[0].arrived.broken);
    assert!(ends[0].channel.is_quiet(), "nobody waits for what is lost");
    // The other end hears of it, and what comes late is not told twice.
    until(&mut ends, "hearing", |ends| !ends[1].arrived.broken.is_empty());
    ends[0].channel.piece_ended(at, None);
    ends[0].poll();
    assert_eq!(ends[0].arrived.ended.len(), 1);
}

/// Pieces of a transfer that ends, however slowly, are not lost.
#[test]
fn pieces_that_end_are_not_lost() {
    let Some(mut ends) = pair(|_| {}) else { return };
    let owner = Owned::zeroed(64);
    send(&mut ends, 0, 0, b"first");
    let at = stuck(&mut ends[0].channel, 1, owner.lend(), 7);
    let begin = Instant::now();
    until(&mut ends, "time", |_| begin.elapsed() > Duration::from_millis(3500));
    ends[0].channel.piece_ended(at, None);
    until(&mut ends, "the end", |ends| !ends[0].arrived.ended.is_empty());
    assert!(matches!(ends[0].arrived.ended[..], [(7, Ok(()))]) && ends[0].arrived.broken.is_empty());
}

/// Whatever a cut does to what is under way, all of it ends, and both ends hear of a loss: the one
/// that was given up when it next asks, which takes it some seconds.
#[test]
fn everything_ends_after_a_cut() {
    for round in [1, 3, 5, 7] {
        let Some(mut ends) = pair(|settings| settings.piece_bytes = 16 << 10) else { return };
        let (theirs, mine) = (Owned::zeroed(BYTES), Owned::zeroed(BYTES));
        let key = ends[1].channel.expose(0, theirs.lend(), Access::READ_WRITE).expect("exposed");
        send(&mut ends, 0, 0, b"first");
        until(&mut ends, "arriving", |ends| ends[1].arrived.packets.len() == 1);
        let mut begun = 0;
        for token in 0..6 {
            let local = mine.lend().part(token as usize * 1000, BYTES / 2);
            let started = match token % 2 {
                0 => ends[0].channel.put(1, &key, 0, local, token),
                _ => ends[0].channel.get(1, &key, 0, local, token),
            };
            begun += usize::from(matches!(started, Ok(Transfer::Pending)));
            (0..round).for_each(|_| ends.iter_mut().for_each(End::poll));
            if token == 3 {
                assert!(cut(&ends) > 0, "there is a connection");
            }
        }
        until(&mut ends, "the end", |ends| ends[0].arrived.ended.len() == begun);
        if round == 7 && !ends[0].arrived.broken.is_empty() {
            until(&mut ends, "hearing", |ends| !ends[1].arrived.broken.is_empty());
        }
    }
}

/// A transfer of which the provider never tells, with an end that is connected.
fn stuck_with_other() -> Option<([End; 2], Owned)> {
    let mut ends = pair(|_| {})?;
    send(&mut ends, 0, 0, b"first");
    until(&mut ends, "arriving", |ends| ends[1].arrived.packets.len() == 1);
    let owner = Owned::zeroed(64);
    stuck(&mut ends[0].channel, 1, owner.lend(), 7);
    Some((ends, owner))
}

/// Polls an end alone until its transfer has ended.
fn ends_alone(end: &mut End) {
    until_lost(end);
    assert!(matches!(end.arrived.ended[..], [(7, Err(_))]), "{:?}", end.arrived.ended);
}

/// Polls an end alone until its transfers are lost.
fn until_lost(end: &mut End) {
    let begin = Instant::now();
    while end.arrived.ended.is_empty() {
        end.poll();
        assert!(begin.elapsed() < Duration::from_secs(30), "the transfer does not end");
    }
    assert!(begin.elapsed() > Duration::from_secs(3) && end.channel.is_quiet());
}

#[test]
fn transfers_with_an_end_that_takes_no_question_end() {
    for is_told in [false, true] {
        let Some(([mut alone, other], _owner)) = stuck_with_other() else { return };
        drop(other);
        if is_told {
            alone.channel.gone(1, &fault());
        }
        ends_alone(&mut alone);
    }
}

/// An end that says nothing may be busy with something else; one that is gone says nothing any
/// more.
#[test]
fn transfers_with_an_end_that_is_gone_end_without_an_answer() {
    let Some(([mut alone, _silent], _owner)) = stuck_with_other() else { return };
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(8) {
        alone.poll();
        assert!(alone.arrived.ended.is_empty(), "the other end may live");
    }
    alone.channel.gone(1, &fault());
    ends_alone(&mut alone);
}

/// An end also tells on its own what it took: that is no answer, however often it does.
#[test]
fn only_answers_to_questions_count() {
    let Some((mut ends, _owner)) = stuck_with_other() else { return };
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(3) {
        ends[1].channel.tell(0, crate::frame::Kind::Ack);
        ends.iter_mut().for_each(End::poll);
        assert!(ends[0].arrived.ended.is_empty() && ends[0].arrived.broken.is_empty());
    }
}

/// A provider whose queue is full takes no question either, and may yet read for an end that lives.
#[test]
fn a_full_queue_tells_nothing_of_an_end_that_may_live() {
    let Some(([mut alone, other], owner)) = stuck_with_other() else { return };
    let most = alone.channel.net.offer().operations_max().0;
    (8..most as u64).for_each(|token| _ = stuck(&mut alone.channel, 1, owner.lend(), token));
    drop(other);
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(9) {
        alone.poll();
        assert!(alone.arrived.ended.is_empty() && alone.arrived.broken.is_empty());
    }
    alone.channel.gone(1, &fault());
    until_lost(&mut alone);
    assert!(alone.arrived.ended.len() > most / 2);
}
