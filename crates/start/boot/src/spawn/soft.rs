//! The numbers of processes that a program may be started with (MPI-5.0, 11.8.4, the key `soft`).

/// The reason why a list of numbers allows none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SoftError {
    /// A word is neither a number nor a range.
    Form,
    /// No number is from 1 to the most that may be started.
    Nothing,
}

/// The largest number from 1 to `most` that a list has: of numbers, and of ranges `FIRST:LAST` and
/// `FIRST:LAST:STRIDE`, with commas between. A range with a stride goes where its stride does.
///
/// # Errors
/// The list has a word of another form, or no such number.
pub fn largest_allowed(list: &str, most: u32) -> Result<u32, SoftError> {
    let mut best = None;
    for range in list.split(',') {
        let numbers = range.split(':').map(|number| number.trim().parse::<i32>().map(i64::from));
        let numbers: Vec<i64> = numbers.collect::<Result<_, _>>().map_err(|_| SoftError::Form)?;
        best = best.max(largest(&numbers, i64::from(most))?);
    }
    best.filter(|count| *count > 0).map(|count| count as u32).ok_or(SoftError::Nothing)
}

/// The largest number of a range that is at most `most`, if there is one.
fn largest(range: &[i64], most: i64) -> Result<Option<i64>, SoftError> {
    let (first, last, stride) = match *range {
        [number] => (number, number, 1),
        [first, last] => (first, last, 1),
        [first, last, stride] if stride != 0 && (last - first).signum() != -stride.signum() => {
            (first, last, stride)
        }
        _ => return Err(SoftError::Form),
    };
    if last < first && stride > 0 {
        return Ok(None);
    }
    let end = first + (last - first) / stride * stride;
    let (low, high) = (first.min(end), first.max(end));
    let size = stride.abs();
    let found = if high <= most { high } else { low + (most - low).div_euclid(size) * size };
    Ok((low <= found).then_some(found))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_number_that_is_allowed_is_taken() {
        for (list, most, count) in [
            ("2", 4, 2),
            ("1,3,7", 4, 3),
            ("0:4", 4, 4),
            ("1:9:3", 8, 7),
            ("8:1:-3", 6, 5),
            ("9,1:2", 4, 2),
            ("-4:2, 9:3", 4, 2),
            ("1:2147483647", u32::MAX, 2_147_483_647),
        ] {
            assert_eq!(largest_allowed(list, most), Ok(count), "{list}");
        }
    }

    #[test]
    fn a_list_without_such_a_number_is_told_from_what_is_none() {
        for list in ["3:9", "0", "-5:-1", "2:1"] {
            assert_eq!(largest_allowed(list, 2), Err(SoftError::Nothing), "{list}");
        }
        for list in ["", "x", "1:2:0", "1:2:3:4", ",", "1-3", "1:4:-1", "4:1:1"] {
            assert_eq!(largest_allowed(list, 2), Err(SoftError::Form), "{list}");
        }
    }
}
