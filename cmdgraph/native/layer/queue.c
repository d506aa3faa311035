/* vkQueue*: one call at a time, because replays come from threads that the implementation knows nothing of. */
#include "layer.h"

const struct cg_queue *cg_find_queue(const struct cg_device *device, VkQueue queue) {
  for (size_t i = 0; i < device->queue_count; i++)
    if (device->queues[i].handle == queue) return &device->queues[i];
  return NULL;
}

static void note_queue(struct cg_device *device, VkQueue queue, uint32_t family) {
  pthread_mutex_lock(&device->lock);
  if (!cg_find_queue(device, queue) &&
      cg_reserve(&device->queues, &device->queue_room, device->queue_count + 1, sizeof *device->queues))
    device->queues[device->queue_count++] = (struct cg_queue){queue, family};
  pthread_mutex_unlock(&device->lock);
}

VKAPI_ATTR void VKAPI_CALL cg_GetDeviceQueue(VkDevice handle, uint32_t family, uint32_t index, VkQueue *queue) {
  struct cg_device *device = cg_device_of(handle);
  device->next.GetDeviceQueue(handle, family, index, queue);
  note_queue(device, *queue, family);
}

VKAPI_ATTR void VKAPI_CALL cg_GetDeviceQueue2(VkDevice handle, const VkDeviceQueueInfo2 *info, VkQueue *queue) {
  struct cg_device *device = cg_device_of(handle);
  device->next.GetDeviceQueue2(handle, info, queue);
  if (*queue) note_queue(device, *queue, info->queueFamilyIndex);
}

#define ARMED (atomic_load_explicit(&cg_armed_threads, memory_order_relaxed) && cg_armed)
#define ALONE(device, call)                       \
  do {                                            \
    pthread_mutex_lock(&(device)->queue_lock);    \
    VkResult result = (call);                     \
    pthread_mutex_unlock(&(device)->queue_lock);  \
    return result;                                \
  } while (0)

VKAPI_ATTR VkResult VKAPI_CALL cg_QueueSubmit(VkQueue queue, uint32_t count, const VkSubmitInfo *submits,
                                              VkFence fence) {
  struct cg_device *device = cg_device_of(queue);
  if (ARMED) {
    cg_submitted(device, queue, NULL);
    for (uint32_t i = 0; i < count; i++)
      for (uint32_t at = 0; at < submits[i].commandBufferCount; at++)
        cg_submitted(device, queue, submits[i].pCommandBuffers[at]);
  }
  ALONE(device, device->next.QueueSubmit(queue, count, submits, fence));
}

static void note_submit2(struct cg_device *device, VkQueue queue, uint32_t count, const VkSubmitInfo2 *submits) {
  if (!ARMED) return;
  cg_submitted(device, queue, NULL);
  for (uint32_t i = 0; i < count; i++)
    for (uint32_t at = 0; at < submits[i].commandBufferInfoCount; at++)
      cg_submitted(device, queue, submits[i].pCommandBufferInfos[at].commandBuffer);
}

VKAPI_ATTR VkResult VKAPI_CALL cg_QueueSubmit2(VkQueue queue, uint32_t count, const VkSubmitInfo2 *submits,
                                               VkFence fence) {
  struct cg_device *device = cg_device_of(queue);
  note_submit2(device, queue, count, submits);
  ALONE(device, device->next.QueueSubmit2(queue, count, submits, fence));
}

VKAPI_ATTR VkResult VKAPI_CALL cg_QueueSubmit2KHR(VkQueue queue, uint32_t count, const VkSubmitInfo2 *submits,
                                                  VkFence fence) {
  struct cg_device *device = cg_device_of(queue);
  note_submit2(device, queue, count, submits);
  ALONE(device, device->next.QueueSubmit2KHR(queue, count, submits, fence));
}

VKAPI_ATTR VkResult VKAPI_CALL cg_QueueBindSparse(VkQueue queue, uint32_t count, const VkBindSparseInfo *infos,
                                                  VkFence fence) {
  struct cg_device *device = cg_device_of(queue);
  ALONE(device, device->next.QueueBindSparse(queue, count, infos, fence));
}

VKAPI_ATTR VkResult VKAPI_CALL cg_QueuePresentKHR(VkQueue queue, const VkPresentInfoKHR *info) {
  struct cg_device *device = cg_device_of(queue);
  ALONE(device, device->next.QueuePresentKHR(queue, info));
}

VKAPI_ATTR VkResult VKAPI_CALL cg_QueueWaitIdle(VkQueue queue) {
  struct cg_device *device = cg_device_of(queue);
  ALONE(device, device->next.QueueWaitIdle(queue));
}

VKAPI_ATTR VkResult VKAPI_CALL cg_DeviceWaitIdle(VkDevice handle) {
  struct cg_device *device = cg_device_of(handle);
  ALONE(device, device->next.DeviceWaitIdle(handle));
}
