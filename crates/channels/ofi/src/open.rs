//! Opening the channel in two rounds: the first says where each process is. The second, which there
//! is only if some process needs it, opens libfabric and says how it is reached.

use super::OfiChannel;
use super::absent::Absent;
use super::card::{Contact, Interface, Notice};
use super::choose::{Candidate, Wish};
use super::interfaces;
use super::net::Net;
use super::settings::{Settings, names};
use verbena_channel::{Opening, Place, look};
use verbena_fabric::{Library, Offer, Wanted, raw};
use verbena_fault::Fault;
use verbena_machine::cores::Load;
use verbena_machine::{node, random};
use verbena_settings as table;

/// Opens the channel on this side, except for a job of one or if the user leaves it out. libfabric
/// is not touched yet.
///
/// # Errors
/// None now; what the user names is tried in the second round.
pub fn open(place: &Place) -> Result<Option<OfiOpening>, Fault> {
    let when = When::current();
    if place.size < 2 || when == When::Never {
        return Ok(None);
    }
    let named = names(table::OFI_INTERFACE.get());
    let own = interfaces::own(&named).map_err(|error| no_interfaces(&error))?;
    let notice = Notice {
        is_wanted: when == When::Always || is_named(),
        node: node::identity(),
        network: node::network_identity(),
        interfaces: own,
    };
    Ok(Some(OfiOpening { place: place.clone(), notice, end: None }))
}

/// The user's wish when libfabric is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    Auto,
    Always,
    Never,
}

impl When {
    fn current() -> When {
        [When::Auto, When::Always, When::Never][table::OFI.get()]
    }
}

/// Returns whether the user asks for this very channel.
fn is_named() -> bool {
    names(table::CHANNELS.get()).iter().any(|name| name == "ofi")
}

fn no_interfaces(error: &std::io::Error) -> Fault {
    Fault::new(
        "the network interfaces of this process cannot be listed",
        "getifaddrs",
        format!("the kernel or a seccomp filter refuses it ({error})"),
        "allow AF_NETLINK sockets, or set VERBENA_OFI=never",
    )
}

/// Returns whether libfabric must be opened, by the first cards of all processes: somebody wants
/// it, or somebody is on another node and not all processes have a channel for networks already
/// (`others`). All processes come to the same answer.
pub fn meets_again(cards: &[Option<Vec<u8>>], others: bool) -> bool {
    let notices: Vec<Notice> = cards.iter().flatten().filter_map(|card| Notice::parse(card)).collect();
    let apart = notices.iter().any(|notice| notice.node != notices[0].node);
    notices.iter().any(|notice| notice.is_wanted) || apart && !others
}

/// The channel before it is connected: where it is, and from the second round on its end, or why
/// there is none.
pub struct OfiOpening {
    place: Place,
    notice: Notice,
    end: Option<Result<End, Fault>>,
}

/// The channel, connected.
pub enum Connected {
    /// Connected to other processes.
    Open(Box<OfiChannel>),
    /// Connected to nobody: it was not opened.
    Absent(Absent),
}

/// The opened end.
struct End {
    net: Net,
    contact: Contact,
    findings: Vec<String>,
    settings: Settings,
    /// The time of a look at the empty completion queue, in nanoseconds.
    look_ns: Option<u32>,
}

impl Opening for OfiOpening {
    type Channel = Connected;

    fn card(&self) -> Vec<u8> {
        self.notice.emit()
    }

    fn second_card(&mut self, cards: &[Option<Vec<u8>>]) -> Result<Vec<u8>, Fault> {
        let end = End::open(&self.place, cards);
        // A user who names the channel or what it must use hears of it; else the others do without
        // this process.
        if let (Err(fault), true) = (&end, is_strict()) {
            return Err(fault.clone());
        }
        let card = end.as_ref().map_or(Vec::new(), |end| end.contact.emit());
        self.end = Some(end);
        Ok(card)
    }

    fn connect(self, cards: &[Option<Vec<u8>>], _load: &Load) -> Result<Connected, Fault> {
        Ok(match self.end {
            Some(Ok(End { net, contact, findings, settings, look_ns })) => {
                let all = cards.iter().map(|card| Contact::parse(card.as_deref()?)).collect();
                let ofi = OfiChannel::new(&self.place, net, &contact, all, settings, findings)?;
                Connected::Open(Box::new(ofi.priced(look_ns)))
            }
            Some(Err(fault)) => Connected::Absent(Absent::because(&fault)),
            None => Connected::Absent(Absent::unneeded()),
        })
    }
}

fn is_strict() -> bool {
    is_named() || table::OFI_PROVIDER.get().is_some() || table::OFI_INTERFACE.get().is_some()
}

impl End {
    fn open(place: &Place, cards: &[Option<Vec<u8>>]) -> Result<End, Fault> {
        let library = Library::get()?;
        let notices: Vec<_> = cards.iter().map(|card| Notice::parse(card.as_deref()?)).collect();
        let own = interfaces::choose(place.me as usize, &notices);
        let wish = Wish {
            provider: table::OFI_PROVIDER.get(),
            interfaces: names(table::OFI_INTERFACE.get()),
            ip: own.as_ref().map(|(interface, _)| interface.ip),
        };
        let mut failures = Vec::new();
        for offer in offers(library, &wish)? {
            let settings = Settings::current(&offer);
            match Net::open(&offer, cards.len(), settings.message_bytes, settings.sleeps) {
                Ok(net) => return End::of(library, net, own, settings),
                Err(fault) => failures.push(fault),
            }
        }
        let nothing = || nothing_fits(library, &wish, &interfaces::listed(place.me as usize, &notices));
        Err(failures.into_iter().next().unwrap_or_else(nothing))
    }

    fn of(
        library: &Library,
        mut net: Net,
        own: Option<(Interface, String)>,
        settings: Settings,
    ) -> Result<End, Fault> {
        let (provider, domain) = (net.offer().provider(), net.offer().domain());
        let (place, why) = match own {
            Some((interface, why)) if net.offer().ip().is_some() => {
                (format!("{} {}", interface.name, interface.ip), why)
            }
            _ => (domain, "it is the provider's first".into()),
        };
        let (major, minor) = library.version();
        let look_ns = price(&mut net);
        let mut findings = vec![
            format!("libfabric {major}.{minor}, provider {provider} (VERBENA_OFI_PROVIDER chooses another)"),
            format!("interface {place}: {why} (VERBENA_OFI_INTERFACE chooses another)"),
            look::finding(look_ns),
        ];
        let address = net.endpoint.address()?;
        // A daemon that a rank starts would keep the port, were it inherited.
        if let Err(error) = verbena_machine::inheritance::end_at_exec(&address) {
            findings.push(format!("programs that this process starts keep its port open: {error}"));
        }
        let token = random::secret()?;
        let contact = Contact { provider, place, address, token };
        Ok(End { net, contact, findings, settings, look_ns })
    }
}

/// The offers that fit, best first: with as much of what the channel can use as there is.
///
/// # Errors
/// Those of libfabric.
pub(super) fn offers(library: &'static Library, wish: &Wish) -> Result<Vec<Offer>, Fault> {
    let steps = [raw::FI_RMA | raw::FI_MULTI_RECV, raw::FI_RMA, raw::FI_MULTI_RECV, 0];
    for capabilities in steps {
        let all = library.offers(&Wanted { provider: None, capabilities })?;
        let candidates: Vec<Candidate> = all.iter().map(Candidate::of).collect();
        let fit = wish.order(&candidates);
        if !fit.is_empty() {
            return Ok(fit.into_iter().map(|at| all[at].clone()).collect());
        }
    }
    Ok(Vec::new())
}

fn nothing_fits(library: &Library, wish: &Wish, listed: &str) -> Fault {
    let no_address = || format!("no address that leads to the others: {listed}");
    let address = wish.ip.map_or_else(no_address, |ip| ip.to_string());
    let provider = wish.provider.as_deref().unwrap_or("any known provider");
    let (major, minor) = library.version();
    Fault::new(
        "libfabric offers nothing for this process's network",
        format!("libfabric {major}.{minor}, {provider}, {address}"),
        "no interface is up that leads to the other nodes, or what VERBENA_OFI_PROVIDER or VERBENA_OFI_INTERFACE names is not there",
        "look at \"verbena info\" and \"ip address\"; unset these settings, or name what is there",
    )
}

/// Measures a look at the completion queue while nobody knows this end's address yet, so that it
/// cannot take what somebody sent.
fn price(net: &mut Net) -> Option<u32> {
    let mut nothing = Vec::new();
    look::empty_look_ns(|| matches!(net.queue.read(&mut nothing), Ok(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(node: u64, is_wanted: bool) -> Option<Vec<u8>> {
        Some(Notice { is_wanted, node, network: node, interfaces: Vec::new() }.emit())
    }

    #[test]
    fn libfabric_is_opened_only_if_somebody_needs_it() {
        assert!(!meets_again(&[card(1, false), card(1, false)], false));
        assert!(meets_again(&[card(1, false), card(2, false)], false));
        assert!(!meets_again(&[card(1, false), card(2, false)], true));
        assert!(meets_again(&[card(1, true), card(1, false)], true));
        assert!(!meets_again(&[None, card(2, false)], false));
    }
}
