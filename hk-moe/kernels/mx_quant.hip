// The kernels are those of `hk/mx_quant.h`.
#include "hk/mx_quant.h"
