//! Error classes and codes that the program adds and removes.

use super::*;

fn class_of<T: std::fmt::Debug>(result: Result<T>) -> Class {
    result.unwrap_err().class
}

#[test]
fn every_predefined_class_has_a_text_that_fits() {
    for class in (mpi::MPI_SUCCESS..=mpi::MPI_ERR_ABI).chain([mpi::MPI_ERR_LASTCODE]) {
        let text = class_text(class).unwrap();
        assert!(text.contains(": ") && text.len() < STRING_BYTES_MAX, "{text}");
        assert_eq!(REGISTRY.class(class).unwrap(), class);
    }
    assert_eq!(class_text(-1), None);
    assert_eq!(class_text(mpi::MPI_ERR_ABI + 1), None);
}

#[test]
fn classes_and_codes_are_numbered_behind_the_last() {
    let codes = Registry::new();
    let class = codes.add_class();
    assert_eq!((class, codes.last_used()), (mpi::MPI_ERR_LASTCODE + 1, class));
    let code = codes.add_code(class).unwrap();
    let other = codes.add_code(mpi::MPI_ERR_TAG).unwrap();
    assert_eq!((code, other, codes.last_used()), (class + 1, class + 2, other));
    assert_eq!(codes.class(code).unwrap(), class);
    assert_eq!(codes.class(other).unwrap(), mpi::MPI_ERR_TAG);
    assert_eq!(class_of(codes.add_code(code)), mpi::MPI_ERR_ARG);
    assert_eq!(class_of(codes.class(other + 1)), mpi::MPI_ERR_ARG);
}

#[test]
fn strings_can_be_given_to_additions_only() {
    let codes = Registry::new();
    let class = codes.add_class();
    assert_eq!(codes.string(class).unwrap(), b"");
    codes.add_string(class, b"out of tea").unwrap();
    assert_eq!(codes.string(class).unwrap(), b"out of tea");
    assert_eq!(class_of(codes.add_string(mpi::MPI_ERR_TAG, b"x")), mpi::MPI_ERR_ARG);
    assert_eq!(class_of(codes.add_string(class, &[b'x'; STRING_BYTES_MAX])), mpi::MPI_ERR_ARG);
}

#[test]
fn removal_goes_from_string_to_code_to_class() {
    let codes = Registry::new();
    let class = codes.add_class();
    let code = codes.add_code(class).unwrap();
    codes.add_string(code, b"text").unwrap();
    assert_eq!(class_of(codes.remove_code(code)), mpi::MPI_ERR_ARG);
    codes.remove_string(code).unwrap();
    assert_eq!(class_of(codes.remove_class(class)), mpi::MPI_ERR_ARG);
    assert_eq!(class_of(codes.remove_class(code)), mpi::MPI_ERR_ARG);
    assert_eq!(class_of(codes.remove_code(class)), mpi::MPI_ERR_ARG);
    codes.remove_code(code).unwrap();
    codes.remove_class(class).unwrap();
    assert_eq!(class_of(codes.remove_class(class)), mpi::MPI_ERR_ARG);
    assert_eq!(codes.last_used(), code, "numbers are never given out again");
    assert_eq!(codes.add_class(), code + 1);
}
