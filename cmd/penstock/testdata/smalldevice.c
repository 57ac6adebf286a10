// SPDX-License-Identifier: MIT
// Preloaded, it makes Vulkan's devices say that they have DEVICE_BYTES of memory, all of it free: a
// device in software has what the machine has, which is never less than a model that the machine
// can serve.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <vulkan/vulkan.h>

static PFN_vkGetPhysicalDeviceMemoryProperties2 properties;

static VKAPI_ATTR void VKAPI_CALL small(VkPhysicalDevice device, VkPhysicalDeviceMemoryProperties2 *out) {
    const VkDeviceSize bytes = strtoull(getenv("DEVICE_BYTES"), NULL, 10);
    properties(device, out);
    for (uint32_t i = 0; i < out->memoryProperties.memoryHeapCount; i++) {
        out->memoryProperties.memoryHeaps[i].size = bytes;
    }
    for (VkBaseOutStructure *next = out->pNext; next; next = next->pNext) {
        if (next->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT) {
            VkPhysicalDeviceMemoryBudgetPropertiesEXT *budget = (void *) next;
            for (uint32_t i = 0; i < out->memoryProperties.memoryHeapCount; i++) {
                budget->heapBudget[i] = bytes;
                budget->heapUsage[i]  = 0;
            }
        }
    }
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL vkGetInstanceProcAddr(VkInstance instance, const char *name) {
    const PFN_vkGetInstanceProcAddr next  = (PFN_vkGetInstanceProcAddr) dlsym(RTLD_NEXT, "vkGetInstanceProcAddr");
    const PFN_vkVoidFunction        found = next(instance, name);
    if (!found || strcmp(name, "vkGetPhysicalDeviceMemoryProperties2") != 0) {
        return found;
    }
    properties = (PFN_vkGetPhysicalDeviceMemoryProperties2) found;
    return (PFN_vkVoidFunction) small;
}
