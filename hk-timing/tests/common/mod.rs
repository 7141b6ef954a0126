//! What the tests share with the example `calibrate`: launches of small kernels, and the published figures
//! that are held against the model.

#![allow(dead_code, reason = "each test file uses a part")]

pub(crate) mod fit;
pub(crate) mod kernel;
pub(crate) mod points;
pub(crate) mod report;
