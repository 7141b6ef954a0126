// Quantises x before a product: see hk/prequant.h.
#include "hk/prequant.h"
