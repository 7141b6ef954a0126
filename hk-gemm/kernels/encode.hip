// Makes results of a product e4m3, y = round(x / scale): see hk/encode.h.
#include "hk/encode.h"
