//! Categories: the subjects that variables and events belong to (MPI-5.0, 15.3.9). They never
//! change.

use super::subject::Subject;
use super::{cvar, event, pvar};
use verbena_settings as set;

/// A category.
#[derive(Debug)]
pub struct Category {
    /// The name of the category.
    pub name: &'static str,
    /// The description of what belongs to it.
    pub help: &'static str,
    subject: Option<Subject>,
}

/// All categories. The first holds the others.
#[rustfmt::skip]
pub static ALL: &[Category] = &[
    Category { name: "verbena", help: "everything", subject: None },
    Category { name: "startup", help: "starting the process and meeting the others", subject: Some(Subject::Startup) },
    Category { name: "channel", help: "the channels between processes", subject: Some(Subject::Channel) },
    Category { name: "engine", help: "how messages are moved", subject: Some(Subject::Engine) },
    Category { name: "matching", help: "receives and messages that wait for each other", subject: Some(Subject::Matching) },
    Category { name: "wait", help: "waiting", subject: Some(Subject::Wait) },
    Category { name: "collective", help: "the choice of algorithms for collectives", subject: Some(Subject::Collective) },
    Category { name: "window", help: "one-sided communication", subject: Some(Subject::Window) },
    Category { name: "file", help: "access to files", subject: Some(Subject::File) },
];

fn subject_of(category: set::Category) -> Subject {
    match category {
        set::Category::Startup | set::Category::Launcher | set::Category::Compiler => Subject::Startup,
        set::Category::Channel => Subject::Channel,
        set::Category::Engine => Subject::Engine,
        set::Category::Wait => Subject::Wait,
        set::Category::Collective => Subject::Collective,
        set::Category::File => Subject::File,
    }
}

fn indices<T>(all: &[T], wanted: impl Fn(&T) -> bool) -> Vec<i32> {
    (0..).zip(all).filter(|(_, one)| wanted(one)).map(|(index, _)| index).collect()
}

impl Category {
    /// The indices of the control variables in it.
    pub fn cvars(&self) -> Vec<i32> {
        indices(&cvar::ALL, |setting| self.subject == Some(subject_of(setting.about.category)))
    }

    /// The indices of the performance variables in it.
    pub fn pvars(&self) -> Vec<i32> {
        indices(&pvar::ALL, |variable| self.subject == Some(variable.subject))
    }

    /// The indices of the event types in it.
    pub fn events(&self) -> Vec<i32> {
        indices(event::TYPES, |event| self.subject == Some(event.subject))
    }

    /// The indices of the categories in it.
    pub fn categories(&self) -> Vec<i32> {
        indices(ALL, |other| self.subject.is_none() && other.subject.is_some())
    }
}
