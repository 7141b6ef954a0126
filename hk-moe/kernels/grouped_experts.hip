// Products of tokens with matrices of integers that have scales of groups of k; see hk/expert_groups.h.
#include "hk/expert_groups.h"
