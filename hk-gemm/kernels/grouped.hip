// Products of groups of rows whose sizes the device knows, for bf16 and f16; see hk/grouped.h.
#include "hk/grouped.h"
