//! The core `product_heads`: a batch of products and rows of heads beside their results, in one launch.

use hk_core::kernel::TileConfig;
use hk_core::op::Call;
use hk_core::op::product::{Product, ProductArgs};
use hk_core::op::rows::RowOptions;
use hk_core::{DevicePtr, Result, kernel_args};

use crate::heads::{Heads, HeadsArgs};

pub(crate) const CORE: &str = "product_heads";

/// Elements of the longest runs in which rows are moved.
const RUN: u64 = 8;

kernel_args! {
    /// Arguments of the kernel, as `kernels/product_heads.hip` declares them.
    pub(crate) struct ProductHeadsArgs {
        product: ProductArgs,
        heads: HeadsArgs,
        y_scale: DevicePtr<f32>,
        blocks: u32,
        reserved: u32,
    }
}

/// Both. The product's variant is the one for its elements, which those of the heads complete.
pub(crate) struct ProductHeads<'a> {
    pub(crate) product: Product<'a>,
    pub(crate) heads: Heads<'a>,
    /// What results are divided by.
    pub(crate) y_scale: Option<DevicePtr<f32>>,
}

impl ProductHeads<'_> {
    /// Launches the products, if they have results, and moves the rows.
    ///
    /// # Safety
    /// As of [`Heads::launch`].
    pub(crate) unsafe fn launch(self, call: Call, options: &RowOptions<'_>) -> Result<()> {
        let Self { product, heads, y_scale } = self;
        if product.problem.m == 0 {
            // SAFETY: passed on to the caller.
            return unsafe { heads.launch(call, options) };
        }
        let heads = heads.of_rows();
        let any = if heads.run().is_multiple_of(RUN) { "" } else { "_any" };
        let variant = format!("{}_{}{any}", product.variant, heads.variant);
        let product = Product { variant: &variant, tile: options.chosen_tile(), ..product };
        let (op, device) = (call.op(), call.device().clone());
        let beside = |product, blocks, tile: &TileConfig| {
            let most = options.most_workgroups(&device, tile);
            let (heads, more) = heads.prepare(op, tile, most)?;
            let y_scale = y_scale.unwrap_or(DevicePtr::NULL);
            Ok((ProductHeadsArgs { product, heads, y_scale, blocks, reserved: 0 }, more))
        };
        // SAFETY: passed on to the caller.
        unsafe { product.launch_beside(call, beside) }
    }
}
