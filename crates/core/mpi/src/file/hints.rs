//! Hints: info keys of files, and the values in use (MPI-5.0, 14.2.8). The names are those of the
//! standard and of ROMIO, which programs know.

use crate::comm::words::garbled;
use crate::error::Result;
use crate::info::Info;
use std::sync::{Mutex, MutexGuard, PoisonError};
use verbena_storage::FileSystem;

/// A choice that a hint leaves to the library, or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub(super) enum Choice {
    /// The library chooses by the cost.
    Automatic = 0,
    /// Always.
    Enable = 1,
    /// Never.
    Disable = 2,
}

impl Choice {
    const NAMES: [(Choice, &'static str); 3] =
        [(Choice::Automatic, "automatic"), (Choice::Enable, "enable"), (Choice::Disable, "disable")];

    fn named(name: &str) -> Option<Choice> {
        Choice::NAMES.iter().find(|known| known.1 == name).map(|known| known.0)
    }

    fn numbered(number: u64) -> Choice {
        Choice::NAMES.iter().find(|known| known.0 as u64 == number).map_or(Choice::Automatic, |known| known.0)
    }

    fn name(self) -> &'static str {
        Choice::NAMES[self as usize].1
    }
}

/// The permissions that a new file can have.
const PERMISSIONS: u64 = 0o777;

/// The longest memory that a hint makes the library take, in bytes: more than a computer has would
/// end the job.
const BUFFER_BYTES_MAX: u64 = 1 << 30;

/// The bytes between which borders lie where nobody said how the file is striped.
const ALIGN_BYTES: u64 = 1 << 20;

/// The number of words that [`Tuning`] is told in.
pub(super) const WORDS: usize = 12;

/// The values in use that accesses ask for. They are alike in all processes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tuning {
    /// Processes that read and write for all in a collective access; 0: one for each node.
    pub aggregators: u64,
    /// Bytes that such a process moves at a time.
    pub round_bytes: u64,
    /// Collective reading by aggregators.
    pub collective_read: Choice,
    /// Collective writing by aggregators.
    pub collective_write: Choice,
    /// Data sieving of independent reads.
    pub sieve_read: Choice,
    /// Data sieving of independent writes.
    pub sieve_write: Choice,
    /// Bytes that are read at once by data sieving.
    pub sieve_read_bytes: u64,
    /// Bytes that are written at once by data sieving.
    pub sieve_write_bytes: u64,
    /// The storage devices of the file; 0: nobody said.
    pub stripes: u64,
    /// Bytes of the file that lie side by side on one device; 0: nobody said.
    pub stripe_bytes: u64,
    /// The program says that it accesses the file collectively only. Nothing depends on that.
    pub is_collective_only: bool,
    /// The permissions of a new file, as far as the process's mask allows them; 0: nobody said.
    pub permissions: u64,
}

impl Default for Tuning {
    fn default() -> Tuning {
        Tuning {
            aggregators: 0,
            round_bytes: 16 << 20,
            collective_read: Choice::Automatic,
            collective_write: Choice::Automatic,
            sieve_read: Choice::Automatic,
            sieve_write: Choice::Automatic,
            sieve_read_bytes: 4 << 20,
            sieve_write_bytes: 512 << 10,
            stripes: 0,
            stripe_bytes: 0,
            is_collective_only: false,
            permissions: 0,
        }
    }
}

impl Tuning {
    /// The values as numbers, to tell them to other processes.
    pub(super) fn words(&self) -> [u64; WORDS] {
        [
            self.aggregators,
            self.round_bytes,
            self.collective_read as u64,
            self.collective_write as u64,
            self.sieve_read as u64,
            self.sieve_write as u64,
            self.sieve_read_bytes,
            self.sieve_write_bytes,
            self.stripes,
            self.stripe_bytes,
            self.is_collective_only.into(),
            self.permissions,
        ]
    }

    /// The values of these numbers, which came from another process.
    pub(super) fn of_words(words: &[u64; WORDS]) -> Tuning {
        Tuning {
            aggregators: words[0],
            round_bytes: words[1].clamp(1, BUFFER_BYTES_MAX),
            collective_read: Choice::numbered(words[2]),
            collective_write: Choice::numbered(words[3]),
            sieve_read: Choice::numbered(words[4]),
            sieve_write: Choice::numbered(words[5]),
            sieve_read_bytes: words[6].clamp(1, BUFFER_BYTES_MAX),
            sieve_write_bytes: words[7].clamp(1, BUFFER_BYTES_MAX),
            stripes: words[8],
            stripe_bytes: words[9],
            is_collective_only: words[10] != 0,
            permissions: words[11] & PERMISSIONS,
        }
    }

    /// The values with those of `given` that are valid; a hint with another value is ignored.
    pub(super) fn with(mut self, given: &Info) -> Result<Tuning> {
        for (key, value) in given.entries() {
            let value = String::from_utf8_lossy(&value).trim().to_lowercase();
            self.take(&String::from_utf8_lossy(&key), &value);
        }
        Ok(self)
    }

    /// Takes over a hint if it is valid.
    pub(super) fn take(&mut self, key: &str, value: &str) -> Taken {
        let (number, most) = match key {
            "cb_nodes" => (&mut self.aggregators, i64::MAX as u64),
            "cb_buffer_size" => (&mut self.round_bytes, BUFFER_BYTES_MAX),
            "ind_rd_buffer_size" => (&mut self.sieve_read_bytes, BUFFER_BYTES_MAX),
            "ind_wr_buffer_size" => (&mut self.sieve_write_bytes, BUFFER_BYTES_MAX),
            "striping_factor" => (&mut self.stripes, i64::MAX as u64),
            "striping_unit" => (&mut self.stripe_bytes, i64::MAX as u64),
            "romio_no_indep_rw" => {
                let given = value.parse();
                self.is_collective_only = given.clone().unwrap_or(self.is_collective_only);
                return Taken::of(given.is_ok());
            }
            "file_perm" => {
                let given = u64::from_str_radix(value, 8).ok();
                let given = given.filter(|given| (1..=PERMISSIONS).contains(given));
                self.permissions = given.unwrap_or(self.permissions);
                return Taken::of(given.is_some());
            }
            _ => return self.choose(key, value),
        };
        let given = value.parse().ok().filter(|given| (1..=i64::MAX as u64).contains(given));
        *number = given.map_or(*number, |given: u64| given.min(most));
        Taken::of(given.is_some())
    }

    fn choose(&mut self, key: &str, value: &str) -> Taken {
        let choice = match key {
            "romio_cb_read" => &mut self.collective_read,
            "romio_cb_write" => &mut self.collective_write,
            "romio_ds_read" => &mut self.sieve_read,
            "romio_ds_write" => &mut self.sieve_write,
            _ => return Taken::NoKey,
        };
        let given = Choice::named(value);
        *choice = given.unwrap_or(*choice);
        Taken::of(given.is_some())
    }
}

/// The outcome of a hint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// The hint is in use.
    Whole,
    /// No hint has this key.
    NoKey,
    /// The hint has no such value.
    NoValue,
}

impl Taken {
    fn of(is_valid: bool) -> Taken {
        if is_valid { Taken::Whole } else { Taken::NoValue }
    }
}

/// The values of the hints that a process told.
pub(super) fn tuning_of(words: &[u64]) -> Result<Tuning> {
    let words: &[u64; WORDS] = words.try_into().map_err(|_| garbled(8 * words.len()))?;
    Ok(Tuning::of_words(words))
}

/// The facts of a file, as far as hints tell it.
#[derive(Clone, Copy, Debug)]
pub(super) struct About {
    /// The processes that opened it.
    pub processes: u64,
    /// The nodes that they run on.
    pub nodes: u64,
    /// The file system of the file.
    pub file_system: FileSystem,
    /// True if the first process finds it on a file system with stripes.
    pub is_striped: bool,
    /// True if the file may be read.
    pub reads: bool,
}

/// The hints of an open file.
pub(super) struct Hints {
    tuning: Mutex<Tuning>,
    /// `access_style`, which is told as it was given.
    style: Mutex<Option<Vec<u8>>>,
    about: About,
}

/// The words of `access_style`.
const STYLES: [&str; 6] =
    ["read_once", "write_once", "read_mostly", "write_mostly", "sequential", "reverse_sequential"];

impl Hints {
    /// The hints of a file with these values.
    pub(super) fn new(tuning: Tuning, about: About, given: Option<&Info>) -> Hints {
        let tuning = match about.is_striped {
            true => tuning,
            false => Tuning { stripes: 0, stripe_bytes: 0, ..tuning },
        };
        let hints = Hints { tuning: Mutex::new(tuning), style: Mutex::default(), about };
        hints.take_style(given);
        hints
    }

    /// The values in use.
    pub(super) fn tuning(&self) -> Tuning {
        *self.lock()
    }

    /// Uses other values, which all processes agree on. The stripes are those that the file was
    /// opened with: a file that is there has them.
    pub(super) fn set(&self, tuning: Tuning, given: Option<&Info>) {
        let mut own = self.lock();
        let Tuning { stripes, stripe_bytes, permissions, .. } = *own;
        *own = Tuning { stripes, stripe_bytes, permissions, ..tuning };
        drop(own);
        self.take_style(given);
    }

    fn lock(&self) -> MutexGuard<'_, Tuning> {
        self.tuning.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_style(&self, given: Option<&Info>) {
        let Some(Ok(Some(style))) = given.map(|given| given.get(b"access_style")) else { return };
        let text = String::from_utf8_lossy(&style).to_lowercase();
        if text.split(',').all(|word| STYLES.contains(&word.trim()) || word.trim() == "random") {
            *self.style.lock().unwrap_or_else(PoisonError::into_inner) = Some(style);
        }
    }

    /// The number of processes that read and write for all in a collective access.
    pub(super) fn aggregators(&self) -> u64 {
        let tuning = self.tuning();
        let wanted = match tuning.aggregators {
            0 => self.about.nodes.max(tuning.stripes.min(self.about.processes)),
            wanted => wanted,
        };
        wanted.clamp(1, self.about.processes)
    }

    /// The bytes between which borders of what one process moves lie.
    pub(super) fn align(&self) -> u64 {
        Some(self.tuning().stripe_bytes).filter(|&bytes| bytes > 0).unwrap_or(ALIGN_BYTES)
    }

    /// Every hint with the value in use (`MPI_File_get_info`). `has_locks`: the file system can
    /// keep writes of gaps apart from others.
    pub(super) fn info(&self, has_locks: bool) -> Result<Info> {
        let (tuning, info) = (self.tuning(), Info::new());
        // Writes are seen at once by all processes of a kernel, and of file systems that keep their
        // machines alike. Files of other local ones are not the same on two nodes.
        let FileSystem { is_shared, is_coherent, .. } = self.about.file_system;
        let is_seen = self.about.nodes <= 1 || is_shared && is_coherent;
        // To write gaps back, they must be read, under locks.
        let sieve_write = match tuning.sieve_write {
            Choice::Enable if !self.about.reads || !has_locks => Choice::Disable,
            other => other,
        };
        let mut entries = vec![
            ("cb_buffer_size", tuning.round_bytes.to_string()),
            ("cb_nodes", self.aggregators().to_string()),
            ("romio_cb_read", tuning.collective_read.name().into()),
            ("romio_cb_write", tuning.collective_write.name().into()),
            ("romio_ds_read", tuning.sieve_read.name().into()),
            ("romio_ds_write", sieve_write.name().into()),
            ("ind_rd_buffer_size", tuning.sieve_read_bytes.to_string()),
            ("ind_wr_buffer_size", tuning.sieve_write_bytes.to_string()),
            ("romio_no_indep_rw", tuning.is_collective_only.to_string()),
            ("romio_visibility_immediate", is_seen.to_string()),
        ];
        let stripes = [("striping_factor", tuning.stripes), ("striping_unit", tuning.stripe_bytes)];
        let said = stripes.into_iter().filter(|(_, number)| *number > 0);
        entries.extend(said.map(|(key, number)| (key, number.to_string())));
        if tuning.permissions > 0 {
            entries.push(("file_perm", format!("{:04o}", tuning.permissions)));
        }
        for (key, value) in entries {
            info.set(key.as_bytes(), value.as_bytes())?;
        }
        if let Some(style) = &*self.style.lock().unwrap_or_else(PoisonError::into_inner) {
            info.set(b"access_style", style)?;
        }
        Ok(info)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NFS: FileSystem = FileSystem::shared("nfs");
    const EXT4: FileSystem = FileSystem::local("ext4");
    const LUSTRE: FileSystem = FileSystem::parallel("lustre");

    fn hints(given: &[(&str, &str)], processes: u64, nodes: u64, file_system: FileSystem) -> Hints {
        let info = Info::new();
        for (key, value) in given {
            info.set(key.as_bytes(), value.as_bytes()).unwrap();
        }
        let tuning = Tuning::default().with(&info).unwrap();
        let is_striped = file_system.is_striped;
        Hints::new(tuning, About { processes, nodes, file_system, is_striped, reads: true }, Some(&info))
    }

    fn value(hints: &Hints, key: &str) -> Option<String> {
        let value = hints.info(true).unwrap().get(key.as_bytes()).unwrap();
        value.map(|value| String::from_utf8(value).unwrap())
    }

    #[test]
    fn valid_hints_count_and_others_do_not() {
        let given = [
            ("cb_nodes", "3"),
            ("cb_buffer_size", "-5"),
            ("ind_rd_buffer_size", "1099511627776"),
            ("romio_ds_write", " ENABLE"),
            ("romio_cb_read", "maybe"),
            ("striping_unit", "65536"),
            ("romio_no_indep_rw", "True"),
            ("colour", "red"),
            ("access_style", "read_once, random"),
        ];
        let hints = hints(&given, 8, 2, LUSTRE);
        for (key, expected) in [
            ("cb_nodes", "3"),
            ("cb_buffer_size", "16777216"),
            ("ind_rd_buffer_size", "1073741824"),
            ("romio_ds_write", "enable"),
            ("romio_cb_read", "automatic"),
            ("striping_unit", "65536"),
            ("romio_no_indep_rw", "true"),
            ("access_style", "read_once, random"),
            ("romio_visibility_immediate", "true"),
        ] {
            assert_eq!(value(&hints, key).as_deref(), Some(expected), "{key}");
        }
        assert_eq!(value(&hints, "colour"), None);
        assert_eq!(value(&hints, "striping_factor"), None, "nobody said");
    }

    #[test]
    fn what_is_told_can_be_given_back_and_says_the_same() {
        let given = [("cb_nodes", "2"), ("romio_cb_write", "disable"), ("striping_unit", "4096")];
        for file_system in [EXT4, LUSTRE] {
            let first = hints(&given, 4, 1, file_system);
            let told = first.info(true).unwrap();
            let again = Tuning::default().with(&told).unwrap();
            assert_eq!(again, first.tuning());
            assert_eq!(Tuning::of_words(&again.words()), again);
            let second = Hints::new(again, first.about, Some(&told));
            assert_eq!(second.info(true).unwrap().entries(), told.entries());
        }
    }

    #[test]
    fn aggregators_come_from_nodes_and_stripes_and_are_never_more_than_processes() {
        assert_eq!(hints(&[], 8, 2, EXT4).aggregators(), 2);
        assert_eq!(hints(&[("striping_factor", "5")], 8, 2, LUSTRE).aggregators(), 5);
        assert_eq!(hints(&[("cb_nodes", "100")], 8, 2, EXT4).aggregators(), 8);
    }

    #[test]
    fn stripes_are_what_a_file_with_stripes_was_opened_with() {
        let given = [("striping_factor", "5"), ("striping_unit", "4096")];
        let plain = hints(&given, 8, 2, EXT4);
        assert_eq!((plain.aggregators(), plain.align()), (2, ALIGN_BYTES));
        assert_eq!((value(&plain, "striping_factor"), value(&plain, "striping_unit")), (None, None));
        let striped = hints(&given, 8, 2, LUSTRE);
        striped.set(Tuning { stripes: 7, stripe_bytes: 512, ..striped.tuning() }, None);
        assert_eq!((striped.aggregators(), striped.align()), (5, 4096));
        assert_eq!(value(&striped, "striping_factor").as_deref(), Some("5"));
    }

    #[test]
    fn a_file_that_is_only_written_sieves_no_writes() {
        let both = hints(&[("romio_ds_write", "enable")], 1, 1, EXT4);
        let only = Hints::new(both.tuning(), About { reads: false, ..both.about }, None);
        assert_eq!(value(&both, "romio_ds_write").unwrap(), "enable");
        assert_eq!(value(&only, "romio_ds_write").unwrap(), "disable");
    }

    #[test]
    fn other_nodes_see_writes_at_once_where_the_file_system_says_so() {
        let unseen = [NFS, EXT4, FileSystem::UNKNOWN, FileSystem::shared("fuse")];
        for (file_system, is_seen) in
            unseen.map(|unseen| (unseen, "false")).into_iter().chain([(LUSTRE, "true")])
        {
            let told =
                |nodes| value(&hints(&[], 4, nodes, file_system), "romio_visibility_immediate").unwrap();
            assert_eq!((&told(1)[..], &told(2)[..]), ("true", is_seen), "{file_system:?}");
        }
    }
}
