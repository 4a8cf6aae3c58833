//! The hosts of a job as users name them: `-host`, a host file, or the allocation of a batch
//! system. No I/O: the contents of files and variables come from outside.

use verbena_fault::Fault;

/// The most slots of a host, and the most hosts in one bracket: more is an error.
const SLOTS_MAX: u32 = 65_536;
/// The most digits of a number in a bracket.
const NUMBER_LENGTH_MAX: usize = 20;
/// The longest name between brackets, in bytes: that of the domain name system.
const NAME_LENGTH_MAX: usize = 255;
/// The most brackets of a name.
const BRACKETS_MAX: usize = 8;

/// An entry in a list of hosts. One host may have several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The host's name or address.
    pub name: String,
    /// The number of ranks it gets before the next entry's turn.
    pub slots: u32,
}

/// Returns whether a name means this host, whose name is `here`.
pub fn is_here(name: &str, here: &str) -> bool {
    let short = |name: &str| name.split('.').next().map(str::to_owned);
    ["localhost", "127.0.0.1", "::1"].contains(&name) || name == here || short(here).as_deref() == Some(name)
}

/// Reads the value of `-host`: names separated by commas, each with `:SLOTS` if it has more than
/// one.
///
/// # Errors
/// The message for the user.
pub fn read_list(list: &str) -> Result<Vec<Entry>, Fault> {
    let entries = list.split(',').map(str::trim).filter(|word| !word.is_empty()).map(|word| {
        entry(word).ok_or_else(|| wrong(format!("-host {list}: {word}"), "write for example: -host a:2,b:2"))
    });
    not_empty(entries.collect::<Result<_, _>>()?, &format!("-host {list}"))
}

/// Reads a host file: on each line a host as `name`, `name:SLOTS` (MPICH) or `name slots=SLOTS`
/// (Open MPI); what follows `#` is a comment.
///
/// # Errors
/// The message for the user, which calls the file `file`.
pub fn read_file(text: &str, file: &str) -> Result<Vec<Entry>, Fault> {
    let mut entries = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let words: Vec<&str> = line.split('#').next().unwrap_or("").split_whitespace().collect();
        let Some((host, details)) = words.split_first() else { continue };
        let found =
            entry(host).and_then(|found| details.iter().try_fold(found, |found, word| detail(found, word)));
        let advice = "write a host on each line, as name, name:2 or name slots=2";
        entries.push(found.ok_or_else(|| wrong(format!("{file}, line {number}: {line}"), advice))?);
    }
    not_empty(entries, file)
}

fn entry(word: &str) -> Option<Entry> {
    let (name, slots) = match word.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, "")) => (address, None),
        Some((address, rest)) => (address, Some(rest.strip_prefix(':')?)),
        None if word.matches(':').count() > 1 => (word, None),
        None => word.split_once(':').map_or((word, None), |(name, slots)| (name, Some(slots))),
    };
    let slots = slots.map_or(Some(1), count)?;
    is_name(name).then(|| Entry { name: name.to_owned(), slots })
}

/// Returns whether this can be a name. With a dash in front it would be an option of the launcher.
fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('-') && !name.contains(|c: char| c.is_control())
}

fn detail(mut entry: Entry, word: &str) -> Option<Entry> {
    match word.split_once('=')? {
        ("slots", slots) => entry.slots = count(slots)?,
        // A limit on oversubscribed ranks, which we place only when all hosts are full.
        ("max_slots" | "max-slots", slots) => drop(count(slots)?),
        _ => return None,
    }
    Some(entry)
}

fn count(text: &str) -> Option<u32> {
    text.parse().ok().filter(|count| (1..=SLOTS_MAX).contains(count))
}

fn wrong(on: String, advice: &str) -> Fault {
    Fault::new("The list of hosts is not understood.", on, "a mistyped name or number", advice)
}

fn not_empty(entries: Vec<Entry>, on: &str) -> Result<Vec<Entry>, Fault> {
    match entries.is_empty() {
        true => {
            Err(Fault::new("There is no host to start on.", on, "the list of hosts is empty", "name one"))
        }
        false => Ok(entries),
    }
}

/// The hosts of a Slurm allocation: `SLURM_JOB_NODELIST` and `SLURM_TASKS_PER_NODE`, as in
/// `n[1-2,7],x` and `2(x3),1`.
///
/// # Errors
/// The message for the user.
pub fn read_slurm(nodes: &str, tasks: &str) -> Result<Vec<Entry>, Fault> {
    let on = || format!("SLURM_JOB_NODELIST={nodes}, SLURM_TASKS_PER_NODE={tasks}");
    let advice = "name the hosts by -host or -hostfile";
    let names = node_names(nodes).ok_or_else(|| wrong(on(), advice))?;
    let mut slots = repeated(tasks).ok_or_else(|| wrong(on(), advice))?;
    slots.resize(names.len(), 1);
    not_empty(names.into_iter().zip(slots).map(|(name, slots)| Entry { name, slots }).collect(), &on())
}

/// The hosts of an allocation of LSF: `LSB_MCPU_HOSTS`, as in `a 4 b 2`.
///
/// # Errors
/// The message for the user.
pub fn read_lsf(pairs: &str) -> Result<Vec<Entry>, Fault> {
    let on = || format!("LSB_MCPU_HOSTS={pairs}");
    let words: Vec<&str> = pairs.split_whitespace().collect();
    let pair = |pair: &[&str]| match pair {
        [name, slots] => Some(Entry { name: (*name).to_owned(), slots: count(slots)? }),
        _ => None,
    };
    let entries: Option<Vec<Entry>> = words.chunks(2).map(pair).collect();
    let entries = entries.filter(|entries| entries.iter().all(|entry| is_name(&entry.name)));
    let entries = entries.ok_or_else(|| wrong(on(), "name the hosts by -host or -hostfile"))?;
    not_empty(entries, &on())
}

/// Expands `a,n[01-03,7]b`.
fn node_names(list: &str) -> Option<Vec<String>> {
    let mut names = Vec::new();
    let mut rest = list;
    while !rest.is_empty() {
        let end = top_level_comma(rest);
        // Each bracket is a level of recursion.
        if rest[..end].matches('[').count() > BRACKETS_MAX {
            return None;
        }
        names.extend(expand(&rest[..end], SLOTS_MAX as usize - names.len())?);
        rest = rest.get(end + 1..).unwrap_or("");
    }
    names.iter().all(|name| is_name(name)).then_some(names)
}

fn top_level_comma(list: &str) -> usize {
    let mut depth = 0;
    let outside = |&(_, c): &(usize, char)| {
        depth += i32::from(c == '[') - i32::from(c == ']');
        c == ',' && depth == 0
    };
    list.char_indices().find(outside).map_or(list.len(), |(at, _)| at)
}

/// Expands one entry, to no more than `most` names.
fn expand(name: &str, most: usize) -> Option<Vec<String>> {
    let Some((head, rest)) = name.split_once('[') else {
        return (most > 0 && name.len() <= NAME_LENGTH_MAX).then(|| vec![name.to_owned()]);
    };
    // The head is part of every name.
    if head.len() > NAME_LENGTH_MAX {
        return None;
    }
    let (ranges, tail) = rest.split_once(']')?;
    let tails = expand(tail, most)?;
    let mut names = Vec::new();
    for range in ranges.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (from, to) = (first.parse::<u32>().ok()?, last.parse::<u32>().ok()?);
        let count = to.checked_sub(from)? as usize + 1;
        let width = first.len();
        // Checked before any name is made: a few characters can stand for any number of names.
        if count.checked_mul(tails.len())? > most - names.len() || width > NUMBER_LENGTH_MAX {
            return None;
        }
        names.extend(
            (from..=to).flat_map(|n| tails.iter().map(move |tail| format!("{head}{n:0width$}{tail}"))),
        );
    }
    Some(names)
}

/// Expands `2(x3),1`.
fn repeated(list: &str) -> Option<Vec<u32>> {
    let mut all = Vec::new();
    for word in list.split(',').filter(|word| !word.is_empty()) {
        let (number, times) = match word.split_once("(x") {
            Some((number, times)) => (number, count(times.strip_suffix(')')?)?),
            None => (word, 1),
        };
        if all.len() + times as usize > SLOTS_MAX as usize {
            return None;
        }
        all.extend(std::iter::repeat_n(count(number)?, times as usize));
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(entries: Result<Vec<Entry>, Fault>) -> String {
        let show = |entry: &Entry| format!("{}:{}", entry.name, entry.slots);
        entries.map_or_else(|fault| fault.what, |all| all.iter().map(show).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn lists_of_both_kinds() {
        assert_eq!(text(read_list("a:2,b:3,c")), "a:2 b:3 c:1");
        assert_eq!(text(read_list("a,a, user@b ,")), "a:1 a:1 user@b:1");
        assert_eq!(text(read_list("::1,[fe80::1]:4,[::2]")), "::1:1 fe80::1:4 ::2:1");
    }

    #[test]
    fn files_of_both_kinds() {
        let file = "# ours\n\nnode1:2\nnode2 slots=4 max_slots=8 # big\n  node3\nnode3\n";
        assert_eq!(text(read_file(file, "f")), "node1:2 node2:4 node3:1 node3:1");
    }

    #[test]
    fn nonsense_is_refused_with_its_place() {
        for list in ["a:0", "a:x", "-oProxyCommand=x", "a:2:", "[::1]x", ":3", "a:99999999"] {
            assert!(text(read_list(list)).contains("not understood") || list == "a:2:", "{list}");
        }
        assert!(read_file("a\nb slots=x\n", "hosts").unwrap_err().on.contains("hosts, line 2: b slots=x"));
        assert!(read_file("a frob=2\n", "hosts").is_err());
        for empty in [read_list(","), read_file("# nothing\n", "hosts"), read_slurm("", "")] {
            assert!(text(empty).contains("no host"));
        }
    }

    #[test]
    fn allocations_of_slurm() {
        assert_eq!(text(read_slurm("n[01-03,7],login", "2(x3),1,4")), "n01:2 n02:2 n03:2 n7:1 login:4");
        assert_eq!(text(read_slurm("r[1-2]c[8-9]", "")), "r1c8:1 r1c9:1 r2c8:1 r2c9:1");
        for (nodes, tasks) in [
            ("n[1-", "1"),
            ("n[2-1]", "1"),
            ("n[x]", "1"),
            ("n1", "2(x"),
            ("n1", "0"),
            ("-n1", "1"),
            ("-[1-2]", "1"),
        ] {
            assert!(read_slurm(nodes, tasks).is_err(), "{nodes} {tasks}");
        }
        assert_eq!(read_slurm("n[0-65535]", "").unwrap().len(), 65_536);
        // Names that would exhaust the stack, or all memory.
        let long = "0".repeat(70_000);
        for nodes in [format!("n{}", "[1]".repeat(40_000)), format!("{long}[1-65536]"), format!("n[{long}1]")]
        {
            assert!(read_slurm(&nodes, "").is_err(), "{nodes:.20}");
        }
        // Four thousand million names: not one of them is made.
        for nodes in ["n[0-65535][0-65535]", "n[0-65536]", "n[0-65535],m", "n[0-1][0-1][0-65535]"] {
            assert!(read_slurm(nodes, "").is_err(), "{nodes}");
        }
    }

    #[test]
    fn allocations_of_lsf() {
        assert_eq!(text(read_lsf("a 4 b 2 ")), "a:4 b:2");
        for pairs in ["a", "a x", "a 0", "-a 1", "a 1 b"] {
            assert!(text(read_lsf(pairs)).contains("not understood"), "{pairs}");
        }
        assert!(text(read_lsf(" ")).contains("no host"));
    }

    #[test]
    fn our_own_names() {
        for name in ["localhost", "127.0.0.1", "::1", "node7.cluster", "node7"] {
            assert!(is_here(name, "node7.cluster"), "{name}");
        }
        assert!(!is_here("node8", "node7.cluster") && !is_here("", "node7"));
    }
}
