/* The reduction of large angles. */
#ifndef AMDKERNEL_MACHINE_TRIG_PREOP_H
#define AMDKERNEL_MACHINE_TRIG_PREOP_H

#include "emulator.h"

/* 53 bits of 2/pi, from bit 53 * segment on. */
double trig_preop(double x, u32 segment);

#endif
