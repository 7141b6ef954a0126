// y = epilogue(sum_g x_scale[m, g] w_scale[n / group_n, g] sum_{k in g} x w) for 8-bit floating point
// with scales per group of k; see hk/product.h.
//
// Where groups are of 128 or 256 k and of as many rows of w, a block has one scale of w per group, and
// atoms are as long as they can be. Other groups have a tile of their own, with short atoms.
#include "hk/product.h"
