//! References of `hk-quant`.

#[expect(clippy::module_inception, reason = "modules are named as in the catalogue")]
pub mod quant;
