// y = epilogue(sum_g w_scale[n / group_n, g] sum_{k in g} x w) for x of 16 bits and w of 8 bits with scales
// per group of k; see hk/product.h. w is expanded to x's type in registers, which is exact.
//
// Where groups are of 128 or 256 k and of as many rows of w, a block has one scale per group. Others have a
// tile of their own.
#include "hk/product.h"
