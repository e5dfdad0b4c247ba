#pragma once
/**
 *  @defgroup Memory Memory Management
 *  @{
 */

/// Results of all functions.
typedef enum exError_t {
  hipErrorExample = 17,  ///< The example went wrong.
  hipErrorOther = 18     ///< Something else.
} exError_t;

/**
 * @brief Copies bytes without waiting.
 *
 * @param [out] dst  Where to
 * @param [in]  src  Where from
 * @returns #hipSuccess, #hipErrorExample
 * @see exMallocManaged
 */
exError_t exMemcpyAsync(void* dst, const void* src,
                        size_t bytes);

/**
 * @brief Allocates memory that host and device share.
 * @param [out] pointer The memory
 */
exError_t exMallocManaged(void** pointer, size_t bytes);
/** @} */

__device__ inline int ex_lane_id() { return 0; }
