//! Views of files, against the list of their visible bytes.

use super::datatype::{Made, nested};
use arbitrary::{Result, Unstructured};
use verbena_mpi::file::View;

/// A view of random types: places of the stream and its end as the list says, and no surprise for
/// any offset.
pub fn view(data: &[u8]) {
    let _ = tried(&mut Unstructured::new(data));
}

fn tried(input: &mut Unstructured<'_>) -> Result<()> {
    let filetype = nested(input, 3)?;
    let etype = if input.arbitrary()? { filetype.clone() } else { nested(input, 1)? };
    let displacement = if input.ratio(1, 5)? { input.arbitrary()? } else { input.int_in_range(-1..=100)? };
    let writes = input.arbitrary()?;
    let Ok(view) = View::new(displacement, &etype.datatype, &filetype.datatype, b"native", writes) else {
        return Ok(());
    };
    assert!(displacement >= 0 && filetype.bytes.iter().all(|&byte| byte >= 0));
    let (lowest, highest) = (filetype.bytes.iter().min(), filetype.bytes.iter().max());
    let length = lowest.zip(highest).map_or(0, |(lowest, highest)| highest + 1 - lowest);
    match view.copies_max() {
        0 => assert!(filetype.bytes.is_empty()),
        1 => assert!((filetype.datatype.extent() as i64) < length),
        _ => assert!(!filetype.bytes.is_empty()),
    }
    let start = if input.ratio(1, 5)? { input.arbitrary()? } else { input.int_in_range(0..=5000)? };
    let len = input.int_in_range(0..=300)?;
    runs(&view, &filetype, start, len);
    let bytes = if input.ratio(1, 5)? { input.arbitrary()? } else { input.int_in_range(0..=3000)? };
    let end = view.end(bytes);
    if writes && bytes < 1 << 20 {
        ends(&view, &filetype, bytes, end);
    }
    let offset = input.arbitrary()?;
    assert_eq!(
        view.start(offset).is_ok(),
        offset >= 0 && (offset as u64).checked_mul(etype.bytes.len() as u64).is_some()
    );
    Ok(())
}

/// The place of a byte of the stream, by the definition; `None` beyond the largest file.
fn place(view: &View, filetype: &Made, byte: u64) -> Option<u64> {
    let size = filetype.bytes.len() as u64;
    if size == 0 || byte / size >= view.copies_max() {
        return None;
    }
    let tile = (byte / size).checked_mul(filetype.datatype.extent() as u64)?;
    let place =
        tile.checked_add(view.displacement)?.checked_add(filetype.bytes[(byte % size) as usize] as u64)?;
    i64::try_from(place).is_ok().then_some(place)
}

fn runs(view: &View, filetype: &Made, start: u64, len: usize) {
    let mut found = Vec::new();
    if view.for_each_run(start, len, |at, len| found.extend(at..at + len as u64)).is_err() {
        // Refused only if the last tile would end beyond the largest file, or is one too many.
        let size = filetype.bytes.len() as u64;
        if size == 0 {
            return assert!(len > 0);
        }
        let tiles = start.checked_add(len as u64).map(|end| end.div_ceil(size));
        if tiles.is_none_or(|tiles| tiles > view.copies_max()) {
            return;
        }
        let (low, length) = filetype.datatype.true_extent();
        let extent = filetype.datatype.extent();
        let reach = extent.max(length) as u64;
        let end = tiles.and_then(|tiles| (tiles - 1).checked_mul(extent as u64)?.checked_add(reach));
        let end = end.and_then(|end| end.checked_add(view.displacement + low as u64));
        return assert!(end.is_none_or(|end| end > i64::MAX as u64), "a view that fits was refused");
    }
    let expected: Option<Vec<u64>> = (0..len as u64).map(|i| place(view, filetype, start + i)).collect();
    assert_eq!(Some(found), expected);
    // The place of the end of a stream is that behind its last byte.
    let is_end = Some(start) == view.copies_max().checked_mul(filetype.bytes.len() as u64);
    if let Ok(first) = view.place(start)
        && !is_end
    {
        assert_eq!(Some(first), place(view, filetype, start));
    }
}

/// The stream ends behind the last byte that is visible in the file, rounded up to whole etypes.
fn ends(view: &View, filetype: &Made, bytes: u64, end: u64) {
    let is_in = |&byte: &u64| place(view, filetype, byte).is_some_and(|place| place < bytes);
    let visible = (0..).take_while(is_in).count() as u64;
    assert_eq!(end, visible.next_multiple_of(view.etype.size() as u64));
}
