//! References of whole models.

pub mod bert;
