//! The list of channels: a process opens them and meets the others by it.
//!
//! A new channel is one module that opens it, one line in [`CHANNELS`], and its conversion to a
//! [`Wire`].

use crate::Wire;
use verbena_channel::{Opening, Peer, Place, loopback};
use verbena_fault::Fault;
use verbena_infiniband::{pipe, rc, ud};
use verbena_machine::cores::Load;
use verbena_node::{cma, shm};
use verbena_waiting::core_sharing;

/// A channel that is open on this side, as [`Opening`] says, and becomes a [`Wire`].
trait Pending {
    fn card(&self) -> Vec<u8>;
    fn second_card(&mut self, cards: &[Option<Vec<u8>>]) -> Result<Vec<u8>, Fault>;
    fn connect(self: Box<Self>, cards: &[Option<Vec<u8>>], load: &Load) -> Result<Wire, Fault>;
}

impl<O: Opening<Channel: Into<Wire>>> Pending for O {
    fn card(&self) -> Vec<u8> {
        Opening::card(self)
    }

    fn second_card(&mut self, cards: &[Option<Vec<u8>>]) -> Result<Vec<u8>, Fault> {
        Opening::second_card(self, cards)
    }

    fn connect(self: Box<Self>, cards: &[Option<Vec<u8>>], load: &Load) -> Result<Wire, Fault> {
        Opening::connect(*self, cards, load).map(Into::into)
    }
}

/// Channels that are open on this side, by their names.
type Openings = Vec<(&'static str, Box<dyn Pending>)>;

/// Opens the channel of this name on this side; nothing if it has no use on this machine.
type Open = fn(&'static str, &Place) -> Result<Openings, Fault>;

/// Every channel by its name, in order of preference.
const CHANNELS: &[(&str, Open)] = &[
    ("loopback", |name, place| loopback::open(place).map(|opening| with_rails(name, opening))),
    ("shm", |name, place| shm::open(place).map(|opening| with_rails(name, opening))),
    ("cma", |name, place| cma::open(place).map(|opening| with_rails(name, opening))),
    ("rc", |name, place| rc::open(place).map(|opening| with_rails(name, opening))),
    ("ud", |name, place| ud::open(place).map(|opening| with_rails(name, opening))),
    ("pipe", |name, place| pipe::open(place).map(|opening| with_rails(name, opening))),
    ("ofi", |name, place| verbena_ofi::open(place).map(|opening| with_rails(name, opening))),
];

/// The channel, if there is one, and its rails over other ports.
fn with_rails<O>(name: &'static str, opening: Option<O>) -> Openings
where
    O: Opening<Channel: Into<Wire>> + 'static,
{
    let Some(mut opening) = opening else { return Openings::new() };
    let rails = opening.rails();
    let all = std::iter::once((name, opening)).chain(rails);
    all.map(|(name, opening)| (name, Box::new(opening) as Box<dyn Pending>)).collect()
}

/// The names of all channels, in order of preference.
pub fn names() -> impl ExactSizeIterator<Item = &'static str> {
    CHANNELS.iter().map(|(name, _)| *name)
}

/// Channels that reach other nodes by hardware of their own.
const NETWORKS: [&str; 3] = ["rc", "ud", "pipe"];

/// The name in a card before the part about cores.
const CORES: &str = "cores";

/// The channels that are open on this side, before the others are known.
pub struct Opened {
    openings: Openings,
}

/// Opens the channels that `wanted` names (all, if it is `None`). A channel that has no use here,
/// such as `shm` for a process alone, is left out even where it is named.
///
/// # Errors
/// An unknown name, with a list of the known ones; or the fault of the channel itself.
pub fn open(place: &Place, wanted: Option<&str>) -> Result<Opened, Fault> {
    let names: Option<Vec<&str>> =
        wanted.map(|list| list.split(',').map(str::trim).filter(|n| !n.is_empty()).collect());
    for name in names.iter().flatten() {
        if !CHANNELS.iter().any(|(known, _)| known == name) {
            return Err(unknown(name));
        }
    }
    let mut openings = Openings::new();
    for &(name, open) in CHANNELS {
        // Messages of a process to itself must always find a way.
        let asked = names.as_ref().is_none_or(|list| list.contains(&name)) || name == "loopback";
        if asked {
            openings.extend(open(name, place)?);
        }
    }
    Ok(Opened { openings })
}

fn unknown(name: &str) -> Fault {
    let known: Vec<&str> = names().collect();
    Fault {
        what: format!("there is no channel named \"{name}\""),
        on: "the setting VERBENA_CHANNELS".into(),
        cause: "the name is misspelt, or this build lacks the channel".into(),
        remedy: format!("choose among: {}", known.join(", ")),
    }
}

impl Opened {
    /// The card of this process. For each channel, and before them for its cores: the name's length
    /// and name, the card's length (little-endian, 4 bytes) and card.
    pub fn card(&self) -> Vec<u8> {
        let channels = self.openings.iter().map(|(name, opening)| (*name, opening.card()));
        let mut out = Vec::new();
        for (name, card) in std::iter::once((CORES, core_sharing::card())).chain(channels) {
            out.push(name.len() as u8);
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(&(card.len() as u32).to_le_bytes());
            out.extend_from_slice(&card);
        }
        out
    }

    /// The second card, given the cards of all processes in rank order; `None` if one round is
    /// enough. All processes come to the same answer, also those that have not opened the channel
    /// that asks.
    ///
    /// # Errors
    /// The user asked by name for something that cannot be.
    pub fn second_card(&mut self, cards: &[Vec<u8>]) -> Result<Option<Vec<u8>>, Fault> {
        let has_network = |card: &Vec<u8>| parse_card(card).iter().any(|(name, _)| NETWORKS.contains(name));
        let notices = of_channel("ofi", cards);
        if !verbena_ofi::meets_again(&notices, cards.iter().all(has_network)) {
            return Ok(None);
        }
        let opening = self.openings.iter_mut().find(|(name, _)| *name == "ofi");
        opening.map_or(Ok(Vec::new()), |(_, opening)| opening.second_card(&notices)).map(Some)
    }

    /// Connects every channel, given the cards of all processes in rank order: those of the first
    /// round, and of the second, if there was one.
    pub fn connect(
        self,
        cards: &[Vec<u8>],
        second: Option<&[Vec<u8>]>,
        load: &Load,
    ) -> Result<Vec<Wire>, Fault> {
        let of = |name: &str| match (name, second) {
            ("ofi", Some(second)) => second.iter().map(|card| Some(card.clone())).collect(),
            ("ofi", None) => vec![None; cards.len()],
            _ => of_channel(name, cards),
        };
        self.openings.into_iter().map(|(name, opening)| opening.connect(&of(name), load)).collect()
    }
}

/// The load of the cores of process `me`, by the cards of all.
pub fn load(me: Peer, cards: &[Vec<u8>]) -> Load {
    load_of_cores(me, &of_channel(CORES, cards))
}

/// The part of a card about cores, for [`load_of_cores`].
pub fn cores(card: &[u8]) -> Option<Vec<u8>> {
    parse_card(card).into_iter().find(|(name, _)| *name == CORES).map(|(_, part)| part.to_vec())
}

/// The parts about cores of the cards of process `me`, first, and of others that may share them.
pub fn cores_beside(me: Peer, cards: &[Vec<u8>]) -> Vec<Option<Vec<u8>>> {
    core_sharing::beside(me as usize, cards.iter().map(|card| cores(card)))
}

/// The load of the cores of process `me`, by these parts of the cards of all.
pub fn load_of_cores(me: Peer, cores: &[Option<Vec<u8>>]) -> Load {
    core_sharing::load(me as usize, cores)
}

/// One channel's part of all cards.
fn of_channel(name: &str, cards: &[Vec<u8>]) -> Vec<Option<Vec<u8>>> {
    let find = |card: &Vec<u8>| parse_card(card).iter().find(|(n, _)| *n == name).map(|(_, c)| c.to_vec());
    cards.iter().map(find).collect()
}

/// A channel's name and its part of a process's card.
type Entry<'a> = (&'a str, &'a [u8]);

/// The channels in a card; unreadable parts are left out.
fn parse_card(mut card: &[u8]) -> Vec<Entry<'_>> {
    let mut out = Vec::new();
    while let Some((entry, rest)) = parse_entry(card) {
        out.push(entry);
        card = rest;
    }
    out
}

fn parse_entry(card: &[u8]) -> Option<(Entry<'_>, &[u8])> {
    let (&name_len, rest) = card.split_first()?;
    let (name, rest) = rest.split_at_checked(name_len as usize)?;
    let (len, rest) = rest.split_first_chunk::<4>()?;
    let (body, rest) = rest.split_at_checked(u32::from_le_bytes(*len) as usize)?;
    Some(((std::str::from_utf8(name).ok()?, body), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_card_yields_what_is_whole() {
        let mut card = vec![3, b's', b'h', b'm', 2, 0, 0, 0, 7, 8];
        card.extend([3, b'c', b'm', b'a', 9, 0, 0, 0, 1]);
        assert_eq!(parse_card(&card), vec![("shm", &[7u8, 8][..])]);
        assert_eq!(parse_card(&[200]), vec![]);
    }

    #[test]
    fn the_setting_knows_every_channel() {
        let verbena_settings::Kind::Names(known, _) = verbena_settings::CHANNELS.kind else { panic!() };
        assert_eq!(names().collect::<Vec<_>>(), known);
    }

    #[test]
    fn an_unknown_channel_is_refused_by_name() {
        let place = Place { me: 0, size: 1, job: "j".into(), engines: 0 };
        let fault = open(&place, Some(" warp,")).err().expect("refused");
        assert!(fault.what.contains("\"warp\""), "{fault}");
    }
}
