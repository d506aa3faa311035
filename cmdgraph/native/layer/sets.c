/* What descriptor sets hold: a graph that binds one uses its buffers too. A set that is written again or freed is no longer
 * the one that a graph was recorded with; implementations recycle them. */
#include <stdlib.h>

#include "layer.h"

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

/* -- with `lock` held --------------------------------------------------------------------------------------------- */

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
  uint64_t last = cg_invalidate(device, set->handle);
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

int cg_add_set(struct cg_graph *graph, VkDescriptorSet handle) {
  struct set *set = cg_map_get(&graph->device->sets, HANDLE(handle));
  if (!set || set->unknown || !cg_add_use(graph, set->handle)) return 0;
  for (size_t i = 0; i < set->count; i++)
    if (!cg_add_buffer(graph, set->bindings[i].buffer)) return 0;
  return 1;
}

void cg_forget_sets(struct cg_device *device) {
  for (size_t i = 0; i < device->pools.capacity; i++) {
    struct pool *pool = device->pools.slots[i].value;
    while (pool && pool->first) drop_set(device, pool->first);
    free(pool);
  }
  cg_map_free(&device->pools);
  cg_map_free(&device->sets);
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
    uint64_t used = cg_invalidate(device, HANDLE(writes[i].dstSet));
    if (set) write_set(set, &writes[i]);
    if (used > last) last = used;
  }
  for (uint32_t i = 0; i < copy_count; i++) {
    struct set *set = cg_map_get(&device->sets, HANDLE(copies[i].dstSet));
    uint64_t used = cg_invalidate(device, HANDLE(copies[i].dstSet));
    if (set) set->unknown = true;
    if (used > last) last = used;
  }
  if (last) cg_wait_for(device, last);
  pthread_mutex_unlock(&device->lock);
  device->next.UpdateDescriptorSets(handle, write_count, writes, copy_count, copies);
}

/* What a template writes is not known to us. */
static void lose_sight(struct cg_device *device, VkDescriptorSet handle) {
  cg_settle(device, HANDLE(handle));
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
