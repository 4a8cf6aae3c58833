//! The subjects that variables and events belong to.

/// The subjects of variables and events. A category of settings of the same name has the same
/// number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Starting up.
    Startup,
    /// The channels.
    Channel,
    /// The ways of moving messages.
    Engine,
    /// Receives and messages that wait for each other.
    Matching,
    /// Waiting.
    Wait,
    /// Collectives.
    Collective,
    /// One-sided communication.
    Window,
    /// Access to files.
    File,
}
