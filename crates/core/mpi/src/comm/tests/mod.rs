//! Communicators among simulated ranks, one thread each, over a fake [`Exchange`].

pub(crate) mod fake;
mod inter;
mod intra;

use super::*;
use fake::run;
