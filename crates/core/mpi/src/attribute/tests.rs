//! Attributes: callback order, copies, failing callbacks, keys freed while in use.

use super::*;

type Log = Arc<Mutex<Vec<(char, usize, i32, Value)>>>;

const KEYVALS_FIRST: i32 = 100;
const OBJECT: usize = 77;

/// A key whose callbacks log their arguments; copies are one more than the value.
fn logged(keyvals: &Keyvals, log: &Log) -> i32 {
    let (copies, deletes) = (log.clone(), log.clone());
    let copy: CopyCallback = Box::new(move |object, key, value| {
        copies.lock().unwrap().push(('c', object, key, value));
        Ok(Some(value + 1))
    });
    let delete: DeleteCallback = Box::new(move |object, key, value| {
        deletes.lock().unwrap().push(('d', object, key, value));
        Ok(())
    });
    keyvals.create(CopyRule::Call(copy), Some(delete))
}

fn taken(log: &Log) -> Vec<(char, usize, i32, Value)> {
    std::mem::take(&mut log.lock().unwrap())
}

#[test]
fn replacing_and_deleting_call_back_once() {
    let (keyvals, log, attributes) =
        (Keyvals::starting_at(KEYVALS_FIRST), Log::default(), Attributes::default());
    let key = logged(&keyvals, &log);
    attributes.set(OBJECT, keyvals.get(key).unwrap(), 5).unwrap();
    assert_eq!(taken(&log), []);
    attributes.set(OBJECT, keyvals.get(key).unwrap(), 6).unwrap();
    assert_eq!(taken(&log), [('d', OBJECT, key, 5)]);
    assert_eq!(attributes.get(key), Some(6));
    attributes.delete(OBJECT, key).unwrap();
    attributes.delete(OBJECT, key).unwrap();
    assert_eq!(taken(&log), [('d', OBJECT, key, 6)]);
    assert_eq!(attributes.get(key), None);
}

#[test]
fn clearing_goes_backwards() {
    let (keyvals, log, attributes) =
        (Keyvals::starting_at(KEYVALS_FIRST), Log::default(), Attributes::default());
    let keys: Vec<i32> = (0..3).map(|_| logged(&keyvals, &log)).collect();
    for (&key, value) in keys.iter().zip(1..) {
        attributes.set(OBJECT, keyvals.get(key).unwrap(), value).unwrap();
    }
    attributes.set(OBJECT, keyvals.get(keys[0]).unwrap(), 9).unwrap();
    taken(&log);
    attributes.clear(OBJECT).unwrap();
    let order: Vec<Value> = taken(&log).iter().map(|entry| entry.3).collect();
    assert_eq!(order, [9, 3, 2]);
}

#[test]
fn duplicates_follow_the_copy_rules() {
    let (keyvals, log, attributes) =
        (Keyvals::starting_at(KEYVALS_FIRST), Log::default(), Attributes::default());
    let called = logged(&keyvals, &log);
    let never = keyvals.create(CopyRule::Never, None);
    let same = keyvals.create(CopyRule::Same, None);
    let declined = keyvals.create(CopyRule::Call(Box::new(|_, _, _| Ok(None))), None);
    for key in [called, never, same, declined] {
        attributes.set(OBJECT, keyvals.get(key).unwrap(), 10).unwrap();
    }
    let copy = attributes.copied(OBJECT).unwrap();
    assert_eq!([called, never, same, declined].map(|key| copy.get(key)), [Some(11), None, Some(10), None]);
    assert_eq!(taken(&log), [('c', OBJECT, called, 10)]);
}

#[test]
fn a_freed_key_still_serves_its_attributes() {
    let (keyvals, log, attributes) =
        (Keyvals::starting_at(KEYVALS_FIRST), Log::default(), Attributes::default());
    let key = logged(&keyvals, &log);
    attributes.set(OBJECT, keyvals.get(key).unwrap(), 5).unwrap();
    keyvals.free(key).unwrap();
    attributes.copied(OBJECT).unwrap().clear(OBJECT + 1).unwrap();
    attributes.set(OBJECT, keyvals.get(key).unwrap(), 7).unwrap();
    keyvals.free(key).unwrap();
    assert_eq!((keyvals.get(key).is_ok(), attributes.get(key)), (true, Some(7)));
    attributes.clear(OBJECT).unwrap();
    let calls =
        [('c', OBJECT, key, 5), ('d', OBJECT + 1, key, 6), ('d', OBJECT, key, 5), ('d', OBJECT, key, 7)];
    assert_eq!(taken(&log), calls);
    assert_eq!(keyvals.free(key).unwrap_err().class, mpi::MPI_ERR_KEYVAL);
    assert_eq!(keyvals.get(key).err().unwrap().class, mpi::MPI_ERR_KEYVAL);
    assert!(logged(&keyvals, &log) > key, "numbers are not given out again");
}

#[test]
fn a_delete_callback_may_free_its_own_key() {
    static KEYVALS: Keyvals = Keyvals::starting_at(KEYVALS_FIRST);
    let delete: DeleteCallback = Box::new(|_, key, _| KEYVALS.free(key));
    let key = KEYVALS.create(CopyRule::Never, Some(delete));
    let objects = [Attributes::default(), Attributes::default()];
    for attributes in &objects {
        attributes.set(OBJECT, KEYVALS.get(key).unwrap(), 1).unwrap();
    }
    for attributes in &objects {
        attributes.clear(OBJECT).unwrap();
    }
    assert_eq!(KEYVALS.free(key).unwrap_err().class, mpi::MPI_ERR_KEYVAL);
}

#[test]
fn a_failing_callback_keeps_the_value_and_tells_its_code() {
    let (keyvals, attributes) = (Keyvals::starting_at(KEYVALS_FIRST), Attributes::default());
    let key = keyvals.create(
        CopyRule::Call(Box::new(|_, key, _| Err(callback_failed(mpi::MPI_ERR_IO, "copy", key)))),
        Some(Box::new(|_, key, _| Err(callback_failed(mpi::MPI_ERR_OTHER, "delete", key)))),
    );
    attributes.set(OBJECT, keyvals.get(key).unwrap(), 5).unwrap();
    assert_eq!(attributes.copied(OBJECT).err().unwrap().class, mpi::MPI_ERR_IO);
    assert_eq!(attributes.clear(OBJECT).unwrap_err().class, mpi::MPI_ERR_OTHER);
    assert_eq!(attributes.set(OBJECT, keyvals.get(key).unwrap(), 6).unwrap_err().class, mpi::MPI_ERR_OTHER);
    assert_eq!(attributes.get(key), Some(5));
}

#[test]
fn a_callback_may_use_the_attributes_of_its_object() {
    let keyvals = Keyvals::starting_at(KEYVALS_FIRST);
    let attributes = Arc::new(Attributes::default());
    let other = keyvals.create(CopyRule::Same, None);
    let inside = attributes.clone();
    let delete: DeleteCallback = Box::new(move |object, key, value| {
        assert_eq!(inside.get(key), Some(value));
        inside.delete(object, other)
    });
    let key = keyvals.create(CopyRule::Never, Some(delete));
    attributes.set(OBJECT, keyvals.get(other).unwrap(), 1).unwrap();
    attributes.set(OBJECT, keyvals.get(key).unwrap(), 2).unwrap();
    attributes.clear(OBJECT).unwrap();
    assert_eq!((attributes.get(other), attributes.get(key)), (None, None));
}
