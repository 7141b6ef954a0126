//! `hk/hip.h`: the coordinates by HIP's own names.

use hk_core::{AnyPtr, LaunchConfig, Tensor};

use crate::gpu::{Io, programs};

const SOURCE: &str = r#"
extern "C" __attribute__((global, amdgpu_flat_work_group_size(24, 24))) void coordinates(Io io) {
  const u32 block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const u32 thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  const u32 threads = blockDim.x * blockDim.y * blockDim.z;
  u32* out = static_cast<u32*>(io.out) + (block * threads + thread) * 4;
  const dim3 item = threadIdx, group = blockIdx, size = blockDim, count = gridDim;
  out[0] = item.x + 10 * item.y + 100 * item.z;
  out[1] = group.x + 10 * group.y + 100 * group.z;
  out[2] = size.x + 10 * size.y + 100 * size.z;
  out[3] = count.x + 10 * count.y + 100 * count.z;
}
"#;

#[test]
fn coordinates_are_those_of_the_launch() {
    let (grid, block) = ([3u32, 2, 5], [4u32, 3, 2]);
    let all = |size: [u32; 3]| {
        (0..size[2]).flat_map(move |z| {
            (0..size[1]).flat_map(move |y| (0..size[0]).map(move |x| x + 10 * y + 100 * z))
        })
    };
    let want: Vec<[u32; 4]> =
        all(grid).flat_map(|group| all(block).map(move |item| [item, group, 234, 523])).collect();
    for program in programs(&["hip.h", "types.h"], SOURCE) {
        let stream = program.device().default_stream();
        let mut out = Tensor::<u32>::zeros(&stream, &[want.len(), 4]).unwrap();
        let args = Io { a: AnyPtr::NULL, b: AnyPtr::NULL, out: out.ptr_mut().any(), n: 0 };
        let function = program.function("coordinates");
        let config = LaunchConfig { grid, block, ..LaunchConfig::new(1, 1) };
        // SAFETY: the kernel writes four numbers per work-item, for which there is room.
        unsafe { function.launch(&stream, config, &args) }.unwrap();
        assert_eq!(out.to_vec().unwrap(), want.as_flattened(), "{}", program.chip());
    }
}
