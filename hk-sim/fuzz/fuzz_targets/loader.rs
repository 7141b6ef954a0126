//! The loader takes any bytes without a panic, a hang or a large allocation.

#![no_main]

use hk_sim::isa::Arch;
use hk_sim::object::{CodeObject, bundle};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = bundle::extent(bytes);
    for arch in [Arch::Gfx942, Arch::Gfx950] {
        let Ok(selected) = bundle::select(bytes, arch) else { continue };
        let Ok(object) = CodeObject::parse(selected) else { continue };
        for kernel in object.kernels() {
            let _ = object.source_line(kernel.entry_vaddr);
        }
        // Zero-filled segments are bounded, but slow to write thousands of times a second.
        if object.image_size() < 1 << 24 {
            let _ = object.image(0x1000);
        }
    }
});
