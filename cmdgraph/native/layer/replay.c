/* Submits graphs and knows when they are done: a fence for each submit, whatever the application has enabled. */
#include <sched.h>
#include <stdlib.h>

#include "layer.h"

#define MOST_FLIGHTS 16 /* looked through at a submit when there are more */
#define AT_ONCE 64      /* command buffers in one submit */

/* -- flights: with `lock` held ------------------------------------------------------------------------------------ */

static void retire(struct cg_device *device) {
  size_t count = 0;
  while (count < device->flight_count && device->flights[count]->serial <= device->done &&
         !device->flights[count]->waiters) {
    struct cg_flight *flight = device->flights[count++];
    if (device->next.ResetFences(device->handle, 1, &flight->fence) == VK_SUCCESS &&
        cg_reserve(&device->spare_fences, &device->spare_room, device->spare_count + 1, sizeof(VkFence)))
      device->spare_fences[device->spare_count++] = flight->fence;
    else
      device->next.DestroyFence(device->handle, flight->fence, NULL);
    free(flight);
  }
  device->flight_count -= count;
  for (size_t i = 0; i < device->flight_count; i++) device->flights[i] = device->flights[i + count];
}

static void look(struct cg_device *device) {
  for (size_t i = 0; i < device->flight_count; i++) {
    struct cg_flight *flight = device->flights[i];
    if (flight->serial <= device->done) continue;
    if (device->next.GetFenceStatus(device->handle, flight->fence) != VK_SUCCESS) break;
    device->done = flight->serial;
  }
  retire(device);
}

VkResult cg_wait_for(struct cg_device *device, uint64_t serial) {
  while (device->done < serial) {
    size_t at = 0;
    while (at < device->flight_count && device->flights[at]->serial < serial) at++;
    if (at == device->flight_count) return VK_SUCCESS; /* it was never submitted, or the device has ended */
    struct cg_flight *flight = device->flights[at];
    flight->waiters++;
    pthread_mutex_unlock(&device->lock);
    VkResult result = device->next.WaitForFences(device->handle, 1, &flight->fence, VK_TRUE, UINT64_MAX);
    pthread_mutex_lock(&device->lock);
    flight->waiters--;
    if (result != VK_SUCCESS) return result;
    if (device->done < flight->serial) device->done = flight->serial;
  }
  retire(device);
  return VK_SUCCESS;
}

static struct cg_flight *begin_flight(struct cg_device *device) {
  if (device->flight_count >= MOST_FLIGHTS) look(device);
  struct cg_flight *flight = calloc(1, sizeof *flight);
  if (!flight ||
      !cg_reserve(&device->flights, &device->flight_room, device->flight_count + 1, sizeof *device->flights)) {
    free(flight);
    return NULL;
  }
  VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  if (device->spare_count)
    flight->fence = device->spare_fences[--device->spare_count];
  else if (device->next.CreateFence(device->handle, &info, NULL, &flight->fence) != VK_SUCCESS) {
    free(flight);
    return NULL;
  }
  return flight;
}

/* -- replay ------------------------------------------------------------------------------------------------------- */

static VkResult submit(struct cg_device *device, struct cg_graph *graph, uint32_t times, VkFence fence) {
  VkCommandBuffer buffers[AT_ONCE];
  VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .pCommandBuffers = buffers};
  VkResult result = VK_SUCCESS;
  for (uint32_t i = 0; i < AT_ONCE && i < times; i++) buffers[i] = graph->buffer;
  pthread_mutex_lock(&device->queue_lock);
  while (times && result == VK_SUCCESS) {
    info.commandBufferCount = times < AT_ONCE ? times : AT_ONCE;
    times -= info.commandBufferCount;
    result = device->next.QueueSubmit(graph->queue, 1, &info, times ? VK_NULL_HANDLE : fence);
  }
  pthread_mutex_unlock(&device->queue_lock);
  return result;
}

static int fly(struct cg_device *device, struct cg_graph *graph, uint32_t times, cg_receipt *receipt) {
  struct cg_flight *flight = begin_flight(device);
  receipt->result = VK_ERROR_OUT_OF_HOST_MEMORY;
  if (!flight) return CG_FAILED;
  receipt->result = submit(device, graph, times, flight->fence);
  if (receipt->result != VK_SUCCESS) {
    device->next.DestroyFence(device->handle, flight->fence, NULL);
    free(flight);
    return CG_FAILED;
  }
  flight->serial = receipt->serial = graph->last = ++device->serial;
  device->flights[device->flight_count++] = flight;
  return CG_OK;
}

int cg_replay(cg_graph *graph, uint32_t times, uint64_t flushed, cg_receipt *receipt) {
  struct cg_device *device = graph->device;
  if (flushed) cg_flushed(device, flushed);
  if ((receipt->pending = cg_pending(device))) return CG_PENDING;
  pthread_mutex_lock(&device->lock);
  int outcome = graph->invalid ? CG_INVALID : fly(device, graph, times, receipt);
  pthread_mutex_unlock(&device->lock);
  return outcome;
}

int32_t cg_wait(cg_device *device, uint64_t serial) {
  pthread_mutex_lock(&device->lock);
  VkResult result = device->gone ? VK_SUCCESS : cg_wait_for(device, serial);
  pthread_mutex_unlock(&device->lock);
  return result;
}

/* -- the end ------------------------------------------------------------------------------------------------------ */

static void destroy_commands(struct cg_graph *graph) {
  struct cg_device *device = graph->device;
  if (graph->pool) device->next.DestroyCommandPool(device->handle, graph->pool, NULL);
  graph->pool = VK_NULL_HANDLE;
}

/* Frees the graphs that were released and do not run any more. With `lock` held. */
void cg_collect(struct cg_device *device) {
  if (!device->gone) look(device);
  for (struct cg_graph **place = &device->graphs; *place;) {
    struct cg_graph *graph = *place;
    if (!graph->released || graph->last > device->done) {
      place = &graph->beside;
      continue;
    }
    *place = graph->beside;
    destroy_commands(graph);
    free(graph->uses);
    free(graph);
    cg_leave(device);
  }
}

void cg_facts_of(const cg_graph *graph, cg_facts *facts) { *facts = graph->facts; }

void cg_release(cg_graph *graph) {
  struct cg_device *device = graph->device;
  pthread_mutex_lock(&device->lock);
  graph->released = true;
  cg_collect(device);
  pthread_mutex_unlock(&device->lock);
}

/* Before the VkDevice goes: nothing runs, and nothing of ours is left on it. Graphs that are still held stay, invalid. */
void cg_end(struct cg_device *device) {
  pthread_mutex_lock(&device->lock);
  cg_wait_for(device, device->serial);
  device->done = device->serial;
  for (retire(device); device->flight_count; retire(device)) { /* others still wait for some */
    pthread_mutex_unlock(&device->lock);
    sched_yield();
    pthread_mutex_lock(&device->lock);
  }
  for (struct cg_graph *graph = device->graphs; graph; graph = graph->beside) {
    destroy_commands(graph);
    graph->invalid = true;
  }
  while (device->spare_count)
    device->next.DestroyFence(device->handle, device->spare_fences[--device->spare_count], NULL);
  cg_forget_sets(device);
  cg_map_free(&device->memories);
  atomic_store(&device->writer_count, 0);
  device->queue_count = 0;
  device->gone = true;
  cg_collect(device);
  pthread_mutex_unlock(&device->lock);
}
