// SPDX-License-Identifier: MIT
// Included before ggml-vulkan.cpp. It tells Vulkan's validation layer, where that is switched on,
// what to validate, in types that headers before 1.3.274 do not have; those of Debian 12 are older.
// They are here as the specification of VK_EXT_layer_settings has them.
#ifndef PENSTOCK_LAYERSETTINGS_H
#define PENSTOCK_LAYERSETTINGS_H

#include <vulkan/vulkan_core.h>

#ifndef VK_EXT_layer_settings
#include <cstdint>
#include <vector>

namespace vk {

enum class LayerSettingTypeEXT : int32_t { eBool32 = 0 };

struct LayerSettingEXT {
    const char *        layer, *setting;
    LayerSettingTypeEXT type;
    uint32_t            count;
    const void *        values;
};

struct LayerSettingsCreateInfoEXT {
    VkStructureType         type = static_cast<VkStructureType>(1000496000);
    const void *            next = nullptr;
    uint32_t                count;
    const LayerSettingEXT * settings;

    explicit LayerSettingsCreateInfoEXT(const std::vector<LayerSettingEXT> & s) : count(static_cast<uint32_t>(s.size())), settings(s.data()) {}
};

} // namespace vk
#endif
#endif
