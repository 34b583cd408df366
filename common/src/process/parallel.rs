//! Work on many items at once, results in order.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, sync_channel};

use rayon::{Scope, ThreadPool, ThreadPoolBuilder};

use super::failure::{Exit, Failure};

/// A pool of `threads` workers. The calling thread reads and writes beside them.
pub fn pool(threads: usize) -> Result<ThreadPool, Failure> {
    ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|error| Failure::new(Exit::Unexpected, error))
}

/// Items under way that keep `threads` threads busy, where `fit` at most fit into memory; 0 for a single thread, which
/// does everything in turn.
pub fn ahead(threads: usize, fit: u64) -> usize {
    if threads == 1 { 0 } else { usize::try_from(fit).unwrap_or(usize::MAX).clamp(1, threads + 1) }
}

/// Maps `source` with `work` on the workers of a pool. Results come in the order of the source, which is read on the
/// thread that asks for results; at most `ahead` items are under way, so memory is bounded by them; with 0 the work is
/// done right there, too. Maps can be chained: the results of one are the source of the next, on the same workers.
pub fn ordered<'s, 'scope: 's, I, O, W>(
    scope: &'s Scope<'scope>,
    mut source: impl Iterator<Item = I> + 's,
    ahead: usize,
    work: &'scope W,
) -> impl Iterator<Item = O> + 's
where
    I: Send + 'scope,
    O: Send + 'scope,
    W: Fn(I) -> O + Sync,
{
    let mut under_way: VecDeque<Receiver<O>> = VecDeque::with_capacity(ahead);
    std::iter::from_fn(move || {
        if ahead == 0 {
            return source.next().map(work);
        }
        while under_way.len() < ahead {
            let Some(item) = source.next() else { break };
            let (done, result) = sync_channel(1);
            scope.spawn(move |_| {
                let _ = done.send(work(item));
            });
            under_way.push_back(result);
        }
        // a worker that panicked sends nothing; the scope passes its panic on
        under_way.pop_front()?.recv().ok()
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn order_holds_and_no_more_than_asked_for_is_under_way() {
        let (begun, taken, most) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
        let double = |x: usize| {
            std::thread::sleep(std::time::Duration::from_micros((97 * x % 300) as u64));
            2 * x
        };
        let next = |x: usize| x + 1;
        let results: Vec<usize> = pool(3).unwrap().in_place_scope(|scope| {
            let source = (0..200).inspect(|_| {
                let begun = begun.fetch_add(1, Ordering::SeqCst) + 1;
                most.fetch_max(begun - taken.load(Ordering::SeqCst), Ordering::SeqCst);
            });
            let doubled = ordered(scope, source, 5, &double);
            let last = ordered(scope, doubled, 2, &next).inspect(|_| {
                taken.fetch_add(1, Ordering::SeqCst);
            });
            last.collect()
        });
        assert_eq!(results, (0..200).map(|x| 2 * x + 1).collect::<Vec<_>>());
        assert!(most.into_inner() <= 7);
    }
}
