//! Criterion benches over every crate of hipkittens; see `benches/`.
