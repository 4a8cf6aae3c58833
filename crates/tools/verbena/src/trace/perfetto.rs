//! The timeline in Perfetto's format (<https://ui.perfetto.dev>, `perfetto_trace.proto`): a track
//! for each rank, calls as slices, messages as flows, queues as counters.
//!
//! A flow begins and ends at an event without length within the slice of its call, so that the
//! arrow stands where the message left and where its receive ended.

use super::protobuf::Message;
use super::timeline::{End, Item, Rank, Slice, Timeline, Track};
use std::io::{Result, Write};

/// The numbers of the fields and values used here, by their names in the format.
mod field {
    pub(super) const TRACE_PACKET: u32 = 1;
    pub(super) const TIMESTAMP: u32 = 8;
    pub(super) const SEQUENCE_ID: u32 = 10;
    pub(super) const TRACK_EVENT: u32 = 11;
    pub(super) const SEQUENCE_FLAGS: u32 = 13;
    pub(super) const TRACK_DESCRIPTOR: u32 = 60;

    pub(super) const DESCRIPTOR_UUID: u32 = 1;
    pub(super) const DESCRIPTOR_NAME: u32 = 2;
    pub(super) const DESCRIPTOR_PARENT: u32 = 5;
    pub(super) const DESCRIPTOR_COUNTER: u32 = 8;
    pub(super) const DESCRIPTOR_CHILDREN: u32 = 11;
    pub(super) const DESCRIPTOR_SIBLING: u32 = 12;
    pub(super) const COUNTER_UNIT: u32 = 3;

    pub(super) const ANNOTATION: u32 = 4;
    pub(super) const ANNOTATION_INT: u32 = 4;
    pub(super) const ANNOTATION_STRING: u32 = 6;
    pub(super) const ANNOTATION_NAME: u32 = 10;
    pub(super) const TYPE: u32 = 9;
    pub(super) const TRACK: u32 = 11;
    pub(super) const CATEGORY: u32 = 22;
    pub(super) const NAME: u32 = 23;
    pub(super) const COUNTER_VALUE: u32 = 30;
    pub(super) const FLOW: u32 = 47;
    pub(super) const FLOW_END: u32 = 48;
}

const SLICE_BEGIN: u64 = 1;
const SLICE_END: u64 = 2;
const INSTANT: u64 = 3;
const COUNTER: u64 = 4;
/// Says that nothing before this packet is needed to read what follows.
const STATE_CLEARED: u64 = 1;
/// The order of tracks below another one: by their own numbers.
const EXPLICIT: u64 = 3;

const UNIT_COUNT: u64 = 2;
const UNIT_BYTES: u64 = 3;
/// The counters of a rank.
const COUNTERS: [(&str, u64); 3] =
    [("posted receives", UNIT_COUNT), ("unexpected messages", UNIT_COUNT), ("unexpected bytes", UNIT_BYTES)];
/// The place of the first counter among the tracks of a rank, behind those of its threads.
const FIRST_COUNTER: u64 = 0x8000;

/// Writes the timeline.
///
/// # Errors
/// If `out` cannot be written.
pub(super) fn write(timeline: &Timeline, out: &mut impl Write) -> Result<()> {
    let mut writer = Writer { out };
    for rank in &timeline.ranks {
        writer.describe(rank)?;
    }
    for track in &timeline.tracks {
        writer.track(timeline, track)?;
    }
    timeline.ranks.iter().try_for_each(|rank| writer.counters(rank))
}

/// The number of a track of a rank: of the rank itself at 0, of its further threads by their
/// numbers.
fn uuid(rank: u32, place: u64) -> u64 {
    u64::from(rank + 1) << 16 | place
}

struct Writer<'a, W> {
    out: &'a mut W,
}

impl<W: Write> Writer<'_, W> {
    /// Writes a packet of the sequence that the track has for itself.
    fn packet(&mut self, track: u64, packet: Message) -> Result<()> {
        let packet = packet.number(field::SEQUENCE_ID, track & 0xffff_ffff);
        self.out.write_all(&Message::default().message(field::TRACE_PACKET, packet).into_bytes())
    }

    fn descriptor(&mut self, uuid: u64, descriptor: Message) -> Result<()> {
        let descriptor = descriptor.number(field::DESCRIPTOR_UUID, uuid);
        let packet = Message::default()
            .number(field::SEQUENCE_FLAGS, STATE_CLEARED)
            .message(field::TRACK_DESCRIPTOR, descriptor);
        self.packet(uuid, packet)
    }

    /// Describes the tracks of a process.
    fn describe(&mut self, rank: &Rank) -> Result<()> {
        let number = rank.log.rank;
        let own = Message::default()
            .text(field::DESCRIPTOR_NAME, &format!("rank {number} ({})", rank.log.host))
            .number(field::DESCRIPTOR_CHILDREN, EXPLICIT)
            .number(field::DESCRIPTOR_SIBLING, u64::from(number));
        self.descriptor(uuid(number, 0), own)?;
        let threads = rank.log.calls.iter().map(|call| call.thread).max().unwrap_or(0);
        for thread in 1..=threads {
            let place = u64::from(thread);
            self.descriptor(
                uuid(number, place),
                child(number, &format!("rank {number}, thread {thread}"), place),
            )?;
        }
        for (place, (name, unit)) in (FIRST_COUNTER..).zip(COUNTERS) {
            let counter = Message::default().number(field::COUNTER_UNIT, unit);
            let name = format!("rank {number}: {name}");
            let descriptor = child(number, &name, place).message(field::DESCRIPTOR_COUNTER, counter);
            self.descriptor(uuid(number, place), descriptor)?;
        }
        Ok(())
    }

    fn event(&mut self, track: u64, ns: u64, kind: u64, event: Message) -> Result<()> {
        let event = event.number(field::TYPE, kind).number(field::TRACK, track);
        let packet = Message::default().number(field::TIMESTAMP, ns).message(field::TRACK_EVENT, event);
        self.packet(track, packet)
    }

    fn track(&mut self, timeline: &Timeline, track: &Track) -> Result<()> {
        let uuid = uuid(track.rank, u64::from(track.thread));
        for item in &track.items {
            match item {
                Item::Call(slice) => {
                    self.event(uuid, slice.ns[0], SLICE_BEGIN, begin(slice))?;
                    for end in &slice.ends {
                        self.end(timeline, uuid, end)?;
                    }
                    self.event(uuid, slice.ns[1], SLICE_END, Message::default())?;
                }
                Item::End(end) => self.end(timeline, uuid, end)?,
            }
        }
        Ok(())
    }

    /// Writes one end of a message.
    fn end(&mut self, timeline: &Timeline, track: u64, end: &End) -> Result<()> {
        let message = &timeline.messages[end.message];
        let (name, flow) = match end.is_departure {
            true => (format!("to {}", message.to), field::FLOW),
            false => (format!("from {}", message.from), field::FLOW_END),
        };
        let event = Message::default()
            .text(field::CATEGORY, "message")
            .text(field::NAME, &name)
            .fixed(flow, end.message as u64 + 1)
            .message(field::ANNOTATION, integer("bytes", message.bytes as i64))
            .message(field::ANNOTATION, integer("tag", i64::from(message.tag)))
            .message(field::ANNOTATION, integer("context", message.context as i64))
            .message(field::ANNOTATION, text("protocol", protocol(message.announced)))
            .message(field::ANNOTATION, text("came", came(message.expected)));
        self.event(track, end.ns, INSTANT, event)
    }

    fn counters(&mut self, rank: &Rank) -> Result<()> {
        for queues in &rank.log.queues {
            let values = [queues.posted, queues.unexpected, queues.unexpected_bytes];
            for (place, value) in (FIRST_COUNTER..).zip(values) {
                let event = Message::default().signed(field::COUNTER_VALUE, value as i64);
                self.event(uuid(rank.log.rank, place), rank.ns(queues.at), COUNTER, event)?;
            }
        }
        Ok(())
    }
}

/// The description of a track below that of its rank.
fn child(rank: u32, name: &str, place: u64) -> Message {
    Message::default()
        .text(field::DESCRIPTOR_NAME, name)
        .number(field::DESCRIPTOR_PARENT, uuid(rank, 0))
        .number(field::DESCRIPTOR_SIBLING, place)
}

/// The beginning of a call's slice, with its arguments.
fn begin(slice: &Slice) -> Message {
    let call = slice.call;
    let mut event = Message::default().text(field::CATEGORY, "mpi").text(field::NAME, &call.name);
    if let Some(object) = slice.object {
        event = event.message(field::ANNOTATION, text("on", &object.name));
        event = event.message(field::ANNOTATION, integer("ranks", i64::from(object.size)));
    }
    let numbers = [
        ("bytes", (call.bytes > 0).then_some(call.bytes as i64)),
        ("peer", call.peer.map(i64::from)),
        ("tag", call.tag.map(i64::from)),
        ("error", (call.code != 0).then_some(i64::from(call.code))),
    ];
    for (name, value) in numbers {
        if let Some(value) = value {
            event = event.message(field::ANNOTATION, integer(name, value));
        }
    }
    event
}

fn integer(name: &str, value: i64) -> Message {
    Message::default().text(field::ANNOTATION_NAME, name).signed(field::ANNOTATION_INT, value)
}

fn text(name: &str, value: &str) -> Message {
    Message::default().text(field::ANNOTATION_NAME, name).text(field::ANNOTATION_STRING, value)
}

/// The word for the way of a message.
pub(super) fn protocol(announced: bool) -> &'static str {
    if announced { "rendezvous" } else { "eager" }
}

/// The word for what a message found when it came.
pub(super) fn came(expected: bool) -> &'static str {
    if expected { "expected" } else { "unexpected" }
}

#[cfg(test)]
mod tests {
    use super::super::timeline::tests::job;
    use super::*;
    use std::collections::HashMap;

    /// The fields of a message, by number: numbers, or bytes.
    #[derive(Debug, Default)]
    struct Fields {
        numbers: HashMap<u32, Vec<u64>>,
        bytes: HashMap<u32, Vec<Vec<u8>>>,
    }

    fn varint(bytes: &mut &[u8]) -> u64 {
        let mut value = 0;
        for shift in (0..).step_by(7) {
            let (first, rest) = bytes.split_first().expect("a varint");
            *bytes = rest;
            value |= u64::from(first & 0x7f) << shift;
            if first & 0x80 == 0 {
                break;
            }
        }
        value
    }

    fn decode(mut bytes: &[u8]) -> Fields {
        let mut fields = Fields::default();
        while !bytes.is_empty() {
            let tag = varint(&mut bytes);
            let field = (tag >> 3) as u32;
            match tag & 7 {
                0 => fields.numbers.entry(field).or_default().push(varint(&mut bytes)),
                1 => {
                    let (value, rest) = bytes.split_first_chunk().expect("eight bytes");
                    bytes = rest;
                    fields.numbers.entry(field).or_default().push(u64::from_le_bytes(*value));
                }
                2 => {
                    let length = varint(&mut bytes) as usize;
                    let (value, rest) = bytes.split_at(length);
                    bytes = rest;
                    fields.bytes.entry(field).or_default().push(value.to_vec());
                }
                other => panic!("wire type {other}"),
            }
        }
        fields
    }

    /// Every event of the trace: time, type, track and its other fields.
    fn events() -> Vec<(u64, u64, u64, Fields)> {
        let logs = job();
        let mut out = Vec::new();
        write(&Timeline::new(&logs), &mut out).expect("a vector takes it");
        let packets = decode(&out).bytes.remove(&field::TRACE_PACKET).expect("packets");
        let packets = packets.iter().map(|packet| decode(packet));
        let event = |mut packet: Fields| {
            let event = decode(&packet.bytes.remove(&field::TRACK_EVENT)?[0]);
            let number = |number: u32| event.numbers[&number][0];
            Some((packet.numbers[&field::TIMESTAMP][0], number(field::TYPE), number(field::TRACK), event))
        };
        packets.filter_map(event).collect()
    }

    #[test]
    fn each_flow_leads_from_the_sender_to_the_receiver() {
        let mut stacks: HashMap<u64, Vec<String>> = HashMap::new();
        let mut flows: HashMap<u64, Vec<(u64, String)>> = HashMap::new();
        let mut all = events();
        all.sort_by_key(|event| event.0);
        for (_, kind, track, event) in all {
            let name =
                event.bytes.get(&field::NAME).map(|name| String::from_utf8_lossy(&name[0]).into_owned());
            match kind {
                SLICE_BEGIN => stacks.entry(track).or_default().push(name.expect("a name")),
                SLICE_END => _ = stacks.get_mut(&track).and_then(Vec::pop).expect("a slice that began"),
                INSTANT => {
                    let call = stacks[&track].last().expect("within a call").clone();
                    let ids = event.numbers.get(&field::FLOW).or(event.numbers.get(&field::FLOW_END));
                    flows.entry(ids.expect("a flow")[0]).or_default().push((track, call));
                }
                other => assert_eq!(other, COUNTER),
            }
        }
        let end = |rank: u32, call: &str| (uuid(rank, 0), call.to_string());
        assert_eq!(flows.len(), 2);
        assert_eq!(flows[&1], [end(0, "MPI_Send"), end(1, "MPI_Recv")]);
        assert_eq!(flows[&2], [end(0, "MPI_Isend"), end(1, "MPI_Wait")]);
    }

    #[test]
    fn a_call_shows_its_arguments() {
        let all = events();
        let (_, _, _, send) = all.iter().find(|event| event.1 == SLICE_BEGIN).expect("a slice");
        let annotations: Vec<Fields> = send.bytes[&field::ANNOTATION].iter().map(|a| decode(a)).collect();
        let name =
            |fields: &Fields| String::from_utf8_lossy(&fields.bytes[&field::ANNOTATION_NAME][0]).into_owned();
        let names: Vec<String> = annotations.iter().map(name).collect();
        assert_eq!(names, ["on", "ranks", "bytes", "peer", "tag"]);
        assert_eq!(annotations[0].bytes[&field::ANNOTATION_STRING][0], b"MPI_COMM_WORLD");
        assert_eq!(annotations[2].numbers[&field::ANNOTATION_INT][0], 8);
    }
}
