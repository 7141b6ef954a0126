// Products of rows with the matrices of their experts, one expert's behind the other's, and the scales
// that they take. See hk/ragged.h.
#include "hk/mx_bytes.h"
#include "hk/ragged.h"
