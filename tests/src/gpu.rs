//! A library in the place of a GPU's driver: there is no GPU in the tests.

use crate::{build_dir, compile, top};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The library, under the name that NVIDIA's driver gives its own. It is built once for all tests
/// of this process.
pub fn driver() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let build = || {
        let driver = build_dir().join("libfake_cuda.so");
        let out = build_dir().join(format!("libfake_cuda.so.{}", std::process::id()));
        let more = ["-shared", "-fPIC", "-Wl,-soname,libcuda.so.1"];
        compile(Path::new("cc"), &top().join("tests/programs/fake_cuda.c"), &out, &more);
        // Other processes may use the one that is there: a whole file takes its place.
        std::fs::rename(&out, &driver).expect("rename");
        driver
    };
    BUILT.get_or_init(build).clone()
}
