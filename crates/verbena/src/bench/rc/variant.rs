//! The variants: what one column of a table was measured with.

use super::device::Verb;

/// What is measured, and its name in tables.
#[derive(Clone, Debug)]
pub struct Variant {
    /// The name.
    pub name: String,
    /// What it is.
    pub how: How,
}

/// What a variant is.
#[derive(Clone, Debug)]
pub enum How {
    /// Our library between nodes, over `rc` alone, with these settings (without `VERBENA_`).
    Ours(Vec<(&'static str, String)>),
    /// Our library with all ranks on one device, as the peers run.
    OursOnOneDevice,
    /// The bare device.
    Device(Verb),
    /// Another library, over UCX on one device.
    Peer(Peer),
}

/// Another library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// MPICH.
    Mpich,
    /// Open MPI.
    OpenMpi,
}

impl Peer {
    /// Its folder under `--peers`.
    pub fn folder(self) -> &'static str {
        match self {
            Peer::Mpich => "mpich",
            Peer::OpenMpi => "openmpi",
        }
    }

    /// Its library in that folder.
    pub fn library(self) -> &'static str {
        match self {
            Peer::Mpich => "lib/libmpi_abi.so.1",
            Peer::OpenMpi => "lib/libmpi.so.40",
        }
    }

    /// What its launcher must be told.
    pub fn launcher_args(self) -> &'static [&'static str] {
        match self {
            Peer::Mpich => &["-launcher", "fork"],
            Peer::OpenMpi => &["--oversubscribe", "--bind-to", "none"],
        }
    }

    /// What makes it use UCX over verbs, between processes of one node too.
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

/// Our library with settings given as (name, value).
pub fn ours(name: &str, settings: &[(&'static str, &str)]) -> Variant {
    let settings = settings.iter().map(|&(name, value)| (name, value.to_string())).collect();
    Variant { name: name.into(), how: How::Ours(settings) }
}

/// The bare device.
pub fn device(verb: Verb) -> Variant {
    Variant { name: verb.name().into(), how: How::Device(verb) }
}
