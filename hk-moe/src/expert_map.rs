//! The core `expert_map`: the experts that gates have on this device.

use hk_core::op::Arguments;
use hk_core::{DevicePtr, Result, TensorSlice, kernel_args};

use crate::KERNELS;

kernel_args! {
    /// Arguments of the kernel, as `kernels/expert_map.hip` declares them.
    pub(crate) struct ExpertMapArgs {
        ids: DevicePtr<i32>,
        map: DevicePtr<i32>,
        local: DevicePtr<i32>,
        slots: DevicePtr<i32>,
        gates: u32,
        experts: u32,
        here: u32,
    }
}

/// Lanes of a workgroup, and workgroups at most: few gates are left for a second turn.
const LANES: usize = 256;
const MOST: usize = 1024;

/// Gives each gate the number of its expert among those `here`, which the map has for it if there
/// is one, or -1, and its own number, or -1 if the expert is not here.
pub(crate) fn expert_map(
    op: &'static str,
    ids: &TensorSlice<i32>,
    map: Option<&TensorSlice<i32>>,
    [experts, here]: [usize; 2],
    [local, slots]: [&mut TensorSlice<i32>; 2],
) -> Result<()> {
    let mut args = Arguments::new(op);
    args.input("ids", ids, &["T", "k"]).contiguous()?;
    let [tokens, k] = args.sizes(["T", "k"])?;
    let gates = tokens * k;
    args.define("E", experts);
    if let Some(map) = map {
        args.input("expert_map", map, &["E"]).contiguous()?;
    }
    args.output("local", local, &["T", "k"]).contiguous()?;
    args.output("slots", slots, &["T", "k"]).contiguous()?;
    let call = args.check()?;
    let kernel = KERNELS.function(call.device(), op, "expert_map", "any", &[])?;
    let args = ExpertMapArgs {
        ids: ids.ptr(),
        map: map.map_or(DevicePtr::NULL, TensorSlice::ptr),
        local: local.ptr_mut(),
        slots: slots.ptr_mut(),
        gates: gates as u32,
        experts: experts as u32,
        here: here as u32,
    };
    let grid = gates.div_ceil(LANES).clamp(1, MOST) as u32;
    call.submit(|stream| {
        // SAFETY: the kernel reads and writes as many numbers as there are gates.
        unsafe { kernel.launch(stream, [grid, 1, 1], &args) }
    })
}
