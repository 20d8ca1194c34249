// Where the kernel keeps the limits of this process.
#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

namespace cobre::comm::core {

enum class CgroupVersion { One, Two };

/// Calls `visit(version, folder)` for every folder that may limit this process through `controller` ("memory", "cpu"):
/// its group and all ancestors, of which the tightest counts. `proc` and `cgroup_root` are where the two file systems
/// are.
void for_each_control_group(const std::filesystem::path& proc, const std::filesystem::path& cgroup_root,
                            std::string_view controller,
                            const std::function<void(CgroupVersion, const std::filesystem::path&)>& visit);

}  // namespace cobre::comm::core
