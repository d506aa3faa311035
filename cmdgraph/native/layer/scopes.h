/* What a barrier must order, and no more: a wider one costs more, on an NVIDIA H200 4.4 us in place of 1.9. */
#ifndef CMDGRAPH_SCOPES_H
#define CMDGRAPH_SCOPES_H
#include "layer.h"

struct cg_scope {
  VkPipelineStageFlags stages;
  VkAccessFlags reads, writes;
};

extern const struct cg_scope CG_EVERYTHING, CG_EVERYTHING_AND_HOST;

struct cg_scope cg_both(struct cg_scope a, struct cg_scope b);
/* That of each of the `count` actions; null when out of memory. The caller frees it. */
struct cg_scope *cg_find_scopes(const struct cg_recording *recording, size_t count);
/* The actions from `at` up to the next barrier: those that the one before `at` lets begin. Later ones wait for the next. */
struct cg_scope cg_until_the_next(const struct cg_scope *scopes, const uint8_t *barriers, size_t count, size_t at);

#endif
