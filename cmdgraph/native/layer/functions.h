/* The device functions that the layer stands in front of, and those that it only calls. `commands.gen.h` is made by
 * cmdgraph.native.build from the Vulkan header: all other vkCmd* functions that it declares, which no graph can hold. */
#ifndef CMDGRAPH_FUNCTIONS_H
#define CMDGRAPH_FUNCTIONS_H
#include <vulkan/vulkan.h>

#include "commands.gen.h"

#define CG_WRAPPED(X)                                                                                             \
  X(DestroyDevice) X(GetDeviceQueue) X(GetDeviceQueue2)                                                           \
  X(QueueSubmit) X(QueueSubmit2) X(QueueSubmit2KHR) X(QueueWaitIdle) X(QueueBindSparse) X(QueuePresentKHR)        \
  X(DeviceWaitIdle) X(BeginCommandBuffer) X(EndCommandBuffer)                                                     \
  X(CmdBindPipeline) X(CmdBindDescriptorSets) X(CmdPushConstants) X(CmdPipelineBarrier) X(CmdDispatch)            \
  X(CmdDispatchIndirect) X(CmdCopyBuffer) X(CmdFillBuffer)                                                        \
  X(AllocateDescriptorSets) X(FreeDescriptorSets) X(ResetDescriptorPool) X(DestroyDescriptorPool)                 \
  X(UpdateDescriptorSets) X(UpdateDescriptorSetWithTemplate) X(UpdateDescriptorSetWithTemplateKHR)                \
  X(BindBufferMemory) X(BindBufferMemory2) X(BindBufferMemory2KHR) X(DestroyBuffer) X(FreeMemory)                 \
  X(DestroyPipeline)

#define CG_CALLED(X)                                                                                              \
  X(CreateCommandPool) X(DestroyCommandPool) X(AllocateCommandBuffers) X(CreateFence) X(DestroyFence)             \
  X(ResetFences) X(WaitForFences) X(GetFenceStatus)

/* cg_CmdDispatch and so on. */
#define CG_DECLARE(name) __typeof__(vk##name) cg_##name;
CG_WRAPPED(CG_DECLARE) CG_REFUSED_COMMANDS(CG_DECLARE)
#undef CG_DECLARE

#endif
