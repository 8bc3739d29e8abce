#include "trace/functional/shape.h"

#include <algorithm>

#include "trace/apply.h"
#include "trace/functional/elemwise.h"
#include "trace/functional/indexing.h"
#include "trace/trace_error.h"
#include "trace/trace_layer.h"

namespace megascope::functional {
namespace {

thread_local bool symbolic = true;

std::int64_t axis_of(std::int64_t axis, std::size_t ndim) {
    const auto resolved = resolve_axis(axis, ndim);
    if (!resolved)
        throw OprError(ErrorCode::invalid_argument,
                       "Axis " + std::to_string(axis) + " does not exist in a tensor of " + std::to_string(ndim) + " axes.");
    return static_cast<std::int64_t>(*resolved);
}

EagerTensor add_or_remove(const EagerTensor& x, const std::vector<std::int64_t>& axes, AxisDesc::Method method) {
    std::vector<AxisDesc> steps;
    for (const std::int64_t axis : axes) steps.push_back({method, static_cast<std::int32_t>(axis)});
    return apply1(OprDesc("AxisAddRemove").set("desc", std::move(steps)), {x});
}

} // namespace

bool symbolic_shape() { return symbolic && active_layer() != nullptr; }
SymbolicShapeScope::SymbolicShapeScope(bool on) : before_(symbolic) { symbolic = on; }
SymbolicShapeScope::~SymbolicShapeScope() { symbolic = before_; }

EagerTensor shape_of(const EagerTensor& x) {
    if (symbolic_shape()) return apply1(OprDesc("GetVarShape"), {x});
    const Shape shape = x.shape();
    return int_vector(shape.dims());
}

EagerTensor size_of(const EagerTensor& x, std::int64_t axis) {
    if (!symbolic_shape()) return int_vector({x.shape()[static_cast<std::size_t>(axis_of(axis, x.ndim()))]});
    return apply1(OprDesc("GetVarShape").set("axis", axis), {x});
}

EagerTensor reshape(const EagerTensor& x, std::span<const std::int64_t> shape) {
    const auto open = std::ranges::find(shape, -1);
    return reshape(x, int_vector(shape), open == shape.end() ? std::optional<std::int64_t>() : open - shape.begin());
}

EagerTensor reshape(const EagerTensor& x, const EagerTensor& shape, std::optional<std::int64_t> unspecified) {
    OprDesc desc("Reshape");
    if (unspecified) desc.set("axis", *unspecified);
    return apply1(desc, {x, shape});
}

EagerTensor flatten(const EagerTensor& x, std::int64_t start) {
    const std::int64_t first = axis_of(start, x.ndim());
    const EagerTensor sizes = first ? shape_of(x) : EagerTensor();
    std::vector<EagerTensor> target;
    for (std::int64_t axis = 0; axis < first; ++axis) target.push_back(subtensor(sizes, {Slice::at(0, axis)}));
    target.push_back(int_vector({-1}));
    return reshape(x, target.size() == 1 ? target[0] : concat(target), first);
}

EagerTensor broadcast_to(const EagerTensor& x, std::span<const std::int64_t> shape) { return broadcast_to(x, int_vector(shape)); }
EagerTensor broadcast_to(const EagerTensor& x, const EagerTensor& shape) { return apply1(OprDesc("Broadcast"), {x, shape}); }

EagerTensor dimshuffle(const EagerTensor& x, const std::vector<std::int64_t>& pattern) {
    OprDesc desc("Dimshuffle");
    if (pattern.empty()) throw OprError(ErrorCode::invalid_argument, "dimshuffle: the pattern is empty.");
    desc.set("pattern", pattern).set("ndim", *std::ranges::max_element(pattern) + 1);
    return apply1(desc, {x});
}

EagerTensor transpose(const EagerTensor& x, const std::vector<std::int64_t>& pattern) {
    std::vector<std::int64_t> axes;
    for (const std::int64_t axis : pattern) axes.push_back(axis_of(axis, pattern.size()));
    return dimshuffle(x, axes);
}

EagerTensor expand_dims(const EagerTensor& x, std::int64_t axis) { return expand_dims(x, std::vector{axis}); }

EagerTensor expand_dims(const EagerTensor& x, std::vector<std::int64_t> axes) {
    const std::size_t ndim = x.ndim() + axes.size();
    for (std::int64_t& axis : axes) axis = axis_of(axis, ndim);
    std::ranges::sort(axes);
    return add_or_remove(x, axes, AxisDesc::Method::add_1);
}

EagerTensor squeeze(const EagerTensor& x, std::int64_t axis) { return squeeze(x, std::vector{axis}); }

EagerTensor squeeze(const EagerTensor& x, std::vector<std::int64_t> axes) {
    const std::size_t ndim = x.ndim();
    for (std::int64_t& axis : axes) axis = axis_of(axis, ndim);
    std::ranges::sort(axes, std::greater<>()); // descriptors apply one after the other
    return add_or_remove(x, axes, AxisDesc::Method::remove);
}

EagerTensor concat(const std::vector<EagerTensor>& tensors, std::int64_t axis) { return apply1(OprDesc("Concat").set("axis", axis), tensors); }

EagerTensor stack(const std::vector<EagerTensor>& tensors, std::int64_t axis) {
    const std::int64_t at = axis_of(axis, tensors.front().ndim() + 1);
    OprDesc expand("AxisAddRemove");
    expand.set("desc", std::vector<AxisDesc>{{AxisDesc::Method::add_1, static_cast<std::int32_t>(at)}}).without_name();
    std::vector<EagerTensor> expanded;
    for (const EagerTensor& tensor : tensors) expanded.push_back(apply1(expand, {tensor}));
    return apply1(OprDesc("Concat").set("axis", at).with_name("Stack"), expanded);
}

std::vector<EagerTensor> split(const EagerTensor& x, const std::vector<std::int64_t>& sizes, std::int64_t axis) {
    std::vector<EagerTensor> inputs{x};
    for (const std::int64_t size : sizes) inputs.push_back(int_vector({size}));
    return apply_opr(OprDesc("Split").set("axis", axis), inputs);
}

std::vector<EagerTensor> split(const EagerTensor& x, std::int64_t count, std::int64_t axis) {
    const std::int64_t size = x.shape()[static_cast<std::size_t>(axis_of(axis, x.ndim()))];
    if (count <= 0 || size % count != 0)
        throw OprError(ErrorCode::invalid_argument, "An axis of size " + std::to_string(size) + " cannot be split into " +
                                                        std::to_string(count) + " equal parts.");
    return split(x, std::vector<std::int64_t>(static_cast<std::size_t>(count), size / count), axis);
}

EagerTensor repeat(const EagerTensor& x, std::int64_t times, std::int64_t axis) {
    const Shape shape = x.shape();
    const auto at = static_cast<std::size_t>(axis_of(axis, shape.ndim()));
    std::vector<std::int64_t> wide(shape.begin(), shape.end()), joined = wide;
    wide.insert(wide.begin() + static_cast<std::ptrdiff_t>(at) + 1, times);
    joined[at] *= times;
    return reshape(broadcast_to(expand_dims(x, static_cast<std::int64_t>(at) + 1), wide), joined);
}

EagerTensor flip(const EagerTensor& x, std::int64_t axis) { return subtensor(x, {Slice::step_only(axis, -1)}); }

EagerTensor copy_to(const EagerTensor& x, const std::string& device) {
    OprDesc desc("Copy");
    desc.comp_nodes = {{device}};
    return apply1(desc, {x});
}

EagerTensor identity(const EagerTensor& x) { return apply1(OprDesc("Identity"), {x}); }

} // namespace megascope::functional
