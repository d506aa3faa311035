/* The loader's side: which functions are ours, and what lies below them for each instance and device. */
#include <stdlib.h>
#include <string.h>

#include "layer.h"

#define EXPORT __attribute__((visibility("default")))
#define BUCKETS 64

struct instance {
  void *key;
  PFN_vkGetInstanceProcAddr get_proc;
  PFN_vkDestroyInstance destroy;
  struct instance *beside;
};

static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;
static struct instance *instances;
static struct cg_device *_Atomic buckets[BUCKETS];

static const struct {
  const char *name;
  PFN_vkVoidFunction function;
} wrapped[] = {
#define ROW(name) {"vk" #name, (PFN_vkVoidFunction)cg_##name},
    CG_WRAPPED(ROW) CG_REFUSED_COMMANDS(ROW)
#undef ROW
};

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_device_proc(VkDevice device, const char *name);
static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_instance_proc(VkInstance instance, const char *name);

static PFN_vkVoidFunction ours(const char *name) {
  for (size_t i = 0; i < sizeof wrapped / sizeof *wrapped; i++)
    if (!strcmp(wrapped[i].name, name)) return wrapped[i].function;
  return NULL;
}

/* -- devices ------------------------------------------------------------------------------------------------------ */

static size_t bucket_of(void *key) { return ((uintptr_t)key >> 4 ^ (uintptr_t)key >> 12) % BUCKETS; }

struct cg_device *cg_find_device(void *key) {
  struct cg_device *device = atomic_load_explicit(&buckets[bucket_of(key)], memory_order_acquire);
  while (device && atomic_load_explicit(&device->key, memory_order_relaxed) != key)
    device = atomic_load_explicit(&device->beside, memory_order_acquire);
  return device;
}

/* A device for `key`, one that is gone where there is one in the same bucket. With `making` held. */
static struct cg_device *new_device(void *key) {
  struct cg_device *_Atomic *bucket = &buckets[bucket_of(key)];
  struct cg_device *device = atomic_load(bucket);
  while (device && (atomic_load(&device->key) || atomic_load(&device->references)))
    device = atomic_load(&device->beside);
  if (device) {
    device->gone = false;
    return device;
  }
  if (!(device = calloc(1, sizeof *device))) return NULL;
  pthread_mutex_init(&device->lock, NULL);
  pthread_mutex_init(&device->queue_lock, NULL);
  atomic_store(&device->beside, atomic_load(bucket));
  atomic_store(bucket, device);
  return device;
}

static void fill(struct cg_device *device, PFN_vkGetDeviceProcAddr get_proc) {
#define FILL(name) device->next.name = (PFN_vk##name)get_proc(device->handle, "vk" #name);
  CG_WRAPPED(FILL) CG_CALLED(FILL) CG_REFUSED_COMMANDS(FILL)
#undef FILL
}

/* The loader's link for us in the chain of `info`, moved on to the next layer's; null where there is none. */
static VkLayerDeviceCreateInfo *device_link(const VkDeviceCreateInfo *info, VkLayerFunction function) {
  VkLayerDeviceCreateInfo *link = (VkLayerDeviceCreateInfo *)info->pNext;
  while (link && !(link->sType == VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO && link->function == function))
    link = (VkLayerDeviceCreateInfo *)link->pNext;
  return link;
}

static VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice physical, const VkDeviceCreateInfo *info,
                                                    const VkAllocationCallbacks *allocator, VkDevice *made) {
  VkLayerDeviceCreateInfo *link = device_link(info, VK_LAYER_LINK_INFO);
  VkLayerDeviceCreateInfo *data = device_link(info, VK_LOADER_DATA_CALLBACK);
  if (!link || !data) return VK_ERROR_INITIALIZATION_FAILED;
  PFN_vkGetInstanceProcAddr get_instance = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
  PFN_vkGetDeviceProcAddr get_device = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
  link->u.pLayerInfo = link->u.pLayerInfo->pNext;
  PFN_vkCreateDevice create = (PFN_vkCreateDevice)get_instance(NULL, "vkCreateDevice");
  VkResult result = create(physical, info, allocator, made);
  if (result != VK_SUCCESS) return result;

  pthread_mutex_lock(&making);
  struct cg_device *device = new_device(*(void **)*made);
  if (device) {
    device->handle = *made;
    device->get_proc = get_device;
    device->set_loader_data = data->u.pfnSetDeviceLoaderData;
    fill(device, get_device);
    atomic_store_explicit(&device->key, *(void **)*made, memory_order_release);
  }
  pthread_mutex_unlock(&making);
  if (device) return VK_SUCCESS;
  ((PFN_vkDestroyDevice)get_device(*made, "vkDestroyDevice"))(*made, allocator);
  return VK_ERROR_OUT_OF_HOST_MEMORY;
}

VKAPI_ATTR void VKAPI_CALL cg_DestroyDevice(VkDevice handle, const VkAllocationCallbacks *allocator) {
  if (!handle) return;
  struct cg_device *device = cg_device_of(handle);
  PFN_vkDestroyDevice destroy = device->next.DestroyDevice;
  cg_end(device);
  pthread_mutex_lock(&making);
  atomic_store(&device->key, NULL);
  pthread_mutex_unlock(&making);
  destroy(handle, allocator);
}

void cg_leave(cg_device *device) { atomic_fetch_sub(&device->references, 1); }

cg_device *cg_device_of_recording(cg_recording *recording) {
  if (recording->device) atomic_fetch_add(&recording->device->references, 1);
  return recording->device;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_device_proc(VkDevice handle, const char *name) {
  if (!strcmp(name, "vkGetDeviceProcAddr")) return (PFN_vkVoidFunction)get_device_proc;
  struct cg_device *device = cg_device_of(handle);
  PFN_vkVoidFunction below = device->get_proc(handle, name), function = below ? ours(name) : NULL;
  return function ? function : below;
}

/* -- instances ---------------------------------------------------------------------------------------------------- */

static VKAPI_ATTR VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo *info,
                                                      const VkAllocationCallbacks *allocator, VkInstance *made) {
  VkLayerInstanceCreateInfo *link = (VkLayerInstanceCreateInfo *)info->pNext;
  while (link && !(link->sType == VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO && link->function == VK_LAYER_LINK_INFO))
    link = (VkLayerInstanceCreateInfo *)link->pNext;
  struct instance *instance = calloc(1, sizeof *instance);
  if (!link || !instance) {
    free(instance);
    return VK_ERROR_INITIALIZATION_FAILED;
  }
  instance->get_proc = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
  link->u.pLayerInfo = link->u.pLayerInfo->pNext;
  VkResult result = ((PFN_vkCreateInstance)instance->get_proc(NULL, "vkCreateInstance"))(info, allocator, made);
  if (result != VK_SUCCESS) {
    free(instance);
    return result;
  }
  instance->key = *(void **)*made;
  instance->destroy = (PFN_vkDestroyInstance)instance->get_proc(*made, "vkDestroyInstance");
  pthread_mutex_lock(&making);
  instance->beside = instances;
  instances = instance;
  pthread_mutex_unlock(&making);
  return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL destroy_instance(VkInstance handle, const VkAllocationCallbacks *allocator) {
  if (!handle) return;
  pthread_mutex_lock(&making);
  struct instance **place = &instances;
  while (*place && (*place)->key != *(void **)handle) place = &(*place)->beside;
  struct instance *instance = *place;
  if (instance) *place = instance->beside;
  pthread_mutex_unlock(&making);
  if (instance) instance->destroy(handle, allocator);
  free(instance);
}

static PFN_vkVoidFunction below_instance(VkInstance handle, const char *name) {
  pthread_mutex_lock(&making);
  struct instance *instance = instances;
  while (instance && instance->key != *(void **)handle) instance = instance->beside;
  pthread_mutex_unlock(&making);
  return instance ? instance->get_proc(handle, name) : NULL;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_instance_proc(VkInstance instance, const char *name) {
  if (!strcmp(name, "vkGetInstanceProcAddr")) return (PFN_vkVoidFunction)get_instance_proc;
  if (!strcmp(name, "vkCreateInstance")) return (PFN_vkVoidFunction)create_instance;
  if (!strcmp(name, "vkDestroyInstance")) return (PFN_vkVoidFunction)destroy_instance;
  if (!strcmp(name, "vkCreateDevice")) return (PFN_vkVoidFunction)create_device;
  if (!strcmp(name, "vkGetDeviceProcAddr")) return (PFN_vkVoidFunction)get_device_proc;
  PFN_vkVoidFunction below = instance ? below_instance(instance, name) : NULL;
  PFN_vkVoidFunction function = below ? ours(name) : NULL;
  return function ? function : below;
}

EXPORT VKAPI_ATTR VkResult VKAPI_CALL vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface *version) {
  if (version->loaderLayerInterfaceVersion < 2) return VK_ERROR_INITIALIZATION_FAILED;
  version->loaderLayerInterfaceVersion = 2;
  version->pfnGetInstanceProcAddr = get_instance_proc;
  version->pfnGetDeviceProcAddr = get_device_proc;
  version->pfnGetPhysicalDeviceProcAddr = NULL;
  return VK_SUCCESS;
}
