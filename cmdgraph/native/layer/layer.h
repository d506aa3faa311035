/* What the files of the layer share.
 *
 *   dispatch.c   the loader's side: instances, devices, their tables of next functions
 *   commands.c   vkCmd*: forward, and note while the thread is armed
 *   queue.c      vkQueue*: one at a time; the order in which command buffers are submitted
 *   record.c     recordings: what one armed thread recorded, in submit order
 *   sets.c       what descriptor sets hold
 *   lifetime.c   waits and invalidates before anything goes that a graph uses
 *   build.c      from a recording to a command buffer of our own
 *   replay.c     submits it; fences, waiting, release
 *
 * Locks: `lock` guards what a device knows, `queue_lock` every vkQueue* call. Who takes both takes `lock` first. */
#ifndef CMDGRAPH_LAYER_H
#define CMDGRAPH_LAYER_H
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <vulkan/vk_layer.h>
#include <vulkan/vulkan.h>

#include "api.h"
#include "functions.h"
#include "map.h"

/* The functions below us in the chain. */
struct cg_table {
#define FIELD(name) PFN_vk##name name;
  CG_WRAPPED(FIELD) CG_CALLED(FIELD) CG_REFUSED_COMMANDS(FIELD)
#undef FIELD
};

/* A command buffer that is open and holds writes: commands of a vkQueueWriteBuffer kind that wait for the next submit. */
struct cg_writer {
  VkCommandBuffer buffer;
  uint64_t number; /* of its last write */
};

struct cg_queue {
  VkQueue handle;
  uint32_t family;
};

struct cg_flight {
  VkFence fence;
  uint64_t serial;
  unsigned waiters;
};

/* One VkDevice. Never freed: lookups walk the list without a lock. One that is gone, and that nobody refers to any more,
 * serves for the next VkDevice. */
struct cg_device {
  _Atomic(void *) key; /* the loader's dispatch table, first word of every dispatchable handle; null when unused */
  struct cg_device *_Atomic beside;
  struct cg_table next;
  VkDevice handle;
  PFN_vkSetDeviceLoaderData set_loader_data;
  PFN_vkGetDeviceProcAddr get_proc;
  atomic_uint references; /* Python's, and its graphs' */
  bool gone;

  pthread_mutex_t lock, queue_lock;
  struct cg_queue *queues;
  size_t queue_count, queue_room;
  struct cg_map sets, pools; /* sets.c */
  struct cg_map memories;    /* lifetime.c: buffer -> memory */
  struct cg_graph *graphs;
  struct cg_writer *writers;
  size_t writer_room;
  _Atomic size_t writer_count;
  uint64_t writes;
  struct cg_flight **flights; /* by serial */
  size_t flight_count, flight_room;
  VkFence *spare_fences;
  size_t spare_count, spare_room;
  uint64_t serial, done; /* of the last submission, and of the last one known to be done */
};

enum cg_op_kind { OP_PIPELINE, OP_SETS, OP_PUSH, OP_BARRIER, OP_DISPATCH, OP_INDIRECT, OP_COPY, OP_FILL };

/* One recorded command. `data` is the place of its arrays in the track's `data`. */
struct cg_op {
  enum cg_op_kind kind;
  size_t data;
  union {
    VkPipeline pipeline;
    struct {
      VkPipelineLayout layout;
      uint32_t first, sets, offsets;
    } bind;
    struct {
      VkPipelineLayout layout;
      VkShaderStageFlags stages;
      uint32_t offset, size;
    } push;
    struct {
      VkPipelineStageFlags before, after;
      VkDependencyFlags flags;
      uint32_t memory, buffers;
    } barrier;
    struct {
      uint32_t x, y, z;
    } dispatch;
    struct {
      VkBuffer buffer;
      VkDeviceSize offset;
    } indirect;
    struct {
      VkBuffer source, target;
      uint32_t regions;
    } copy;
    struct {
      VkBuffer buffer;
      VkDeviceSize offset, size;
      uint32_t value;
    } fill;
  };
};

/* What was recorded into one command buffer; `buffer` is null once it was submitted. */
struct cg_track {
  VkCommandBuffer buffer;
  struct cg_op *ops;
  size_t op_count, op_room;
  unsigned char *data;
  size_t data_size, data_room;
};

struct cg_recording {
  struct cg_device *device;
  VkQueue queue;
  struct cg_track *tracks;
  size_t track_count, track_room, last;
  size_t *order; /* the submitted tracks */
  size_t order_count, order_room;
  enum cg_outcome state;
  char reason[160];
};

struct cg_graph {
  struct cg_device *device;
  struct cg_graph *beside;
  VkQueue queue;
  VkCommandPool pool;
  VkCommandBuffer buffer;
  uint64_t *uses; /* sorted handles of all that the commands use */
  size_t use_count, use_room;
  uint64_t last; /* serial of the last submission */
  bool invalid, released;
  cg_facts facts;
};

extern _Atomic int cg_armed_threads;
extern __thread struct cg_recording *cg_armed;

/* -- dispatch.c */
struct cg_device *cg_find_device(void *key);

static inline struct cg_device *cg_device_of(const void *handle) { return cg_find_device(*(void *const *)handle); }

/* -- queue.c: with `lock` held; null where the queue is not known */
const struct cg_queue *cg_find_queue(const struct cg_device *device, VkQueue queue);

/* -- record.c */
struct cg_track *cg_find_track(VkCommandBuffer buffer);
void cg_begin_track(VkCommandBuffer buffer);
void cg_submitted(struct cg_device *device, VkQueue queue, VkCommandBuffer buffer);
/* Appends a command with its arrays; `sizes` are in bytes and end with a null array. */
struct cg_part {
  const void *data;
  size_t size;
};
void cg_note(struct cg_track *track, struct cg_op op, size_t parts, const struct cg_part *part);
void cg_refuse(enum cg_outcome state, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Makes room for `count` elements of `size` bytes; 0 when out of memory. */
int cg_reserve(void *array, size_t *room, size_t count, size_t size);

/* Where the calling thread notes the commands of `buffer`; null when it does not. */
static inline struct cg_track *cg_track_of(VkCommandBuffer buffer) {
  if (__builtin_expect(atomic_load_explicit(&cg_armed_threads, memory_order_relaxed) == 0, 1)) return NULL;
  return cg_armed ? cg_find_track(buffer) : NULL;
}

/* -- commands.c */
void cg_refuse_command(VkCommandBuffer buffer, const char *name);
void cg_wrote(struct cg_device *device, VkCommandBuffer buffer);

/* -- lifetime.c and sets.c: with `lock` held unless said otherwise */
#define HANDLE(object) ((uint64_t)(uintptr_t)(object))
/* Add to what `graph` uses; 0 when out of memory, or when the set's contents are not known. */
int cg_add_use(struct cg_graph *graph, uint64_t handle);
int cg_add_buffer(struct cg_graph *graph, VkBuffer buffer);
int cg_add_set(struct cg_graph *graph, VkDescriptorSet set);
/* Before `handle` goes or changes: marks the graphs that use it; gives the last submission of them. */
uint64_t cg_invalidate(struct cg_device *device, uint64_t handle);
/* The same, and waits for that submission. Takes `lock` itself. */
void cg_settle(struct cg_device *device, uint64_t handle);
void cg_forget_sets(struct cg_device *device);

/* -- replay.c: with `lock` held unless said otherwise */
void cg_collect(struct cg_device *device);
VkResult cg_wait_for(struct cg_device *device, uint64_t serial); /* lets go of `lock` while it waits */
void cg_end(struct cg_device *device);                           /* takes `lock` itself */

#endif
