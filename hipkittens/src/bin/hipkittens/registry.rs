//! The kernel crates that have ops: the one list that the subcommands go by.

use hk_core::kernel::KernelSet;
use hk_ref::Case;

/// What a crate has for the command.
pub(crate) struct KernelCrate {
    /// Its kernels.
    pub(crate) kernels: &'static KernelSet,
    /// The parity cases of its ops.
    pub(crate) cases: Vec<Case>,
    /// Its file of reasons.
    pub(crate) reasons: &'static str,
}

/// Every crate.
pub(crate) fn crates() -> [KernelCrate; 6] {
    [
        KernelCrate {
            kernels: hk_norm::parity::kernels(),
            cases: hk_norm::parity::cases(),
            reasons: hk_norm::parity::REASONS,
        },
        KernelCrate {
            kernels: hk_quant::parity::kernels(),
            cases: hk_quant::parity::cases(),
            reasons: hk_quant::parity::REASONS,
        },
        KernelCrate {
            kernels: hk_gdr::parity::kernels(),
            cases: hk_gdr::parity::cases(),
            reasons: hk_gdr::parity::REASONS,
        },
        KernelCrate {
            kernels: hk_gemm::parity::kernels(),
            cases: hk_gemm::parity::cases(),
            reasons: hk_gemm::parity::REASONS,
        },
        KernelCrate {
            kernels: hk_moe::parity::kernels(),
            cases: hk_moe::parity::cases(),
            reasons: hk_moe::parity::REASONS,
        },
        KernelCrate {
            kernels: hk_attn::parity::kernels(),
            cases: hk_attn::parity::cases(),
            reasons: hk_attn::parity::REASONS,
        },
    ]
}

/// The parity cases of every op.
pub(crate) fn cases() -> Vec<Case> {
    crates().into_iter().flat_map(|of| of.cases).collect()
}

/// The kernels of every crate that has some.
pub(crate) fn kernels() -> impl Iterator<Item = &'static KernelSet> {
    crates().into_iter().map(|of| of.kernels)
}
