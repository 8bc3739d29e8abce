#pragma once

#include <QString>

#include <memory>
#include <optional>
#include <vector>

#include "views/common/filter.h"
#include "views/common/graph_facts.h"

namespace megascope {

/// What a filter can ask about an operator, by field name. Tables, the search in the graph and "find anything" share it. Besides
///   type name var id order shape dtype category scope node format priority time host share flops throughput bytes bandwidth
///   intensity
/// every param is a field: `stride_h=2`, `mode:relu`. Immutable; any thread.
class OprFields {
public:
    /// `times` may be null.
    OprFields(std::shared_ptr<const GraphFacts> facts, std::shared_ptr<const OprTimes> times) : facts_(std::move(facts)), times_(std::move(times)) {}

    [[nodiscard]] std::optional<QString> text(OprId opr, const QString& field) const;
    [[nodiscard]] std::optional<double> number(OprId opr, const QString& field) const;
    /// A query of one link only.
    [[nodiscard]] bool fits(OprId opr, const FilterQuery& query) const;
    /// The operators that a query means, ascending; of a chain all operators of all its links. Constants are left out where
    /// `constants` is false.
    [[nodiscard]] std::vector<OprId> find(const FilterQuery& query, bool constants = true) const;
    /// What a search for operators means: constants (pills at their readers) count only where nothing else fits. Ascending.
    /// Errors: cancelled.
    [[nodiscard]] Expected<std::vector<OprId>> search(const FilterQuery& query, const CancelToken& cancel) const;

private:
    /// Nothing when cancelled.
    [[nodiscard]] std::optional<std::vector<OprId>> find(const FilterQuery& query, bool constants, const CancelToken& cancel) const;

    std::shared_ptr<const GraphFacts> facts_;
    std::shared_ptr<const OprTimes> times_;
};

} // namespace megascope
