//! Work on many items, several at a time.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The results, in the order of the items. Each of `jobs` threads takes the next item when it is
/// free.
///
/// # Panics
/// If the work does.
pub fn each<T: Sync, R: Send>(jobs: usize, items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::with_capacity(items.len()));
    std::thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            scope.spawn(|| {
                while let Some((at, item)) = taken(&next, items) {
                    let result = work(item);
                    results.lock().expect("no thread panicked").push((at, result));
                }
            });
        }
    });
    let mut results = results.into_inner().expect("no thread panicked");
    results.sort_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect()
}

fn taken<'a, T>(next: &AtomicUsize, items: &'a [T]) -> Option<(usize, &'a T)> {
    let at = next.fetch_add(1, Ordering::Relaxed);
    items.get(at).map(|item| (at, item))
}

#[cfg(test)]
mod tests {
    use super::each;

    #[test]
    fn every_item_is_worked_on_once_and_results_keep_its_place() {
        let items: Vec<u32> = (0..100).collect();
        let doubled: Vec<u32> = items.iter().map(|item| item * 2).collect();
        assert_eq!(each(3, &items, |item| item * 2), doubled);
        assert_eq!(each(0, &items, |item| item * 2), doubled);
    }
}
