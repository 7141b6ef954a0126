// What products of every kind take beside their main kernels: see hk/product.h.
#include "hk/product.h"
