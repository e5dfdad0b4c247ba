/* Modules: code objects that the program loads itself. */
#ifndef AMDKERNEL_HIP_MODULE_H
#define AMDKERNEL_HIP_MODULE_H

#include "hip/code/function.h"

/* What a module was loaded from. */
const CodeObject *module_object(hipModule_t module);

#endif
