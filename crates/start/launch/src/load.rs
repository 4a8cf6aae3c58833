//! The number of ranks that each processor is for, and the text in which jobs hand that down to
//! those that their ranks spawn. No I/O.

use crate::topology::{PROCESSORS_MAX, list, parse_list};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// The ranks that each processor of a host is for. A rank that is bound to more cores than it was
/// promised counts for a part on each of them. Its text is `0-3,8*1/4-7*0.25`: lists of processors,
/// and the load of each.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Load(BTreeMap<u32, f64>);

impl Load {
    /// Adds this part of a rank to each of these processors.
    pub fn add(&mut self, processors: &[u32], part: f64) {
        processors.iter().for_each(|&processor| *self.0.entry(processor).or_default() += part);
    }

    /// Adds the ranks of another load.
    pub fn add_all(&mut self, other: &Load) {
        other.0.iter().for_each(|(&processor, &part)| self.add(&[processor], part));
    }

    /// The ranks for each of these processors, on average.
    pub fn mean(&self, processors: &[u32]) -> f64 {
        let sum: f64 = processors.iter().filter_map(|processor| self.0.get(processor)).sum();
        sum / processors.len().max(1) as f64
    }

    /// Only whole ranks: what is more than a whole number, `rounding` aside, is dropped.
    pub fn whole(&self, rounding: f64) -> Load {
        let whole = self.0.iter().map(|(&processor, part)| (processor, (part + rounding).floor()));
        Load(whole.filter(|(_, part)| *part > 0.0).collect())
    }

    /// Reads the text; `None` if it is none.
    pub fn read(text: &str) -> Option<Load> {
        let mut load = Load::default();
        let mut count = 0;
        for group in text.split('/').filter(|_| !text.is_empty()) {
            let (processors, part) = group.rsplit_once('*')?;
            let (processors, part) = (parse_list(processors)?, part.parse::<f64>().ok()?);
            count += processors.len();
            if count > PROCESSORS_MAX as usize || !(part.is_finite() && part > 0.0) {
                return None;
            }
            load.add(&processors, part);
        }
        Some(load)
    }
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The bits of positive numbers are in the order of the numbers.
        let mut groups: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
        for (&processor, part) in &self.0 {
            groups.entry(part.to_bits()).or_default().push(processor);
        }
        let group =
            |(bits, processors): (u64, Vec<u32>)| format!("{}*{}", list(&processors), f64::from_bits(bits));
        f.write_str(&groups.into_iter().rev().map(group).collect::<Vec<_>>().join("/"))
    }
}

impl From<Load> for String {
    fn from(load: Load) -> String {
        load.to_string()
    }
}

impl TryFrom<String> for Load {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Load, &'static str> {
        Load::read(&text).ok_or("the load of processors is none")
    }
}

/// The loads of several hosts, by name. Hosts with the same load are together in the text:
/// `0-7*1=a,b`, and a tab before the next load, since no name has one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Loads(BTreeMap<String, Load>);

impl Loads {
    /// Adds the load of a host.
    pub fn add(&mut self, host: &str, load: &Load) {
        self.0.entry(host.to_owned()).or_default().add_all(load);
    }

    /// Adds those of all hosts.
    pub fn add_all(&mut self, others: &Loads) {
        others.0.iter().for_each(|(host, load)| self.add(host, load));
    }

    /// The load of a host.
    pub fn on(&self, host: &str) -> Load {
        self.0.get(host).cloned().unwrap_or_default()
    }

    /// Reads the text; `None` if it is none.
    pub fn read(text: &str) -> Option<Loads> {
        let mut loads = Loads::default();
        for group in text.split('\t').filter(|_| !text.is_empty()) {
            let (load, hosts) = group.split_once('=')?;
            let load = Load::read(load)?;
            hosts.split(',').for_each(|host| loads.add(host, &load));
        }
        Some(loads)
    }
}

impl fmt::Display for Loads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut hosts: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for (host, load) in self.0.iter().filter(|(_, load)| !load.0.is_empty()) {
            hosts.entry(load.to_string()).or_default().push(host);
        }
        let group = |(load, hosts): (String, Vec<&str>)| format!("{load}={}", hosts.join(","));
        f.write_str(&hosts.into_iter().map(group).collect::<Vec<_>>().join("\t"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(text: &str) -> Load {
        Load::read(text).unwrap()
    }

    #[test]
    fn a_load_is_the_same_after_it_was_text() {
        let mut one = Load::default();
        assert_eq!((one.to_string().as_str(), load("")), ("", Load::default()));
        one.add(&[0, 1, 2, 3, 9], 1.0);
        one.add(&[3, 4], 1.0 / 3.0);
        assert_eq!(one.to_string(), "3*1.3333333333333333/0-2,9*1/4*0.3333333333333333");
        assert_eq!(load(&one.to_string()), one);
        assert_eq!(postcard::from_bytes::<Load>(&postcard::to_stdvec(&one).unwrap()), Ok(one));
    }

    #[test]
    fn the_average_counts_processors_without_ranks() {
        let one = load("0-1*1/2*0.5");
        assert_eq!(
            [&[0, 1][..], &[1, 2], &[0, 5], &[5], &[]].map(|some| one.mean(some)),
            [1.0, 0.75, 0.5, 0.0, 0.0]
        );
    }

    #[test]
    fn hosts_with_the_same_load_are_together() {
        let mut loads = Loads::default();
        for (host, text) in [("b", "0*1"), ("::1", "0-1*1"), ("a", "0*1"), ("idle", ""), ("b", "1*1")] {
            loads.add(host, &load(text));
        }
        assert_eq!(loads.to_string(), "0*1=a\t0-1*1=::1,b");
        let mut again = Loads::read(&loads.to_string()).unwrap();
        assert_eq!(["a", "b", "::1", "idle"].map(|host| again.on(host) == loads.on(host)), [true; 4]);
        again.add_all(&loads);
        assert_eq!(again.on("b"), load("0-1*2"));
        assert_eq!(Loads::read(""), Some(Loads::default()));
    }

    #[test]
    fn nonsense_is_no_load() {
        for text in ["0", "0*", "*1", "0*x", "0*-1", "0*0", "0*inf", "0*NaN", "0-70000*1", "0*1/", "1-0*1"] {
            assert_eq!(Load::read(text), None, "{text}");
        }
        let many = ["0-65535*1"; 3].join("/");
        assert_eq!((Load::read(&many), Loads::read("0*1"), Loads::read("x=a")), (None, None, None));
    }
}
