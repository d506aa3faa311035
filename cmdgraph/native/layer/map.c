#include "map.h"

#include <stdlib.h>

static size_t place(uint64_t key, size_t capacity) { return (key * 0x9E3779B97F4A7C15u >> 20) & (capacity - 1); }

/* The slot of `key`, or the free one where it belongs. There is always a free one. */
static struct cg_slot *find(const struct cg_map *map, uint64_t key) {
  size_t at = place(key, map->capacity);
  while (map->slots[at].key && map->slots[at].key != key) at = (at + 1) & (map->capacity - 1);
  return &map->slots[at];
}

static int grow(struct cg_map *map) {
  struct cg_map bigger = {.capacity = map->capacity ? 2 * map->capacity : 64, .count = map->count};
  bigger.slots = calloc(bigger.capacity, sizeof *bigger.slots);
  if (!bigger.slots) return 0;
  for (size_t i = 0; i < map->capacity; i++)
    if (map->slots[i].key) *find(&bigger, map->slots[i].key) = map->slots[i];
  free(map->slots);
  *map = bigger;
  return 1;
}

void *cg_map_get(const struct cg_map *map, uint64_t key) { return map->capacity ? find(map, key)->value : NULL; }

int cg_map_put(struct cg_map *map, uint64_t key, void *value) {
  if (4 * (map->count + 1) > 3 * map->capacity && !grow(map)) return 0;
  struct cg_slot *slot = find(map, key);
  map->count += !slot->key;
  *slot = (struct cg_slot){key, value};
  return 1;
}

void *cg_map_take(struct cg_map *map, uint64_t key) {
  if (!map->capacity) return NULL;
  struct cg_slot *slot = find(map, key);
  void *value = slot->value;
  if (!slot->key) return NULL;
  map->count--;
  /* Those behind it move up, so that no search stops at the hole. */
  size_t mask = map->capacity - 1, hole = slot - map->slots;
  for (size_t at = (hole + 1) & mask; map->slots[at].key; at = (at + 1) & mask) {
    size_t home = place(map->slots[at].key, map->capacity);
    if (((at - home) & mask) >= ((at - hole) & mask)) {
      map->slots[hole] = map->slots[at];
      hole = at;
    }
  }
  map->slots[hole] = (struct cg_slot){0, NULL};
  return value;
}

void cg_map_free(struct cg_map *map) {
  free(map->slots);
  *map = (struct cg_map){0};
}
