//! A put or get by the device, under way at its origin.

use crate::datatype::Datatype;
use crate::error::Error;
use crate::outcome::Outcome;
use crate::process::Access;
use crate::window::counts;
use crate::window::place::Remote;
use crate::window::service::{self, Service};
use std::sync::Arc;
use verbena_engine::{Motion, OneSidedId};
use verbena_memory::Buffer;
use verbena_waiting::lock::Lock;

/// An operation that was begun. Clones are the same operation.
#[derive(Clone)]
pub struct Operation(Arc<Lock<Course>>);

struct Course {
    stage: Stage,
    again: Again,
    /// True once the device could not do it.
    went_again: bool,
    /// True once somebody heard of the error.
    is_heard: bool,
}

/// The stage that an operation has reached.
enum Stage {
    /// The device is at it.
    Device(OneSidedId),
    /// The device could not do it: messages carry it.
    Messages(service::Operation),
    /// All is over.
    Over(Option<Error>),
}

/// An operation as it is begun once more, by messages. What a put or get did already does no harm.
pub(super) struct Again {
    service: Arc<Service>,
    motion: Motion,
    buffer: Buffer,
    rank: i32,
    displacement: i64,
    count: i64,
    datatype: Arc<Datatype>,
}

impl Again {
    pub(super) fn new(service: &Arc<Service>, motion: Motion, remote: &Remote, buffer: &Buffer) -> Again {
        let Remote { rank, displacement, count, datatype } = *remote;
        let (service, datatype, buffer) = (service.clone(), datatype.clone(), buffer.clone());
        Again { service, motion, buffer, rank, displacement, count, datatype }
    }

    fn begin(&self, access: &mut impl Access) -> Stage {
        let Again { rank, displacement, count, ref datatype, .. } = *self;
        let (origin, remote) = (self.service.origin(), Remote { rank, displacement, count, datatype });
        let begun = match self.motion {
            Motion::Get => origin.get(access, &remote, &self.buffer),
            Motion::Put => origin.put(access, &remote, &self.buffer),
        };
        begun.map_or_else(|error| Stage::Over(Some(error)), Stage::Messages)
    }
}

impl Operation {
    /// An operation that the engine has begun.
    pub(super) fn by_device(id: OneSidedId, again: Again) -> Operation {
        let course = Course { stage: Stage::Device(id), again, went_again: false, is_heard: false };
        Operation(Arc::new(Lock::new(course)))
    }

    /// Returns how it ended, if it has: the origin's memory may be used again, and what was put is
    /// in the target's memory, unless messages carried it.
    pub fn poll(&self, access: &mut impl Access) -> Option<Outcome> {
        let mut course = self.0.lock();
        course.advance(access);
        let Stage::Over(error) = &course.stage else { return None };
        let outcome = Outcome { error: error.clone(), ..Outcome::EMPTY };
        course.is_heard = true;
        Some(outcome)
    }

    /// Like [`Operation::poll`], for the window: the error, if nobody heard of it.
    pub(super) fn end(&self, access: &mut impl Access) -> Option<Option<Error>> {
        let mut course = self.0.lock();
        course.advance(access);
        let Stage::Over(error) = &course.stage else { return None };
        Some(error.clone().filter(|_| !course.is_heard))
    }

    /// Returns whether the device could not do it.
    pub fn went_again(&self) -> bool {
        self.0.lock().went_again
    }
}

impl Course {
    fn advance(&mut self, access: &mut impl Access) {
        if let Stage::Device(id) = self.stage {
            match access.look(|engine| engine.take_one_sided(id)) {
                None => return,
                Some(true) => self.stage = Stage::Over(None),
                Some(false) => {
                    counts::went_again();
                    self.went_again = true;
                    self.stage = self.again.begin(access);
                }
            }
        }
        if let Stage::Messages(operation) = &self.stage
            && let Some(outcome) = operation.poll(access)
        {
            self.stage = Stage::Over(outcome.error);
        }
    }
}
