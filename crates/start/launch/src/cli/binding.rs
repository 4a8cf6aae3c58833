//! `--bind-to`, `--map-by` and `--rank-by`: which hosts ranks go to in turns, and what each is
//! bound to, in the words of Open MPI and MPICH.

use super::arg::flag;
use super::foreign::{DISPLAYED_BINDING, displayed};
use super::nearest::{did_you_mean, nearest};
use crate::binding::{Binding, Seating};
use crate::layout::Turns;
use crate::topology::Object;
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgMatches, Command};
use verbena_fault::Fault;

/// The most that a number among these options may be.
const NUMBER_MAX: u32 = 65_536;

/// The options.
pub(super) fn options() -> Vec<Arg> {
    let option = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(value).help(help)
    };
    vec![
        option(
            "bind-to",
            "OBJECT",
            "Bind each rank to the next hwthread (one thread of a core), core, l1cache, l2cache, l3cache, numa or \
             package (socket), or to none; core:2 for two cores each; core:overload-allowed to share them without a \
             word [default: none, or the object of --map-by]",
        ),
        option(
            "map-by",
            "ORDER",
            "Place ranks by slot, or in turns on each node, or each package, numa, l3cache, core, ... of a host; \
             ppr:N:OBJECT for N on each; :PE=N for N cores each, \
             :PE=N:hwtcpus for N hwthreads [default: slot]",
        ),
        option(
            "rank-by",
            "ORDER",
            "Number the placed ranks by slot, in turns by node or object, or by fill, object after object \
             [default: slot]",
        ),
        flag("report-bindings", "Write to standard error which processors each rank may use"),
    ]
}

/// The orders of all parts together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Orders {
    /// The order in which hosts get ranks.
    pub(super) turns: Turns,
    /// The number of ranks on each object of this sort; `None` for the sort: on each host.
    pub(super) on_each: Option<(u32, Option<Object>)>,
    /// The binding on each host.
    pub(super) binding: Binding,
}

/// Reads the options. Each is taken from the first part that has it: they hold for the whole job.
///
/// # Errors
/// A value that is none.
pub(super) fn read(parts: &[&ArgMatches]) -> Result<Orders, Fault> {
    let value = |name: &str| parts.iter().find_map(|part| part.get_one::<String>(name));
    let mut orders = Orders::default();
    if let Some(text) = value("map-by") {
        map_by(&mut orders, &text.to_lowercase()).ok_or_else(|| unknown("--map-by", text, MAPS))?;
    }
    if let Some(text) = value("rank-by") {
        rank_by(&mut orders, &text.to_lowercase()).ok_or_else(|| unknown("--rank-by", text, RANKINGS))?;
    }
    if let Some(text) = value("bind-to") {
        bind_to(&mut orders.binding, &text.to_lowercase())
            .ok_or_else(|| unknown("--bind-to", text, BINDINGS))?;
    }
    let is_reported = |part: &&ArgMatches| {
        part.get_flag("report-bindings") || displayed(part).iter().any(|one| one == DISPLAYED_BINDING)
    };
    orders.binding.reported = parts.iter().any(is_reported);
    Ok(orders)
}

/// The command, in whose completions these options have their words.
pub(super) fn with_words(command: Command) -> Command {
    [("bind-to", BINDINGS), ("map-by", MAPS), ("rank-by", RANKINGS)].into_iter().fold(
        command,
        |command, (name, own)| {
            let words = own.iter().copied().chain(Object::NAMES.map(|(object, _)| object));
            // For shells a colon ends a word.
            let words = PossibleValuesParser::new(words.filter(|word| !word.contains(':')));
            command.mut_arg(name, |arg| arg.value_parser(words))
        },
    )
}

/// The words of each option that are no objects.
const MAPS: &[&str] = &["slot", "node", "ppr:2:package"];
const RANKINGS: &[&str] = &["slot", "node", "fill"];
const BINDINGS: &[&str] = &["none"];
/// Words of other launchers, and what to write in their place.
const THEIRS: [(&str, &str); 8] = [
    ("user", "write taskset in parts: -n 1 taskset -c 0 ./a : -n 1 taskset -c 2 ./a"),
    ("rr", "write hwthread: ranks get processors in turns, those of a core beside each other"),
    ("board", "write package, or numa"),
    ("machine", "write none"),
    ("seq", "write a host for each rank: -hosts a,b,a"),
    ("rankfile", "write taskset in parts: -n 1 taskset -c 0 ./a : -n 1 taskset -c 2 ./a"),
    ("dist", "write numa"),
    ("pe-list", super::refused::LISTED_REMEDY),
];
/// Words that Open MPI lets people add to an order, for what is always so here.
const GRANTED: [&str; 7] = [
    "oversubscribe",
    "nooversubscribe",
    "overload-allowed",
    "if-supported",
    "corecpus",
    "hwtcpus",
    "inherit",
];

fn map_by(orders: &mut Orders, text: &str) -> Option<()> {
    let mut words = text.split([':', ',']);
    match words.next()? {
        "slot" => {}
        "node" => orders.turns = Turns::Hosts,
        "ppr" => {
            let each = number(words.next()?)?;
            let on = words.next()?;
            let object = if on == "node" { None } else { Some(Object::named(on)?) };
            orders.on_each = Some((each, object));
            if let Some(object) = object {
                (orders.binding.by, orders.binding.seating) = (Some(object), Seating::Fixed(each));
                orders.binding.to = Some(object);
            }
        }
        name => {
            let object = Object::named(name)?;
            (orders.binding.by, orders.binding.to) = (Some(object), Some(object));
        }
    }
    let threads = text.contains("hwtcpus");
    for word in words {
        match word.strip_prefix("pe=") {
            Some(each) => {
                orders.binding.each = Some(number(each)?);
                orders.binding.to = Some(if threads { Object::HardwareThread } else { Object::Core });
            }
            None if GRANTED.contains(&word) => {}
            None => return None,
        }
    }
    Some(())
}

fn rank_by(orders: &mut Orders, text: &str) -> Option<()> {
    match text {
        "slot" => {}
        "node" => orders.turns = Turns::Ranks,
        "fill" | "core" | "hwthread" => orders.binding.seating = filled(orders.binding.seating),
        name => orders.binding.by = orders.binding.by.or(Some(Object::named(name)?)),
    }
    Some(())
}

/// A fixed number on each object fills it before the next anyway.
fn filled(seating: Seating) -> Seating {
    match seating {
        Seating::Turns | Seating::Filled => Seating::Filled,
        fixed @ Seating::Fixed(_) => fixed,
    }
}

fn bind_to(binding: &mut Binding, text: &str) -> Option<()> {
    let mut words = text.split([':', ',']);
    match words.next()? {
        "none" => (binding.to, binding.each) = (None, None),
        name => binding.to = Some(Object::named(name)?),
    }
    for word in words {
        match word {
            "overload-allowed" => binding.crowded = true,
            word if GRANTED.contains(&word) => {}
            number => binding.each = Some(self::number(number)?),
        }
    }
    Some(())
}

fn number(text: &str) -> Option<u32> {
    text.parse().ok().filter(|number| (1..=NUMBER_MAX).contains(number))
}

fn unknown(option: &str, text: &str, words: &[&'static str]) -> Fault {
    let objects = Object::NAMES.iter().map(|(name, _)| *name);
    let known: Vec<&str> = words.iter().copied().chain(objects).collect();
    let first = text.split([':', ',']).next().unwrap_or(text).to_lowercase();
    let near = nearest(&first, known.iter().copied()).filter(|near| *near != first);
    if let Some((_, instead)) = THEIRS.iter().find(|(word, _)| *word == first) {
        return Fault::new(
            "The place of the ranks is not understood.",
            format!("{option} {text}"),
            "it is an order that only another MPI's launcher knows",
            *instead,
        );
    }
    Fault::new(
        "The place of the ranks is not understood.",
        format!("{option} {text}"),
        "a mistyped word, or an order that only another MPI's launcher knows",
        format!("{}the words are {}; see mpiexec -help", did_you_mean(near), known.join(", ")),
    )
}

#[cfg(test)]
mod tests {
    use super::super::options::command;
    use super::*;

    fn orders(words: &[&str]) -> Result<Orders, Fault> {
        let matches = command().try_get_matches_from([&["mpiexec"], words].concat()).unwrap();
        read(&[&matches])
    }

    fn binding(words: &[&str]) -> Binding {
        orders(words).unwrap().binding
    }

    #[test]
    fn nothing_is_bound_unless_asked_for() {
        assert_eq!(orders(&[]).unwrap(), Orders::default());
        assert_eq!(orders(&["--map-by", "slot:OVERSUBSCRIBE"]).unwrap(), Orders::default());
        assert_eq!(binding(&["--map-by", "core", "--bind-to", "none"]).to, None);
        assert_eq!(orders(&["--map-by", "node"]).unwrap().binding, Binding::default());
        assert!(binding(&["--report-bindings"]).reported);
        assert!(binding(&["--display", "map,bind"]).reported);
        assert!(!binding(&["--display", "map"]).reported);
    }

    #[test]
    fn objects_by_every_name() {
        for (name, object) in Object::NAMES {
            assert_eq!(binding(&["--bind-to", name]).to, Some(object));
            let mapped = binding(&["--map-by", &name.to_uppercase()]);
            assert_eq!((mapped.by, mapped.to), (Some(object), Some(object)), "bound to what it is mapped by");
        }
        let wide = binding(&["--map-by", "core", "--bind-to", "socket:overload-allowed"]);
        assert_eq!((wide.by, wide.to, wide.each), (Some(Object::Core), Some(Object::Package), None));
        assert!(wide.crowded && !binding(&["--bind-to", "core:if-supported"]).crowded);
        assert_eq!(binding(&["--bind-to", "core:2"]).each, Some(2));
    }

    #[test]
    fn several_cores_for_each_rank() {
        let each = binding(&["--map-by", "socket:PE=4"]);
        assert_eq!((each.by, each.to, each.each), (Some(Object::Package), Some(Object::Core), Some(4)));
        let each = binding(&["--map-by", "slot:PE=2,hwtcpus"]);
        assert_eq!((each.by, each.to, each.each), (None, Some(Object::HardwareThread), Some(2)));
    }

    #[test]
    fn a_fixed_number_on_each_object() {
        let on_node = orders(&["--map-by", "ppr:3:node"]).unwrap();
        assert_eq!((on_node.on_each, on_node.binding), (Some((3, None)), Binding::default()));
        let on_numa = orders(&["--map-by", "ppr:2:numa", "--bind-to", "core"]).unwrap();
        assert_eq!(on_numa.on_each, Some((2, Some(Object::Numa))));
        let Binding { to, by, seating, .. } = on_numa.binding;
        assert_eq!((to, by, seating), (Some(Object::Core), Some(Object::Numa), Seating::Fixed(2)));
    }

    #[test]
    fn the_order_of_the_numbers() {
        assert_eq!(orders(&["--rank-by", "node"]).unwrap().turns, Turns::Ranks);
        assert_eq!(orders(&["--map-by", "node"]).unwrap().turns, Turns::Hosts);
        assert_eq!(binding(&["--map-by", "socket", "--rank-by", "core"]).seating, Seating::Filled);
        let by_socket = binding(&["--bind-to", "core", "--rank-by", "socket"]);
        assert_eq!((by_socket.by, by_socket.to), (Some(Object::Package), Some(Object::Core)));
    }

    #[test]
    fn unknown_words_are_refused_with_what_was_meant() {
        for (option, word, meant) in [
            ("--bind-to", "cores", "did you mean core?"),
            ("--bind-to", "l3cahe", "did you mean l3cache?"),
            ("--map-by", "sockets", "did you mean socket?"),
            ("--map-by", "slot:PE=0", "the words are slot, node"),
            ("--map-by", "ppr:2", "ppr:2:package"),
            ("--map-by", "core:span", "the words are"),
            ("--rank-by", "nod", "did you mean node?"),
            ("--bind-to", "core:x", "the words are none"),
            ("--bind-to", "", "the words are none"),
        ] {
            let fault = orders(&[option, word]).unwrap_err();
            assert_eq!(fault.to_string().lines().count(), 4, "{fault}");
            assert!(fault.remedy.contains(meant) && fault.on.contains(word), "{fault}");
        }
    }
}
