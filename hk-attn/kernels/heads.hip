// Rows of heads, moved from tensors of tokens to others, and into caches by slots: see hk/heads.h.
#include "hk/heads.h"
