#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "format/writer.h"

namespace megascope {

/// How an opened file is written again. What is empty stays as it was.
struct Conversion {
    std::optional<Container> container;
    std::optional<int> var_name; ///< keep_var_name
    std::optional<bool> opr_name, param_name, opr_priority;
    bool no_metadata = false;  ///< leave user info and optimize options out
    bool no_testcases = false; ///< the graphs alone
};

/// All graphs of a file, ready to be written.
class ConvertedDump {
public:
    /// Testcases follow the container, because load_and_run reads them in the main graph's format; their names and metadata stay.
    ConvertedDump(const Model& model, const Conversion& conversion);

    [[nodiscard]] const DumpContent& content() const { return content_; }

private:
    DumpContent::Part part(const StoredGraph& stored, const Conversion& conversion);

    DumpContent content_;
    std::vector<std::unique_ptr<const GraphInfo>> infos_; ///< what the content's options point at
};

} // namespace megascope
