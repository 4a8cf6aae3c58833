//! Temporary: predefined datatypes only.
use super::Datatype;
use crate::error::{Error, Result};
use std::sync::Arc;
pub fn encode(datatype: &Datatype) -> Vec<u8> {
    (datatype.handle().unwrap_or(0) as u64).to_le_bytes().to_vec()
}
pub fn decode(bytes: &[u8]) -> Result<Arc<Datatype>> {
    let handle = bytes.try_into().map(u64::from_le_bytes).unwrap_or(0) as usize;
    Datatype::predefined(handle).cloned().ok_or_else(|| Error::unsupported("x"))
}
