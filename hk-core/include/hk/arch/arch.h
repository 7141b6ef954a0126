// The architecture that is being compiled for, in namespace hk::arch. Every difference between
// architectures is in the file chosen from here; the rest of the library and all kernels ask it for
// capabilities and never for a name. A macro HK_ARCH_HEADER names another file.
#pragma once

#if defined(HK_ARCH_HEADER)
#include HK_ARCH_HEADER
#elif defined(__gfx942__)
#include "hk/arch/cdna3.h"
#elif defined(__gfx950__)
#include "hk/arch/cdna4.h"
#else
#error "hipkittens supports gfx942 and gfx950; add a file to hk/arch for another architecture"
#endif
