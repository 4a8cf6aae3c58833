//! The doctor's look at this host: limits, Yama, cgroups, memory, clocks, processors. Each
//! judgement is a function of a text that the system gives, and is tested by itself.

use super::finding::Finding;
use crate::info::verbs::Verbs;
use verbena_machine::cores;
use verbena_machine::headroom::{self, Headroom};

/// The least of locked memory, in bytes, with which devices work well.
const LOCKED_BYTES_MIN: u64 = 64 << 20;
/// The least number of open files with which a host can have many ranks.
const FILES_MIN: u64 = 4096;
/// The least of memory for the processes of a job, in bytes.
const MEMORY_BYTES_MIN: u64 = 1 << 30;
/// With less memory than this, in bytes, a few ranks of any program come to its end.
const MEMORY_BYTES_SCARCE: u64 = 256 << 20;

/// Looks at this host, on which there are these InfiniBand and RoCE devices.
pub(super) fn findings(verbs: &Verbs) -> Vec<Finding> {
    let limits = read("/proc/self/limits");
    let affinity = cores::count_union(std::iter::once(&*cores::affinity()));
    [
        Some(locked_memory(verbs.locked_bytes_max, !verbs.ports.is_empty())),
        Some(open_files(&limits)),
        Some(core_files(&limits)),
        Some(yama(&read("/proc/sys/kernel/yama/ptrace_scope"))),
        Some(processors(affinity, cores::quota())),
        Some(memory(headroom::look())),
        clock(&read("/sys/devices/system/clocksource/clocksource0/current_clocksource")),
        governor(&read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")),
        Some(shared_memory(std::path::Path::new("/dev/shm").is_dir())),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The contents of a file of the system; nothing if it has none.
fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}

/// The soft and the hard limit of this name in `/proc/self/limits`; `None` is no limit.
fn limit(limits: &str, name: &str) -> Option<[Option<u64>; 2]> {
    let line = limits.lines().find(|line| line.starts_with(name))?;
    let mut values = line[name.len()..].split_whitespace().map(|word| word.parse().ok());
    Some([values.next()?, values.next()?])
}

fn words(limit: Option<u64>, unit: &str) -> String {
    limit.map_or_else(|| "unlimited".into(), |limit| format!("{limit}{unit}"))
}

/// Judges the limit that counts for devices, which is none for a process that may exceed it.
fn locked_memory(limit: Option<u64>, has_device: bool) -> Finding {
    let seen = words(limit, " bytes");
    match limit {
        Some(bytes) if has_device && bytes < LOCKED_BYTES_MIN => Finding::bad(
            "locked memory",
            seen,
            [
                "InfiniBand and RoCE devices read and write locked memory only: long messages are copied, or fail",
                "put '* - memlock unlimited' into /etc/security/limits.d/mpi.conf; for Slurm set \
                 LimitMEMLOCK=infinity for slurmd, and PropagateResourceLimitsExcept=MEMLOCK",
            ],
        ),
        _ => Finding::fine("locked memory", seen),
    }
}

fn open_files(limits: &str) -> Finding {
    let [soft, hard] = limit(limits, "Max open files").unwrap_or_default();
    let seen = format!("{}, at most {}", words(soft, ""), words(hard, ""));
    match hard {
        Some(most) if most < FILES_MIN => Finding::note(
            "open files",
            seen,
            [
                "mpiexec has four open files for each rank, and so a host cannot have many ranks",
                "raise the hard limit: '* hard nofile 65536' in /etc/security/limits.d/mpi.conf",
            ],
        ),
        _ => Finding::fine("open files", seen),
    }
}

fn core_files(limits: &str) -> Finding {
    let [soft, _] = limit(limits, "Max core file size").unwrap_or_default();
    match soft {
        Some(0) => Finding::note(
            "core files",
            "none are written",
            ["a rank that crashes leaves nothing to look at", "say ulimit -c unlimited before mpiexec"],
        ),
        size => Finding::fine("core files", words(size, " bytes")),
    }
}

fn yama(scope: &str) -> Finding {
    let subject = "memory of other processes (Yama)";
    match scope {
        "" => Finding::fine(subject, "not restricted: this kernel has no Yama"),
        "0" | "1" => {
            Finding::fine(subject, format!("ptrace_scope {scope}: ranks may copy between each other"))
        }
        _ => Finding::bad(
            subject,
            format!("ptrace_scope {scope}"),
            [
                "ranks cannot copy long messages straight from one to the other (channel cma): they are copied twice",
                "sysctl kernel.yama.ptrace_scope=1, and a line in /etc/sysctl.d",
            ],
        ),
    }
}

/// The processors of the affinity mask, and the quota of the control groups of either version, in
/// processors.
fn processors(affinity: u32, quota: Option<f64>) -> Finding {
    let subject = "processors";
    let Some(quota) = quota else {
        return Finding::fine(subject, format!("{affinity}, without a quota"));
    };
    if quota >= f64::from(affinity) {
        return Finding::fine(subject, format!("{affinity}, and a quota of the time of {quota:.1}"));
    }
    let seen = format!("{affinity}, of which the control group (container) lets {quota:.1} run");
    let words = [
        "ranks take turns: those that wait use up the quota too, and then all of them stand still until the next \
         period",
        "start no more ranks than the quota has processors, or raise it (docker --cpus, Kubernetes limits, \
         CPUQuota of systemd)",
    ];
    match quota < f64::from(affinity.min(2)) {
        true => Finding::bad(subject, seen, words),
        false => Finding::note(subject, seen, words),
    }
}

/// The memory that is left for this process, by the machine and by its control groups of either
/// version. The advice is about that which leaves least.
fn memory(Headroom { bytes: left, limit }: Headroom) -> Finding {
    let subject = "memory";
    let seen = match limit {
        Some(limit) => {
            format!("{} MiB left; the control group (container) allows {} MiB", left >> 20, limit >> 20)
        }
        None => format!("{} MiB available", left >> 20),
    };
    let words = match limit {
        Some(_) => [
            "the kernel kills ranks that need more, without a word to them",
            "start fewer ranks, or raise the limit (docker --memory, Kubernetes limits, Slurm --mem)",
        ],
        None => {
            ["jobs may be killed for want of memory", "end other programs, or start fewer ranks on this host"]
        }
    };
    match left {
        0..MEMORY_BYTES_SCARCE => Finding::bad(subject, seen, words),
        MEMORY_BYTES_SCARCE..MEMORY_BYTES_MIN => Finding::note(subject, seen, words),
        _ => Finding::fine(subject, seen),
    }
}

fn clock(source: &str) -> Option<Finding> {
    Some(match source {
        "" => return None,
        "tsc" | "kvm-clock" | "hyperv_clocksource_tsc_page" | "arch_sys_counter" | "timebase" => {
            Finding::fine("clock", source)
        }
        slow => Finding::note(
            "clock",
            slow,
            [
                "each reading is a system call or slower: MPI_Wtime and traces cost more than short messages",
                "where the processor's counter is sound, boot with clocksource=tsc tsc=reliable",
            ],
        ),
    })
}

fn governor(name: &str) -> Option<Finding> {
    Some(match name {
        "" => return None,
        "powersave" | "ondemand" | "conservative" => Finding::note(
            "processor frequency",
            name,
            [
                "processors slow down while ranks wait, and measurements swing",
                "cpupower frequency-set -g performance, while jobs run",
            ],
        ),
        steady => Finding::fine("processor frequency", steady),
    })
}

/// Verbena's shared memory has no name in the file system.
fn shared_memory(is_there: bool) -> Finding {
    let seen = if is_there {
        "/dev/shm is there; Verbena needs no room in it"
    } else {
        "no /dev/shm; Verbena needs none"
    };
    Finding::fine("shared memory", seen)
}

#[cfg(test)]
mod tests {
    use super::super::finding::Verdict::{Bad, Fine, Note};
    use super::*;

    const LIMITS: &str = "Limit                     Soft Limit           Hard Limit           Units     \n\
                          Max core file size        0                    unlimited            bytes     \n\
                          Max open files            1024                 2048                 files     \n\
                          Max locked memory         8388608              8388608              bytes     \n";

    #[test]
    fn limits_are_read_and_judged() {
        assert_eq!(limit(LIMITS, "Max open files"), Some([Some(1024), Some(2048)]));
        assert_eq!(limit(LIMITS, "Max core file size"), Some([Some(0), None]));
        assert_eq!(locked_memory(Some(8 << 20), true).verdict, Bad);
        assert_eq!(locked_memory(Some(8 << 20), false).verdict, Fine);
        assert_eq!(open_files(LIMITS).verdict, Note);
        assert_eq!(core_files(LIMITS).verdict, Note);
        let unlimited = LIMITS.replace("2048", "524288");
        assert_eq!(locked_memory(None, true), Finding::fine("locked memory", "unlimited"));
        assert_eq!(open_files(&unlimited).verdict, Fine);
    }

    #[test]
    fn yama_matters_from_two_on() {
        let verdicts = ["", "0", "1", "2", "3"].map(|scope| yama(scope).verdict);
        assert_eq!(verdicts, [Fine, Fine, Fine, Bad, Bad]);
    }

    #[test]
    fn a_quota_below_the_processors_is_told() {
        let verdict = |affinity, quota| processors(affinity, quota).verdict;
        assert_eq!(verdict(4, None), Fine);
        assert_eq!(verdict(4, Some(4.0)), Fine);
        assert_eq!(verdict(4, Some(2.5)), Note);
        assert_eq!(verdict(4, Some(1.5)), Bad, "no two ranks run at once");
        assert_eq!(verdict(1, Some(0.5)), Bad);
        assert_eq!(verdict(1, Some(1.0)), Fine);
        let seen = processors(2, Some(0.5)).seen;
        assert_eq!(seen, "2, of which the control group (container) lets 0.5 run");
    }

    #[test]
    fn little_memory_is_told() {
        let memory = |mib: u64, limit: Option<u64>| {
            memory(Headroom { bytes: mib << 20, limit: limit.map(|mib| mib << 20) })
        };
        let verdict = |mib, limit| memory(mib, limit).verdict;
        assert_eq!(verdict(20_000, None), Fine);
        assert_eq!(verdict(600, None), Note);
        assert_eq!(verdict(100, None), Bad);
        assert_eq!(verdict(4000, Some(4096)), Fine);
        assert_eq!(verdict(90, Some(120)), Bad);
        let finding = memory(90, Some(120));
        assert_eq!(finding.seen, "90 MiB left; the control group (container) allows 120 MiB");
        assert!(finding.remedy.contains("docker --memory"), "{finding:?}");
        assert!(memory(90, None).remedy.contains("end other programs"));
    }

    #[test]
    fn slow_clocks_and_slow_processors_are_noted() {
        assert_eq!(clock("tsc").map(|finding| finding.verdict), Some(Fine));
        assert_eq!(clock("hpet").map(|finding| finding.verdict), Some(Note));
        assert_eq!(clock(""), None);
        assert_eq!(governor("powersave").map(|finding| finding.verdict), Some(Note));
        assert_eq!(governor("performance").map(|finding| finding.verdict), Some(Fine));
    }

    #[test]
    fn nothing_in_dev_shm_is_needed() {
        assert_eq!([true, false].map(|is_there| shared_memory(is_there).verdict), [Fine, Fine]);
    }

    #[test]
    fn every_finding_that_is_not_fine_says_what_to_do() {
        for finding in findings(&crate::info::verbs::describe())
            .into_iter()
            .chain([locked_memory(Some(8 << 20), true), yama("3")])
        {
            let is_fine = finding.verdict == Fine;
            assert_eq!(finding.remedy.is_empty(), is_fine, "{finding:?}");
            assert_eq!(finding.meaning.is_empty(), is_fine, "{finding:?}");
        }
    }
}
