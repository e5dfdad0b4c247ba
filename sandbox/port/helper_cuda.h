// What many sample programs take from helper_cuda.h, helper_string.h, helper_timer.h and helper_functions.h.
#pragma once
#include <hip/hip_runtime.h>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#define checkCudaErrors(call) cuda_helper_check(static_cast<hipError_t>(call), #call, __FILE__, __LINE__)
#define getLastCudaError(text) cuda_helper_check(hipGetLastError(), text, __FILE__, __LINE__)
inline void cuda_helper_check(hipError_t error, const char *what, const char *file, int line)
{
    if (error == hipSuccess)
        return;
    fprintf(stderr, "%s:%d: %s: %s\n", file, line, what, hipGetErrorString(error));
    exit(EXIT_FAILURE);
}
inline const char *_cudaGetErrorEnum(hipError_t error) { return hipGetErrorString(error); }
// -name=value, --name=value or -name.
inline const char *cuda_helper_value(int count, const char **words, const char *name)
{
    for (int i = 1; i < count; i++) {
        const char *word = words[i];
        while (*word == '-')
            word++;
        size_t length = strlen(name);
        if (word != words[i] && strncmp(word, name, length) == 0 && (word[length] == '=' || !word[length]))
            return word + length + (word[length] == '=');
    }
    return nullptr;
}
inline bool checkCmdLineFlag(int count, const char **words, const char *name)
{
    return cuda_helper_value(count, words, name) != nullptr;
}
inline int getCmdLineArgumentInt(int count, const char **words, const char *name)
{
    const char *value = cuda_helper_value(count, words, name);
    return value ? atoi(value) : 0;
}
inline float getCmdLineArgumentFloat(int count, const char **words, const char *name)
{
    const char *value = cuda_helper_value(count, words, name);
    return value ? static_cast<float>(atof(value)) : 0.0f;
}
inline bool getCmdLineArgumentString(int count, const char **words, const char *name, char **found)
{
    const char *value = cuda_helper_value(count, words, name);
    *found = const_cast<char *>(value);
    return value != nullptr;
}
inline int gpuGetMaxGflopsDeviceId() { return 0; }
inline int findCudaDevice(int, const char **)
{
    checkCudaErrors(hipSetDevice(0));
    return 0;
}
inline int gpuDeviceInit(int device)
{
    checkCudaErrors(hipSetDevice(device));
    return device;
}
inline bool checkCudaCapabilities(int, int) { return true; }
inline int _ConvertSMVer2Cores(int, int) { return 64; }
inline char *sdkFindFilePath(const char *name, const char *) { return strdup(name); }
struct StopWatchInterface {
    std::chrono::steady_clock::time_point since;
    float total_ms = 0;
    int runs = 0;
};
inline bool sdkCreateTimer(StopWatchInterface **timer) { return *timer = new StopWatchInterface, true; }
inline bool sdkDeleteTimer(StopWatchInterface **timer) { return delete *timer, *timer = nullptr, true; }
inline bool sdkStartTimer(StopWatchInterface **timer) { return (*timer)->since = std::chrono::steady_clock::now(), true; }
inline bool sdkStopTimer(StopWatchInterface **timer)
{
    std::chrono::duration<float, std::milli> passed = std::chrono::steady_clock::now() - (*timer)->since;
    (*timer)->total_ms += passed.count();
    (*timer)->runs++;
    return true;
}
inline bool sdkResetTimer(StopWatchInterface **timer) { return **timer = StopWatchInterface(), sdkStartTimer(timer); }
inline float sdkGetTimerValue(StopWatchInterface **timer) { return (*timer)->total_ms; }
inline float sdkGetAverageTimerValue(StopWatchInterface **timer)
{
    return (*timer)->runs ? (*timer)->total_ms / static_cast<float>((*timer)->runs) : 0.0f;
}
template <class T, class S> inline bool sdkCompareL2fe(const T *reference, const T *data, unsigned n, S epsilon)
{
    double error = 0, norm = 0;
    for (unsigned i = 0; i < n; i++) {
        error += (reference[i] - data[i]) * (reference[i] - data[i]);
        norm += reference[i] * reference[i];
    }
    return norm > 1e-7 && sqrt(error / norm) < epsilon;
}
template <class T, class S> inline bool compareData(const T *reference, const T *data, unsigned n, S epsilon, float share)
{
    unsigned far = 0;
    for (unsigned i = 0; i < n; i++)
        far += !(std::fabs(static_cast<double>(reference[i]) - static_cast<double>(data[i])) <= epsilon);
    return far <= share * n;
}
#ifndef EXIT_WAIVED
#define EXIT_WAIVED 2
#endif
#ifndef MIN
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#endif
