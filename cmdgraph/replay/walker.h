/* Walks packed commands against a table of webgpu.h functions. No WebGPU header and no library to link: the table is
 * filled at run time, so one binary serves wgpu-native and Dawn. packed.py holds the same layout in Python. */
#ifndef CMDGRAPH_WALKER_H
#define CMDGRAPH_WALKER_H
#include <stddef.h>
#include <stdint.h>

enum cmdgraph_op {
  CMDGRAPH_ENCODER,
  CMDGRAPH_SUBMIT,
  CMDGRAPH_BEGIN_PASS,
  CMDGRAPH_END_PASS,
  CMDGRAPH_PIPELINE,
  CMDGRAPH_GROUP,
  CMDGRAPH_IMMEDIATES,
  CMDGRAPH_DISPATCH,
  CMDGRAPH_INDIRECT,
  CMDGRAPH_COPY,
  CMDGRAPH_CLEAR,
};

typedef struct {
  uint32_t op, x, y, z;
  void *p, *q;
  uint64_t u, v, w;
} cmdgraph_command;

typedef struct {
  void *(*create_command_encoder)(void *device, const void *descriptor);
  void *(*begin_compute_pass)(void *encoder, const void *descriptor);
  void (*set_pipeline)(void *pass, void *pipeline);
  void (*set_bind_group)(void *pass, uint32_t index, void *group, size_t count, const uint32_t *offsets);
  void (*set_immediates)(void *pass, uint32_t offset, const void *data, size_t size);
  void (*dispatch_workgroups)(void *pass, uint32_t x, uint32_t y, uint32_t z);
  void (*dispatch_workgroups_indirect)(void *pass, void *buffer, uint64_t offset);
  void (*end_pass)(void *pass);
  void (*release_pass)(void *pass);
  void (*copy_buffer_to_buffer)(void *encoder, void *source, uint64_t source_offset, void *destination,
                                uint64_t destination_offset, uint64_t size);
  void (*clear_buffer)(void *encoder, void *buffer, uint64_t offset, uint64_t size);
  void *(*finish)(void *encoder, const void *descriptor);
  void (*release_encoder)(void *encoder);
  void (*submit)(void *queue, size_t count, void *const *command_buffers);
  void (*release_command_buffer)(void *command_buffer);
  uint64_t (*submit_for_index)(void *queue, size_t count, void *const *command_buffers);  /* may be null */
} cmdgraph_functions;

/* `flag` (may be null) becomes non-zero when an implementation reports an error; what failed is never submitted.
 * Commands are a sequence of encoders, each from its ENCODER to its SUBMIT. */

/* Runs `count` commands. Returns the number of commands done: `count`, or the place of the SUBMIT that was stopped.
 * `submission` receives the number of the last submit, if the implementation counts them. */
size_t cmdgraph_walk(const cmdgraph_functions *f, void *device, void *queue, const cmdgraph_command *commands,
                     size_t count, const volatile int *flag, uint64_t *submission);

/* Encodes the first encoder of `commands` without submitting it. Returns a finished command buffer, null after an error. */
void *cmdgraph_encode(const cmdgraph_functions *f, void *device, const cmdgraph_command *commands, size_t count,
                      const volatile int *flag);

/* Submits finished command buffers in one call and gives them back. */
void cmdgraph_submit(const cmdgraph_functions *f, void *queue, size_t count, void **buffers, uint64_t *submission);

/* Gives a finished command buffer back without submitting it. */
void cmdgraph_drop(const cmdgraph_functions *f, void *buffer);

#endif
