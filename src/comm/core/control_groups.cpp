#include "comm/core/control_groups.hpp"

#include <fstream>
#include <string>

#include "comm/core/format.hpp"

namespace cobre::comm::core {

void for_each_control_group(const std::filesystem::path& proc, const std::filesystem::path& cgroup_root,
                            std::string_view controller,
                            const std::function<void(CgroupVersion, const std::filesystem::path&)>& visit) {
  const std::string wanted = core::format(",{},", controller);
  std::ifstream in(proc / "self" / "cgroup");
  std::string line;
  while (std::getline(in, line)) {  // "<id>:<controllers>:<path>", the controllers empty for version 2
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    std::string controllers = line.substr(first, second - first);
    controllers.front() = ',';
    controllers += ',';  // ",memory,hugetlb,"
    const bool two = controllers == ",,";
    if (!two && controllers.find(wanted) == std::string::npos) continue;
    const auto root = two ? cgroup_root : cgroup_root / controller;
    for (std::filesystem::path group = line.substr(second + 1);; group = group.parent_path()) {
      visit(two ? CgroupVersion::Two : CgroupVersion::One, root / group.relative_path());
      if (!group.has_relative_path()) break;
    }
  }
}

}  // namespace cobre::comm::core
