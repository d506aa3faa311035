#include "walker.h"

/* Runs the commands of one encoder, from `at`, which is its ENCODER, up to its SUBMIT, and finishes it.
 * Returns the place of that SUBMIT. */
static size_t encode(const cmdgraph_functions *f, void *device, const cmdgraph_command *commands, size_t at, size_t count,
                     void **buffer) {
  void *encoder = f->create_command_encoder(device, NULL), *pass = NULL;
  for (at++; at < count; at++) {
    const cmdgraph_command *c = &commands[at];
    switch (c->op) {
      case CMDGRAPH_BEGIN_PASS:
        pass = f->begin_compute_pass(encoder, NULL);
        break;
      case CMDGRAPH_END_PASS:
        f->end_pass(pass);
        f->release_pass(pass);
        break;
      case CMDGRAPH_PIPELINE:
        f->set_pipeline(pass, c->p);
        break;
      case CMDGRAPH_GROUP:
        f->set_bind_group(pass, c->x, c->p, c->y, c->q);
        break;
      case CMDGRAPH_IMMEDIATES:
        f->set_immediates(pass, c->x, c->q, c->y);
        break;
      case CMDGRAPH_DISPATCH:
        f->dispatch_workgroups(pass, c->x, c->y, c->z);
        break;
      case CMDGRAPH_INDIRECT:
        f->dispatch_workgroups_indirect(pass, c->p, c->u);
        break;
      case CMDGRAPH_COPY:
        f->copy_buffer_to_buffer(encoder, c->p, c->u, c->q, c->v, c->w);
        break;
      case CMDGRAPH_CLEAR:
        f->clear_buffer(encoder, c->p, c->u, c->w);
        break;
      case CMDGRAPH_SUBMIT:
        *buffer = f->finish(encoder, NULL);
        f->release_encoder(encoder);
        return at;
    }
  }
  f->release_encoder(encoder);
  *buffer = NULL;
  return at;
}

static void release(const cmdgraph_functions *f, void *buffer) {
  if (buffer) f->release_command_buffer(buffer);
}

void *cmdgraph_encode(const cmdgraph_functions *f, void *device, const cmdgraph_command *commands, size_t count,
                      const volatile int *flag) {
  void *buffer;
  encode(f, device, commands, 0, count, &buffer);
  if (!flag || !*flag) return buffer;
  release(f, buffer);
  return NULL;
}

void cmdgraph_submit(const cmdgraph_functions *f, void *queue, size_t count, void **buffers, uint64_t *submission) {
  if (f->submit_for_index)
    *submission = f->submit_for_index(queue, count, buffers);
  else
    f->submit(queue, count, buffers);
  for (size_t i = 0; i < count; i++) release(f, buffers[i]);
}

void cmdgraph_drop(const cmdgraph_functions *f, void *buffer) { release(f, buffer); }

size_t cmdgraph_walk(const cmdgraph_functions *f, void *device, void *queue, const cmdgraph_command *commands,
                     size_t count, const volatile int *flag, uint64_t *submission) {
  for (size_t at = 0; at < count; at++) {
    void *buffer;
    at = encode(f, device, commands, at, count, &buffer);
    if (flag && *flag) {
      release(f, buffer);
      return at;
    }
    cmdgraph_submit(f, queue, 1, &buffer, submission);
  }
  return count;
}
