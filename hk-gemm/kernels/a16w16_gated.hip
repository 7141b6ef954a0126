// y = epilogue(activation(x gates^T) * (x values^T)) for bf16 and f16; see hk/product.h. Gates and what they
// let through are multiplied by the same x in one pass, and end up in one lane.
#include "hk/product.h"
