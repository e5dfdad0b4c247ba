/*
 * hipRTC, which AMD's libamdhip64.so exports as well: every call is passed to AMD's libhiprtc.so, which compiles with
 * libamd_comgr and needs no GPU. It gets the device's architecture from this library.
 */
#include "hip/runtime/runtime.h"

#include <dlfcn.h>
#include <hip/hiprtc.h>
#include <stdio.h>

static void *library;

static void open_library(void)
{
    static const char *const names[] = {"libhiprtc.so.6", "libhiprtc.so.7", "libhiprtc.so"};
    for (size_t i = 0; i < sizeof names / sizeof *names && !library; i++) {
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        if (library && dlsym(library, "hiprtcVersion") == (void *)hiprtcVersion) /* a link to this library */
            library = NULL;
    }
    if (!library)
        fputs("amdkernel emulator: hipRTC is not available: no libhiprtc.so can be loaded\n", stderr);
}

static void *entry(const char *name)
{
    static pthread_once_t opened = PTHREAD_ONCE_INIT;
    pthread_once(&opened, open_library);
    return library ? dlsym(library, name) : NULL;
}

/* `parameters` and `arguments` in parentheses, as a function has them. */
#define FORWARD(name, parameters, arguments)                                                                          \
    hiprtcResult name parameters                                                                                      \
    {                                                                                                                 \
        hiprtcResult(*theirs) parameters = (hiprtcResult(*) parameters)entry(#name);                                  \
        return theirs ? theirs arguments : HIPRTC_ERROR_INTERNAL_ERROR;                                               \
    }

FORWARD(hiprtcVersion, (int *major, int *minor), (major, minor))
FORWARD(hiprtcCreateProgram,
        (hiprtcProgram *program, const char *source, const char *name, int count, const char **headers,
         const char **names),
        (program, source, name, count, headers, names))
FORWARD(hiprtcDestroyProgram, (hiprtcProgram *program), (program))
FORWARD(hiprtcAddNameExpression, (hiprtcProgram program, const char *expression), (program, expression))
FORWARD(hiprtcCompileProgram, (hiprtcProgram program, int count, const char **options), (program, count, options))
FORWARD(hiprtcGetLoweredName, (hiprtcProgram program, const char *expression, const char **name),
        (program, expression, name))
FORWARD(hiprtcGetProgramLog, (hiprtcProgram program, char *log), (program, log))
FORWARD(hiprtcGetProgramLogSize, (hiprtcProgram program, size_t *bytes), (program, bytes))
FORWARD(hiprtcGetCode, (hiprtcProgram program, char *code), (program, code))
FORWARD(hiprtcGetCodeSize, (hiprtcProgram program, size_t *bytes), (program, bytes))
FORWARD(hiprtcGetBitcode, (hiprtcProgram program, char *code), (program, code))
FORWARD(hiprtcGetBitcodeSize, (hiprtcProgram program, size_t *bytes), (program, bytes))
FORWARD(hiprtcLinkCreate, (unsigned count, hiprtcJIT_option *options, void **values, hiprtcLinkState *state),
        (count, options, values, state))
FORWARD(hiprtcLinkAddFile,
        (hiprtcLinkState state, hiprtcJITInputType type, const char *path, unsigned count, hiprtcJIT_option *options,
         void **values),
        (state, type, path, count, options, values))
FORWARD(hiprtcLinkAddData,
        (hiprtcLinkState state, hiprtcJITInputType type, void *image, size_t bytes, const char *name, unsigned count,
         hiprtcJIT_option *options, void **values),
        (state, type, image, bytes, name, count, options, values))
FORWARD(hiprtcLinkComplete, (hiprtcLinkState state, void **code, size_t *bytes), (state, code, bytes))
FORWARD(hiprtcLinkDestroy, (hiprtcLinkState state), (state))

const char *hiprtcGetErrorString(hiprtcResult result)
{
    const char *(*theirs)(hiprtcResult) = (const char *(*)(hiprtcResult))entry("hiprtcGetErrorString");
    return theirs ? theirs(result) : "HIPRTC_ERROR_INTERNAL_ERROR";
}
