/*
 * Libraries of HIP 7: code objects whose kernels are found by name, without a context as for modules. A kernel's handle
 * is a hipFunction_t. Code is read when it is loaded, so errors in it are returned then, and not at first use.
 */
#include "hip/code/module.h"
#include "hip/runtime/answer.h"

#include <stdlib.h>

typedef struct Library {
    hipModule_t module;
    Function **kernels; /* all that it has */
    unsigned count;
    struct Library *next;
} Library;

static Library *libraries;

static Library *library_find(const void *handle)
{
    Library *l = libraries;
    while (l && l != handle)
        l = l->next;
    return l;
}

static void library_end(Library *l)
{
    if (l->module)
        hipModuleUnload(l->module); /* ends its functions as well */
    free(l->kernels);
    free(l);
}

static hipError_t list_kernels(Library *l)
{
    const CodeObject *c = module_object(l->module);
    l->kernels = calloc(c->metadata.kernel_count + 1, sizeof *l->kernels);
    if (!l->kernels)
        return hipErrorOutOfMemory;
    for (u32 k = 0; k < c->metadata.kernel_count; k++) {
        hipFunction_t f;
        hipError_t error = hipModuleGetFunction(&f, l->module, c->metadata.kernels[k].name);
        if (error != hipSuccess)
            return error;
        l->kernels[l->count++] = (Function *)f;
    }
    return hipSuccess;
}

static hipError_t keep(hipError_t loaded, hipModule_t module, void **out)
{
    if (loaded != hipSuccess)
        return loaded;
    Library *l = calloc(1, sizeof *l);
    if (!l) {
        hipModuleUnload(module);
        return hipErrorOutOfMemory;
    }
    l->module = module;
    hipError_t error = list_kernels(l);
    if (error != hipSuccess) {
        library_end(l);
        return error;
    }
    runtime_lock();
    l->next = libraries;
    libraries = l;
    runtime_unlock();
    *out = l;
    return hipSuccess;
}

/* Options for compilation are an error, as in AMD's runtime; options of the library have no effect. */
hipError_t hipLibraryLoadData(void **library, const void *code, hipJitOption *options, void **values, unsigned count,
                              int *library_options, void **library_values, unsigned library_count);
hipError_t hipLibraryLoadData(void **library, const void *code, hipJitOption *options, void **values, unsigned count,
                              int *library_options, void **library_values, unsigned library_count)
{
    hipModule_t module;
    (void)options, (void)values, (void)library_options, (void)library_values, (void)library_count;
    if (!library || !code || count)
        return answer(hipErrorInvalidValue);
    hipError_t loaded = hipModuleLoadData(&module, code);
    return answer(keep(loaded, module, library));
}

hipError_t hipLibraryLoadFromFile(void **library, const char *path, hipJitOption *options, void **values, unsigned count,
                                  int *library_options, void **library_values, unsigned library_count);
hipError_t hipLibraryLoadFromFile(void **library, const char *path, hipJitOption *options, void **values, unsigned count,
                                  int *library_options, void **library_values, unsigned library_count)
{
    hipModule_t module;
    (void)options, (void)values, (void)library_options, (void)library_values, (void)library_count;
    if (!library || !path || count)
        return answer(hipErrorInvalidValue);
    hipError_t loaded = hipModuleLoad(&module, path);
    return answer(keep(loaded, module, library));
}

hipError_t hipLibraryUnload(void *library);
hipError_t hipLibraryUnload(void *library)
{
    runtime_lock();
    Library *l = library_find(library), **link = &libraries;
    while (l && *link != l)
        link = &(*link)->next;
    if (l)
        *link = l->next;
    runtime_unlock();
    if (l)
        library_end(l);
    return answer(l ? hipSuccess : hipErrorInvalidValue);
}

hipError_t hipLibraryGetKernel(void **kernel, void *library, const char *name);
hipError_t hipLibraryGetKernel(void **kernel, void *library, const char *name)
{
    runtime_lock();
    const Library *l = kernel && name ? library_find(library) : NULL;
    hipError_t error = l ? hipModuleGetFunction((hipFunction_t *)kernel, l->module, name) : hipErrorInvalidValue;
    runtime_unlock();
    return answer(error);
}

hipError_t hipLibraryGetKernelCount(unsigned *count, void *library);
hipError_t hipLibraryGetKernelCount(unsigned *count, void *library)
{
    runtime_lock();
    const Library *l = count ? library_find(library) : NULL;
    if (l)
        *count = l->count;
    runtime_unlock();
    return answer(l ? hipSuccess : hipErrorInvalidValue);
}

/* Up to `room` of them. */
hipError_t hipLibraryEnumerateKernels(void **kernels, unsigned room, void *library);
hipError_t hipLibraryEnumerateKernels(void **kernels, unsigned room, void *library)
{
    runtime_lock();
    const Library *l = kernels ? library_find(library) : NULL;
    for (unsigned k = 0; l && k < room && k < l->count; k++)
        kernels[k] = l->kernels[k];
    runtime_unlock();
    return answer(l ? hipSuccess : hipErrorInvalidValue);
}

hipError_t hipKernelGetLibrary(void **library, const void *kernel);
hipError_t hipKernelGetLibrary(void **library, const void *kernel)
{
    void *found = NULL;
    if (!library || !kernel)
        return answer(hipErrorInvalidValue);
    runtime_lock();
    for (Library *l = libraries; l; l = l->next)
        for (unsigned k = 0; k < l->count; k++)
            if (l->kernels[k] == kernel)
                found = l;
    runtime_unlock();
    if (found)
        *library = found;
    return answer(found ? hipSuccess : hipErrorInvalidHandle);
}

hipError_t hipKernelGetName(const char **name, const void *kernel);
hipError_t hipKernelGetName(const char **name, const void *kernel)
{
    if (!name || !kernel)
        return answer(hipErrorInvalidValue);
    if (!function_exists(kernel))
        return answer(hipErrorInvalidHandle);
    *name = ((const Function *)kernel)->kernel->name;
    return hipSuccess;
}
