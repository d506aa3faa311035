/* Recordings: what one thread records into command buffers while it is armed, and the order in which it submits them. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "layer.h"

_Atomic int cg_armed_threads;
__thread struct cg_recording *cg_armed;

int cg_reserve(void *array, size_t *room, size_t count, size_t size) {
  void **memory = array;
  if (count <= *room) return 1;
  size_t wanted = *room ? 2 * *room : 16;
  if (wanted < count) wanted = count;
  void *bigger = realloc(*memory, wanted * size);
  if (!bigger) return 0;
  *memory = bigger;
  *room = wanted;
  return 1;
}

void cg_refuse(enum cg_outcome state, const char *format, ...) {
  struct cg_recording *recording = cg_armed;
  if (!recording || recording->state == CG_REFUSED || recording->state == state) return; /* the first reason counts */
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(recording->reason, sizeof recording->reason, format, arguments);
  va_end(arguments);
  recording->state = state;
}

int cg_arm(void) {
  if (cg_armed || !(cg_armed = calloc(1, sizeof *cg_armed))) return 0;
  atomic_fetch_add(&cg_armed_threads, 1);
  return 1;
}

void cg_restart(void) {
  if (!cg_armed) return;
  cg_armed->order_count = 0;
  cg_armed->state = CG_OK;
}

cg_recording *cg_disarm(void) {
  struct cg_recording *recording = cg_armed;
  if (recording) atomic_fetch_sub(&cg_armed_threads, 1);
  cg_armed = NULL;
  return recording;
}

int cg_state(const cg_recording *recording, const char **reason) {
  *reason = recording->reason;
  return recording->state;
}

void cg_forget(cg_recording *recording) {
  if (!recording) return;
  for (size_t i = 0; i < recording->track_count; i++) {
    free(recording->tracks[i].ops);
    free(recording->tracks[i].data);
  }
  free(recording->tracks);
  free(recording->order);
  free(recording);
}

struct cg_track *cg_find_track(VkCommandBuffer buffer) {
  struct cg_recording *recording = cg_armed;
  if (recording->last < recording->track_count && recording->tracks[recording->last].buffer == buffer)
    return &recording->tracks[recording->last];
  for (size_t i = recording->track_count; i-- > 0;)
    if (recording->tracks[i].buffer == buffer) return &recording->tracks[recording->last = i];
  return NULL; /* begun before we were armed or by another thread: refused if it is submitted */
}

void cg_begin_track(VkCommandBuffer buffer) {
  struct cg_recording *recording = cg_armed;
  if (!recording) return;
  if (!cg_reserve(&recording->tracks, &recording->track_room, recording->track_count + 1, sizeof *recording->tracks))
    return cg_refuse(CG_REFUSED, "out of memory");
  recording->last = recording->track_count++;
  recording->tracks[recording->last] = (struct cg_track){.buffer = buffer};
}

void cg_note(struct cg_track *track, struct cg_op op, size_t parts, const struct cg_part *part) {
  size_t size = 0;
  for (size_t i = 0; i < parts; i++) size += part[i].size;
  op.data = (track->data_size + 15) & ~(size_t)15; /* aligned for whatever the arrays hold */
  if (!cg_reserve(&track->ops, &track->op_room, track->op_count + 1, sizeof op) ||
      !cg_reserve(&track->data, &track->data_room, op.data + size, 1))
    return cg_refuse(CG_REFUSED, "out of memory");
  track->data_size = op.data;
  for (size_t i = 0; i < parts; i++) {
    if (part[i].size) memcpy(track->data + track->data_size, part[i].data, part[i].size);
    track->data_size += part[i].size;
  }
  track->ops[track->op_count++] = op;
}

void cg_submitted(struct cg_device *device, VkQueue queue, VkCommandBuffer buffer) {
  struct cg_recording *recording = cg_armed;
  if (recording->queue && recording->queue != queue) return cg_refuse(CG_REFUSED, "commands went to several queues");
  recording->device = device;
  recording->queue = queue;
  if (!buffer) return;
  struct cg_track *track = cg_find_track(buffer);
  if (!track) return cg_refuse(CG_AGAIN, "the submit held commands that were recorded before or by another thread");
  if (!cg_reserve(&recording->order, &recording->order_room, recording->order_count + 1, sizeof *recording->order))
    return cg_refuse(CG_REFUSED, "out of memory");
  recording->order[recording->order_count++] = track - recording->tracks;
  track->buffer = VK_NULL_HANDLE; /* whoever begins it again begins another */
}

static bool describe(const struct cg_track *track, const struct cg_op *op, cg_action *action) {
  switch (op->kind) {
    case OP_DISPATCH:
      *action = (cg_action){CG_DISPATCH, op->dispatch.x, op->dispatch.y, op->dispatch.z, 0};
      return true;
    case OP_INDIRECT:
      *action = (cg_action){.kind = CG_INDIRECT};
      return true;
    case OP_COPY: {
      *action = (cg_action){.kind = CG_COPY};
      const VkBufferCopy *regions = (const VkBufferCopy *)(track->data + op->data);
      for (uint32_t i = 0; i < op->copy.regions; i++) action->size += regions[i].size;
      return true;
    }
    case OP_FILL:
      *action = (cg_action){.kind = CG_FILL, .size = op->fill.size};
      return true;
    default:
      return false;
  }
}

size_t cg_actions(const cg_recording *recording, cg_action *actions, size_t room) {
  size_t count = 0;
  for (size_t i = 0; i < recording->order_count; i++) {
    const struct cg_track *track = &recording->tracks[recording->order[i]];
    for (size_t at = 0; at < track->op_count; at++) {
      cg_action action;
      if (!describe(track, &track->ops[at], &action)) continue;
      if (count < room) actions[count] = action;
      count++;
    }
  }
  return count;
}
