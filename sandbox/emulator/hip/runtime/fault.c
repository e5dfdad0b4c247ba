#include "hip/runtime/fault.h"

hipError_t fault_latched(void)
{
    if (!runtime()->options.devices)
        return hipErrorNoDevice;
    return (hipError_t)__atomic_load_n(&runtime()->fault, __ATOMIC_ACQUIRE);
}

void fault_latch(hipError_t error)
{
    int none = hipSuccess;
    __atomic_compare_exchange_n(&runtime()->fault, &none, (int)error, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

void fault_clear(void) { __atomic_store_n(&runtime()->fault, hipSuccess, __ATOMIC_RELEASE); }
