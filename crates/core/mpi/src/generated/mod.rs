//! Code made by `cargo xtask generate` from the API table in `api/`.
pub mod constants;
