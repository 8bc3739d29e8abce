#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>

#include "tensor/shape.h"

namespace megascope {

/// Tables keyed by shapes that are walked in the order in which MegEngine's are: the hash is the one that it uses, the container
/// the standard library's. The order decides in which order terms of different shapes are added.
struct ShapeHash {
    [[nodiscard]] std::size_t operator()(const Shape& shape) const;
};
using ShapePair = std::pair<Shape, Shape>;
struct ShapePairHash {
    [[nodiscard]] std::size_t operator()(const ShapePair& shapes) const {
        return ShapeHash{}(shapes.first) * 20141203 + ShapeHash{}(shapes.second);
    }
};

template <class T>
using ShapeMap = std::unordered_map<Shape, T, ShapeHash>;
template <class T>
using ShapePairMap = std::unordered_map<ShapePair, T, ShapePairHash>;

} // namespace megascope
