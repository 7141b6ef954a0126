// Gradients of attention that are added to memory; see hk/attention_backward.h.
#include "attention_backward.hip"
