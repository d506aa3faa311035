/* From a recording to a command buffer of our own: binds that change nothing are left out, and barriers are either those
 * that were recorded or global ones where the caller says.
 *
 * Barriers of single buffers would not do there: one that is kept must also order what those left out had ordered. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "layer.h"
#include "scopes.h"

#define SETS 32 /* more than any implementation binds */
#define PUSHED 256

/* What is bound at this point of our command buffer. */
struct state {
  VkPipeline pipeline;
  VkPipelineLayout layout;
  struct {
    VkDescriptorSet set;
    uint32_t offsets[16], count;
  } sets[SETS];
  VkPipelineLayout push_layout;
  VkShaderStageFlags push_stages;
  uint32_t push_offset, push_size;
  unsigned char pushed[PUSHED];
};

struct build {
  struct cg_graph *graph;
  const struct cg_table *next;
  const struct cg_track *track;
  const uint8_t *barriers; /* null: those recorded */
  size_t count;
  struct cg_scope *scopes; /* of each action, where barriers are ours */
  struct cg_scope sofar;   /* of the actions before this point */
  struct state state;
  const char *trouble;
};

static const void *data_of(const struct build *build, const struct cg_op *op) { return build->track->data + op->data; }

static void barrier(const struct build *build, struct cg_scope before, struct cg_scope after) {
  VkMemoryBarrier memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                            .srcAccessMask = before.writes,
                            .dstAccessMask = after.reads | after.writes};
  build->next->CmdPipelineBarrier(build->graph->buffer, before.stages, after.stages, 0, 1, &memory, 0, NULL, 0, NULL);
  build->graph->facts.barriers++;
}

/* -- binds -------------------------------------------------------------------------------------------------------- */

static void bind_pipeline(struct build *build, VkPipeline pipeline) {
  if (build->state.pipeline == pipeline) {
    build->graph->facts.binds_left_out++;
    return;
  }
  build->state.pipeline = pipeline;
  build->graph->facts.binds++;
  build->next->CmdBindPipeline(build->graph->buffer, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
  if (!cg_add_use(build->graph, HANDLE(pipeline))) build->trouble = "out of memory";
}

/* Whether these sets are bound already. Which offset belongs to which set of several is not known here, so that only
 * binds of a single set are ever left out. */
static bool bound(const struct state *state, const struct cg_op *op, const VkDescriptorSet *sets,
                  const uint32_t *offsets) {
  uint32_t first = op->bind.first;
  return state->layout == op->bind.layout && op->bind.sets == 1 && first < SETS && state->sets[first].set == *sets &&
         state->sets[first].count == op->bind.offsets &&
         !memcmp(state->sets[first].offsets, offsets, op->bind.offsets * sizeof *offsets);
}

static void remember(struct state *state, const struct cg_op *op, const VkDescriptorSet *sets,
                     const uint32_t *offsets) {
  if (state->layout != op->bind.layout) { /* another layout may disturb what was bound with the last */
    memset(state->sets, 0, sizeof state->sets);
    state->layout = op->bind.layout;
  }
  for (uint32_t at = op->bind.first; at < op->bind.first + op->bind.sets && at < SETS; at++) state->sets[at].set = NULL;
  if (op->bind.sets != 1 || op->bind.first >= SETS || op->bind.offsets > 16) return;
  state->sets[op->bind.first].set = *sets;
  state->sets[op->bind.first].count = op->bind.offsets;
  memcpy(state->sets[op->bind.first].offsets, offsets, op->bind.offsets * sizeof *offsets);
}

static void bind_sets(struct build *build, const struct cg_op *op) {
  const VkDescriptorSet *sets = data_of(build, op);
  const uint32_t *offsets = (const uint32_t *)(sets + op->bind.sets);
  if (bound(&build->state, op, sets, offsets)) {
    build->graph->facts.binds_left_out++;
    return;
  }
  remember(&build->state, op, sets, offsets);
  build->graph->facts.binds++;
  build->next->CmdBindDescriptorSets(build->graph->buffer, VK_PIPELINE_BIND_POINT_COMPUTE, op->bind.layout,
                                     op->bind.first, op->bind.sets, sets, op->bind.offsets, offsets);
  for (uint32_t i = 0; i < op->bind.sets; i++)
    if (!cg_add_set(build->graph, sets[i])) build->trouble = "a bind group holds images, or what the layer cannot see";
}

static void push(struct build *build, const struct cg_op *op) {
  struct state *state = &build->state;
  const void *values = data_of(build, op);
  if (state->push_layout == op->push.layout && state->push_stages == op->push.stages &&
      state->push_offset == op->push.offset && state->push_size == op->push.size &&
      !memcmp(state->pushed, values, op->push.size)) {
    build->graph->facts.binds_left_out++;
    return;
  }
  state->push_layout = NULL; /* longer ones are not remembered */
  if (op->push.size <= PUSHED) {
    state->push_layout = op->push.layout;
    state->push_stages = op->push.stages;
    state->push_offset = op->push.offset;
    state->push_size = op->push.size;
    memcpy(state->pushed, values, op->push.size);
  }
  build->graph->facts.binds++;
  build->next->CmdPushConstants(build->graph->buffer, op->push.layout, op->push.stages, op->push.offset, op->push.size,
                                values);
}

/* -- barriers and actions ----------------------------------------------------------------------------------------- */

static void recorded_barrier(struct build *build, const struct cg_op *op) {
  if (build->barriers) return;
  const VkMemoryBarrier *memory = data_of(build, op);
  const VkBufferMemoryBarrier *buffers = (const VkBufferMemoryBarrier *)(memory + op->barrier.memory);
  build->next->CmdPipelineBarrier(build->graph->buffer, op->barrier.before, op->barrier.after, op->barrier.flags,
                                  op->barrier.memory, memory, op->barrier.buffers, buffers, 0, NULL);
  build->graph->facts.barriers++;
  for (uint32_t i = 0; i < op->barrier.buffers; i++)
    if (!cg_add_buffer(build->graph, buffers[i].buffer)) build->trouble = "out of memory";
}

static void action(struct build *build) {
  size_t at = build->graph->facts.actions++;
  if (!build->barriers) return;
  if (build->barriers[at])
    barrier(build, at ? build->sofar : CG_EVERYTHING, cg_until_the_next(build->scopes, build->barriers, build->count, at));
  build->sofar = cg_both(build->sofar, build->scopes[at]);
}

static void copy(struct build *build, const struct cg_op *op) {
  action(build);
  build->next->CmdCopyBuffer(build->graph->buffer, op->copy.source, op->copy.target, op->copy.regions,
                             data_of(build, op));
  if (!cg_add_buffer(build->graph, op->copy.source) || !cg_add_buffer(build->graph, op->copy.target))
    build->trouble = "out of memory";
}

static void emit(struct build *build, const struct cg_op *op) {
  VkCommandBuffer buffer = build->graph->buffer;
  switch (op->kind) {
    case OP_PIPELINE:
      bind_pipeline(build, op->pipeline);
      break;
    case OP_SETS:
      bind_sets(build, op);
      break;
    case OP_PUSH:
      push(build, op);
      break;
    case OP_BARRIER:
      recorded_barrier(build, op);
      break;
    case OP_DISPATCH:
      action(build);
      build->next->CmdDispatch(buffer, op->dispatch.x, op->dispatch.y, op->dispatch.z);
      break;
    case OP_INDIRECT:
      action(build);
      build->next->CmdDispatchIndirect(buffer, op->indirect.buffer, op->indirect.offset);
      if (!cg_add_buffer(build->graph, op->indirect.buffer)) build->trouble = "out of memory";
      break;
    case OP_COPY:
      copy(build, op);
      break;
    case OP_FILL:
      action(build);
      build->next->CmdFillBuffer(buffer, op->fill.buffer, op->fill.offset, op->fill.size, op->fill.value);
      if (!cg_add_buffer(build->graph, op->fill.buffer)) build->trouble = "out of memory";
      break;
  }
}

/* -- the graph ---------------------------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static void sort_uses(struct cg_graph *graph) {
  size_t kept = 0;
  if (!graph->use_count) return;
  qsort(graph->uses, graph->use_count, sizeof *graph->uses, by_value);
  for (size_t i = 1; i < graph->use_count; i++)
    if (graph->uses[i] != graph->uses[kept]) graph->uses[++kept] = graph->uses[i];
  graph->use_count = kept + 1;
}

static VkResult make_buffer(struct cg_graph *graph, uint32_t family) {
  struct cg_device *device = graph->device;
  VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, .queueFamilyIndex = family};
  VkResult result = device->next.CreateCommandPool(device->handle, &pool, NULL, &graph->pool);
  if (result != VK_SUCCESS) return result;
  VkCommandBufferAllocateInfo buffer = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                        .commandPool = graph->pool,
                                        .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                        .commandBufferCount = 1};
  result = device->next.AllocateCommandBuffers(device->handle, &buffer, &graph->buffer);
  return result == VK_SUCCESS ? device->set_loader_data(device->handle, graph->buffer) : result;
}

static VkResult fill(struct build *build, const struct cg_recording *recording, uint32_t flags) {
  VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  if (flags & CG_OVERLAP) begin.flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT;
  VkResult result = build->next->BeginCommandBuffer(build->graph->buffer, &begin);
  if (result != VK_SUCCESS) return result;
  /* What came before may have written, and what comes after may read, what the implementation believes unchanged. */
  if (flags & CG_EDGES) barrier(build, CG_EVERYTHING, CG_EVERYTHING);
  for (size_t i = 0; i < recording->order_count; i++) {
    build->track = &recording->tracks[recording->order[i]];
    for (size_t at = 0; at < build->track->op_count; at++) emit(build, &build->track->ops[at]);
  }
  if (flags & CG_EDGES) barrier(build, CG_EVERYTHING, CG_EVERYTHING_AND_HOST);
  return build->next->EndCommandBuffer(build->graph->buffer);
}

/* With `lock` held: what a descriptor set holds must not change meanwhile. */
static const char *build_into(struct cg_graph *graph, cg_recording *recording, const uint8_t *barriers, size_t count,
                              uint32_t flags) {
  struct cg_device *device = graph->device;
  const struct cg_queue *queue = cg_find_queue(device, recording->queue);
  if (device->gone || !queue) return "the device is gone";
  struct build build = {.graph = graph, .next = &device->next, .barriers = barriers, .count = count};
  if (barriers && !(build.scopes = cg_find_scopes(recording, count))) return "out of memory";
  VkResult result = make_buffer(graph, queue->family);
  if (result == VK_SUCCESS) result = fill(&build, recording, flags);
  free(build.scopes);
  if (result != VK_SUCCESS) return "Vulkan refused to make or fill a command buffer";
  sort_uses(graph);
  return build.trouble;
}

cg_graph *cg_build(cg_recording *recording, const uint8_t *barriers, size_t count, uint32_t flags,
                   const char **reason) {
  struct cg_device *device = recording->device;
  if (recording->state != CG_OK || !device) {
    *reason = recording->state == CG_OK ? "nothing was submitted" : recording->reason;
    return NULL;
  }
  if (barriers && count != cg_actions(recording, NULL, 0)) {
    *reason = "the map of barriers does not have the length of the recorded commands";
    return NULL;
  }
  struct cg_graph *graph = calloc(1, sizeof *graph);
  if (!graph) {
    *reason = "out of memory";
    return NULL;
  }
  graph->device = device;
  atomic_fetch_add(&device->references, 1);
  graph->queue = recording->queue;
  pthread_mutex_lock(&device->lock);
  *reason = build_into(graph, recording, barriers, count, flags);
  graph->beside = device->graphs;
  device->graphs = graph;
  if (*reason) {
    graph->released = true;
    cg_collect(device);
    graph = NULL;
  }
  pthread_mutex_unlock(&device->lock);
  return graph;
}
