/*
 * Source: LLVM AMDGPUUsage, "ELF Header" and "Target ID"; what is refused: AmdHsaCode::GetIsa() and
 * ExecutableImpl::LoadCodeObject() of AMD's ROCR-Runtime.
 */
#include "hip/code/target.h"

#include <stdio.h>
#include <string.h>

enum {
    OS_HSA = 64, MACHINE_MASK = 0xff, OLDEST = 3, NEWEST = 6,
    XNACK_SHIFT = 8, SRAMECC_SHIFT = 10, /* from version 4 on: two bits, a Setting */
    XNACK_OF_3 = 0x100, SRAMECC_OF_3 = 0x200,
};
enum { SETTING_OFF = 2, SETTING_ON = 3 }; /* 0: there is no such feature; 1: any */

const char *target_arch(u32 e_flags)
{
    static const struct { u8 machine; const char *name; } names[] = {
        {0x20, "gfx600"}, {0x21, "gfx601"}, {0x3a, "gfx602"}, {0x22, "gfx700"}, {0x23, "gfx701"}, {0x24, "gfx702"},
        {0x25, "gfx703"}, {0x26, "gfx704"}, {0x3b, "gfx705"}, {0x28, "gfx801"}, {0x29, "gfx802"}, {0x2a, "gfx803"},
        {0x3c, "gfx805"}, {0x2b, "gfx810"}, {0x2c, "gfx900"}, {0x2d, "gfx902"}, {0x2e, "gfx904"}, {0x2f, "gfx906"},
        {0x30, "gfx908"}, {0x31, "gfx909"}, {0x32, "gfx90c"}, {0x3f, "gfx90a"}, {0x4c, "gfx942"}, {0x4f, "gfx950"},
        {0x33, "gfx1010"}, {0x34, "gfx1011"}, {0x35, "gfx1012"}, {0x42, "gfx1013"}, {0x36, "gfx1030"},
        {0x37, "gfx1031"}, {0x38, "gfx1032"}, {0x39, "gfx1033"}, {0x3e, "gfx1034"}, {0x3d, "gfx1035"},
        {0x45, "gfx1036"}, {0x41, "gfx1100"}, {0x46, "gfx1101"}, {0x47, "gfx1102"}, {0x44, "gfx1103"},
        {0x43, "gfx1150"}, {0x4a, "gfx1151"}, {0x55, "gfx1152"}, {0x58, "gfx1153"}, {0x57, "gfx1154"},
        {0x5d, "gfx1170"}, {0x5e, "gfx1171"}, {0x5c, "gfx1172"}, {0x48, "gfx1200"}, {0x4e, "gfx1201"},
        {0x49, "gfx1250"}, {0x5a, "gfx1251"}, {0x50, "gfx1310"},
        {0x51, "gfx9-generic"}, {0x5f, "gfx9-4-generic"}, {0x52, "gfx10-1-generic"}, {0x53, "gfx10-3-generic"},
        {0x54, "gfx11-generic"}, {0x62, "gfx11-7-generic"}, {0x59, "gfx12-generic"}, {0x5b, "gfx12-5-generic"},
        {0x63, "gfx13-generic"},
    };
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (names[k].machine == (e_flags & MACHINE_MASK))
            return names[k].name;
    return NULL;
}

static void require(Target *t, const char *feature, bool on)
{
    size_t used = strlen(t->name);
    snprintf(t->name + used, sizeof t->name - used, ":%s%c", feature, on ? '+' : '-');
}

static void require_setting(Target *t, const char *feature, u32 setting)
{
    if (setting == SETTING_ON || setting == SETTING_OFF)
        require(t, feature, setting == SETTING_ON);
}

/* Version 3 cannot say "any": what is not on is off, on those GPUs that have the feature. */
static void require_as_version_3(Target *t, u32 flags)
{
    bool has_both = !strcmp(t->name, "gfx906") || !strcmp(t->name, "gfx908") || !strcmp(t->name, "gfx90a") ||
                    !strcmp(t->name, "gfx942") || !strcmp(t->name, "gfx950");
    if (has_both || flags & SRAMECC_OF_3)
        require(t, "sramecc", flags & SRAMECC_OF_3);
    if (has_both || flags & XNACK_OF_3)
        require(t, "xnack", flags & XNACK_OF_3);
}

bool target_read(const Elf64_Ehdr *h, Target *out, char *why, size_t why_bytes)
{
    u32 version = h->e_ident[EI_ABIVERSION] + 2u;
    const char *arch = target_arch(h->e_flags);
    *out = (Target){.version = version};
    if (h->e_ident[EI_OSABI] != OS_HSA) {
        snprintf(why, why_bytes, "the code object is not for AMD's HSA runtime: OS ABI %u", h->e_ident[EI_OSABI]);
        return false;
    }
    if (version < OLDEST || version > NEWEST) {
        snprintf(why, why_bytes, "the code object has version %u, and only 3 to 6 are loaded", version);
        return false;
    }
    if (!arch) {
        snprintf(why, why_bytes, "the ELF header names no known architecture: its machine is 0x%x", h->e_flags & MACHINE_MASK);
        return false;
    }
    snprintf(out->name, sizeof out->name, "%s", arch);
    if (version == 3) {
        require_as_version_3(out, h->e_flags);
    } else {
        require_setting(out, "sramecc", h->e_flags >> SRAMECC_SHIFT & 3);
        require_setting(out, "xnack", h->e_flags >> XNACK_SHIFT & 3);
    }
    return true;
}

/* LLVM AMDGPUUsage, "AMDGPU Generic Processors", of those that are emulated. */
static bool is_generic_of(const char *generic, const char *arch)
{
    static const char *const members[][2] = {
        {"gfx9-4-generic", "gfx942"}, {"gfx9-4-generic", "gfx950"}, {"gfx11-generic", "gfx1100"}, {"gfx12-generic", "gfx1201"},
    };
    for (size_t k = 0; k < sizeof members / sizeof *members; k++)
        if (!strcmp(members[k][0], generic) && !strcmp(members[k][1], arch))
            return true;
    return false;
}

static void first_part(char *out, size_t bytes, const char *name)
{
    snprintf(out, bytes, "%.*s", (int)strcspn(name, ":"), name);
}

bool target_fits(const Target *t, const char *device)
{
    char arch[32], device_arch[32];
    first_part(arch, sizeof arch, t->name);
    first_part(device_arch, sizeof device_arch, device);
    if (strcmp(arch, device_arch) && !is_generic_of(arch, device_arch))
        return false;
    const char *feature = strchr(t->name, ':');
    while (feature) {
        const char *next = strchr(feature + 1, ':');
        size_t length = next ? (size_t)(next - feature) : strlen(feature);
        char wanted[32];
        snprintf(wanted, sizeof wanted, "%.*s", (int)length, feature);
        if (!strstr(device, wanted))
            return false;
        feature = next;
    }
    return true;
}

const char *target_of_triple(const char *triple)
{
    bool amd = strstr(triple, "amdgcn") || strstr(triple, "amdgpu");
    const char *arch = amd ? strstr(triple, "-gfx") : NULL;
    return arch ? arch + 1 : NULL;
}
