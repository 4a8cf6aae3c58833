use crate::datatype::Datatype;
use crate::error::Result;
use crate::op::Op;
use std::sync::Arc;
use verbena_memory::Region;
pub trait TargetMemory { fn read(&self, at: u64, into: &mut [u8]) -> Result<()>; fn write(&self, at: u64, from: &[u8]) -> Result<()>; fn region(&self) -> Option<Region>; }
pub enum Domain { Processor, Locked }
pub struct Guard(Domain, Region, u32);
impl Guard { pub fn new(d: Domain, r: Region, me: u32) -> Guard { Guard(d, r, me) } }
#[allow(clippy::too_many_arguments)]
pub fn accumulate(_op: &Op, _memory: &dyn TargetMemory, _at: i64, _count: usize, _datatype: &Arc<Datatype>, _source: Option<Region>, _former: Option<Region>, _guard: &Guard) -> Result<()> { todo!() }
pub fn compare_and_swap(_memory: &dyn TargetMemory, _at: i64, _datatype: &Arc<Datatype>, _origin: &[u8], _compare: &[u8], _result: &mut [u8], _guard: &Guard) -> Result<()> { todo!() }
