// y = epilogue(x w^T) for w of e2m1 with a scale, e8m0, per block of 32 k of a row, and x of the same, of
// 8-bit floating point or of 16 bits; see hk/product.h and hk/mixed.h. CDNA4 multiplies 4 by 4 and 8 by
// 4 bits with their scales; everything else is expanded to bf16.
#include "hk/product.h"
