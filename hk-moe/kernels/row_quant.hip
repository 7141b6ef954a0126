// The kernels are those of `hk/row_quant.h`.
#include "hk/row_quant.h"
