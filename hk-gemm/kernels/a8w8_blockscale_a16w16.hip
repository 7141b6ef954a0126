// A product as that of a8w8_blockscale.hip and one of 16-bit operands, of the same rows; see
// hk/product_pair.h.
#include "hk/product_pair.h"
