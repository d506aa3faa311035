/* What descriptor sets and memory hold, and what happens to graphs before something that they use goes away: we wait for
 * the replays under way and mark the graphs, so that they are not submitted again. */
#include <stdlib.h>

#include "layer.h"

#define HANDLE(object) ((uint64_t)(uintptr_t)(object))

struct binding {
  uint32_t number, element;
  VkBuffer buffer;
};

struct set {
  uint64_t handle;
  struct pool *pool;
  struct set *before, *after; /* in the pool */
  bool unknown;               /* images, or contents that we do not see */
  struct binding *bindings;
  size_t count, room;
};

struct pool {
  struct set *first;
};

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

int cg_add_set(struct cg_graph *graph, VkDescriptorSet handle) {
  struct set *set = cg_map_get(&graph->device->sets, HANDLE(handle));
  if (!set || set->unknown || !cg_add_use(graph, set->handle)) return 0;
  for (size_t i = 0; i < set->count; i++)
    if (!cg_add_buffer(graph, set->bindings[i].buffer)) return 0;
  return 1;
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

/* Before `handle` goes or changes: marks the graphs that use it; gives the last submission of them. With `lock` held. */
static uint64_t invalidate(struct cg_device *device, uint64_t handle) {
  uint64_t last = 0;
  for (struct cg_graph *graph = device->graphs; graph; graph = graph->beside)
    if (uses(graph, handle)) {
      graph->invalid = true;
      if (graph->last > last) last = graph->last;
    }
  return last;
}

static void settle(struct cg_device *device, uint64_t handle) {
  pthread_mutex_lock(&device->lock);
  uint64_t last = device->graphs ? invalidate(device, handle) : 0;
  if (last) cg_wait_for(device, last);
  pthread_mutex_unlock(&device->lock);
}

/* -- descriptor sets: with `lock` held ---------------------------------------------------------------------------- */

static struct pool *pool_of(struct cg_device *device, VkDescriptorPool handle) {
  struct pool *pool = cg_map_get(&device->pools, HANDLE(handle));
  if (!pool && (pool = calloc(1, sizeof *pool)) && !cg_map_put(&device->pools, HANDLE(handle), pool)) {
    free(pool);
    pool = NULL;
  }
  return pool;
}

static void add_set(struct cg_device *device, struct pool *pool, uint64_t handle) {
  struct set *set = calloc(1, sizeof *set);
  if (!set || !cg_map_put(&device->sets, handle, set)) {
    free(set); /* a set that we do not know is never replayed */
    return;
  }
  *set = (struct set){.handle = handle, .pool = pool, .after = pool->first};
  if (pool->first) pool->first->before = set;
  pool->first = set;
}

static void drop_set(struct cg_device *device, struct set *set) {
  uint64_t last = invalidate(device, set->handle);
  if (last) cg_wait_for(device, last);
  cg_map_take(&device->sets, set->handle);
  *(set->before ? &set->before->after : &set->pool->first) = set->after;
  if (set->after) set->after->before = set->before;
  free(set->bindings);
  free(set);
}

static void put_binding(struct set *set, uint32_t number, uint32_t element, VkBuffer buffer) {
  for (size_t i = 0; i < set->count; i++)
    if (set->bindings[i].number == number && set->bindings[i].element == element) {
      set->bindings[i].buffer = buffer;
      return;
    }
  if (cg_reserve(&set->bindings, &set->room, set->count + 1, sizeof *set->bindings))
    set->bindings[set->count++] = (struct binding){number, element, buffer};
  else
    set->unknown = true;
}

static void write_set(struct set *set, const VkWriteDescriptorSet *write) {
  switch (write->descriptorType) {
    case VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER:
    case VK_DESCRIPTOR_TYPE_STORAGE_BUFFER:
    case VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC:
    case VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC:
      for (uint32_t i = 0; i < write->descriptorCount; i++)
        put_binding(set, write->dstBinding, write->dstArrayElement + i, write->pBufferInfo[i].buffer);
      return;
    default: /* an image's layout at a replay would be anybody's guess */
      set->unknown = true;
  }
}

/* -- the functions ------------------------------------------------------------------------------------------------ */

VKAPI_ATTR VkResult VKAPI_CALL cg_AllocateDescriptorSets(VkDevice handle, const VkDescriptorSetAllocateInfo *info,
                                                         VkDescriptorSet *sets) {
  struct cg_device *device = cg_device_of(handle);
  VkResult result = device->next.AllocateDescriptorSets(handle, info, sets);
  if (result != VK_SUCCESS) return result;
  pthread_mutex_lock(&device->lock);
  struct pool *pool = pool_of(device, info->descriptorPool);
  for (uint32_t i = 0; pool && i < info->descriptorSetCount; i++) add_set(device, pool, HANDLE(sets[i]));
  pthread_mutex_unlock(&device->lock);
  return result;
}

VKAPI_ATTR VkResult VKAPI_CALL cg_FreeDescriptorSets(VkDevice handle, VkDescriptorPool pool, uint32_t count,
                                                     const VkDescriptorSet *sets) {
  struct cg_device *device = cg_device_of(handle);
  pthread_mutex_lock(&device->lock);
  for (uint32_t i = 0; i < count; i++) {
    struct set *set = cg_map_get(&device->sets, HANDLE(sets[i]));
    if (set) drop_set(device, set);
  }
  pthread_mutex_unlock(&device->lock);
  return device->next.FreeDescriptorSets(handle, pool, count, sets);
}

static void empty_pool(struct cg_device *device, VkDescriptorPool handle, bool forget) {
  pthread_mutex_lock(&device->lock);
  struct pool *pool = cg_map_get(&device->pools, HANDLE(handle));
  while (pool && pool->first) drop_set(device, pool->first);
  if (pool && forget) free(cg_map_take(&device->pools, HANDLE(handle)));
  pthread_mutex_unlock(&device->lock);
}

VKAPI_ATTR VkResult VKAPI_CALL cg_ResetDescriptorPool(VkDevice handle, VkDescriptorPool pool,
                                                      VkDescriptorPoolResetFlags flags) {
  struct cg_device *device = cg_device_of(handle);
  empty_pool(device, pool, false);
  return device->next.ResetDescriptorPool(handle, pool, flags);
}

VKAPI_ATTR void VKAPI_CALL cg_DestroyDescriptorPool(VkDevice handle, VkDescriptorPool pool,
                                                    const VkAllocationCallbacks *allocator) {
  struct cg_device *device = cg_device_of(handle);
  if (pool) empty_pool(device, pool, true);
  device->next.DestroyDescriptorPool(handle, pool, allocator);
}

VKAPI_ATTR void VKAPI_CALL cg_UpdateDescriptorSets(VkDevice handle, uint32_t write_count,
                                                   const VkWriteDescriptorSet *writes, uint32_t copy_count,
                                                   const VkCopyDescriptorSet *copies) {
  struct cg_device *device = cg_device_of(handle);
  uint64_t last = 0;
  pthread_mutex_lock(&device->lock);
  for (uint32_t i = 0; i < write_count; i++) {
    struct set *set = cg_map_get(&device->sets, HANDLE(writes[i].dstSet));
    uint64_t used = invalidate(device, HANDLE(writes[i].dstSet));
    if (set) write_set(set, &writes[i]);
    if (used > last) last = used;
  }
  for (uint32_t i = 0; i < copy_count; i++) {
    struct set *set = cg_map_get(&device->sets, HANDLE(copies[i].dstSet));
    uint64_t used = invalidate(device, HANDLE(copies[i].dstSet));
    if (set) set->unknown = true;
    if (used > last) last = used;
  }
  if (last) cg_wait_for(device, last);
  pthread_mutex_unlock(&device->lock);
  device->next.UpdateDescriptorSets(handle, write_count, writes, copy_count, copies);
}

/* What a template writes is not known to us. */
static void lose_sight(struct cg_device *device, VkDescriptorSet handle) {
  settle(device, HANDLE(handle));
  pthread_mutex_lock(&device->lock);
  struct set *set = cg_map_get(&device->sets, HANDLE(handle));
  if (set) set->unknown = true;
  pthread_mutex_unlock(&device->lock);
}

VKAPI_ATTR void VKAPI_CALL cg_UpdateDescriptorSetWithTemplate(VkDevice handle, VkDescriptorSet set,
                                                              VkDescriptorUpdateTemplate template, const void *data) {
  struct cg_device *device = cg_device_of(handle);
  lose_sight(device, set);
  device->next.UpdateDescriptorSetWithTemplate(handle, set, template, data);
}

VKAPI_ATTR void VKAPI_CALL cg_UpdateDescriptorSetWithTemplateKHR(VkDevice handle, VkDescriptorSet set,
                                                                 VkDescriptorUpdateTemplate template,
                                                                 const void *data) {
  struct cg_device *device = cg_device_of(handle);
  lose_sight(device, set);
  device->next.UpdateDescriptorSetWithTemplateKHR(handle, set, template, data);
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
    settle(device, HANDLE(buffer));
    pthread_mutex_lock(&device->lock);
    cg_map_take(&device->memories, HANDLE(buffer));
    pthread_mutex_unlock(&device->lock);
  }
  device->next.DestroyBuffer(handle, buffer, allocator);
}

VKAPI_ATTR void VKAPI_CALL cg_FreeMemory(VkDevice handle, VkDeviceMemory memory,
                                         const VkAllocationCallbacks *allocator) {
  struct cg_device *device = cg_device_of(handle);
  if (memory) settle(device, HANDLE(memory));
  device->next.FreeMemory(handle, memory, allocator);
}

VKAPI_ATTR void VKAPI_CALL cg_DestroyPipeline(VkDevice handle, VkPipeline pipeline,
                                              const VkAllocationCallbacks *allocator) {
  struct cg_device *device = cg_device_of(handle);
  if (pipeline) settle(device, HANDLE(pipeline));
  device->next.DestroyPipeline(handle, pipeline, allocator);
}

void cg_forget_lifetimes(struct cg_device *device) {
  for (size_t i = 0; i < device->pools.capacity; i++) {
    struct pool *pool = device->pools.slots[i].value;
    while (pool && pool->first) drop_set(device, pool->first);
    free(pool);
  }
  cg_map_free(&device->pools);
  cg_map_free(&device->sets);
  cg_map_free(&device->memories);
}
