//===- Devices.h - A flashc context and a stream for each device -*- C++-*-===//
#ifndef FLASHC_INTEGRATIONS_TORCH_DEVICES_H
#define FLASHC_INTEGRATIONS_TORCH_DEVICES_H

#include <flashc/flashc.hpp>
#include <torch/csrc/stable/tensor.h>

namespace flashc_torch {

/// The context of a tensor's device, made when it is first asked for and kept
/// until the process ends. It uses the device's primary CUDA context, as torch
/// does. Throws std::runtime_error where flashc cannot use the device.
const flashc::Context &contextFor(const torch::stable::Tensor &tensor);

/// torch's current stream on a tensor's GPU, a CUstream; null on a CPU.
void *currentStream(const torch::stable::Tensor &tensor);

/// Throws what flashc says as an error of torch's.
[[noreturn]] void raise(const flashc::Error &error);

} // namespace flashc_torch

#endif // FLASHC_INTEGRATIONS_TORCH_DEVICES_H
