/* Before something goes away that a graph uses, we wait for the replays under way and mark the graph, so that it is not
 * submitted again. */
#include "layer.h"

/* -- what a graph uses -------------------------------------------------------------------------------------------- */

int cg_add_use(struct cg_graph *graph, uint64_t handle) {
  if (!cg_reserve(&graph->uses, &graph->use_room, graph->use_count + 1, sizeof handle)) return 0;
  graph->uses[graph->use_count++] = handle;
  return 1;
}

int cg_add_buffer(struct cg_graph *graph, VkBuffer buffer) {
  void *memory = cg_map_get(&graph->device->memories, HANDLE(buffer));
  return cg_add_use(graph, HANDLE(buffer)) && (!memory || cg_add_use(graph, HANDLE(memory)));
}

static bool uses(const struct cg_graph *graph, uint64_t handle) {
  size_t low = 0, high = graph->use_count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (graph->uses[middle] < handle)
      low = middle + 1;
    else
      high = middle;
  }
  return low < graph->use_count && graph->uses[low] == handle;
}

uint64_t cg_invalidate(struct cg_device *device, uint64_t handle) {
  uint64_t last = 0;
  for (struct cg_graph *graph = device->graphs; graph; graph = graph->beside)
    if (uses(graph, handle)) {
      graph->invalid = true;
      if (graph->last > last) last = graph->last;
    }
  return last;
}

void cg_settle(struct cg_device *device, uint64_t handle) {
  pthread_mutex_lock(&device->lock);
  uint64_t last = device->graphs ? cg_invalidate(device, handle) : 0;
  if (last) cg_wait_for(device, last);
  pthread_mutex_unlock(&device->lock);
}

static void note_memory(struct cg_device *device, VkBuffer buffer, VkDeviceMemory memory) {
  pthread_mutex_lock(&device->lock);
  cg_map_put(&device->memories, HANDLE(buffer), memory);
  pthread_mutex_unlock(&device->lock);
}

VKAPI_ATTR VkResult VKAPI_CALL cg_BindBufferMemory(VkDevice handle, VkBuffer buffer, VkDeviceMemory memory,
                                                   VkDeviceSize offset) {
  struct cg_device *device = cg_device_of(handle);
  note_memory(device, buffer, memory);
  return device->next.BindBufferMemory(handle, buffer, memory, offset);
}

VKAPI_ATTR VkResult VKAPI_CALL cg_BindBufferMemory2(VkDevice handle, uint32_t count,
                                                    const VkBindBufferMemoryInfo *infos) {
  struct cg_device *device = cg_device_of(handle);
  for (uint32_t i = 0; i < count; i++) note_memory(device, infos[i].buffer, infos[i].memory);
  return device->next.BindBufferMemory2(handle, count, infos);
}

VKAPI_ATTR VkResult VKAPI_CALL cg_BindBufferMemory2KHR(VkDevice handle, uint32_t count,
                                                       const VkBindBufferMemoryInfo *infos) {
  struct cg_device *device = cg_device_of(handle);
  for (uint32_t i = 0; i < count; i++) note_memory(device, infos[i].buffer, infos[i].memory);
  return device->next.BindBufferMemory2KHR(handle, count, infos);
}

VKAPI_ATTR void VKAPI_CALL cg_DestroyBuffer(VkDevice handle, VkBuffer buffer, const VkAllocationCallbacks *allocator) {
  struct cg_device *device = cg_device_of(handle);
  if (buffer) {
    cg_settle(device, HANDLE(buffer));
    pthread_mutex_lock(&device->lock);
    cg_map_take(&device->memories, HANDLE(buffer));
    pthread_mutex_unlock(&device->lock);
  }
  device->next.DestroyBuffer(handle, buffer, allocator);
}

VKAPI_ATTR void VKAPI_CALL cg_FreeMemory(VkDevice handle, VkDeviceMemory memory,
                                         const VkAllocationCallbacks *allocator) {
  struct cg_device *device = cg_device_of(handle);
  if (memory) cg_settle(device, HANDLE(memory));
  device->next.FreeMemory(handle, memory, allocator);
}

VKAPI_ATTR void VKAPI_CALL cg_DestroyPipeline(VkDevice handle, VkPipeline pipeline,
                                              const VkAllocationCallbacks *allocator) {
  struct cg_device *device = cg_device_of(handle);
  if (pipeline) cg_settle(device, HANDLE(pipeline));
  device->next.DestroyPipeline(handle, pipeline, allocator);
}
