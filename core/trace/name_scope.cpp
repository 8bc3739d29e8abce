#include "trace/name_scope.h"

#include <utility>

namespace megascope {
namespace {

std::string& scope_of_thread() {
    thread_local std::string scope;
    return scope;
}

} // namespace

NameScope::NameScope(const std::string& name) : before_(scope_of_thread()) { scope_of_thread() = qualify(name); }
NameScope::~NameScope() { scope_of_thread() = std::move(before_); }

const std::string& NameScope::current() { return scope_of_thread(); }

std::string NameScope::qualify(const std::string& name) {
    const std::string& scope = scope_of_thread();
    return scope.empty() ? name : scope + "." + name;
}

} // namespace megascope
