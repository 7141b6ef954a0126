// As mx.hip, where columns are heads of two parts that go to different tensors; see hk/split_cat.h.
#include "hk/product.h"
