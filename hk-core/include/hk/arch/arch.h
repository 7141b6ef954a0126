// The architecture that is being compiled for, in namespace hk::arch. Every difference between
// architectures is in the two files chosen from here; the rest of the library and all kernels ask
// them for capabilities and never for a name.
#pragma once

#if defined(__gfx942__)
#include "hk/arch/cdna3.h"
#elif defined(__gfx950__)
#include "hk/arch/cdna4.h"
#else
#error "hipkittens supports gfx942 and gfx950; add a file to hk/arch for another architecture"
#endif
