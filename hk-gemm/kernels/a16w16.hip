// y = epilogue(x w^T) for bf16 and f16; see hk/product.h.
//
// Schedules (hk/gemm.h): eight waves in ping-pong for the largest tiles, where the matrix units are
// the limit; interleaved for all others.
#include "hk/product.h"
