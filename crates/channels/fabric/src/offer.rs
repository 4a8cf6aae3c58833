//! The offers of the library's providers on this machine: provider, network, domain (interface) and
//! abilities.

use crate::explain::fault;
use crate::library::{Library, VERSION};
use crate::raw::{self, fi_info};
use std::ffi::{CStr, CString, c_char};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ptr::{NonNull, null, null_mut};
use std::sync::Arc;
use verbena_fault::Fault;

/// The abilities that an endpoint must have.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Only this provider, by the name that libfabric has for it, as in `tcp;ofi_rxm`.
    pub provider: Option<String>,
    /// The abilities besides messages: bits such as [`raw::FI_RMA`].
    pub capabilities: u64,
}

/// A list as the library made it.
struct List {
    library: &'static Library,
    first: NonNull<fi_info>,
}

// SAFETY: nothing changes the list until it is freed.
unsafe impl Send for List {}
// SAFETY: as above.
unsafe impl Sync for List {}

impl Drop for List {
    fn drop(&mut self) {
        // SAFETY: made once, freed once; the offers that lead into it hold it alive.
        unsafe { (self.library.functions.fi_freeinfo)(self.first.as_ptr()) };
    }
}

/// One offer.
#[derive(Clone)]
pub struct Offer {
    list: Arc<List>,
    raw: NonNull<fi_info>,
}

// SAFETY: nothing changes an offer, and its list lives as long.
unsafe impl Send for Offer {}
// SAFETY: as above.
unsafe impl Sync for Offer {}

impl std::fmt::Debug for Offer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} on {} ({})", self.provider(), self.domain(), self.fabric())
    }
}

/// The modes that we grant a provider: room behind each operation's context, and a completion's
/// immediate data.
const MODE: u64 = raw::FI_CONTEXT | raw::FI_CONTEXT2 | raw::FI_RX_CQ_DATA;
/// The ways of registration that we support.
const MR_MODE: u64 = raw::FI_MR_LOCAL
    | raw::FI_MR_VIRT_ADDR
    | raw::FI_MR_ALLOCATED
    | raw::FI_MR_PROV_KEY
    | raw::FI_MR_ENDPOINT;

impl Library {
    /// Lists the offers for reliable datagram endpoints, in the library's order of preference. The
    /// first call loads all providers, which takes some ten milliseconds.
    ///
    /// # Errors
    /// Any failure, except that nothing is offered.
    pub fn offers(&'static self, wanted: &Wanted) -> Result<Vec<Offer>, Fault> {
        let hints = Hints::new(self, wanted)?;
        let mut first = null_mut();
        // SAFETY: the hints live until the call returns, and it fills in the pointer.
        let code = unsafe { (self.functions.fi_getinfo)(VERSION, null(), null(), 0, hints.raw, &mut first) };
        match (code, NonNull::new(first)) {
            (0, Some(first)) => Ok(Offer::all(Arc::new(List { library: self, first }))),
            (0, None) => Ok(Vec::new()),
            (code, _) if code == -libc::ENODATA => Ok(Vec::new()),
            (code, _) => Err(fault("libfabric cannot say what there is", format!("{wanted:?}"), -code)),
        }
    }
}

/// The structure of wishes that `fi_getinfo` takes.
struct Hints {
    library: &'static Library,
    raw: *mut fi_info,
}

impl Hints {
    fn new(library: &'static Library, wanted: &Wanted) -> Result<Hints, Fault> {
        // SAFETY: null asks for an empty structure with all its parts.
        let raw = unsafe { (library.functions.fi_dupinfo)(null()) };
        if raw.is_null() {
            return Err(fault("libfabric has no memory", "fi_allocinfo", libc::ENOMEM));
        }
        let hints = Hints { library, raw };
        hints.fill(wanted)?;
        Ok(hints)
    }

    fn fill(&self, wanted: &Wanted) -> Result<(), Fault> {
        let provider = wanted.provider.as_deref().map(copied).transpose()?;
        // SAFETY: an empty structure has all its parts, and nobody else knows it yet.
        unsafe {
            let info = &mut *self.raw;
            info.caps = raw::FI_MSG | wanted.capabilities;
            info.mode = MODE;
            (*info.ep_attr).type_ = raw::FI_EP_RDM as u32;
            (*info.domain_attr).mr_mode = MR_MODE as i32;
            (*info.domain_attr).threading = raw::FI_THREAD_DOMAIN as u32;
            (*info.domain_attr).resource_mgmt = raw::FI_RM_ENABLED as u32;
            (*info.fabric_attr).prov_name = provider.unwrap_or(null_mut());
        }
        Ok(())
    }
}

impl Drop for Hints {
    fn drop(&mut self) {
        // SAFETY: made once, freed once, with the name in it.
        unsafe { (self.library.functions.fi_freeinfo)(self.raw) };
    }
}

/// Returns a copy that the library may free.
fn copied(text: &str) -> Result<*mut c_char, Fault> {
    let text = CString::new(text).map_err(|_| fault("a name has a zero byte", text, libc::EINVAL))?;
    // SAFETY: terminated.
    Ok(unsafe { libc::strdup(text.as_ptr()) })
}

impl Offer {
    fn all(list: Arc<List>) -> Vec<Offer> {
        let mut offers = Vec::new();
        let mut next = Some(list.first);
        while let Some(raw) = next {
            offers.push(Offer { list: Arc::clone(&list), raw });
            // SAFETY: a link of the list, which lives.
            next = NonNull::new(unsafe { raw.as_ref() }.next);
        }
        offers
    }

    pub(crate) fn library(&self) -> &'static Library {
        self.list.library
    }

    pub(crate) fn raw(&self) -> *mut fi_info {
        self.raw.as_ptr()
    }

    fn info(&self) -> &fi_info {
        // SAFETY: a link of the list, which lives, and which nobody changes.
        unsafe { self.raw.as_ref() }
    }

    /// Returns the provider's name, as in `tcp;ofi_rxm`.
    pub fn provider(&self) -> String {
        // SAFETY: an offer has all its parts.
        text(unsafe { (*self.info().fabric_attr).prov_name })
    }

    /// Returns the network, as in `192.0.2.0/24`.
    pub fn fabric(&self) -> String {
        // SAFETY: an offer has all its parts.
        text(unsafe { (*self.info().fabric_attr).name })
    }

    /// Returns the device or interface, as in `eth0`.
    pub fn domain(&self) -> String {
        // SAFETY: an offer has all its parts.
        text(unsafe { (*self.info().domain_attr).name })
    }

    /// Returns the address of this end, if it is one of the Internet's.
    pub fn ip(&self) -> Option<IpAddr> {
        let info = self.info();
        if info.src_addr.is_null() {
            return None;
        }
        // SAFETY: this many bytes are there.
        let bytes = unsafe { std::slice::from_raw_parts(info.src_addr.cast::<u8>(), info.src_addrlen) };
        ip_of(bytes).map(|(ip, _)| ip)
    }

    /// Returns the abilities of the offer: bits such as [`raw::FI_RMA`].
    pub fn capabilities(&self) -> u64 {
        self.info().caps
    }

    /// Returns what the provider asks of memory: bits such as [`raw::FI_MR_LOCAL`].
    pub fn memory_mode(&self) -> u64 {
        // SAFETY: an offer has all its parts.
        unsafe { (*self.info().domain_attr).mr_mode as u64 }
    }

    /// Returns the size in bytes of a memory's key, where the provider lets us choose it.
    pub fn key_bytes(&self) -> usize {
        // SAFETY: an offer has all its parts.
        unsafe { (*self.info().domain_attr).mr_key_size }
    }

    /// Returns whether messages of one sender complete in the order in which they were sent. (That
    /// they are matched in this order, `msg_order`, is not enough: a long one may complete after a
    /// short one that was sent later.)
    pub fn is_ordered(&self) -> bool {
        // SAFETY: an offer has all its parts.
        let (tx, rx) = unsafe { (&*self.info().tx_attr, &*self.info().rx_attr) };
        tx.msg_order & rx.msg_order & rx.comp_order & raw::FI_ORDER_SAS != 0
    }

    /// Returns the longest message in bytes that [`Endpoint::inject`](crate::Endpoint::inject)
    /// takes.
    pub fn inject_bytes_max(&self) -> usize {
        // SAFETY: an offer has all its parts.
        unsafe { (*self.info().tx_attr).inject_size }
    }

    /// Returns the longest message, and the longest access to remote memory, in bytes.
    pub fn transfer_bytes_max(&self) -> usize {
        // SAFETY: an offer has all its parts.
        unsafe { (*self.info().ep_attr).max_msg_size }
    }

    /// Returns how many operations may be under way in each direction.
    pub fn operations_max(&self) -> (usize, usize) {
        // SAFETY: an offer has all its parts.
        unsafe { ((*self.info().tx_attr).size, (*self.info().rx_attr).size) }
    }
}

fn text(pointer: *const c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    // SAFETY: the library's names are terminated, and live as long as the offer.
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}

/// Returns the address and port in a socket address of the kernel's form; `None` for any other
/// form.
pub fn ip_of(bytes: &[u8]) -> Option<(IpAddr, u16)> {
    let family = u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?);
    let port = u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?);
    let ip = match i32::from(family) {
        libc::AF_INET => IpAddr::V4(Ipv4Addr::from(<[u8; 4]>::try_from(bytes.get(4..8)?).ok()?)),
        libc::AF_INET6 => IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(bytes.get(8..24)?).ok()?)),
        _ => return None,
    };
    Some((ip, port))
}

#[cfg(test)]
mod tests {
    use super::*;
    use verbena_testing::{Lack, skip};

    #[test]
    fn socket_addresses_are_read() {
        let four = [2, 0, 0x1f, 0x90, 10, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(ip_of(&four), Some(("10.0.0.7".parse().expect("address"), 8080)));
        let mut six = [0; 28];
        six[..2].copy_from_slice(&(libc::AF_INET6 as u16).to_ne_bytes());
        six[23] = 1;
        assert_eq!(ip_of(&six), Some(("::1".parse().expect("address"), 0)));
        assert_eq!(ip_of(&[9, 9, 9, 9]), None);
        assert_eq!(ip_of(&four[..6]), None);
    }

    #[test]
    fn the_loopback_interface_offers_tcp() {
        let Ok(library) = Library::get() else {
            return skip(Lack::Installed, "libfabric is not there (Debian: libfabric1)");
        };
        let offers = library.offers(&Wanted { capabilities: raw::FI_RMA, provider: None }).expect("offers");
        let tcp: Vec<_> = offers.iter().filter(|offer| offer.provider().starts_with("tcp")).collect();
        assert!(tcp.iter().any(|offer| offer.ip().is_some_and(|ip| ip.is_loopback())), "{offers:?}");
        assert!(tcp.iter().all(|offer| offer.capabilities() & raw::FI_RMA != 0));
        let none = library.offers(&Wanted { provider: Some("pigeons".into()), ..Wanted::default() });
        assert!(none.expect("no failure").is_empty());
    }
}
