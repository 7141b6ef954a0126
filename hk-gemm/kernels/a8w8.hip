// y = epilogue(x w^T) for 8-bit integers and 8-bit floating point, with a scale per row of x and per
// row of w among the steps of the epilogue; see hk/product.h. Sums of integers are exact.
//
// Schedules (hk/gemm.h): eight waves in ping-pong for the largest tiles, where the matrix units are
// the limit; interleaved for all others.
#include "hk/product.h"
