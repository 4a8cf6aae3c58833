//! Info objects: order, limits and error classes.

use super::*;

#[test]
fn keys_keep_the_order_of_their_first_setting() {
    let info = Info::new();
    for (key, value) in [("b", "1"), ("a", "2"), ("b", "3"), ("c ", "")] {
        info.set(key.as_bytes(), value.as_bytes()).unwrap();
    }
    let expected = [("b", "3"), ("a", "2"), ("c ", "")].map(|(k, v)| (k.into(), v.into()));
    assert_eq!(info.entries(), expected);
    assert_eq!(info.nth_key(2).unwrap(), b"c ");
    assert_eq!(info.get(b"a").unwrap().unwrap(), b"2");
    assert_eq!(info.get(b"A").unwrap(), None);
}

#[test]
fn a_copy_lives_by_itself() {
    let info = Info::new();
    info.set(b"k", b"v").unwrap();
    let copy = info.clone();
    copy.set(b"k", b"w").unwrap();
    info.delete(b"k").unwrap();
    assert!(info.is_empty());
    assert_eq!(copy.get(b"k").unwrap().unwrap(), b"w");
}

#[test]
fn the_longest_key_and_value_fit_and_one_byte_more_does_not() {
    let info = Info::new();
    let (key, value) = (vec![b'k'; KEY_BYTES_MAX], vec![b'v'; VALUE_BYTES_MAX]);
    info.set(&key[1..], &value[1..]).unwrap();
    assert_eq!(info.set(&key, b"").unwrap_err().class, mpi::MPI_ERR_INFO_KEY);
    assert_eq!(info.set(b"", b"").unwrap_err().class, mpi::MPI_ERR_INFO_KEY);
    assert_eq!(info.set(b"k", &value).unwrap_err().class, mpi::MPI_ERR_INFO_VALUE);
    assert_eq!(info.get(&key).unwrap_err().class, mpi::MPI_ERR_INFO_KEY);
    assert_eq!(info.len(), 1);
}

#[test]
fn what_is_not_there_has_its_error_class() {
    let info = Info::new();
    assert_eq!(info.delete(b"k").unwrap_err().class, mpi::MPI_ERR_INFO_NOKEY);
    assert_eq!(info.nth_key(0).unwrap_err().class, mpi::MPI_ERR_ARG);
    assert_eq!(info.nth_key(-1).unwrap_err().class, mpi::MPI_ERR_ARG);
}

#[test]
fn a_constant_object_can_be_read_and_copied_only() {
    let info = Info::constant(|| vec![(b"k".to_vec(), b"v".to_vec())]);
    assert_eq!(info.set(b"k", b"w").unwrap_err().class, mpi::MPI_ERR_INFO);
    assert_eq!(info.delete(b"k").unwrap_err().class, mpi::MPI_ERR_INFO);
    let copy = info.clone();
    copy.set(b"k", b"w").unwrap();
    assert_eq!(info.get(b"k").unwrap().unwrap(), b"v");
}

#[test]
fn merging_replaces_and_adds() {
    let (hints, given) = (Info::new(), Info::new());
    hints.set(b"a", b"1").unwrap();
    given.set(b"b", b"2").unwrap();
    given.set(b"a", b"3").unwrap();
    hints.merge(&given).unwrap();
    assert_eq!(hints.entries(), [(b"a".to_vec(), b"3".to_vec()), (b"b".to_vec(), b"2".to_vec())]);
}
