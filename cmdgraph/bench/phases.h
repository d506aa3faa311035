/* The naive path, an encoder, a pass and a submit for each operation, with a clock read between the calls. The functions
 * are those of webgpu.h, handed over at run time, so one binary serves wgpu-native and Dawn. */
#ifndef CMDGRAPH_PHASES_H
#define CMDGRAPH_PHASES_H
#include <stddef.h>
#include <stdint.h>

/* Create bind group, create encoder, begin pass, set pipeline, set bind group, dispatch, end, finish, submit, release. */
#define CMDGRAPH_PHASES 10

typedef struct {
  void *(*create_bind_group)(void *device, const void *descriptor);
  void *(*create_command_encoder)(void *device, const void *descriptor);
  void *(*begin_compute_pass)(void *encoder, const void *descriptor);
  void (*set_pipeline)(void *pass, void *pipeline);
  void (*set_bind_group)(void *pass, uint32_t index, void *group, size_t count, const uint32_t *offsets);
  void (*dispatch_workgroups)(void *pass, uint32_t x, uint32_t y, uint32_t z);
  void (*end_pass)(void *pass);
  void *(*finish)(void *encoder, const void *descriptor);
  void (*submit)(void *queue, size_t count, void *const *command_buffers);
  void (*release_command_buffer)(void *command_buffer);
  void (*release_pass)(void *pass);
  void (*release_encoder)(void *encoder);
  void (*release_bind_group)(void *group);
} cmdgraph_calls;

typedef struct {
  void *pipeline;
  const void *descriptor; /* of its bind group */
} cmdgraph_operation;

enum cmdgraph_clock { CMDGRAPH_NO_CLOCK, CMDGRAPH_WALL, CMDGRAPH_THREAD_CPU };

/* Runs the operations one after another and adds to `ns` what each phase took; behind the phases comes the whole. */
void cmdgraph_time_phases(const cmdgraph_calls *f, void *device, void *queue, const cmdgraph_operation *operations,
                          size_t count, int clock, uint64_t *ns);

#endif
