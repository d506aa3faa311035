#include "scopes.h"

#include <stdlib.h>

#define MEMORY VK_ACCESS_MEMORY_READ_BIT, VK_ACCESS_MEMORY_WRITE_BIT

const struct cg_scope CG_EVERYTHING = {VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, MEMORY};
const struct cg_scope CG_EVERYTHING_AND_HOST = {VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_HOST_BIT, MEMORY};

static const struct cg_scope SHADER = {VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_READ_BIT,
                                       VK_ACCESS_SHADER_WRITE_BIT};
static const struct cg_scope ARGUMENTS = {VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT, VK_ACCESS_INDIRECT_COMMAND_READ_BIT, 0};
static const struct cg_scope TRANSFER = {VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_READ_BIT,
                                         VK_ACCESS_TRANSFER_WRITE_BIT};

struct cg_scope cg_both(struct cg_scope a, struct cg_scope b) {
  return (struct cg_scope){a.stages | b.stages, a.reads | b.reads, a.writes | b.writes};
}

/* Reading uniforms is ordered only where a buffer that was written is read as one: there the implementation had a barrier
 * that says so. */
static VkAccessFlags uniforms_in(const struct cg_track *track, const struct cg_op *op) {
  if (op->kind != OP_BARRIER) return 0;
  const VkMemoryBarrier *memory = (const VkMemoryBarrier *)(track->data + op->data);
  const VkBufferMemoryBarrier *buffers = (const VkBufferMemoryBarrier *)(memory + op->barrier.memory);
  VkAccessFlags found = 0;
  for (uint32_t i = 0; i < op->barrier.memory; i++) found |= memory[i].dstAccessMask;
  for (uint32_t i = 0; i < op->barrier.buffers; i++) found |= buffers[i].dstAccessMask;
  return found & (VK_ACCESS_UNIFORM_READ_BIT | VK_ACCESS_MEMORY_READ_BIT) ? VK_ACCESS_UNIFORM_READ_BIT : 0;
}

static size_t scope_of(const struct cg_op *op, struct cg_scope shader, struct cg_scope *scope) {
  switch (op->kind) {
    case OP_DISPATCH:
      *scope = shader;
      return 1;
    case OP_INDIRECT:
      *scope = cg_both(shader, ARGUMENTS);
      return 1;
    case OP_COPY:
    case OP_FILL:
      *scope = TRANSFER;
      return 1;
    default:
      return 0;
  }
}

struct cg_scope *cg_find_scopes(const struct cg_recording *recording, size_t count) {
  struct cg_scope *scopes = calloc(count + 1, sizeof *scopes), shader = SHADER;
  if (!scopes) return NULL;
  for (size_t i = 0; i < recording->order_count; i++) {
    const struct cg_track *track = &recording->tracks[recording->order[i]];
    for (size_t at = 0; at < track->op_count; at++) shader.reads |= uniforms_in(track, &track->ops[at]);
  }
  for (size_t i = 0, found = 0; i < recording->order_count; i++) {
    const struct cg_track *track = &recording->tracks[recording->order[i]];
    for (size_t at = 0; at < track->op_count; at++) found += scope_of(&track->ops[at], shader, &scopes[found]);
  }
  return scopes;
}

struct cg_scope cg_until_the_next(const struct cg_scope *scopes, const uint8_t *barriers, size_t count, size_t at) {
  struct cg_scope found = scopes[at];
  while (++at < count && !barriers[at]) found = cg_both(found, scopes[at]);
  return found;
}
