//! The list of channels, in order of preference. A new wire is one module and one line here.

use crate::{Fault, Opening, Place, loopback};

/// Opens a channel on this side; `Ok(None)` if it has no use on this machine.
pub type Open = fn(&Place) -> Result<Option<Box<dyn Opening>>, Fault>;

/// Every channel by its name.
pub const CHANNELS: &[(&str, Open)] = &[("loopback", loopback::open)];
