//! Cases on all cores of the host.

use std::any::Any;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex, PoisonError};
use std::thread;

use hk_core::{Device, Stream};

use super::{Attempt, Case, Look, PATTERNS, RUNNING, Report, Setting, Size};

/// What one thread keeps prepared at once, in units of a quick case.
const SHARE: usize = 64;

/// Runs cases as [`Case::run_sanitized`] does, looked at as `look` says, on as many threads as the
/// host has cores, and gives
/// `each` the reports in the order of the cases, until it breaks off. A case that panics has failed.
///
/// Cases differ in how long they take and the simulator's schedule is one for the process, so a batch
/// of them makes its first runs, then all second ones, then all third ones. On a GPU they run one
/// after another.
pub fn run_cases(
    device: &Device,
    cases: &[&Case],
    look: Look,
    mut each: impl FnMut(&Case, Report) -> ControlFlow<()>,
) {
    let _one_at_a_time = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    let setting = Setting::new(device, look);
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let workers = if device.is_simulated() { cores } else { 1 };
    let mut rest = cases;
    while !rest.is_empty() {
        let (batch, later) = rest.split_at(batch_len(rest, workers * SHARE));
        for (case, report) in batch.iter().zip(run_batch(device, batch, &setting, workers)) {
            if each(case, report).is_break() {
                return;
            }
        }
        rest = later;
    }
}

/// How many of the cases, at least one, are no more than `most` quick cases.
fn batch_len(cases: &[&Case], most: usize) -> usize {
    let weight = |case: &Case| match case.info.size {
        // Each of its tensors takes 4 GiB of the device, if hardly any of the host.
        Size::Quick if case.takes_gigabytes() => 32,
        Size::Quick => 1,
        Size::Core => 8,
        // Gigabytes: by itself.
        Size::Large => most,
    };
    let mut sum = 0;
    let fits = cases.iter().take_while(|case| {
        sum += weight(case);
        sum <= most
    });
    fits.count().max(1)
}

/// Reports of all of the cases, in their order.
fn run_batch(device: &Device, cases: &[&Case], setting: &Setting, workers: usize) -> Vec<Report> {
    let workers = workers.min(cases.len());
    let (next, step) = (AtomicUsize::new(0), Barrier::new(workers));
    let reports = Mutex::new(Vec::with_capacity(cases.len()));
    setting.choose(0);
    let work = || {
        let stream = device.new_stream().unwrap_or_else(|_| device.default_stream());
        // Attempts stay on their thread.
        let mut attempts = Vec::new();
        while let at = next.fetch_add(1, Ordering::Relaxed)
            && let Some(case) = cases.get(at)
        {
            let mut attempt = Attempt::new(case, setting);
            guarded_step(&mut attempt, 0, &stream);
            attempts.push((at, attempt));
        }
        for run in 1..PATTERNS.len() {
            // Between the two, nobody runs anything.
            if step.wait().is_leader() {
                setting.choose(run);
            }
            step.wait();
            for (_, attempt) in &mut attempts {
                guarded_step(attempt, run, &stream);
            }
        }
        for (at, attempt) in attempts {
            // Others held the memory, if there was none.
            let lacked_memory = attempt.lacked_memory && workers > 1;
            let report = attempt.report(device, setting);
            let mut reports = reports.lock().unwrap_or_else(PoisonError::into_inner);
            reports.push((at, report, lacked_memory));
        }
    };
    thread::scope(|scope| {
        for _ in 1..workers {
            scope.spawn(work);
        }
        work();
    });
    let mut reports = reports.into_inner().unwrap_or_else(PoisonError::into_inner);
    reports.sort_by_key(|(at, ..)| *at);
    let again = |(at, report, lacked_memory): (usize, Report, bool)| match lacked_memory {
        true => cases[at].run_alone(device, setting),
        false => report,
    };
    reports.into_iter().map(again).collect()
}

/// A panic must not keep the other threads waiting.
fn guarded_step(attempt: &mut Attempt<'_>, run: usize, stream: &Stream) {
    let result = catch_unwind(AssertUnwindSafe(|| attempt.step(run, stream)));
    if let Err(panic) = result {
        attempt.fail(format!("panic: {}", message(&*panic)));
    }
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("of unknown kind")
}
