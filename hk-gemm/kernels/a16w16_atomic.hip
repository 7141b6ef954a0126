// y = x w^T or y + x w^T for bf16 and f16, where shares of k are added to y by atomic operations; see
// hk/product.h.
#include "hk/product.h"
