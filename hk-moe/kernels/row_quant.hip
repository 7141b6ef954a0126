// The kernels are those of `hk/row_quant.h`, and of smoothed rows those of `hk/smooth_quant.h`.
#include "hk/smooth_quant.h"
