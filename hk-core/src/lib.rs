//! Host API of hipkittens.
