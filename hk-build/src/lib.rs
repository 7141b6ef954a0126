//! Build-script library of hipkittens.
