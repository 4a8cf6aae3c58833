//! Waits that end: by what was waited for, or by an error.

use anyhow::{Result, bail};
use std::time::{Duration, Instant};

/// The longest that anything may take.
const LIMIT: Duration = Duration::from_secs(20);
/// The looks after which the processor is offered to others: a device's driver needs it too where
/// there are few.
const LOOKS: u32 = 512;

/// Calls `look` until it finds something.
///
/// # Errors
/// That of a look, or nothing came in time; `what` says what.
pub(super) fn until<T>(what: &str, mut look: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    let mut since: Option<Instant> = None;
    loop {
        for _ in 0..LOOKS {
            if let Some(found) = look()? {
                return Ok(found);
            }
            std::hint::spin_loop();
        }
        if since.get_or_insert_with(Instant::now).elapsed() > LIMIT {
            bail!("nothing came within {} s: {what}", LIMIT.as_secs());
        }
        std::thread::yield_now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_with_what_came_and_with_the_error_of_a_look() {
        let mut looks = 0;
        let found = until("ten", || {
            looks += 1;
            Ok((looks == 2 * LOOKS).then_some(looks))
        });
        assert_eq!(found.expect("found"), 2 * LOOKS);
        let failed = until::<()>("nothing", || bail!("broken"));
        assert_eq!(failed.expect_err("failed").to_string(), "broken");
    }
}
