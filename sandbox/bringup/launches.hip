// What sandbox/bringup/time_launches.py launches: neither kernel has an argument.
extern "C" __global__ void nothing() {}

// One wave that is busy for some microseconds on a GPU, however fast its memory is.
extern "C" __global__ void waits()
{
    for (int i = 0; i < 2000; i++)
        __builtin_amdgcn_s_sleep(1);
}
