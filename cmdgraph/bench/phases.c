#include "phases.h"

#include <time.h>

static uint64_t now(int clock) {
  struct timespec t = {0};
#ifdef _WIN32
  if (clock == CMDGRAPH_WALL) timespec_get(&t, TIME_UTC);
#else
  clock_gettime(clock == CMDGRAPH_WALL ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID, &t);
#endif
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void cmdgraph_time_phases(const cmdgraph_calls *f, void *device, void *queue, const cmdgraph_operation *operations,
                          size_t count, int clock, uint64_t *ns) {
  uint64_t t[CMDGRAPH_PHASES + 1] = {0}, begin = clock ? now(clock) : 0;
  for (size_t i = 0; i < count; i++) {
    size_t at = 0;
#define MARK() (clock ? (void)(t[at++] = now(clock)) : (void)0)
    MARK();
    void *group = f->create_bind_group(device, operations[i].descriptor);
    MARK();
    void *encoder = f->create_command_encoder(device, NULL);
    MARK();
    void *pass = f->begin_compute_pass(encoder, NULL);
    MARK();
    f->set_pipeline(pass, operations[i].pipeline);
    MARK();
    f->set_bind_group(pass, 0, group, 0, NULL);
    MARK();
    f->dispatch_workgroups(pass, 1, 1, 1);
    MARK();
    f->end_pass(pass);
    MARK();
    void *buffer = f->finish(encoder, NULL);
    MARK();
    f->submit(queue, 1, &buffer);
    MARK();
    f->release_command_buffer(buffer);
    f->release_pass(pass);
    f->release_encoder(encoder);
    f->release_bind_group(group);
    MARK();
    for (size_t phase = 0; clock && phase < CMDGRAPH_PHASES; phase++) ns[phase] += t[phase + 1] - t[phase];
  }
  ns[CMDGRAPH_PHASES] = clock ? now(clock) - begin : 0;
}
