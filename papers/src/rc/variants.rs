//! Our library over `rc`, as experiments compare it.

use verbena_lab::experiment::axis::Axis;
use verbena_lab::experiment::variant::{Place, Set, Variant, set};

/// Chunks of a pipeline.
pub(super) const CHUNKS: Axis = Axis { name: "chunk, KiB", label: |kib| kib.to_string() };

/// Our library between nodes, over `rc` alone, by the path that is compared.
pub(crate) fn ours(name: &str, settings: &[(&str, &str)]) -> Variant {
    let settings = settings.iter().map(|(name, value)| set(name, value));
    let all: Vec<Set> =
        [set("CHANNELS", "rc"), set("RC_LEARN_PATH", "0")].into_iter().chain(settings).collect();
    Variant::ours(name, Place::Nodes, all)
}
