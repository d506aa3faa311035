/* A hash map from 64-bit handles to pointers. No handle is 0. Not safe for several threads by itself. */
#ifndef CMDGRAPH_MAP_H
#define CMDGRAPH_MAP_H
#include <stddef.h>
#include <stdint.h>

struct cg_map {
  struct cg_slot {
    uint64_t key;
    void *value;
  } *slots;
  size_t count, capacity; /* capacity is 0 or a power of two */
};

void *cg_map_get(const struct cg_map *map, uint64_t key);
/* 0 when out of memory. */
int cg_map_put(struct cg_map *map, uint64_t key, void *value);
/* Removes the key; its value, or null where there was none. */
void *cg_map_take(struct cg_map *map, uint64_t key);
void cg_map_free(struct cg_map *map);

#endif
