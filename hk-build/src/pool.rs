//! Running compilations side by side, within the number of jobs that cargo allows.

use std::env;
use std::num::NonZero;
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;

/// Applies `work` to every item on several threads. The results are in the order of the items.
///
/// Each thread beside the caller's holds a token of cargo's jobserver, so that the build scripts of
/// several crates together do not start more compilers than the user asked for.
pub(crate) fn map<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    map_within(items, jobs(), client(), work)
}

fn map_within<T: Sync, R: Send>(
    items: &[T],
    jobs: usize,
    client: Option<jobserver::Client>,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let queue = Mutex::new(items.iter().enumerate());
    let results = Mutex::new(Vec::with_capacity(items.len()));
    let run = || {
        loop {
            let taken = lock(&queue).next();
            let Some((index, item)) = taken else { break };
            let result = work(item);
            lock(&results).push((index, result));
        }
    };
    let helpers = jobs.min(items.len()).saturating_sub(1);
    let (sender, tokens) = mpsc::channel();
    thread::scope(|scope| {
        let run = &run;
        let requests = request_tokens(client, sender, helpers);
        scope.spawn(move || {
            for token in tokens {
                scope.spawn(move || {
                    run();
                    drop(token);
                });
            }
        });
        // Cargo gave this thread a token by starting the process.
        run();
        // Withdraws the requests that are still open. To wait for them could be forever, if other
        // build scripts waited in the same way.
        drop(requests);
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Permission to run one more compilation: a token of the jobserver, if there is one.
type Token = Option<jobserver::Acquired>;

/// Asks for `count` tokens, which are sent as they become free while the returned value lives.
fn request_tokens(
    client: Option<jobserver::Client>,
    sender: mpsc::Sender<Token>,
    count: usize,
) -> Option<jobserver::HelperThread> {
    if count == 0 {
        return None;
    }
    let Some(client) = client else {
        // Without a jobserver, only the number of jobs limits. The receiver lives as long as the
        // sender, so sending succeeds.
        (0..count).for_each(|_| drop(sender.send(None)));
        return None;
    };
    let helper = client.into_helper_thread(move |token| {
        // A broken jobserver must not stop the build: the caller's thread goes on by itself.
        if let Ok(token) = token {
            drop(sender.send(Some(token)));
        }
    });
    let helper = helper.ok()?;
    (0..count).for_each(|_| helper.request_token());
    Some(helper)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How many compilations may run at once.
fn jobs() -> usize {
    let asked = env::var("NUM_JOBS").ok().and_then(|jobs| jobs.parse().ok());
    asked.unwrap_or_else(|| thread::available_parallelism().map_or(1, NonZero::get))
}

/// Cargo's jobserver, if this process was started with one.
fn client() -> Option<jobserver::Client> {
    // SAFETY: the file descriptors that the environment names are those that cargo, or make above
    // it, opened for this process. `from_env_ext` checks that they are pipes, and no code of ours
    // closes descriptors that it did not open.
    unsafe { jobserver::Client::from_env_ext(true) }.client.ok()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    #[test]
    fn results_keep_the_order_of_the_items() {
        let items: Vec<u64> = (0..100).collect();
        let squares = map(&items, |item| item * item);
        assert!(squares.iter().enumerate().all(|(i, square)| *square == (i * i) as u64));
        assert_eq!(squares.len(), 100);
        assert_eq!(map(&[], |item: &u64| *item), Vec::<u64>::new());
    }

    /// The greatest number of items that were worked on at once, given `jobs` and a jobserver with
    /// that many tokens.
    fn most_at_once(jobs: usize, tokens: Option<usize>) -> usize {
        let client = tokens.map(|tokens| jobserver::Client::new(tokens).unwrap());
        let now = AtomicUsize::new(0);
        let counts = map_within(&[(); 24], jobs, client.clone(), |()| {
            let count = now.fetch_add(1, Ordering::SeqCst) + 1;
            thread::sleep(Duration::from_millis(10));
            now.fetch_sub(1, Ordering::SeqCst);
            count
        });
        // Every token was given back.
        for _ in 0..tokens.unwrap_or(0) {
            client.as_ref().unwrap().acquire_raw().unwrap();
        }
        assert_eq!(counts.len(), 24);
        counts.into_iter().max().unwrap()
    }

    #[test]
    fn the_jobserver_limits_how_many_run_at_once() {
        // Without a single token, the thread that cargo started does all the work.
        assert_eq!(most_at_once(4, Some(0)), 1);
        assert_eq!(most_at_once(1, Some(3)), 1);
        assert_eq!(most_at_once(4, Some(1)), 2);
        assert_eq!(most_at_once(3, None), 3);
    }
}
