#pragma once

#include <optional>
#include <string>
#include <vector>

#include "format/graph_assembler.h"
#include "format/graph_encoder.h"
#include "format/param_writer.h"
#include "format/raw_param.h"

namespace megascope {

/// What both encoders have in common. `Schema` names the types of one container's generated header. Every `create_…` makes its
/// parts in the order in which MegEngine's writer makes them: that decides the bytes.
template <class Schema>
class EncoderFrame {
public:
    explicit EncoderFrame(const EncodeInput& input) : graph_(input.graph), plan_(input.plan), options_(input.options) {}

protected:
    using Builder = GraphBuffer;
    template <class T>
    using Offset = flatbuffers::Offset<T>;
    template <class T>
    using OffsetVector = Offset<flatbuffers::Vector<Offset<T>>>;
    using String = Offset<flatbuffers::String>;
    using Numbers = Offset<flatbuffers::Vector<std::uint32_t>>;
    using CompNodeTable = typename Schema::CompNode;
    using Blob = typename Schema::Blob;
    using Tensor = typename Schema::Tensor;
    using ParamNumber = typename Schema::ParamNumber;

    /// What an operator holds, made but not yet listed.
    struct Held {
        std::vector<Offset<Tensor>> tensors;
        std::vector<Offset<Blob>> blobs;
        std::vector<std::uint8_t> param_numbers;
        std::vector<Offset<void>> params;
    };
    /// The lists of it.
    struct Lists {
        OffsetVector<Tensor> tensors;
        OffsetVector<Blob> blobs;
        Offset<flatbuffers::Vector<ParamNumber>> more_numbers;
        OffsetVector<void> more;
    };

    String create_user_info() {
        const Metadata& m = options_.metadata;
        return m.has_user_info ? fbb_.CreateSharedString(m.user_info.data(), m.user_info.size()) : String();
    }

    Offset<CompNodeTable> create_comp_node(const std::optional<CompNode>& node) {
        if (!node) return {};
        String locator;
        if (!node->empty()) locator = fbb_.CreateSharedString(node->locator);
        const auto start = fbb_.StartTable();
        fbb_.AddOffset(CompNodeTable::VT_LOGICAL_LOCATOR, locator);
        return Offset<CompNodeTable>(fbb_.EndTable(start));
    }

    OffsetVector<CompNodeTable> create_comp_nodes(const Opr& opr) {
        if (opr.comp_nodes.empty()) return {};
        std::vector<Offset<CompNodeTable>> nodes;
        for (const CompNode& node : opr.comp_nodes) nodes.push_back(create_comp_node(node));
        return fbb_.CreateVector(nodes);
    }

    Numbers create_inputs(const Opr& opr) { return opr.inputs.empty() ? Numbers() : fbb_.CreateVector(wire_inputs(opr, plan_)); }

    String create_opr_name(const Opr& opr) {
        return options_.kept.opr_name ? fbb_.CreateSharedString(opr.has_name ? opr.name : graph_.display_name(opr.id)) : String();
    }

    String create_tensor_name(const WritePlan::Step& step, std::size_t tensor) {
        const auto name = written_tensor_name(graph_, step, tensor, options_.kept);
        return name ? fbb_.CreateSharedString(*name) : String();
    }

    Numbers create_shape(const std::optional<Shape>& shape) { return shape ? fbb_.CreateVector(wire_shape(*shape)) : Numbers(); }

    Offset<Blob> create_blob(std::span<const std::byte> bytes) {
        const auto data = fbb_.CreateVector(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
        const auto start = fbb_.StartTable();
        fbb_.AddOffset(Blob::VT_DATA, data);
        return Offset<Blob>(fbb_.EndTable(start));
    }

    /// Known and unknown params in stored order. Errors: those of `write_raw_param`.
    Expected<void> create_params(const Opr& opr, Held& held) {
        auto raw = opr.raw_params.begin();
        auto known = opr.params.begin();
        while (raw != opr.raw_params.end() || known != opr.params.end()) {
            if (raw != opr.raw_params.end() && (known == opr.params.end() || raw_param_index(*raw) <= held.params.size())) {
                auto written = write_raw_param(fbb_, *raw);
                if (!written) {
                    Error error = std::move(written).error();
                    error.where = opr_text(opr.id.index(), opr);
                    return forward(std::move(error));
                }
                held.param_numbers.push_back(raw->number);
                held.params.push_back(*written);
                ++raw;
            } else {
                add_param(held, *known);
                ++known;
            }
        }
        return {};
    }
    void add_param(Held& held, const Param& param) {
        held.param_numbers.push_back(param.type().number);
        held.params.push_back(write_param(fbb_, param));
    }

    void count_shared(const Opr& opr) {
        if (opr.kind.valid() && holds_shared_tensors(opr)) shared_tensors_ += static_cast<std::uint32_t>(opr.tensors.size());
    }

    Lists create_lists(const Held& held) {
        Lists lists;
        if (!held.tensors.empty()) lists.tensors = fbb_.CreateVector(held.tensors);
        if (!held.blobs.empty()) lists.blobs = fbb_.CreateVector(held.blobs);
        if (held.params.size() > 1) {
            lists.more_numbers.o = fbb_.CreateVector(held.param_numbers.data() + 1, held.param_numbers.size() - 1).o;
            lists.more = fbb_.CreateVector(held.params.data() + 1, held.params.size() - 1);
        }
        return lists;
    }

    /// The last fields of an operator's table but for the blobs, whose name differs.
    template <class Table>
    void add_params(Table& table, const Held& held, const Lists& lists) {
        if (!held.params.empty()) {
            table.add_param_type(static_cast<ParamNumber>(held.param_numbers[0]));
            table.add_param(held.params[0]);
        }
        table.add_additional_params_type(lists.more_numbers);
        table.add_additional_params(lists.more);
        table.add_tensors(lists.tensors);
    }

    const Graph& graph_;
    const WritePlan& plan_;
    const WriteOptions& options_;
    Builder fbb_;
    std::uint32_t shared_tensors_ = options_.unknown_shared_tensors;
};

} // namespace megascope
