// The matrix instructions of the architecture that is being compiled for, in namespace hk::arch. Only
// what multiplies matrices includes them.
#pragma once

#include "hk/arch/arch.h"

#if defined(__gfx942__)
#include "hk/arch/cdna3_matrix.h"
#elif defined(__gfx950__)
#include "hk/arch/cdna4_matrix.h"
#endif
