//! Data representations that a program registers.

use super::*;
use crate::datatype::Datatype;

/// Elements of 8 bytes in the file, which nothing converts.
struct Wider;

impl Conversion for Wider {
    fn extent(&self, _: &Arc<Datatype>) -> Result<i64> {
        Ok(8)
    }

    fn converts(&self, _: Direction) -> bool {
        false
    }

    fn convert(&self, _: Direction, _: &Data, _: usize, _: Region) -> Result<()> {
        panic!("it does not convert")
    }
}

/// Without a conversion, elements in memory and in the file must have one size: nobody could tell
/// which bytes belong to which.
#[test]
fn what_nothing_converts_must_be_as_long_in_the_file_as_in_memory() {
    let folder = Folder::new("wider");
    register(b"wider", Box::new(Wider)).unwrap();
    run(2, |world, fake| {
        let file = open(world, &folder.file(), NEW, fake).unwrap();
        let (int, long) =
            (Datatype::predefined(MPI_INT).unwrap(), Datatype::predefined(MPI_INT64_T).unwrap());
        file.set_view(NewView::At(View::new(0, int, int, b"wider", true)), Ok(None), fake).unwrap();
        let (region, _owner) = memory(&[1; 40]);
        let data = |datatype: &Arc<Datatype>, count| Data {
            buffer: Buffer::Contiguous(region.part(0, count * datatype.size())),
            datatype: datatype.clone(),
            count,
            address: 0,
        };
        for direction in [Direction::Read, Direction::Write] {
            for place in [Place::At(0), Place::Individual, Place::Shared] {
                assert_eq!(class(file.access(direction, place, &data(int, 10))), MPI_ERR_CONVERSION);
                assert_eq!(class(file.prepare(direction, place, &data(int, 10))), MPI_ERR_CONVERSION);
            }
            let ordered = file.access_ordered(direction, Ok(data(int, 10)), fake);
            assert_eq!(class(ordered), MPI_ERR_CONVERSION);
        }
        assert_eq!((file.position().unwrap(), file.position_shared().unwrap()), (0, 0));
        assert_eq!(file.access(Direction::Write, Place::At(0), &data(long, 5)).unwrap(), 40);
        assert_eq!(file.access(Direction::Write, Place::At(0), &data(int, 0)).unwrap(), 0);
    });
}
