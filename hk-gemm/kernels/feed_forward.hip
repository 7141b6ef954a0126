// y = activation(x up^T) down^T for bf16 and f16, perhaps gated, in one launch for few rows; see
// hk/feed_forward.h.
#include "hk/feed_forward.h"
