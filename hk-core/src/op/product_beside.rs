//! A product in a launch that does something else besides.

use super::Call;
use super::plan::{Choice, Draft, Plan, Ready};
use super::product::{Product, ProductArgs};
use super::tiling::MAX_CHAIN;
use crate::kernel::TileConfig;
use crate::launch::KernelArgs;
use crate::{Error, Result};

impl Product<'_> {
    /// Launches it, not cut along k, in a kernel that does something else besides, in workgroups behind
    /// those of its blocks. `beside` makes the kernel's arguments of the product's, how many blocks it
    /// has, and the tile, and tells how many workgroups there are behind.
    ///
    /// # Errors
    /// As [`launch`](Self::launch), and those of `beside`; [`Error::Value`] also if rows are too long to
    /// be added up at once.
    ///
    /// # Safety
    /// The kernel, with those arguments, accesses only what the call's arguments are besides.
    pub unsafe fn launch_beside<A: KernelArgs + 'static>(
        self,
        mut call: Call,
        beside: impl FnOnce(ProductArgs, u32, &TileConfig) -> Result<(A, u32)>,
    ) -> Result<()> {
        let mut plan = Plan::new(&call, self.kernels);
        let Choice { kernel, tile, split } = plan.choose(&self)?;
        if split.count > 1 {
            let constraint = format!("rows of at most {MAX_CHAIN} elements");
            return Err(Error::value(plan.op(), self.names.x, constraint, self.problem.k));
        }
        let blocks = plan.grid(self.problem, tile, split)?;
        let draft = Draft::of(self, &plan, tile, split)?;
        let at = call.workspace(draft.bytes())?;
        let Ready { main, .. } = draft.prepare(&mut plan, at)?;
        let (args, more) = beside(main, blocks, kernel.tile())?;
        let grid =
            blocks.checked_add(more).filter(|grid| u64::from(*grid) <= tile.most_workgroups());
        let grid = grid.ok_or_else(|| {
            let constraint = format!("at most {} workgroups in all", tile.most_workgroups());
            Error::value(plan.op(), "y", constraint, u64::from(blocks) + u64::from(more))
        })?;
        plan.then(kernel, [grid, 1, 1], args);
        plan.submit(call)
    }
}
