//! C programs of our own at several numbers of ranks.

use verbena_tests::{job, program};

fn passes(name: &str, ranks: &[u32]) {
    let program = program(name);
    for &n in ranks {
        let ended = job(n, &program).run().ok();
        assert!(ended.stdout.contains(&format!("{name}: ok with {n} ranks")), "{ended:?}");
    }
}

#[test]
fn point_to_point() {
    passes("point", &[1, 2, 3, 4, 8]);
}

/// The programs run on any way that is set; what a channel cannot do goes another way.
#[test]
fn long_messages() {
    let program = program("large");
    for way in ["auto", "copy", "pipeline", "read", "write"] {
        let ended = job(2, &program).env("VERBENA_LARGE", way).run().ok();
        assert!(ended.stdout.contains("large: ok with 2 ranks"), "{way}: {}", ended.stdout);
    }
}

/// The program runs over shared memory and in one copy; progress_thread.c says what it proves.
#[test]
fn a_long_message_arrives_while_its_receiver_computes() {
    let program = program("progress_thread");
    let passes = |channels: &str, setting: (&str, &str), argument: &str| {
        let job = job(2, &program).env("VERBENA_CHANNELS", channels).env(setting.0, setting.1);
        let ended = job.arg(argument).run().ok();
        assert!(ended.stdout.contains("progress_thread: ok with 2 ranks"), "{channels}: {ended:?}");
    };
    for channels in ["loopback,shm", "loopback,shm,cma"] {
        passes(channels, ("VERBENA_PROGRESS_THREAD", "1"), "");
        // Without the thread nothing arrives before the receiver waits.
        passes(channels, ("VERBENA_PROGRESS_THREAD", "0"), "alone");
    }
}

/// Memory of `MPI_Alloc_mem` is of the node's heap, if there is one and the job has one node.
#[test]
fn memory_is_allocated() {
    let program = program("allocated");
    for (ranks, wanted, heap) in
        [(1, "private", "1"), (2, "heap", "1"), (4, "heap", "1"), (2, "private", "0")]
    {
        let ended = job(ranks, &program).arg(wanted).env("VERBENA_WINDOW_HEAP", heap).run().ok();
        assert!(ended.stdout.contains(&format!("allocated: ok with {ranks} ranks")), "{ended:?}");
    }
}

#[test]
fn collectives() {
    passes("collectives", &[1, 2, 3, 4, 7, 8]);
}

#[test]
fn forms_of_collectives() {
    passes("collective_forms", &[1, 2, 3, 8]);
}

#[test]
fn datatypes() {
    passes("datatypes", &[1, 2, 3]);
}

#[test]
fn threads_that_do_different_things() {
    passes("stress", &[1, 2, 4]);
}

/// The engines that the processes of a node have beside their first one, and what goes by them.
#[test]
fn threads_with_communicators_of_their_own() {
    let program = program("engines");
    let ends = |ranks: u32, settings: &[(&str, &str)], engines: u32| {
        let job = settings.iter().fold(job(ranks, &program), |job, (name, value)| job.env(name, value));
        let ended = job.run().ok();
        for line in [format!("further engines: {engines}\n"), format!("engines: ok with {ranks} ranks")] {
            assert!(ended.stdout.contains(&line), "{settings:?}: {ended:?}");
        }
    };
    // A process alone has nobody to whom it could send.
    ends(1, &[], 0);
    for ranks in [2, 3, 5] {
        ends(ranks, &[], 4);
    }
    ends(2, &[("VERBENA_THREAD_ENGINES", "0")], 0);
    ends(2, &[("VERBENA_THREAD_ENGINES", "7"), ("VERBENA_CMA", "0")], 7);
    ends(3, &[("VERBENA_THREAD_ENGINES", "1"), ("VERBENA_SHM_CELLS", "0")], 1);
    ends(2, &[("VERBENA_PROGRESS_THREAD", "1")], 4);
    // Without shared memory nobody shares an engine's rings.
    ends(2, &[("VERBENA_CHANNELS", "loopback,ofi")], 0);
}

/// With engines for the threads and without.
#[test]
fn communicators_are_revoked_while_threads_send_on_them() {
    for engines in ["4", "0"] {
        for ranks in [2, 4] {
            let job = job(ranks, program("ulfm_threads"));
            let ended = job.env("VERBENA_THREAD_ENGINES", engines).run().ok();
            let line = format!("ulfm_threads: ok with {ranks} ranks");
            assert!(ended.stdout.contains(&line), "{engines}: {ended:?}");
        }
    }
}

#[test]
fn threads() {
    passes("threads", &[1, 2, 4]);
}

#[test]
fn partitioned_messages() {
    passes("partitioned", &[1, 2, 4]);
}

#[test]
fn generalized_requests_that_are_freed_early() {
    passes("generalized", &[1, 2]);
}

/// No message is sent at once, so that all wait in the buffer.
#[test]
fn many_buffered_sends() {
    let program = program("buffered");
    for ranks in [1, 2] {
        let ended = job(ranks, &program).env("VERBENA_EAGER_BYTES_MAX", "0").run().ok();
        assert!(ended.stdout.contains(&format!("buffered: ok with {ranks} ranks")), "{ended:?}");
    }
}

#[test]
fn a_buffer_that_is_full_or_detached_meanwhile() {
    let program = program("buffered_threads");
    for cma in ["1", "0"] {
        let ended = job(2, &program).env("VERBENA_CMA", cma).run().ok();
        assert!(ended.stdout.contains("buffered_threads: ok with 2 ranks"), "{ended:?}");
    }
}

#[test]
fn wrong_arguments() {
    passes("abuse", &[2, 3]);
}

#[test]
fn what_programs_for_other_libraries_rely_on() {
    passes("habits", &[1, 3, 4]);
}

#[test]
fn objects() {
    passes("objects", &[1, 2, 3, 4, 7]);
}

#[test]
fn communicators() {
    passes("communicators", &[1, 2, 3, 4, 7]);
}

#[test]
fn intercommunicators() {
    passes("intercommunicators", &[2, 3, 4, 7]);
}

#[test]
fn topologies() {
    passes("topologies", &[1, 2, 4, 5]);
}

#[test]
fn the_version_of_the_standard_abi() {
    passes("abi_version", &[1, 2]);
}

#[test]
fn sessions_beside_the_world_model() {
    passes("sessions_and_world", &[1, 2, 4]);
}

#[test]
fn sessions() {
    passes("sessions", &[1, 2, 4]);
}

#[test]
fn tool_interface() {
    passes("tool", &[1, 2, 3]);
    passes("tool_values", &[1, 2, 3, 4, 7]);
}

/// A wait sleeps at its second round, so that no yield hides what wakes it.
#[test]
fn a_wait_beside_tasks_sleeps() {
    let program = program("asleep");
    for ranks in [2, 3] {
        let job = job(ranks, &program).env("VERBENA_WAIT_SPINS", "0").env("VERBENA_WAIT_YIELDS", "1");
        let ended = job.run().ok();
        assert!(ended.stdout.contains(&format!("asleep: ok with {ranks} ranks")), "{ended:?}");
    }
}

/// A wait of 0.3 s sleeps once its rounds of spinning are over, and not before.
#[test]
fn rounds_of_spinning_come_before_a_sleep() {
    let program = program("asleep");
    let slept = |spins: &str| -> u64 {
        let job = job(2, &program).arg("once").env("VERBENA_WAIT_SPINS", spins);
        let ended = job.env("VERBENA_WAIT_YIELDS", "1").run().ok();
        let mut words = ended.stdout.split_whitespace().skip_while(|word| *word != "slept");
        words.nth(1).and_then(|word| word.parse().ok()).unwrap_or_else(|| panic!("{ended:?}"))
    };
    assert!(slept("0") > 0);
    assert_eq!(slept("1000000000"), 0);
}

#[test]
fn mpi_ends_when_the_program_exits() {
    let program = program("at_exit");
    for (ranks, argument) in [(1, ""), (2, ""), (1, "thread"), (2, "thread")] {
        let ended = job(ranks, &program).arg(argument).run().ok();
        assert!(ended.stdout.contains(&format!("at_exit: ok with {ranks} ranks")), "{ended:?}");
    }
}

#[test]
fn sixty_four_ranks_on_few_cores_do_not_crawl() {
    let program = program("collectives");
    let ended = job(64, &program).arg("20").run().ok();
    assert!(ended.stdout.contains("ok with 64 ranks"), "{ended:?}");
}

/// The ways to a target of a window: mapped memory, the kernel's copies, messages, and the second
/// and third where the first is there for some memory only.
const WAYS_TO_A_TARGET: [&[(&str, &str)]; 4] = [
    &[],
    &[("VERBENA_WINDOW_HEAP", "0")],
    &[("VERBENA_WINDOW_HEAP", "0"), ("VERBENA_CMA", "0")],
    &[("VERBENA_CMA", "0")],
];

/// Runs a program of windows over each way.
fn passes_on_every_way(name: &str) {
    let program = program(name);
    for (way, variables) in WAYS_TO_A_TARGET.iter().enumerate() {
        for ranks in [1, 2, 3, 4] {
            // Without a heap, several ranks share no memory.
            let is_apart = variables.iter().any(|(name, _)| *name == "VERBENA_WINDOW_HEAP");
            let job = variables.iter().fold(job(ranks, &program), |job, (name, value)| job.env(name, value));
            let job = if is_apart { job.arg("apart") } else { job };
            let ended = job.run().ok();
            let expected = format!("{name}: ok with {ranks} ranks");
            assert!(ended.stdout.contains(&expected), "way {way}: {ended:?}");
        }
    }
}

#[test]
fn windows_of_every_flavor() {
    passes_on_every_way("window_kinds");
}

#[test]
fn synchronisation_of_windows() {
    passes_on_every_way("window_synchronize");
}

#[test]
fn operations_of_windows() {
    passes_on_every_way("window_operations");
}

#[test]
fn long_accumulates_of_elements_of_any_size() {
    passes_on_every_way("window_pieces");
}

#[test]
fn errors_of_windows() {
    passes_on_every_way("window_errors");
}

/// Operations are counted by the way that they went: in allocated windows, on memory of the
/// program, and atomically; a lock that is not free is counted where it is waited for.
#[test]
fn operations_of_windows_are_counted_by_their_way() {
    let expected = [
        ["mapped", "neighbor", "plain", "window_locks_awaited"],
        ["neighbor", "neighbor", "messages", "window_locks_queued"],
        ["messages", "messages", "messages", "window_locks_queued"],
        ["mapped", "messages", "plain", "window_locks_awaited"],
    ];
    let program = program("window_counts");
    for (variables, arguments) in WAYS_TO_A_TARGET.iter().zip(expected) {
        for ranks in [2, 3] {
            let job = variables.iter().fold(job(ranks, &program), |job, (name, value)| job.env(name, value));
            let ended = arguments.iter().fold(job, |job, argument| job.arg(argument)).run().ok();
            let line = format!("window_counts: ok with {ranks} ranks");
            assert!(ended.stdout.contains(&line), "{arguments:?}: {ended:?}");
        }
    }
}

/// A window that was never freed holds nobody up, nor does a target that calls nothing; a rank that
/// dies with a lock ends the job.
#[test]
fn windows_of_which_somebody_does_not_take_part() {
    let program = program("window_ends");
    for variables in WAYS_TO_A_TARGET {
        let run = |way: &str| {
            let job = job(3, &program).arg(way);
            variables.iter().fold(job, |job, (name, value)| job.env(name, value)).run()
        };
        for way in ["unfreed", "computes", "calls", "dynamic", "many"] {
            let ended = run(way).ok();
            assert!(ended.stdout.contains("window_ends: ok with 3 ranks"), "{variables:?} {way}: {ended:?}");
        }
        let ended = run("killed");
        assert!(ended.code != 0 && !ended.hung, "{variables:?}: {ended:?}");
        ended.complains("Rank 1 was killed by signal 9");
    }
}

/// Runs a program of windows between two ranks, over one way.
fn passes_between_two(name: &str, arguments: &[&str], variables: &[(&str, &str)]) {
    let job = arguments.iter().fold(job(2, program(name)), |job, argument| job.arg(argument));
    let ended = variables.iter().fold(job, |job, (name, value)| job.env(name, value)).run().ok();
    assert!(
        ended.stdout.contains(&format!("{name}: ok with 2 ranks")),
        "{arguments:?} {variables:?}: {ended:?}"
    );
}

#[test]
fn threads_of_one_origin_wait_for_one_lock_or_post() {
    for variables in WAYS_TO_A_TARGET {
        passes_between_two("window_threads", &[], variables);
    }
}

#[test]
fn lock_all_holds_the_locks_of_what_is_loaded_without_a_call() {
    for ranks in [2, 3, 4] {
        let ended = job(ranks, program("window_lock_all")).arg("shared").run().ok();
        assert!(ended.stdout.contains(&format!("window_lock_all: ok with {ranks} ranks")), "{ended:?}");
    }
    for variables in WAYS_TO_A_TARGET {
        passes_between_two("window_lock_all", &["own"], variables);
    }
}

/// Nothing is lost silently by a process that can map no control words.
#[test]
fn an_accumulate_without_room_to_map_says_so() {
    passes_between_two("window_limits", &[], &[]);
}

#[test]
fn accumulates_keep_their_order_when_the_way_changes() {
    passes_between_two("window_order", &[], &[]);
}

#[test]
fn polling_a_window_makes_progress() {
    for way in ["lock", "flush", "local", "request"] {
        for variables in WAYS_TO_A_TARGET {
            passes_between_two("window_polls", &[way], variables);
        }
    }
}
