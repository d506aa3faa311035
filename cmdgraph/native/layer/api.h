/* What Python calls. cffi reads this file as it is, so it holds declarations alone.
 *
 * Devices, recordings and graphs are the layer's own objects. A graph belongs to the device that it was recorded on; calls
 * about one graph come from one thread at a time, everything else may come from any thread. */
#ifndef CMDGRAPH_API_H
#define CMDGRAPH_API_H
#include <stddef.h>
#include <stdint.h>
#pragma GCC visibility push(default)

typedef struct cg_device cg_device;
typedef struct cg_recording cg_recording;
typedef struct cg_graph cg_graph;

enum cg_outcome {
  CG_OK = 0,
  CG_AGAIN = 1,    /* the submit held commands from outside the recording; record again */
  CG_REFUSED = 2,  /* something that cannot be replayed; the reason is given */
  CG_PENDING = 3,  /* writes have not reached the queue; flush them, then call again */
  CG_INVALID = 4,  /* something that the graph uses is gone; record again */
  CG_FAILED = 5,   /* Vulkan reported an error; `result` holds it */
};

enum cg_action_kind { CG_DISPATCH = 0, CG_INDIRECT = 1, CG_COPY = 2, CG_FILL = 3 };

/* One recorded command that does something. `x`, `y`, `z` are workgroups, `size` is in bytes. */
typedef struct {
  uint32_t kind, x, y, z;
  uint64_t size;
} cg_action;

enum cg_build_flags {
  CG_EDGES = 1,    /* a barrier before the first and after the last command */
  CG_OVERLAP = 2,  /* the graph may be submitted again while it runs */
};

/* What a built graph holds. */
typedef struct {
  uint64_t actions, barriers, binds, binds_left_out;
} cg_facts;

typedef struct {
  uint64_t serial;   /* of the submission, for cg_wait */
  uint64_t pending;  /* after CG_PENDING: what to give as `flushed` next time */
  int32_t result;    /* after CG_FAILED: the VkResult */
} cg_receipt;

/* Records what the calling thread records and submits from now on, until cg_disarm. 0 when it is recording already, or
 * out of memory. */
int cg_arm(void);
/* Forgets what the calling thread has submitted so far, not what it has begun to record. */
void cg_restart(void);
cg_recording *cg_disarm(void);

/* CG_OK, CG_AGAIN or CG_REFUSED; then `reason` is its text. */
int cg_state(const cg_recording *recording, const char **reason);
/* The device that was submitted to, with a reference to it (cg_leave); null where nothing was submitted. */
cg_device *cg_device_of_recording(cg_recording *recording);
/* The number of actions; writes as many of them as there is room for. */
size_t cg_actions(const cg_recording *recording, cg_action *actions, size_t room);
/* A graph of the recorded commands. `barriers` holds a byte for each of `count` actions: not 0 where a global barrier must
 * come before it. Null keeps the barriers as they were recorded. Null comes back after an error, with its text. */
cg_graph *cg_build(cg_recording *recording, const uint8_t *barriers, size_t count, uint32_t flags, const char **reason);
void cg_forget(cg_recording *recording);

/* Submits the graph `times` times in one submit. `flushed`: writes up to here are known to be in the queue, 0 at first. */
int cg_replay(cg_graph *graph, uint32_t times, uint64_t flushed, cg_receipt *receipt);
void cg_facts_of(const cg_graph *graph, cg_facts *facts);
/* Lets go of the graph; replays under way finish. */
void cg_release(cg_graph *graph);

/* Writes that have not reached the queue: 0, or what to give to cg_flushed once they have. */
uint64_t cg_pending(cg_device *device);
void cg_flushed(cg_device *device, uint64_t up_to);
/* Blocks until submission `serial` is done. Gives a VkResult. */
int32_t cg_wait(cg_device *device, uint64_t serial);
void cg_leave(cg_device *device);

#pragma GCC visibility pop
#endif
