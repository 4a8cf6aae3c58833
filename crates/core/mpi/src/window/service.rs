use super::accumulate::Swap;
use super::{LockKind, Remote};
use crate::error::{Error, Result};
use crate::op::Op;
use crate::process::Process;
use crate::request::Active;
use std::sync::Arc;
use verbena_memory::Buffer;
pub(super) struct Service;
fn no() -> Error { Error::unsupported("a window across nodes") }
impl Service {
    pub(super) fn put(&self, _: &Process, _: &Buffer, _: &Remote) -> Result<Active> { Err(no()) }
    pub(super) fn get(&self, _: &Process, _: &Buffer, _: &Remote) -> Result<Active> { Err(no()) }
    pub(super) fn accumulate(&self, _: &Process, _: Option<&Buffer>, _: Option<&Buffer>, _: &Remote, _: &Arc<Op>) -> Result<Active> { Err(no()) }
    pub(super) fn compare_and_swap(&self, _: &Process, _: Swap, _: &Remote) -> Result<Active> { Err(no()) }
    pub(super) fn lock(&self, _: &Process, _: usize, _: LockKind) -> Result<()> { Err(no()) }
    pub(super) fn unlock(&self, _: &Process, _: usize) -> Result<()> { Err(no()) }
    pub(super) fn flush(&self, _: &Process, _: usize) -> Result<()> { Ok(()) }
    pub(super) fn flush_all(&self, _: &Process) -> Result<()> { Ok(()) }
    pub(super) fn flush_local(&self, _: &Process, _: usize) -> Result<()> { Ok(()) }
    pub(super) fn flush_local_all(&self, _: &Process) -> Result<()> { Ok(()) }
}
