/* Modules: code objects that the program loads itself, and questions about their functions. */
#include "hip/code/module.h"

#include "hip/code/registered.h"
#include "hip/devices/device.h"
#include "hip/runtime/answer.h"
#include "hip/streams/queue.h"
#include "hip/work/work_races.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ihipModule_t {
    CodeObject *object;
    Function **functions; /* made so far; a handle lives as long as its module */
    u32 function_count;
};

static hipError_t load(hipModule_t *module, const void *image, size_t bytes)
{
    char why[256] = "";
    CodeObject *object = NULL;
    *module = NULL;
    runtime_lock();
    hipError_t error = code_object_load(image, bytes, &object, why, sizeof why);
    runtime_unlock();
    if (error != hipSuccess) {
        fprintf(stderr, "amdkernel emulator: %s\n", why);
        return error;
    }
    *module = calloc(1, sizeof **module);
    if (!*module) {
        code_object_unload(object);
        return hipErrorOutOfMemory;
    }
    (*module)->object = object;
    return hipSuccess;
}

hipError_t hipModuleLoadData(hipModule_t *module, const void *image)
{
    if (!module || !image)
        return answer(hipErrorInvalidValue);
    return answer(load(module, image, SIZE_MAX)); /* HIP does not pass the size of the image */
}

hipError_t hipModuleLoadDataEx(hipModule_t *module, const void *image, unsigned count, hipJitOption *options,
                               void **values)
{
    (void)count, (void)options, (void)values;
    return hipModuleLoadData(module, image);
}

hipError_t hipModuleLoad(hipModule_t *module, const char *path)
{
    if (!module || !path)
        return answer(hipErrorInvalidValue);
    FILE *file = fopen(path, "rb");
    if (!file)
        return answer(hipErrorFileNotFound);
    hipError_t error = hipErrorInvalidImage;
    u8 *image = NULL;
    long bytes = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    if (bytes > 0 && fseek(file, 0, SEEK_SET) == 0) {
        image = malloc((size_t)bytes);
        if (!image)
            error = hipErrorOutOfMemory;
        else if (fread(image, 1, (size_t)bytes, file) == (size_t)bytes)
            error = load(module, image, (size_t)bytes);
    }
    free(image);
    fclose(file);
    return answer(error);
}

const CodeObject *module_object(hipModule_t module) { return module->object; }

hipError_t hipModuleUnload(hipModule_t module)
{
    if (!module)
        return answer(hipErrorInvalidHandle);
    queue_wait_all();
    runtime_lock();
    for (u32 i = 0; i < module->function_count; i++)
        function_end(module->functions[i]);
    free(module->functions);
    work_races_forget_object(module->object);
    code_object_unload(module->object);
    free(module);
    runtime_unlock();
    return hipSuccess;
}

static hipError_t get_function(hipFunction_t *function, hipModule_t module, const char *name)
{
    Function *made = NULL;
    for (u32 i = 0; i < module->function_count; i++) {
        if (!strcmp(module->functions[i]->kernel->name, name)) {
            *function = (hipFunction_t)module->functions[i];
            return hipSuccess;
        }
    }
    hipError_t error = function_make(module->object, name, &made);
    if (error != hipSuccess)
        return error;
    Function **more = realloc(module->functions, (module->function_count + 1) * sizeof *more);
    if (!more) {
        function_end(made);
        return hipErrorOutOfMemory;
    }
    module->functions = more;
    module->functions[module->function_count++] = made;
    *function = (hipFunction_t)made;
    return hipSuccess;
}

hipError_t hipModuleGetFunction(hipFunction_t *function, hipModule_t module, const char *name)
{
    if (!function || !name)
        return answer(hipErrorInvalidValue);
    if (!module)
        return answer(hipErrorInvalidHandle);
    runtime_lock();
    hipError_t error = get_function(function, module, name);
    runtime_unlock();
    return answer(error);
}

hipError_t hipModuleGetGlobal(hipDeviceptr_t *address, size_t *bytes, hipModule_t module, const char *name)
{
    if (!name || !module || (!address && !bytes))
        return answer(hipErrorInvalidValue);
    const Symbol *s = code_object_symbol(module->object, name);
    if (!s || !s->is_variable)
        return answer(hipErrorNotFound);
    if (address)
        *address = (hipDeviceptr_t)(uintptr_t)s->address;
    if (bytes)
        *bytes = s->bytes;
    return hipSuccess;
}

static hipError_t function_attribute(const Function *f, hipFunction_attribute which, int *value)
{
    const KernelMetadata *k = f->kernel;
    switch (which) {
    case HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        *value = (int)(k->max_workgroup ? k->max_workgroup : MAX_WORKGROUP);
        return hipSuccess;
    case HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *value = (int)k->lds_bytes; return hipSuccess;
    case HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: *value = (int)k->scratch_bytes; return hipSuccess;
    case HIP_FUNC_ATTRIBUTE_NUM_REGS: *value = (int)k->vgprs; return hipSuccess;
    case HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        *value = (int)(device()->lds_bytes - k->lds_bytes);
        return hipSuccess;
    case HIP_FUNC_ATTRIBUTE_BINARY_VERSION: case HIP_FUNC_ATTRIBUTE_PTX_VERSION:
        *value = device()->major * 10 + device()->minor;
        return hipSuccess;
    case HIP_FUNC_ATTRIBUTE_CONST_SIZE_BYTES: case HIP_FUNC_ATTRIBUTE_CACHE_MODE_CA:
    case HIP_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        *value = 0;
        return hipSuccess;
    default: return hipErrorInvalidValue;
    }
}

hipError_t hipFuncGetAttribute(int *value, hipFunction_attribute which, hipFunction_t function)
{
    if (!value || !function)
        return answer(value ? hipErrorInvalidDeviceFunction : hipErrorInvalidValue);
    return answer(function_attribute((Function *)function, which, value));
}

hipError_t hipFuncGetAttributes(struct hipFuncAttributes *out, const void *host_function)
{
    hipError_t error = hipSuccess;
    if (!out)
        return answer(hipErrorInvalidValue);
    const Function *f = registered_function(host_function, &error);
    if (!f)
        return answer(error);
    *out = (struct hipFuncAttributes){
        .binaryVersion = device()->major * 10 + device()->minor,
        .ptxVersion = device()->major * 10 + device()->minor,
        .localSizeBytes = f->kernel->scratch_bytes,
        .sharedSizeBytes = f->kernel->lds_bytes,
        .maxDynamicSharedSizeBytes = (int)(device()->lds_bytes - f->kernel->lds_bytes),
        .maxThreadsPerBlock = (int)(f->kernel->max_workgroup ? f->kernel->max_workgroup : MAX_WORKGROUP),
        .numRegs = (int)f->kernel->vgprs,
    };
    return hipSuccess;
}

hipError_t hipFuncSetAttribute(const void *host_function, hipFuncAttribute which, int value)
{
    (void)which, (void)value;
    return answer(host_function ? hipSuccess : hipErrorInvalidDeviceFunction);
}

hipError_t hipFuncSetSharedMemConfig(const void *host_function, hipSharedMemConfig config)
{
    (void)config;
    return answer(host_function ? hipSuccess : hipErrorInvalidDeviceFunction);
}

hipError_t hipModuleGetFunctionCount(unsigned *count, hipModule_t module);
hipError_t hipModuleGetFunctionCount(unsigned *count, hipModule_t module)
{
    if (!count || !module)
        return answer(count ? hipErrorInvalidHandle : hipErrorInvalidValue);
    *count = module->object->metadata.kernel_count;
    return hipSuccess;
}

hipError_t hipFuncSetCacheConfig(const void *host_function, hipFuncCache_t config)
{
    (void)config;
    return answer(host_function ? hipSuccess : hipErrorInvalidDeviceFunction);
}
