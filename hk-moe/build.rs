//! Compiles the kernels of this crate.

fn main() -> std::process::ExitCode {
    hk_build::build()
}
