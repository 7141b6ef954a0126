//! What watches a launch instruction by instruction, such as the sanitizer.

use super::Wave;

/// Watches a launch.
pub trait Observer: Sync {
    /// Watches workgroups of so many waves, one after the other.
    fn group(&self, waves: usize) -> Box<dyn GroupObserver + '_>;
}

/// Watches one workgroup at a time, on the thread that runs it. Between the turns of a workgroup,
/// which may go on on another thread, it holds nothing that belongs to a thread.
pub trait GroupObserver {
    /// The workgroup with this linear number begins, with these waves.
    fn begin(&mut self, group: u64, waves: &[Wave<'_>]);

    /// A wave is about to execute the instruction at that index, on the registers that it has.
    /// Returns whether other workgroups should have their turn behind it.
    fn before(&mut self, wave: &Wave<'_>, index: usize) -> bool;

    /// It has executed it.
    fn after(&mut self, wave: &Wave<'_>, index: usize);

    /// All waves have come to a barrier or ended; masks of which did.
    fn barrier(&mut self, arrived: u64, ended: u64);

    /// All waves have ended.
    fn end(&mut self);
}
