/* Which of the machine's devices the process sees. */
#ifndef AMDKERNEL_HIP_VISIBLE_DEVICES_H
#define AMDKERNEL_HIP_VISIBLE_DEVICES_H

#include "hip/runtime/hip.h"

/* How many of the machine's devices the environment leaves to the process. Called once, at its start. */
int visible_devices_find(int of_machine, const char *arch);
/* The machine's number of a device of the process. */
int visible_devices_number(int ordinal);
/* Its PCI bus. */
int visible_devices_bus(int ordinal);
/* Identifies a device of the machine: it is the same whichever devices are visible. */
hipUUID visible_devices_uuid(int number, const char *arch);

#endif
