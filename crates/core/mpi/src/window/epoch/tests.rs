//! Epochs open, close and overlap as the standard says.

use super::*;
use crate::generated::constants::MPI_ERR_RMA_SYNC;

const HOLD: Hold = Hold { kind: Kind::Reader, is_taken: true };

fn class<T>(result: Result<T>) -> i32 {
    result.err().expect("an error").class
}

#[test]
fn nothing_may_be_accessed_outside_of_an_epoch() {
    let mut epochs = Epochs::default();
    let error = epochs.enter(1, "MPI_Put").unwrap_err();
    assert_eq!(error.class, MPI_ERR_RMA_SYNC);
    assert!(error.to_string().contains("no epoch is open"), "{error}");
    assert!(class(epochs.check_passive(None, "MPI_Win_flush_all")) == MPI_ERR_RMA_SYNC);
    epochs.check_free().unwrap();
}

/// Says of a rank what the fast path sees, and then what an operation sees.
fn seen(epochs: &mut Epochs, rank: i32) -> (bool, Result<Entry>) {
    (epochs.is_open_to(rank), epochs.enter(rank, "MPI_Put"))
}

#[test]
fn the_fast_path_is_open_where_an_operation_waits_for_nothing() {
    let mut epochs = Epochs::default();
    assert!(!seen(&mut epochs, 1).0);
    epochs.fenced(true);
    epochs.used();
    assert_eq!(class(epochs.check_lock(0, 9)), MPI_ERR_RMA_SYNC, "the fence epoch is used");
    assert_eq!(seen(&mut epochs, 1), (true, Ok(Entry::Ready)));
    epochs.fenced(false);
    epochs.start(&[1], Meeting::Due).unwrap();
    assert_eq!(seen(&mut epochs, 1), (false, Ok(Entry::AwaitPost)));
    assert_eq!(seen(&mut epochs, 1), (false, Ok(Entry::AwaitThread)));
    epochs.met(1, true);
    assert_eq!(seen(&mut epochs, 1), (true, Ok(Entry::Ready)));
    assert!(!seen(&mut epochs, 2).0);
    epochs.complete().unwrap();
    epochs.locked(3, HOLD);
    assert_eq!(seen(&mut epochs, 3), (true, Ok(Entry::Ready)));
    assert!(!seen(&mut epochs, 1).0 && epochs.is_passive(Some(3)) && !epochs.is_passive(Some(1)));
    epochs.unlocked(3);
    epochs.lock_all(Meeting::Due).unwrap();
    assert_eq!(seen(&mut epochs, 70), (false, Ok(Entry::TakeLock)));
    epochs.met(70, true);
    assert_eq!(seen(&mut epochs, 70), (true, Ok(Entry::Ready)));
    assert!(epochs.is_passive(Some(1)) && epochs.is_passive(None));
}

#[test]
fn a_fence_opens_and_a_last_fence_closes() {
    let mut epochs = Epochs::default();
    epochs.fenced(true);
    assert_eq!(epochs.enter(3, "MPI_Put").unwrap(), Entry::Ready);
    assert_eq!(class(epochs.check_free()), MPI_ERR_RMA_SYNC);
    assert_eq!(class(epochs.check_lock(0, 9)), MPI_ERR_RMA_SYNC);
    assert_eq!(class(epochs.enter_passive(3, "MPI_Rput")), MPI_ERR_RMA_SYNC);
    epochs.check_fence().unwrap();
    epochs.fenced(false);
    assert_eq!(class(epochs.enter(3, "MPI_Put")), MPI_ERR_RMA_SYNC);
    epochs.check_free().unwrap();
}

#[test]
fn a_fence_epoch_without_operations_gives_way() {
    let mut epochs = Epochs::default();
    epochs.fenced(true);
    epochs.check_free().unwrap();
    epochs.check_lock(2, 9).unwrap();
    epochs.locked(2, HOLD);
    assert_eq!(epochs.enter(2, "MPI_Get").unwrap(), Entry::Ready);
    assert_eq!(class(epochs.enter(1, "MPI_Get")), MPI_ERR_RMA_SYNC, "the fence epoch is over");
    assert_eq!(class(epochs.check_fence()), MPI_ERR_RMA_SYNC);
}

#[test]
fn a_started_target_is_met_once() {
    let mut epochs = Epochs::default();
    epochs.start(&[1, 4], Meeting::Due).unwrap();
    assert_eq!(epochs.enter(4, "MPI_Put").unwrap(), Entry::AwaitPost);
    epochs.met(4, true);
    assert_eq!(epochs.enter(4, "MPI_Put").unwrap(), Entry::Ready);
    assert_eq!(class(epochs.enter(2, "MPI_Put")), MPI_ERR_RMA_SYNC);
    assert_eq!(class(epochs.lock_all(Meeting::Due)), MPI_ERR_RMA_SYNC);
    assert_eq!(class(epochs.start(&[1], Meeting::Due)), MPI_ERR_RMA_SYNC);
    let targets = epochs.complete().unwrap();
    assert_eq!(targets.into_iter().collect::<Vec<_>>(), [(1, Meeting::Due), (4, Meeting::Done)]);
    assert_eq!(class(epochs.complete()), MPI_ERR_RMA_SYNC);
    epochs.start(&[1], Meeting::Unchecked).unwrap();
    assert_eq!(epochs.enter(1, "MPI_Put").unwrap(), Entry::Ready);
}

#[test]
fn one_call_in_many_makes_progress() {
    let mut epochs = Epochs::default();
    let mut made = 0;
    for _ in 0..10 * PROGRESS_EVERY {
        let owes = epochs.owes_progress();
        assert_eq!(epochs.finish(), owes);
        made += u32::from(owes);
    }
    assert_eq!(made, 10);
}

#[test]
fn a_second_thread_waits_until_the_target_is_met() {
    for is_lock in [true, false] {
        let mut epochs = Epochs::default();
        let first = if is_lock { Entry::TakeLock } else { Entry::AwaitPost };
        match is_lock {
            true => epochs.lock_all(Meeting::Due).unwrap(),
            false => epochs.start(&[1, 7], Meeting::Due).unwrap(),
        }
        assert_eq!(epochs.enter(7, "MPI_Put").unwrap(), first);
        assert_eq!(epochs.enter(7, "MPI_Put").unwrap(), Entry::AwaitThread);
        assert!(!epochs.is_met(7) && epochs.is_met(1));
        epochs.met(7, false);
        assert!(epochs.is_met(7));
        assert_eq!(epochs.enter(7, "MPI_Put").unwrap(), first, "the first one failed");
        epochs.met(7, true);
        assert_eq!(epochs.enter(7, "MPI_Put").unwrap(), Entry::Ready);
    }
}

#[test]
fn exposure_and_access_are_apart() {
    let mut epochs = Epochs::default();
    epochs.check_post(9).unwrap();
    epochs.posted(&[0]);
    epochs.start(&[0], Meeting::Due).unwrap();
    assert_eq!(class(epochs.check_post(9)), MPI_ERR_RMA_SYNC);
    epochs.complete().unwrap();
    assert_eq!(class(epochs.check_free()), MPI_ERR_RMA_SYNC);
    epochs.check_exposed("MPI_Win_wait").unwrap();
    epochs.end_exposure();
    assert_eq!(class(epochs.check_exposed("MPI_Win_wait")), MPI_ERR_RMA_SYNC);
    epochs.check_free().unwrap();
}

#[test]
fn locks_are_one_to_a_target() {
    let mut epochs = Epochs::default();
    epochs.locked(1, HOLD);
    epochs.check_lock(2, 9).unwrap();
    let error = epochs.check_lock(1, 9).unwrap_err();
    assert!(error.class == MPI_ERR_RMA_SYNC && error.to_string().contains("rank 1"), "{error}");
    assert_eq!(epochs.enter_passive(1, "MPI_Rget").unwrap(), Entry::Ready);
    assert_eq!(class(epochs.enter(2, "MPI_Get")), MPI_ERR_RMA_SYNC);
    assert_eq!(class(epochs.check_passive(Some(2), "MPI_Win_flush")), MPI_ERR_RMA_SYNC);
    assert_eq!(epochs.hold(1).unwrap(), HOLD);
    epochs.unlocked(1);
    assert_eq!(class(epochs.hold(1)), MPI_ERR_RMA_SYNC);
}

#[test]
fn a_lock_of_all_is_taken_at_the_first_access() {
    let mut epochs = Epochs::default();
    epochs.lock_all(Meeting::Due).unwrap();
    assert_eq!(epochs.enter(5, "MPI_Get").unwrap(), Entry::TakeLock);
    epochs.met(5, true);
    assert_eq!(epochs.enter(5, "MPI_Get").unwrap(), Entry::Ready);
    assert_eq!(epochs.enter(64, "MPI_Get").unwrap(), Entry::TakeLock);
    epochs.met(64, true);
    assert_eq!(epochs.locked_by_all().unwrap(), [5, 64]);
    assert_eq!(class(epochs.check_lock(5, 9)), MPI_ERR_RMA_SYNC);
    epochs.unlocked_all();
    assert_eq!(class(epochs.locked_by_all()), MPI_ERR_RMA_SYNC);
    epochs.lock_all(Meeting::Unchecked).unwrap();
    assert_eq!(epochs.enter(5, "MPI_Get").unwrap(), Entry::Ready);
    assert!(epochs.locked_by_all().unwrap().is_empty());
    epochs.unlocked_all();
    epochs.lock_all(Meeting::Due).unwrap();
    epochs.met_all(&[0, 1, 2]);
    assert_eq!(epochs.enter(2, "MPI_Get").unwrap(), Entry::Ready);
    assert_eq!(epochs.locked_by_all().unwrap(), [0, 1, 2]);
}

#[test]
fn memory_is_not_locked_and_exposed_at_once() {
    let mut epochs = Epochs::default();
    epochs.posted(&[1]);
    assert_eq!(class(epochs.check_lock(9, 9)), MPI_ERR_RMA_SYNC);
    assert_eq!(class(epochs.check_lock_all()), MPI_ERR_RMA_SYNC);
    epochs.check_lock(1, 9).unwrap();
    epochs.end_exposure();
    epochs.locked(1, HOLD);
    epochs.check_post(9).unwrap();
    epochs.locked(9, HOLD);
    assert_eq!(class(epochs.check_post(9)), MPI_ERR_RMA_SYNC);
    epochs.unlocked(9);
    epochs.unlocked(1);
    epochs.lock_all(Meeting::Due).unwrap();
    assert_eq!(class(epochs.check_post(9)), MPI_ERR_RMA_SYNC);
}
