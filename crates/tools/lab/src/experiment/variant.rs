//! The variants: what one column of a table was measured with.

use super::verb::Verb;

/// A setting without `VERBENA_`, and its value.
pub type Set = (String, String);

/// A setting as variants take it.
pub fn set(name: &str, value: impl ToString) -> Set {
    (name.into(), value.to_string())
}

/// A subject of measurement, and its name in tables.
#[derive(Clone, Debug)]
pub struct Variant {
    /// The name.
    pub name: String,
    /// The kind of variant.
    pub how: How,
    /// The place on the experiment's axis, if that has one.
    pub at: Option<usize>,
    /// True if it loses messages where the wire does, and then hangs.
    pub is_unreliable: bool,
}

/// The kinds of variants.
#[derive(Clone, Debug)]
pub enum How {
    /// Our library with these settings.
    Ours(Place, Vec<Set>),
    /// The bare device, between the first two nodes.
    Device(Verb),
    /// Another library, over UCX.
    Peer(Peer, UcxTransport),
}

/// The place of our ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Spread over the nodes in even blocks.
    Nodes,
    /// All on one node.
    Node,
    /// All on this node, each with a device of its own, so that messages go over the wire: as the
    /// other libraries run.
    Devices,
}

/// Another library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// MPICH.
    Mpich,
    /// Open MPI.
    OpenMpi,
}

/// The transport that UCX sends by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UcxTransport {
    /// Reliable connections, made by datagrams.
    Rc,
    /// Datagrams alone.
    Ud,
}

impl UcxTransport {
    /// `UCX_TLS`.
    pub fn of_ucx(self) -> &'static str {
        match self {
            UcxTransport::Rc => "rc_verbs,ud_verbs:aux,self",
            UcxTransport::Ud => "ud_verbs,self",
        }
    }
}

impl Peer {
    /// Returns the name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Peer::Mpich => "MPICH",
            Peer::OpenMpi => "Open MPI",
        }
    }

    /// Returns the folder under `--peers`.
    pub fn folder(self) -> &'static str {
        match self {
            Peer::Mpich => "mpich",
            Peer::OpenMpi => "openmpi",
        }
    }

    /// Returns the path of the library in that folder.
    pub fn library(self) -> &'static str {
        match self {
            Peer::Mpich => "lib/libmpi_abi.so.1",
            Peer::OpenMpi => "lib/libmpi.so.40",
        }
    }

    /// Returns the options that the launcher needs.
    pub fn launcher_args(self) -> &'static [&'static str] {
        match self {
            Peer::Mpich => &["-launcher", "fork"],
            Peer::OpenMpi => &["--oversubscribe", "--bind-to", "none"],
        }
    }

    /// Returns the variables that make it use UCX over verbs, between processes of one node too.
    pub fn environment(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Peer::Mpich => &[("MPIR_CVAR_NOLOCAL", "1"), ("MPIR_CVAR_CH4_NETMOD", "ucx")],
            Peer::OpenMpi => &[
                ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
                ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
                ("OMPI_MCA_pml", "ucx"),
                ("OMPI_MCA_osc", "ucx"),
                ("OMPI_MCA_pml_ucx_tls", "any"),
                ("OMPI_MCA_pml_ucx_devices", "any"),
            ],
        }
    }
}

impl Variant {
    /// A variant of that name.
    pub fn new(name: impl Into<String>, how: How) -> Variant {
        Variant { name: name.into(), how, at: None, is_unreliable: false }
    }

    /// Our library.
    pub fn ours(name: impl Into<String>, place: Place, settings: Vec<Set>) -> Variant {
        Variant::new(name, How::Ours(place, settings))
    }

    /// The bare device.
    pub fn device(verb: Verb) -> Variant {
        Variant { is_unreliable: verb.is_datagram(), ..Variant::new(verb.name(), How::Device(verb)) }
    }

    /// Another library.
    pub fn peer(peer: Peer, transport: UcxTransport) -> Variant {
        Variant::new(peer.name(), How::Peer(peer, transport))
    }

    /// Puts the variant at this place on the experiment's axis.
    pub fn at(self, place: usize) -> Variant {
        Variant { at: Some(place), ..self }
    }

    /// Marks a variant that is not measured where the wire loses packets.
    pub fn unreliable(self) -> Variant {
        Variant { is_unreliable: true, ..self }
    }

    /// Returns whether all ranks run here, each on a device of this node.
    pub fn is_on_devices(&self) -> bool {
        matches!(self.how, How::Ours(Place::Devices, _) | How::Peer(..))
    }

    /// Returns whether it can be measured without other nodes or devices.
    pub fn is_local(&self) -> bool {
        matches!(self.how, How::Ours(Place::Node, _))
    }
}
