#include "opr/opr_id.h"

#include <string>

#include <xxhash.h>

namespace megascope {

namespace {
std::uint64_t hash(const char* data, std::size_t size) {
    const std::uint64_t id = XXH64(data, size, 20160701);
    return id == 0 ? 1 : id;
}
} // namespace

std::uint64_t versioned_opr_id(std::string_view name) {
    const std::string text(name); // c_str() gives the NUL that is hashed
    return hash(text.c_str(), text.size() + 1);
}

std::uint64_t unversioned_opr_id(std::string_view name) {
    const std::size_t n = name.size();
    if (n >= 2 && name[n - 2] == 'V' && name[n - 1] >= '0' && name[n - 1] <= '9') name.remove_suffix(2);
    return hash(name.data(), name.size());
}

} // namespace megascope
