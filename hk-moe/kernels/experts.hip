// Products of tokens with the matrices of their experts, for bf16 and f16, also with i8 and with e2m1 in MX
// blocks, and for 8-bit floating point with scales of blocks or tensors; see hk/experts.h.
#include "hk/experts.h"
#include "hk/mx_bytes.h"
