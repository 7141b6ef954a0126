// Products of tokens with the matrices of their experts, for bf16, f16 and 8-bit floating point with scales of
// blocks; see hk/experts.h.
#include "hk/experts.h"
