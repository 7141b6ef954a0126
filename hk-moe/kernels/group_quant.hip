// The kernels are those of `hk/group_quant.h`.
#include "hk/group_quant.h"
