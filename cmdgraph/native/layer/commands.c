/* vkCmd*: each goes on to the next layer, and is noted first where the calling thread is armed. */
#include "layer.h"

#define NEXT(buffer) (cg_device_of(buffer)->next)
#define PART(pointer, count) {pointer, (count) * sizeof *(pointer)}
#define PARTS(...) sizeof((struct cg_part[]){__VA_ARGS__}) / sizeof(struct cg_part), (struct cg_part[]) { __VA_ARGS__ }

void cg_refuse_command(VkCommandBuffer buffer, const char *name) {
  if (cg_track_of(buffer)) cg_refuse(CG_REFUSED, "%s cannot be replayed", name);
}

/* -- open command buffers that hold writes ------------------------------------------------------------------------ */

static struct cg_writer *find_writer(struct cg_device *device, VkCommandBuffer buffer) {
  size_t count = atomic_load(&device->writer_count);
  for (size_t i = 0; i < count; i++)
    if (device->writers[i].buffer == buffer) return &device->writers[i];
  return NULL;
}

static void drop_writer(struct cg_device *device, struct cg_writer *writer) {
  size_t count = atomic_load(&device->writer_count);
  *writer = device->writers[count - 1];
  atomic_store(&device->writer_count, count - 1);
}

void cg_wrote(struct cg_device *device, VkCommandBuffer buffer) {
  pthread_mutex_lock(&device->lock);
  struct cg_writer *writer = find_writer(device, buffer);
  size_t count = atomic_load(&device->writer_count);
  if (!writer && cg_reserve(&device->writers, &device->writer_room, count + 1, sizeof *writer)) {
    writer = &device->writers[count];
    writer->buffer = buffer;
    atomic_store(&device->writer_count, count + 1);
  }
  if (writer) writer->number = ++device->writes;
  pthread_mutex_unlock(&device->lock);
}

static void not_open(struct cg_device *device, VkCommandBuffer buffer) {
  if (!atomic_load_explicit(&device->writer_count, memory_order_relaxed)) return;
  pthread_mutex_lock(&device->lock);
  struct cg_writer *writer = find_writer(device, buffer);
  if (writer) drop_writer(device, writer);
  pthread_mutex_unlock(&device->lock);
}

uint64_t cg_pending(cg_device *device) {
  uint64_t last = 0;
  if (!atomic_load_explicit(&device->writer_count, memory_order_relaxed)) return 0;
  pthread_mutex_lock(&device->lock);
  size_t count = atomic_load(&device->writer_count);
  for (size_t i = 0; i < count; i++)
    if (device->writers[i].number > last) last = device->writers[i].number;
  pthread_mutex_unlock(&device->lock);
  return last;
}

/* Those left over were given up by the implementation without an end: they must not ask for a flush each time. */
void cg_flushed(cg_device *device, uint64_t up_to) {
  pthread_mutex_lock(&device->lock);
  for (size_t i = atomic_load(&device->writer_count); i-- > 0;)
    if (device->writers[i].number <= up_to) drop_writer(device, &device->writers[i]);
  pthread_mutex_unlock(&device->lock);
}

/* -- the functions ------------------------------------------------------------------------------------------------ */

VKAPI_ATTR VkResult VKAPI_CALL cg_BeginCommandBuffer(VkCommandBuffer buffer, const VkCommandBufferBeginInfo *info) {
  struct cg_device *device = cg_device_of(buffer);
  not_open(device, buffer); /* begun again, so what it held is gone */
  cg_begin_track(buffer);
  return device->next.BeginCommandBuffer(buffer, info);
}

VKAPI_ATTR VkResult VKAPI_CALL cg_EndCommandBuffer(VkCommandBuffer buffer) {
  struct cg_device *device = cg_device_of(buffer);
  not_open(device, buffer);
  return device->next.EndCommandBuffer(buffer);
}

VKAPI_ATTR void VKAPI_CALL cg_CmdBindPipeline(VkCommandBuffer buffer, VkPipelineBindPoint point, VkPipeline pipeline) {
  struct cg_track *track = cg_track_of(buffer);
  if (track) {
    if (point != VK_PIPELINE_BIND_POINT_COMPUTE) cg_refuse(CG_REFUSED, "a pipeline that is no compute pipeline");
    cg_note(track, (struct cg_op){.kind = OP_PIPELINE, .pipeline = pipeline}, 0, NULL);
  }
  NEXT(buffer).CmdBindPipeline(buffer, point, pipeline);
}

VKAPI_ATTR void VKAPI_CALL cg_CmdBindDescriptorSets(VkCommandBuffer buffer, VkPipelineBindPoint point,
                                                    VkPipelineLayout layout, uint32_t first, uint32_t count,
                                                    const VkDescriptorSet *sets, uint32_t offset_count,
                                                    const uint32_t *offsets) {
  struct cg_track *track = cg_track_of(buffer);
  if (track) {
    if (point != VK_PIPELINE_BIND_POINT_COMPUTE) cg_refuse(CG_REFUSED, "bindings that are not for compute");
    struct cg_op op = {.kind = OP_SETS, .bind = {layout, first, count, offset_count}};
    cg_note(track, op, PARTS(PART(sets, count), PART(offsets, offset_count)));
  }
  NEXT(buffer).CmdBindDescriptorSets(buffer, point, layout, first, count, sets, offset_count, offsets);
}

VKAPI_ATTR void VKAPI_CALL cg_CmdPushConstants(VkCommandBuffer buffer, VkPipelineLayout layout,
                                               VkShaderStageFlags stages, uint32_t offset, uint32_t size,
                                               const void *values) {
  struct cg_track *track = cg_track_of(buffer);
  if (track) {
    struct cg_op op = {.kind = OP_PUSH, .push = {layout, stages, offset, size}};
    cg_note(track, op, PARTS({values, size}));
  }
  NEXT(buffer).CmdPushConstants(buffer, layout, stages, offset, size, values);
}

VKAPI_ATTR void VKAPI_CALL cg_CmdPipelineBarrier(VkCommandBuffer buffer, VkPipelineStageFlags before,
                                                 VkPipelineStageFlags after, VkDependencyFlags flags,
                                                 uint32_t memory_count, const VkMemoryBarrier *memory,
                                                 uint32_t buffer_count, const VkBufferMemoryBarrier *buffers,
                                                 uint32_t image_count, const VkImageMemoryBarrier *images) {
  struct cg_track *track = cg_track_of(buffer);
  if (track) {
    if (image_count) cg_refuse(CG_REFUSED, "a barrier of an image cannot be repeated");
    for (uint32_t i = 0; i < memory_count; i++)
      if (memory[i].pNext) cg_refuse(CG_REFUSED, "a barrier with extensions");
    for (uint32_t i = 0; i < buffer_count; i++)
      if (buffers[i].pNext || buffers[i].srcQueueFamilyIndex != buffers[i].dstQueueFamilyIndex)
        cg_refuse(CG_REFUSED, "a barrier with extensions or between queues");
    struct cg_op op = {.kind = OP_BARRIER, .barrier = {before, after, flags, memory_count, buffer_count}};
    cg_note(track, op, PARTS(PART(memory, memory_count), PART(buffers, buffer_count)));
  }
  NEXT(buffer).CmdPipelineBarrier(buffer, before, after, flags, memory_count, memory, buffer_count, buffers,
                                  image_count, images);
}

VKAPI_ATTR void VKAPI_CALL cg_CmdDispatch(VkCommandBuffer buffer, uint32_t x, uint32_t y, uint32_t z) {
  struct cg_track *track = cg_track_of(buffer);
  if (track) cg_note(track, (struct cg_op){.kind = OP_DISPATCH, .dispatch = {x, y, z}}, 0, NULL);
  NEXT(buffer).CmdDispatch(buffer, x, y, z);
}

VKAPI_ATTR void VKAPI_CALL cg_CmdDispatchIndirect(VkCommandBuffer buffer, VkBuffer arguments, VkDeviceSize offset) {
  struct cg_track *track = cg_track_of(buffer);
  if (track) cg_note(track, (struct cg_op){.kind = OP_INDIRECT, .indirect = {arguments, offset}}, 0, NULL);
  NEXT(buffer).CmdDispatchIndirect(buffer, arguments, offset);
}

VKAPI_ATTR void VKAPI_CALL cg_CmdCopyBuffer(VkCommandBuffer buffer, VkBuffer source, VkBuffer target,
                                            uint32_t region_count, const VkBufferCopy *regions) {
  struct cg_device *device = cg_device_of(buffer);
  struct cg_track *track = cg_track_of(buffer);
  if (track) {
    struct cg_op op = {.kind = OP_COPY, .copy = {source, target, region_count}};
    cg_note(track, op, PARTS(PART(regions, region_count)));
  }
  cg_wrote(device, buffer);
  device->next.CmdCopyBuffer(buffer, source, target, region_count, regions);
}

VKAPI_ATTR void VKAPI_CALL cg_CmdFillBuffer(VkCommandBuffer buffer, VkBuffer target, VkDeviceSize offset,
                                            VkDeviceSize size, uint32_t value) {
  struct cg_device *device = cg_device_of(buffer);
  struct cg_track *track = cg_track_of(buffer);
  if (track) cg_note(track, (struct cg_op){.kind = OP_FILL, .fill = {target, offset, size, value}}, 0, NULL);
  cg_wrote(device, buffer);
  device->next.CmdFillBuffer(buffer, target, offset, size, value);
}
