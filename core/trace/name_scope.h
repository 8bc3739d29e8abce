#pragma once

#include <string>

namespace megascope {

/// Puts a name in front of the operators that are traced while it lives, as a module does: inside `NameScope("conv1")` a
/// Convolution is called "conv1.Convolution". Scopes nest ("block.conv1"). Belongs to the thread that made it.
class NameScope {
public:
    explicit NameScope(const std::string& name);
    ~NameScope();
    NameScope(const NameScope&) = delete;
    NameScope& operator=(const NameScope&) = delete;

    /// The scopes of this thread joined by '.'; empty outside.
    [[nodiscard]] static const std::string& current();
    /// The name inside the current scope: "fc.weight".
    [[nodiscard]] static std::string qualify(const std::string& name);

private:
    std::string before_;
};

} // namespace megascope
