//! Describes pending operations in words, for reports of programs that hang.

use crate::peer::PeerState;
use crate::request::{Request, State};
use crate::state::EngineState;
use crate::{ANY_SOURCE, ANY_TAG};
use verbena_channel::Peer;

impl EngineState {
    /// A line for each operation that is not complete, and for each message that nobody asked for.
    pub(crate) fn describe(&self) -> Vec<String> {
        let pending = self.requests.iter().filter_map(|(_, request)| describe_request(request));
        let unexpected = self.unexpected.iter().map(|(key, arrived)| {
            let (source, tag, context) = (key.source, key.tag, key.context);
            let (bytes, peer) = (arrived.bytes, arrived.peer);
            format!("message from rank {source} (process {peer}), tag {tag}, context {context:#x}, {bytes} bytes: no receive asked for it yet")
        });
        let waiting = self.peers.numbered().filter_map(|(peer, state)| self.describe_peer(peer, state));
        pending.chain(unexpected).chain(waiting).collect()
    }

    /// Says what holds up packets to and from a process, if anything does.
    fn describe_peer(&self, peer: Peer, state: &PeerState) -> Option<String> {
        let name = |channel: usize| self.tally[channel].name;
        let over = state.route.map_or("no channel", |route| name(route.packets));
        let lost: Vec<_> =
            state.losses.iter().flat_map(|losses| &losses.lost).map(|lost| name(lost.channel)).collect();
        let (out, early, expected) = (state.outbox.len(), state.early.len(), state.expected());
        (out + early > 0).then(|| {
            format!("process {peer}: {out} packets wait for room in {over}, {early} for packet {expected} from there; channels lost: {lost:?}")
        })
    }
}

fn describe_request(request: &Request) -> Option<String> {
    let verb = match request.state {
        State::Received(_) | State::Complete(_) | State::Vacant => return None,
        State::Posted | State::Incoming(_) => "receive",
        _ => "send",
    };
    let stage = match request.state {
        State::Queued => "waits for room in the channel",
        State::AwaitMatch => "waits for the receiver to match it",
        State::Offered(_) => "announced, waits for the receiver or is being moved",
        State::Posted => "waits for a message",
        State::Incoming(_) => "matched, is being moved",
        State::Received(_) | State::Complete(_) | State::Vacant => return None,
    };
    Some(format!(
        "{verb} {}, tag {}, context {:#x}, {} bytes: {stage}",
        other_side(request),
        if request.tag == ANY_TAG { "any".into() } else { request.tag.to_string() },
        request.context,
        request.buffer.len(),
    ))
}

fn other_side(request: &Request) -> String {
    match request.state {
        State::Posted if request.source == ANY_SOURCE => "from any rank".into(),
        State::Posted => format!("from rank {}", request.source),
        State::Incoming(_) => format!("from rank {} (process {})", request.source, request.peer),
        _ => format!("to process {}", request.peer),
    }
}
