//! CPU references and the parity harness.
