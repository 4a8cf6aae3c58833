//! Jobs that end in every way, without processes.

use super::*;

const NOW: Duration = Duration::from_secs(5);

fn actions(job: &mut Job) -> Vec<Action> {
    std::iter::from_fn(|| job.poll_action()).collect()
}

#[test]
fn a_good_job_needs_nothing_done() {
    let mut job = Job::new(2, None);
    job.handle_exit(0, Exit::Code(0), Stage::Fresh);
    job.handle_exit(1, Exit::Code(0), Stage::Finalised);
    job.settle(NOW, false);
    assert!(job.is_over());
    assert_eq!((actions(&mut job), job.exit_code(), job.deadline()), (vec![], 0, None));
}

#[test]
fn a_death_ends_the_job_first_gently_then_hard() {
    let mut job = Job::new(2, None);
    job.handle_exit(1, Exit::Signal(9), Stage::Initialised);
    job.settle(NOW, false);
    assert_eq!(actions(&mut job), [Action::Signal(libc::SIGTERM)]);
    assert_eq!(job.deadline(), Some(NOW + GRACE));
    job.settle(NOW + GRACE, false);
    assert_eq!(actions(&mut job), [Action::Signal(libc::SIGKILL)]);
    assert_eq!((job.deadline(), job.exit_code()), (None, 137));
}

#[test]
fn every_bad_end_has_its_code() {
    for (exit, stage, code) in [
        (Exit::Code(3), Stage::Fresh, 3),
        (Exit::Code(3), Stage::Initialised, 3),
        (Exit::Code(0), Stage::Initialised, 1),
        (Exit::Signal(11), Stage::Finalised, 139),
    ] {
        let mut job = Job::new(2, None);
        job.handle_exit(0, exit, stage);
        job.settle(NOW, false);
        assert_eq!(actions(&mut job), [Action::Signal(libc::SIGTERM)], "{exit:?} {stage:?}");
        assert_eq!(job.exit_code(), code, "{exit:?} {stage:?}");
    }
}

#[test]
fn a_code_after_finalize_counts_but_kills_nobody() {
    let mut job = Job::new(2, None);
    job.handle_exit(0, Exit::Code(4), Stage::Finalised);
    job.settle(NOW, false);
    assert_eq!((actions(&mut job), job.exit_code()), (vec![], 4));
}

#[test]
fn the_killed_rank_is_the_cause_and_not_the_peer_that_aborted_over_it() {
    let mut job = Job::new(3, None);
    job.handle_abort(0, 15);
    job.handle_exit(2, Exit::Code(1), Stage::Initialised);
    job.handle_exit(1, Exit::Signal(9), Stage::Initialised);
    job.settle(NOW, false);
    assert_eq!(job.cause(), Some(&Failure::Killed { rank: 1, signal: 9 }));
}

#[test]
fn a_cause_that_comes_a_little_later_still_counts() {
    let delay = Duration::from_millis(50);
    let mut job = Job::new(3, None).with_news_delay(delay);
    job.handle_abort(0, 15);
    job.settle(NOW, false);
    assert_eq!((job.cause(), job.deadline()), (None, Some(NOW + delay)));
    job.handle_exit(1, Exit::Signal(9), Stage::Initialised);
    job.settle(NOW + delay / 2, false);
    assert_eq!(job.cause(), Some(&Failure::Killed { rank: 1, signal: 9 }));
    let mut job = Job::new(3, None).with_news_delay(delay);
    job.handle_abort(0, 15);
    job.settle(NOW, false);
    job.settle(NOW + delay, false);
    assert_eq!(
        (job.cause(), job.deadline()),
        (Some(&Failure::Aborted { rank: 0, code: 15 }), Some(NOW + delay + GRACE))
    );
}

#[test]
fn a_host_that_is_being_lost_is_waited_for() {
    let mut job = Job::new(3, None);
    job.set_losing(true);
    job.handle_abort(0, 15);
    job.settle(NOW, false);
    job.settle(NOW + GRACE, false);
    assert_eq!((job.cause(), job.deadline()), (None, None));
    job.set_losing(false);
    job.handle_lost(&[1, 2], Fault::new("a", "b", "c", "d"));
    job.settle(NOW + GRACE, false);
    assert!(matches!(job.cause(), Some(Failure::Lost(_))));
}

#[test]
fn a_lost_host_takes_its_ranks_along() {
    let mut job = Job::new(3, None);
    let fault = Fault::new("a", "b", "c", "d");
    job.handle_exit(1, Exit::Code(0), Stage::Finalised);
    job.handle_lost(&[1, 2], fault.clone());
    job.settle(NOW, false);
    assert_eq!(job.cause(), Some(&Failure::Lost(fault.clone())));
    job.handle_exit(0, Exit::Signal(15), Stage::Initialised);
    assert_eq!((job.is_over(), job.exit_code()), (true, 1));
    let mut job = Job::new(1, None);
    job.handle_not_started(&[0], fault);
    job.settle(NOW, false);
    assert_eq!((job.is_over(), job.exit_code()), (true, 127));
}

#[test]
fn the_first_cause_stays() {
    let mut job = Job::new(2, None);
    job.handle_abort(0, 7);
    job.settle(NOW, false);
    job.handle_exit(1, Exit::Signal(libc::SIGTERM), Stage::Initialised);
    job.settle(NOW, false);
    assert_eq!(job.exit_code(), 7);
}

#[test]
fn waiting_for_a_rank_that_has_ended_is_hopeless() {
    let mut job = Job::new(2, None);
    job.handle_exit(1, Exit::Code(0), Stage::Fresh);
    job.settle(NOW, false);
    assert_eq!(job.cause(), None);
    job.settle(NOW, true);
    assert_eq!(job.cause(), Some(&Failure::Absent { rank: 1, fresh: true }));
}

#[test]
fn the_time_limit_ends_the_job_with_124() {
    let mut job = Job::new(2, Some(NOW));
    assert_eq!(job.deadline(), Some(NOW));
    job.settle(NOW, false);
    assert_eq!((actions(&mut job), job.exit_code()), (vec![Action::Signal(libc::SIGTERM)], 124));
}

#[test]
fn signals_are_passed_on_and_a_second_interrupt_kills() {
    let mut job = Job::new(2, None);
    for signal in [libc::SIGUSR1, libc::SIGINT, libc::SIGCONT] {
        job.handle_signal(signal, NOW);
        assert_eq!(actions(&mut job), [Action::Signal(signal)]);
    }
    job.handle_signal(libc::SIGINT, NOW * 2);
    assert_eq!(actions(&mut job), [Action::Signal(libc::SIGKILL)]);
    job.handle_signal(libc::SIGTSTP, NOW * 2);
    assert_eq!(actions(&mut job), [Action::Signal(libc::SIGTSTP), Action::StopSelf]);
}

#[test]
fn after_a_users_signal_the_others_get_longer_and_no_second_signal() {
    let mut job = Job::new(2, None);
    job.handle_signal(libc::SIGINT, NOW);
    job.handle_exit(0, Exit::Signal(libc::SIGINT), Stage::Initialised);
    job.settle(NOW, false);
    assert_eq!(actions(&mut job), [Action::Signal(libc::SIGINT)]);
    assert_eq!(job.deadline(), Some(NOW + GRACE_AFTER_USER_SIGNAL));
    assert_eq!(job.exit_code(), 130);
}

#[test]
fn a_second_sigterm_kills_and_one_of_timeout_does_not() {
    let mut job = Job::new(2, None);
    job.handle_signal(libc::SIGTERM, NOW);
    assert_eq!(actions(&mut job), [Action::Signal(libc::SIGTERM)]);
    // `timeout` sends it to mpiexec and then to the process group, which mpiexec belongs to.
    job.handle_signal(libc::SIGTERM, NOW + ECHO_TIME_MAX / 2);
    assert_eq!(actions(&mut job), []);
    job.handle_signal(libc::SIGTERM, NOW + ECHO_TIME_MAX);
    assert_eq!(actions(&mut job), [Action::Signal(libc::SIGKILL)]);
}

#[test]
fn ranks_that_ignore_one_sigterm_are_killed_after_a_while() {
    let mut job = Job::new(1, None);
    job.handle_signal(libc::SIGTERM, NOW);
    assert_eq!((actions(&mut job).len(), job.deadline()), (1, Some(NOW + REMINDER_AFTER)));
    job.settle(NOW + REMINDER_AFTER, false);
    assert_eq!((actions(&mut job).len(), job.deadline()), (1, Some(NOW + GRACE_AFTER_TERM)));
    job.settle(NOW + GRACE_AFTER_TERM, false);
    assert_eq!(actions(&mut job), [Action::Signal(libc::SIGKILL)]);
    job.handle_exit(0, Exit::Signal(9), Stage::Initialised);
    job.settle(NOW * 4, false);
    assert_eq!(job.exit_code(), 143);
    let mut job = Job::new(1, None).with_term_grace(None);
    job.handle_signal(libc::SIGTERM, NOW);
    job.settle(NOW + REMINDER_AFTER, false);
    assert_eq!(job.deadline(), None, "as long as the ranks like");
}

/// All agents are given up because of the signal: nothing later can change the verdict.
#[test]
fn a_start_that_the_user_interrupts_is_no_success() {
    for (signal, code) in [(libc::SIGINT, 130), (libc::SIGTERM, 143)] {
        let mut job = Job::new(2, None);
        job.handle_signal(signal, NOW);
        job.settle(NOW, false);
        for rank in 0..2 {
            job.handle_exit(rank, Exit::Signal(signal), Stage::Fresh);
        }
        assert_eq!((job.is_over(), job.exit_code()), (true, code), "before it is judged");
        job.settle(NOW, false);
        assert_eq!(job.exit_code(), code);
        assert!(matches!(job.cause(), Some(Failure::Killed { .. })));
    }
}

#[test]
fn output_that_cannot_be_written_is_no_success() {
    let fault = Fault::new("a", "b", "c", "d");
    let mut job = Job::new(1, None);
    job.handle_loss(Loss::Refused(fault.clone()));
    job.handle_exit(0, Exit::Code(0), Stage::Finalised);
    job.settle(NOW, false);
    assert_eq!((job.cause(), job.unwritable(), job.exit_code()), (None, Some(&fault), 1));
}

/// The full file system is the cause, and not the signal by which a rank learns of it.
#[test]
fn what_ranks_do_since_their_output_is_lost_has_that_cause() {
    let fault = Fault::new("a", "b", "c", "d");
    for exit in [Exit::Signal(libc::SIGPIPE), Exit::Code(141)] {
        for (loss, code) in [(Loss::Refused(fault.clone()), 1), (Loss::NoReader, 141)] {
            let mut job = Job::new(2, None);
            job.handle_loss(loss.clone());
            job.handle_exit(1, exit, Stage::Initialised);
            job.settle(NOW, false);
            match loss {
                Loss::NoReader => assert_eq!(job.cause(), Some(&Failure::NoReader { rank: 1 })),
                Loss::Refused(fault) => assert_eq!(job.cause(), Some(&Failure::Unwritable(fault))),
            }
            assert_eq!((actions(&mut job), job.exit_code()), (vec![Action::Signal(libc::SIGTERM)], code));
        }
    }
    let mut job = Job::new(1, None);
    job.handle_exit(0, Exit::Signal(libc::SIGPIPE), Stage::Fresh);
    job.settle(NOW, false);
    assert_eq!(job.cause(), Some(&Failure::Killed { rank: 0, signal: libc::SIGPIPE }), "a pipe of its own");
}

#[test]
fn the_user_is_told_what_the_ranks_wait_for_before_the_time_limit_ends_them() {
    let mut job = Job::new(2, Some(NOW)).with_explanation(true);
    job.settle(NOW, false);
    assert_eq!((actions(&mut job), job.deadline()), (vec![Action::Explain], None));
    job.settle(NOW, false);
    assert_eq!(actions(&mut job), []);
    job.handle_explained();
    job.settle(NOW, false);
    assert_eq!((actions(&mut job), job.exit_code()), (vec![Action::Signal(libc::SIGTERM)], 124));
}

#[test]
fn a_job_that_ends_meanwhile_is_not_ended_by_the_time_limit() {
    let mut job = Job::new(1, Some(NOW)).with_explanation(true);
    job.settle(NOW, false);
    job.handle_exit(0, Exit::Code(0), Stage::Finalised);
    job.handle_explained();
    job.settle(NOW, false);
    assert_eq!((actions(&mut job), job.exit_code()), (vec![Action::Explain], 0));
}

/// A job of three in which rank 1 was killed and the others go on.
fn with_a_death() -> Job {
    let mut job = Job::new(3, None);
    assert!(!job.bear(0, Exit::Code(1)), "it was not killed");
    assert!(job.bear(1, Exit::Signal(9)));
    job.settle(NOW, false);
    assert_eq!((actions(&mut job), job.running()), (vec![], 2));
    job
}

fn end_well(job: &mut Job) {
    for rank in [0, 2] {
        job.handle_exit(rank, Exit::Code(0), Stage::Finalised);
    }
    job.settle(NOW, false);
    assert_eq!(actions(job), []);
}

#[test]
fn a_job_whose_others_have_taken_notice_of_a_killed_rank_ends_well() {
    let mut job = with_a_death();
    job.handle_acknowledged(&[1]);
    end_well(&mut job);
    assert_eq!((job.cause(), job.exit_code()), (None, 0));
    assert_eq!(job.borne().collect::<Vec<_>>(), [(1, Some(9))]);
}

#[test]
fn a_killed_rank_of_which_nobody_has_taken_notice_is_a_failure() {
    let mut job = with_a_death();
    end_well(&mut job);
    assert_eq!((job.cause(), job.exit_code()), (Some(&Failure::Unnoticed { rank: 1, signal: Some(9) }), 137));
    assert_eq!(job.borne().count(), 0);
}

#[test]
fn a_killed_rank_is_the_cause_if_the_others_do_not_get_on_without_it() {
    let mut job = with_a_death();
    job.handle_exit(0, Exit::Code(1), Stage::Initialised);
    job.settle(NOW, false);
    assert_eq!(actions(&mut job), [Action::Signal(libc::SIGTERM)]);
    assert_eq!((job.cause(), job.exit_code()), (Some(&Failure::Killed { rank: 1, signal: 9 }), 137));
    assert_eq!(job.borne().count(), 0);
    assert!(!job.bear(2, Exit::Signal(15)), "the job is ending");
}

#[test]
fn what_fails_after_a_death_was_acknowledged_has_its_own_cause() {
    let mut job = with_a_death();
    job.handle_acknowledged(&[1]);
    job.handle_abort(2, 42);
    job.settle(NOW, false);
    assert_eq!((job.cause(), job.exit_code()), (Some(&Failure::Aborted { rank: 2, code: 42 }), 42));
}

#[test]
fn a_job_ends_with_a_killed_rank_if_some_host_does_not_go_on_without_it() {
    let mut job = with_a_death();
    job.handle_refused(1);
    job.settle(NOW, false);
    assert_eq!(actions(&mut job), [Action::Signal(libc::SIGTERM)]);
    assert_eq!(job.cause(), Some(&Failure::Killed { rank: 1, signal: 9 }));
}

/// The fault of a host that is lost.
fn lost() -> Fault {
    Fault::new("Lost the connection.", "host b", "", "")
}

/// A job of five in which ranks 1 to 3 were lost with their host, after rank 3 had been killed.
fn with_a_lost_host() -> Job {
    let mut job = Job::new(5, None);
    assert!(job.bear(3, Exit::Signal(9)));
    assert!(job.bear_lost(&[1, 2, 3], &lost()));
    job.settle(NOW, false);
    assert_eq!((actions(&mut job), job.running(), job.borne_count()), (vec![], 2, 3));
    job
}

#[test]
fn the_loss_of_a_host_is_the_death_of_its_ranks() {
    let mut job = with_a_lost_host();
    job.handle_acknowledged(&[1, 2, 3]);
    for rank in [0, 4] {
        job.handle_exit(rank, Exit::Code(0), Stage::Finalised);
    }
    job.settle(NOW, false);
    assert_eq!((job.cause(), job.exit_code()), (None, 0));
    assert_eq!(job.borne().collect::<Vec<_>>(), [(3, Some(9)), (1, None), (2, None)]);
}

#[test]
fn a_lost_host_is_the_cause_if_nobody_notices_or_goes_on() {
    let mut job = with_a_lost_host();
    job.handle_acknowledged(&[2, 3]);
    for rank in [0, 4] {
        job.handle_exit(rank, Exit::Code(0), Stage::Finalised);
    }
    job.settle(NOW, false);
    assert_eq!((job.cause(), job.exit_code()), (Some(&Failure::Unnoticed { rank: 1, signal: None }), 1));
    let mut job = with_a_lost_host();
    job.handle_acknowledged(&[3]);
    job.handle_refused(2);
    job.settle(NOW, false);
    assert_eq!(actions(&mut job), [Action::Signal(libc::SIGTERM)]);
    assert_eq!((job.cause(), job.exit_code()), (Some(&Failure::Lost(lost())), 1));
}

#[test]
fn a_host_whose_ranks_had_ended_well_is_missed_all_the_same() {
    let mut job = Job::new(3, None);
    job.handle_exit(2, Exit::Code(0), Stage::Finalised);
    assert!(!job.bear_lost(&[2], &lost()), "nobody was asked whether to go on");
    assert!(!job.bear_lost(&[0, 1, 2], &lost()), "nobody is left");
    assert!(job.bear_lost(&[1, 2], &lost()));
}

#[test]
fn the_time_limit_is_not_blamed_on_a_death_before() {
    let mut job = Job::new(2, Some(NOW + Duration::from_secs(1)));
    assert!(job.bear(1, Exit::Signal(9)));
    job.settle(NOW + Duration::from_secs(2), false);
    assert_eq!(job.exit_code(), 124);
}

#[test]
fn a_user_whose_ranks_do_not_end_hears_how_to_kill_them() {
    for (signal, grace) in [(libc::SIGINT, None), (libc::SIGTERM, Some(Duration::from_secs(10)))] {
        let mut job = Job::new(2, None);
        job.handle_signal(signal, NOW);
        job.settle(NOW, false);
        assert_eq!(actions(&mut job), [Action::Signal(signal)]);
        assert_eq!(job.deadline(), Some(NOW + REMINDER_AFTER));
        job.settle(NOW + REMINDER_AFTER, false);
        let left = grace.map(|grace| grace - REMINDER_AFTER);
        assert_eq!(actions(&mut job), [Action::Remind { signal, left }]);
        job.settle(NOW + 2 * REMINDER_AFTER, false);
        assert_eq!(actions(&mut job), [], "once");
        job.handle_signal(signal, NOW + 2 * REMINDER_AFTER);
        job.settle(NOW + 4 * REMINDER_AFTER, false);
        assert_eq!(actions(&mut job), [Action::Signal(libc::SIGKILL)]);
    }
    let mut job = Job::new(1, None);
    job.handle_signal(libc::SIGINT, NOW);
    job.handle_exit(0, Exit::Signal(libc::SIGINT), Stage::Fresh);
    job.settle(NOW + REMINDER_AFTER, false);
    assert_eq!(actions(&mut job), [Action::Signal(libc::SIGINT)], "nothing runs any more");
}
