//! The waiter of a process that meets processes of other jobs: then the load of its cores changes,
//! and it has to sleep on more than before.

use super::Waiter;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

/// The waiter of a process now. The first one costs a look; only one that took its place is
/// locked.
#[derive(Clone)]
pub struct CurrentWaiter {
    first: Arc<dyn Waiter>,
    later: Arc<OnceLock<RwLock<Arc<dyn Waiter>>>>,
}

/// A waiter, for as long as one call needs it.
pub enum InUse<'a> {
    /// The first one.
    First(&'a (dyn Waiter + 'static)),
    /// One that took its place.
    Later(Arc<dyn Waiter>),
}

impl fmt::Debug for CurrentWaiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CurrentWaiter").field("replaced", &self.later.get().is_some()).finish_non_exhaustive()
    }
}

impl Deref for InUse<'_> {
    type Target = dyn Waiter;

    #[inline]
    fn deref(&self) -> &(dyn Waiter + 'static) {
        match self {
            InUse::First(waiter) => *waiter,
            InUse::Later(waiter) => &**waiter,
        }
    }
}

impl CurrentWaiter {
    /// Begins with this waiter.
    pub fn new(first: Arc<dyn Waiter>) -> CurrentWaiter {
        CurrentWaiter { first, later: Arc::default() }
    }

    /// The waiter now. A call that arms it disarms the same one.
    #[inline]
    pub fn get(&self) -> InUse<'_> {
        match self.later.get() {
            None => InUse::First(&*self.first),
            Some(later) => InUse::Later(later.read().unwrap_or_else(PoisonError::into_inner).clone()),
        }
    }

    /// Takes another waiter from now on. Threads that sleep at the old one wake as before.
    pub fn replace(&self, waiter: Arc<dyn Waiter>) {
        let later = self.later.get_or_init(|| RwLock::new(waiter.clone()));
        *later.write().unwrap_or_else(PoisonError::into_inner) = waiter;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Eventful, Plain};
    use verbena_machine::cores::Load;

    #[test]
    fn every_holder_sees_the_new_waiter() {
        let load = Load::measure(1);
        let current = CurrentWaiter::new(Arc::new(Plain::new(&load)));
        let other = current.clone();
        assert!(other.get().socket().is_none());
        for _ in 0..2 {
            let new = Arc::new(Eventful::new(Vec::new(), &load).expect("a socket"));
            let socket = new.socket();
            assert!(socket.is_some());
            current.replace(new);
            assert_eq!(other.get().socket(), socket);
        }
    }
}
