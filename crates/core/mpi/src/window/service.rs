use super::accumulate::Swap;
use super::{LockKind, Remote};
use crate::error::{Error, Result};
use crate::op::Op;
use crate::process::Process;
use crate::request::Active;
use std::sync::Arc;
use verbena_memory::Buffer;
pub struct Service;
fn no() -> Error { Error::unsupported("a window across nodes") }
impl Service {
    pub fn put(&self, _: &Process, _: &Buffer, _: &Remote) -> Result<Active> { Err(no()) }
    pub fn get(&self, _: &Process, _: &Buffer, _: &Remote) -> Result<Active> { Err(no()) }
    pub fn accumulate(&self, _: &Process, _: Option<&Buffer>, _: Option<&Buffer>, _: &Remote, _: &Arc<Op>) -> Result<Active> { Err(no()) }
    pub fn compare_and_swap(&self, _: &Process, _: Swap, _: &Remote) -> Result<Active> { Err(no()) }
    pub fn lock(&self, _: &Process, _: usize, _: LockKind) -> Result<()> { Err(no()) }
    pub fn unlock(&self, _: &Process, _: usize) -> Result<()> { Err(no()) }
    pub fn flush(&self, _: &Process, _: usize) -> Result<()> { Ok(()) }
    pub fn flush_all(&self, _: &Process) -> Result<()> { Ok(()) }
    pub fn flush_local(&self, _: &Process, _: usize) -> Result<()> { Ok(()) }
    pub fn flush_local_all(&self, _: &Process) -> Result<()> { Ok(()) }
}
