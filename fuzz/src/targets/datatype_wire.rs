//! Datatypes as bytes: those of any bytes, and bytes of any datatype.

use super::datatype::{Made, nested};
use arbitrary::Unstructured;
use std::sync::Arc;
use verbena_mpi::Datatype;
use verbena_mpi::datatype::wire;

/// Bytes are refused or describe a datatype, which comes back from bytes of its own; and so does a
/// datatype made by calls.
pub fn descriptions(data: &[u8]) {
    if let Ok(datatype) = wire::decode(data) {
        let (bytes, again) = there_and_back(&datatype);
        assert!(bytes.len() <= data.len(), "a description without anything unused");
        assert_eq!(again.signature().elements(), datatype.signature().elements());
    }
    if let Ok(made) = nested(&mut Unstructured::new(data), 4) {
        let (_, again) = there_and_back(&made.datatype);
        assert_eq!(Made::of(&again).bytes, made.bytes);
        assert_eq!(again.signature(), made.datatype.signature());
    }
}

fn there_and_back(datatype: &Arc<Datatype>) -> (Vec<u8>, Arc<Datatype>) {
    let bytes = wire::encode(datatype).expect("a datatype within the limits");
    let again = wire::decode(&bytes).expect("the bytes of a datatype");
    let facts = |d: &Datatype| (d.size(), d.extent(), d.lb(), d.true_extent(), d.signature().pairs());
    assert_eq!(facts(&again), facts(datatype));
    assert!(again.is_committed());
    assert_eq!(wire::encode(&again).expect("a datatype within the limits"), bytes);
    (bytes, again)
}
