//! Time of a model: what launches would take on the product, added up in each stream.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Time of a model at a point of a stream.
#[derive(Clone, Debug, Default)]
pub(crate) struct ModelTime {
    seconds: f64,
    /// The last launch before it of which nobody knows how long it takes, by its number, and why.
    unknown: (u64, Option<Arc<str>>),
}

/// Where a stream puts its time when it reaches a point.
pub(crate) type Reached = Arc<OnceLock<ModelTime>>;

/// What the host has waited for: what it submits begins later.
static HOST: Mutex<Option<ModelTime>> = Mutex::new(None);

impl ModelTime {
    /// When the host submits something now.
    pub(crate) fn of_host() -> Self {
        HOST.lock().unwrap_or_else(PoisonError::into_inner).clone().unwrap_or_default()
    }

    /// The host waited for this.
    pub(crate) fn tell_host(&self) {
        let mut host = HOST.lock().unwrap_or_else(PoisonError::into_inner);
        host.get_or_insert_default().wait_for(self);
    }

    /// A launch takes so many seconds, or nobody knows how many.
    pub(crate) fn pass(&mut self, seconds: Result<f64, String>) {
        static UNKNOWN: AtomicU64 = AtomicU64::new(1);
        match seconds {
            Ok(seconds) => self.seconds += seconds,
            Err(why) => {
                let number = UNKNOWN.fetch_add(1, Ordering::Relaxed);
                self.unknown = (number, Some(why.into()));
            }
        }
    }

    /// What follows comes behind another point, too.
    pub(crate) fn wait_for(&mut self, other: &Self) {
        self.seconds = self.seconds.max(other.seconds);
        if other.unknown.0 > self.unknown.0 {
            self.unknown.clone_from(&other.unknown);
        }
    }

    /// Seconds from here to `later`; else why nobody knows.
    pub(crate) fn until(&self, later: &Self) -> Result<f64, Arc<str>> {
        if self.unknown.0 == later.unknown.0 {
            return Ok(later.seconds - self.seconds);
        }
        let last = if later.unknown.0 > self.unknown.0 { later } else { self };
        Err(last.unknown.1.clone().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_knows_is_never_a_time() {
        let mut time = ModelTime::default();
        time.pass(Ok(2.0));
        let start = time.clone();
        time.pass(Ok(3.0));
        assert_eq!(start.until(&time), Ok(3.0));
        assert_eq!(time.until(&start), Ok(-3.0));
        time.pass(Err("too long".into()));
        assert_eq!(start.until(&time), Err("too long".into()));
        // What is between two points behind it is known.
        let behind = time.clone();
        time.pass(Ok(1.0));
        assert_eq!(behind.until(&time), Ok(1.0));
        // Neither is it if another stream did it, or both did.
        let mut other = ModelTime::default();
        other.pass(Err("else".into()));
        assert_eq!(time.until(&other), Err("else".into()));
        let mut waits = start.clone();
        waits.wait_for(&other);
        assert_eq!(start.until(&waits), Err("else".into()));
        // Who waits goes on at the later of the two.
        let mut early = ModelTime::default();
        early.wait_for(&start);
        assert_eq!(ModelTime::default().until(&early), Ok(2.0));
    }
}
