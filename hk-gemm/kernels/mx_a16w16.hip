// A product of e2m1 with e2m1, as mx.hip has it, and one of 16-bit operands, of the same rows; see
// hk/product_pair.h.
#include "hk/product_pair.h"
