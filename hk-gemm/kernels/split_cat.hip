// Copies heads beside those that a product makes: see hk/split_cat.h.
#include "hk/split_cat.h"
