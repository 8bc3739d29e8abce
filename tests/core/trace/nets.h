#pragma once

#include <QString>
#include <QStringList>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <random>
#include <string>

#include "graph/graph.h"
#include "tensor/element.h"
#include "tensor/npz.h"
#include "trace/functional/elemwise.h"
#include "trace/functional/indexing.h"
#include "trace/functional/nn.h"
#include "trace/functional/shape.h"
#include "trace/name_scope.h"

namespace megascope::test {

/// Parameters by path: those of a state dict, or random ones made when they are first asked for.
class Weights {
public:
    Weights() = default;
    /// From an .npz; `ok` tells whether it could be read.
    explicit Weights(const std::filesystem::path& file) {
        auto entries = read_npz(file);
        ok_ = entries.has_value();
        if (!ok_) return;
        for (NpzEntry& entry : *entries) known_[entry.name] = EagerTensor::untraced(entry.array.tensor.aligned(), entry.name);
        given_ = true;
    }
    bool ok() const { return ok_; }

    EagerTensor operator()(const std::string& name, Shape shape, double low = -0.3, double high = 0.3) {
        if (const auto found = known_.find(name); found != known_.end()) {
            // A state dict keeps the numbers of a batch normalisation as vectors.
            const Tensor value = found->second.value();
            if (value.shape() != shape && value.elements() == shape.elements())
                found->second = EagerTensor::untraced(value.viewed_as(value.dtype(), shape), name);
            return found->second;
        }
        if (given_) ok_ = false;
        std::vector<float> values(shape.elements());
        std::uniform_real_distribution<float> distribution(static_cast<float>(low), static_cast<float>(high));
        for (float& value : values) value = distribution(random_);
        return known_[name] = EagerTensor::untraced(Tensor::copy_of<float>(DTypeId::float32, shape, values), name);
    }

private:
    std::map<std::string, EagerTensor> known_;
    std::mt19937 random_{7};
    bool given_ = false, ok_ = true;
};

namespace F = megascope::functional;

inline EagerTensor conv(Weights& w, const std::string& path, const EagerTensor& x, std::int64_t in, std::int64_t out, std::int64_t kernel,
                        F::Pair stride = 1, F::Pair padding = 0, bool bias = false) {
    const NameScope scope(path);
    return F::conv2d(x, w(path + ".weight", {out, in, kernel, kernel}), bias ? w(path + ".bias", {1, out, 1, 1}) : EagerTensor(),
                     {.stride = stride, .padding = padding});
}

/// `scope` is what the layer is called by its caller, `path` where its parameters are.
inline EagerTensor linear(Weights& w, const std::string& scope, const std::string& path, const EagerTensor& x, std::int64_t in, std::int64_t out) {
    const NameScope named(scope);
    return F::linear(x, w(path + ".weight", {out, in}), w(path + ".bias", {out}));
}

inline EagerTensor batch_norm(Weights& w, const std::string& path, const EagerTensor& x, std::int64_t channels) {
    const NameScope scope(path);
    const Shape shape{1, channels, 1, 1};
    return F::batch_norm(x, w(path + ".weight", shape, 0.5, 1.5), w(path + ".bias", shape), w(path + ".running_mean", shape),
                         w(path + ".running_var", shape, 0.5, 1.5));
}

/// data 1×1×28×28.
inline EagerTensor lenet(Weights& w, const EagerTensor& data) {
    EagerTensor x = F::max_pool2d(F::relu(conv(w, "conv1", data, 1, 6, 5, 1, 0, true)), {});
    x = F::max_pool2d(F::relu(conv(w, "conv2", x, 6, 16, 5, 1, 0, true)), {});
    x = F::flatten(x, 1);
    x = F::relu(linear(w, "fc1", "fc1", x, 256, 120));
    x = F::relu(linear(w, "fc2", "fc2", x, 120, 84));
    return linear(w, "cls", "cls", x, 84, 10);
}

/// ResNet-18 of a quarter of the usual width's quarter: 4, 8, 16, 32 channels; data 1×3×64×64.
inline EagerTensor resnet18(Weights& w, const EagerTensor& data) {
    EagerTensor x = F::relu(batch_norm(w, "bn1", conv(w, "conv1", data, 3, 4, 7, 2, 3), 4));
    {
        const NameScope scope("maxpool");
        x = F::max_pool2d(x, {.window = 3, .stride = 2, .padding = 1});
    }
    std::int64_t in = 4;
    for (int block = 0; block < 8; ++block) {
        const std::int64_t out = 4LL << (block / 2);
        const std::int64_t stride = out != in ? 2 : 1;
        const std::string path = "layers." + std::to_string(block);
        // The layers' scopes carry their whole path, so the block has none of its own around them.
        EagerTensor side;
        if (out != in) {
            side = batch_norm(w, path + ".downsample.1", conv(w, path + ".downsample.0", x, in, out, 1, stride), out);
        } else {
            const NameScope scope(path + ".downsample");
            side = F::identity(x);
        }
        EagerTensor y = batch_norm(w, path + ".bn1", conv(w, path + ".conv1", x, in, out, 3, stride, 1), out);
        {
            const NameScope scope(path);
            y = F::relu(y);
        }
        y = batch_norm(w, path + ".bn2", conv(w, path + ".conv2", y, out, out, 3, 1, 1), out);
        const NameScope scope(path);
        x = F::relu(side + y);
        in = out;
    }
    x = F::mean(F::mean(x, 3, true), 2, true);
    return linear(w, "fc", "fc", F::flatten(x, 1), 32, 10);
}

/// Two blocks of attention over 2×6 words of 50: 32 channels, 4 heads.
inline EagerTensor transformer(Weights& w, const EagerTensor& words) {
    EagerTensor x;
    {
        const NameScope scope("emb");
        x = F::embedding(words, w("emb.weight", {50, 32}));
    }
    const auto norm = [&](const std::string& scope, const std::string& path, const EagerTensor& t) {
        const NameScope named(scope);
        return F::layer_norm(t, w(path + ".weight", {32}, 0.5, 1.5), w(path + ".bias", {32}));
    };
    for (int block = 0; block < 2; ++block) {
        const std::string path = "blk" + std::to_string(block) + ".";
        const EagerTensor qkv = linear(w, "qkv", path + "qkv", norm("ln1", path + "ln1", x), 32, 96);
        const std::vector<EagerTensor> parts = F::split(qkv, 3, 2);
        const auto heads = [](const EagerTensor& t) { return F::transpose(F::reshape(t, {2, 6, 4, 8}), {0, 2, 1, 3}); };
        const EagerTensor q = heads(parts[0]), k = heads(parts[1]), v = heads(parts[2]);
        const EagerTensor attention = F::softmax(F::matmul(q, k, {.transpose_b = true}) / 2.8284271247461903, -1);
        const EagerTensor joined = F::reshape(F::transpose(F::matmul(attention, v), {0, 2, 1, 3}), {2, 6, 32});
        x = x + linear(w, "o", path + "o", joined, 32, 32);
        const EagerTensor wide = F::gelu(linear(w, "f1", path + "f1", norm("ln2", path + "ln2", x), 32, 64));
        x = x + linear(w, "f2", path + "f2", wide, 64, 32);
    }
    return linear(w, "head", "head", x, 32, 50);
}

struct Net {
    const char* name;
    EagerTensor (*forward)(Weights&, const EagerTensor&);
    DType dtype;
    Shape shape;
};
inline const Net nets[] = {
    {"lenet", lenet, DTypeId::float32, {1, 1, 28, 28}},
    {"resnet18_w4", resnet18, DTypeId::float32, {1, 3, 64, 64}},
    {"transformer_tiny", transformer, DTypeId::int32, {2, 6}},
};

inline EagerTensor random_input(const Net& net) {
    std::mt19937 random(3);
    TensorBuffer buffer(net.dtype, net.shape);
    for (std::size_t i = 0; i < net.shape.elements(); ++i) {
        const double value = std::uniform_real_distribution<double>(0, 50)(random);
        if (net.dtype.is_integer())
            store_integer(buffer.ref(), i, static_cast<std::int64_t>(value));
        else
            store_real(buffer.ref(), i, value / 25 - 1);
    }
    return EagerTensor(std::move(buffer).freeze());
}

/// Largest |a - b| relative to the largest |a|.
inline double difference(const Tensor& a, const Tensor& b) {
    if (!(a.shape() == b.shape())) return INFINITY;
    const std::vector<double> x = to_real(a.aligned().ref()), y = to_real(b.aligned().ref());
    double worst = 0, scale = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        worst = std::max(worst, std::abs(x[i] - y[i]));
        scale = std::max(scale, std::abs(x[i]));
    }
    return worst / std::max(scale, 1e-30);
}

inline std::filesystem::path reference(const std::string& rest) { return std::filesystem::path(MEGASCOPE_REFERENCE_DATA) / "ref" / "nets" / rest; }

/// "Elemwise ADD(ImmutableTensor,Convolution)" for every operator but constants and inputs, in file order.
inline QStringList operator_list(const Graph& graph) {
    QStringList list;
    for (const Opr& opr : graph.oprs()) {
        if (opr.type == "ImmutableTensor" || opr.type == "Host2DeviceCopy") continue;
        QString text = QString::fromStdString(opr.type);
        if (!opr.params.empty())
            for (std::size_t i = 0; i < opr.param().type().fields.size(); ++i)
                if (!opr.param().is_default(i)) text += QString(" %1=%2").arg(opr.param().type().fields[i].name.c_str(), opr.param().text(i).c_str());
        QStringList inputs;
        for (const VarId input : opr.inputs) inputs << QString::fromStdString(graph.producer(input).type);
        for (const CompNode& node : opr.comp_nodes) text += " on " + QString::fromStdString(node.locator);
        list << text + "(" + inputs.join(',') + ")";
    }
    return list;
}

} // namespace megascope::test
