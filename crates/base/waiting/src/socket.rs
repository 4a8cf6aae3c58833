//! The socket on which a process sleeps: its name, and how another process rings it.

use std::io::Result;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::{Mutex, PoisonError};
use verbena_machine::kept::Kept;

/// The address of the socket of this name.
pub(crate) fn address(name: u64) -> Result<SocketAddr> {
    SocketAddr::from_abstract_name(format!("verbena-bell-{name:016x}"))
}

/// Wakes the process that sleeps under this name. It may have gone, and if its socket is full it is
/// being woken already. Without a socket of our own nobody is rung, and the other sleeps to its
/// limit.
#[cold]
pub(crate) fn ring(name: u64, secret: u64) {
    static RINGER: Mutex<Option<Kept<UnixDatagram>>> = Mutex::new(None);
    let open = || {
        let socket = UnixDatagram::unbound().ok()?;
        socket.set_nonblocking(true).ok()?;
        Kept::new(socket).ok()
    };
    let mut ringer = RINGER.lock().unwrap_or_else(PoisonError::into_inner);
    if ringer.as_ref().is_none_or(|socket| socket.get().is_none()) {
        *ringer = open();
    }
    if let (Some(socket), Ok(address)) = (ringer.as_ref().and_then(Kept::get), address(name)) {
        let _ = socket.send_to_addr(&secret.to_be_bytes(), &address);
    }
}
