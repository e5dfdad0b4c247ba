/* What the checks know of a resident workgroup, its waves and the worker: types only. */
#ifndef AMDKERNEL_SHADOW_H
#define AMDKERNEL_SHADOW_H

#include "checks/findings.h"

enum { REGISTER_NUMBERS = FIRST_VGPR + VECTOR_REGISTERS, MAX_ORIGINS = 32, MAX_GROUP_WAVES = 32 };

/* ---- uninit/: uninitialised values on their way through registers ---- */

/* Where uninitialised values were loaded, one for each loading instruction, and where they were first used in a
 * computation (0: nowhere). */
typedef struct { Fault load; Place use; } Origin;
typedef struct { Origin known[MAX_ORIGINS]; u32 count; } Origins;

/* Flags of a lane's register, in addition to its unset bits. */
enum {
    UNDEFINED = 16, /* only constants and uninitialised values went into the whole register */
    PLACED = 64, /* its bits are where they were in the memory named by Uninit.placed */
    PARTLY_DEFINED = 32, /* it is as it was loaded, together with bytes that are set: a struct's padding, or an unused member */
    ALL_BYTES = 15,
};

/* Adds UNDEFINED if every bit of a value of `width` bytes is unset. */
static inline u32 undefined_if_all(u32 bits, u32 flags, u32 width)
{
    return bits == (width < 4 ? (1u << 8 * width) - 1 : ~0u) ? flags | UNDEFINED : flags;
}

/* What is known of a byte of memory: 0, or an origin + 1 with UNDEFINED and PARTLY_DEFINED as kept_mark() puts them, and its unset
 * bits. */
typedef struct { u16 mark; u8 bits; } Kept;

/* Memory that an instruction loaded last, lane by lane. */
typedef struct { u64 address[LANES]; u32 bytes; } Loaded;

typedef struct {
    u32 vector[VECTOR_REGISTERS][LANES]; /* a bit for each that is unset */
    u32 scalar[FIRST_VGPR];      /* likewise; SOURCE_SCC as well */
    u64 lanes[REGISTER_NUMBERS]; /* with such bits; of a scalar register all or none */
    u64 undefined[REGISTER_NUMBERS], partly_defined[REGISTER_NUMBERS], placed[REGISTER_NUMBERS];
    u8 origin[REGISTER_NUMBERS];
    Origins origins;
    Loaded loaded[MAX_ORIGINS];  /* by origin */
    u32 live;                    /* registers with such lanes */
    u64 loaded_end[LANES], copied_end[LANES]; /* of what a lane last loaded or stored so with something set in it, too */
    Kept *scratch;               /* of each byte, lane after lane */
    bool spilled;                /* something in `scratch` is not 0 */
} Uninit;

/* ---- happens_before.c: a vector clock for each wave ---- */

/* Accesses are stamped with their wave's epoch. A new epoch begins where other waves may acquire the old ones. */
typedef enum { DEFINITE, POSSIBLE, CERTAINTIES } Certainty; /* of a release; POSSIBLE: it counts for those who acquire */

typedef struct {
    u32 own;                         /* the last own epoch that other workgroups may acquire; 0: none */
    u32 sibling[MAX_GROUP_WAVES];    /* Order.sibling at that time */
} Released;

/* How something comes to LDS: stored from registers, or moved from memory. Each way keeps its own order. */
typedef enum { LANDS_STORED, LANDS_MOVED, LANDINGS } Landing;

typedef struct {
    u32 stamp;                       /* of accesses from now on */
    Released released[CERTAINTIES];
    u32 before_signals;              /* the last own epoch that its signals publish */
    u32 sibling[MAX_GROUP_WAVES];    /* the last epoch of each wave of the workgroup that this one knows */
    u32 *foreign[CERTAINTIES];       /* likewise of waves of other workgroups, by bucket; NULL: nothing */
    bool learnt;                     /* `foreign` changed since the last barrier */
    bool stores_pending;             /* some that no wait has covered */
    u32 landing[LANDINGS];           /* the first own epoch whose stores to LDS may still be on their way; 0: none */
    u32 unlanded[LANDINGS][MAX_GROUP_WAVES]; /* of each wave, at the last barrier: `landing` */
} HappensBefore;

struct Outstanding; /* waits/outstanding.h */

typedef struct WaveShadow {
    Uninit *uninit;
    u8 *written;                 /* of private memory, see uninit/private.c */
    HappensBefore happens_before;
    struct Outstanding *outstanding;
} WaveShadow;

/* ---- races.c ---- */

/* One access to a dword. */
typedef struct {
    u32 time, wave;              /* epoch (0: none); wave of the dispatch */
    u32 inst : 22, mask : 4, how : 6; /* bytes of the dword; bits of races.h */
    u32 caller : 22, lane : 6;   /* the kernel's call that led here, or NO_CALLER */
    u32 : 3, published : 1;      /* by MAY_SIGNAL: what it publishes is in the table of signals */
} Entry;
enum { NO_CALLER = (1 << 22) - 1 };
/* Two stores, for halves of a dword often belong to different waves. */
typedef struct { Entry write[2], read[2]; } Cell;

typedef struct SyncTable SyncTable;

enum { LDS_NEVER_WRITTEN = 1, LDS_CARRIED = 2 };

/* UNDEFINED and PARTLY_DEFINED in a byte of memory, above an origin's number. */
enum { KEPT_NUMBER = 63, KEPT_SHIFT = 2 };
static inline u16 kept_mark(u32 number, u32 flags) { return (u16)(number | flags << KEPT_SHIFT); }
static inline u32 kept_flags(u16 mark) { return mark >> KEPT_SHIFT & (UNDEFINED | PARTLY_DEFINED | PLACED); }

struct GroupShadow {
    u64 number;                  /* of the workgroup */
    bool raced;                  /* races are looked for in it */
    u8 *lds_unset;               /* a byte for each byte of LDS: 1 until something writes it, 0 then, or LDS_CARRIED and
                                    an origin as kept_mark() puts them, where what was written depends on an uninitialised value */
    u8 *lds_bits;                /* and its unset bits then */
    u32 lds_left;                /* of these that are not 0 */
    Origins lds_origins;
    u32 lds_bytes, wave_count;
    Cell *lds_cells;             /* races only */
    u32 began;                   /* epochs up to this are those of earlier workgroups */
    SyncTable *lds_sync;
    WaveShadow wave[MAX_GROUP_WAVES];
};

static inline WaveShadow *shadow_of(const Wave *w) { return &w->shadow->wave[w->index]; }

struct Checks {
    const struct Annotation *annotations; /* of each instruction */
    struct Races *races; /* NULL: not looked for */
    u8 *reads_arguments; /* of each instruction: it has read one of the kernel's own */
    bool waits;          /* followed: the code may lack one */
    struct EarlyReads *early_reads; /* of registers, by the kernel; NULL: not looked for */
};

#endif
