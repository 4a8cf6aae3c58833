//! The words of an `mpiexec` that was started for a program to its starter, and how it leaves it.
//! See [`verbena_boot::spawn`].

use crate::cli::Stop;
use crate::load::Loads;
use crate::sys;
use std::ffi::OsString;
use std::os::fd::RawFd;
use verbena_boot::spawn::{DETACHED, OPTION, REFUSED, STARTED};
use verbena_fault::Fault;

/// The arguments that stand before those of the command line.
const ARGUMENTS: usize = 4;

/// The program that an `mpiexec` was started for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Starter {
    /// The socket to it.
    socket: RawFd,
    /// True while its end is ours: it is not our parent, and has not parted from the processes.
    is_watched: bool,
    /// The port at which the new processes find it.
    pub port: String,
}

/// Takes the words about a starter off the arguments. If the starter is not to have us as a child,
/// a new process goes on, and this one ends.
pub fn take(arguments: &mut Vec<OsString>) -> Option<Starter> {
    let [option, socket, port, way, ..] = &arguments[..] else { return None };
    if option != OPTION {
        return None;
    }
    let socket = socket.to_str().and_then(|number| number.parse().ok())?;
    let (port, is_watched) = (port.to_string_lossy().into_owned(), way == DETACHED);
    arguments.drain(..ARGUMENTS);
    sys::close_on_exec(socket);
    if is_watched {
        sys::leave_parent();
    }
    Some(Starter { socket, is_watched, port })
}

impl Starter {
    /// Says that all processes run, and what load they are on each host.
    pub fn say_started(&self, load: &Loads) {
        self.say(&format!("{STARTED} {load}\n"));
    }

    /// Says that these could not be started, and why.
    pub fn say_refused(&self, ranks: &[u32], why: &str) {
        let ranks: String = ranks.iter().map(|rank| format!(" {rank}")).collect();
        self.say(&format!("{REFUSED}{ranks}\n{why}\n"));
    }

    /// Says that the command line is wrong.
    pub fn say_stop(&self, stop: &Stop) {
        self.say_refused(&[], stop.text());
    }

    /// The socket, as long as the end of the starter would be the end of the job. With a launcher
    /// of ours as parent, that one sees to it.
    pub fn watched(&self) -> Option<RawFd> {
        self.is_watched.then_some(self.socket)
    }

    /// Hears what the starter says: that it parts from the processes, or nothing any more.
    ///
    /// # Errors
    /// It has ended before it parted.
    pub fn hear(&mut self) -> Result<(), Fault> {
        self.is_watched = false;
        match sys::read(self.socket, &mut [0; 64]) {
            Ok(1..) => Ok(()),
            _ => Err(Fault::new(
                "The program that spawned these ranks has ended, and so does their job.",
                "the socket to the process that called MPI_Comm_spawn",
                "it was killed, or ended without MPI_Finalize or MPI_Comm_disconnect",
                "look at its own output",
            )),
        }
    }

    /// A starter that has gone needs to know nothing.
    fn say(&self, text: &str) {
        let mut bytes = text.as_bytes();
        while let Ok(count @ 1..) = sys::write(self.socket, bytes) {
            bytes = &bytes[count..];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;

    #[test]
    fn only_the_words_about_a_starter_are_taken() {
        let words = |line: &str| -> Vec<OsString> { line.split(' ').map(OsString::from).collect() };
        let mut arguments = words("-n 2 x");
        assert_eq!(take(&mut arguments), None);
        assert_eq!(arguments, words("-n 2 x"));
        let mut arguments = words("--spawned 999999 port attached -n 2 x");
        let starter = Starter { socket: 999_999, is_watched: false, port: "port".into() };
        assert_eq!(take(&mut arguments), Some(starter));
        assert_eq!(arguments, words("-n 2 x"));
        assert_eq!(take(&mut words("--spawned x port attached")), None);
    }

    #[test]
    fn a_starter_that_ends_before_it_parts_is_missed() {
        for (said, parted) in [(&b"parted\n"[..], true), (b"", false)] {
            let (ours, mut theirs) = UnixStream::pair().expect("sockets");
            theirs.write_all(said).expect("room");
            drop(theirs);
            let mut starter = Starter { socket: ours.as_raw_fd(), is_watched: true, port: String::new() };
            assert_eq!(starter.watched(), Some(ours.as_raw_fd()));
            assert_eq!(starter.hear().is_ok(), parted);
            assert_eq!(starter.watched(), None);
        }
    }
}
