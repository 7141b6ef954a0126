// The kernels are those of `hk/static_quant.h`.
#include "hk/static_quant.h"
