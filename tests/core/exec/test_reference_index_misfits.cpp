#include <QtTest>

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>

#include "exec/reference/kernel_table.h"
#include "opr/catalogue.h"
#include "opr/param_registry.h"
#include "tensor/element.h"

using namespace megascope;

namespace {

/// Bytes that end right before a page that nobody may read: a kernel that reads too far dies here, not at a user's.
class FencedTensor {
public:
    explicit FencedTensor(const Tensor& value) {
        constexpr std::size_t page = 4096;
        const std::size_t bytes = value.nbytes();
        size_ = ((bytes + page - 1) / page + 1) * page;
        base_ = static_cast<std::byte*>(mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        std::byte* data = base_ + size_ - page - bytes;
        if (bytes != 0) std::memcpy(data, value.bytes().data(), bytes);
        mprotect(base_ + size_ - page, page, PROT_NONE);
        ref = {value.dtype(), value.shape(), data};
    }
    ~FencedTensor() { munmap(base_, size_); }
    FencedTensor(const FencedTensor&) = delete;
    FencedTensor& operator=(const FencedTensor&) = delete;

    TensorRef ref;

private:
    std::byte* base_ = nullptr;
    std::size_t size_ = 0;
};

/// Memory for a result between two fences that show when a kernel writes beyond it.
class FencedOutput {
public:
    FencedOutput(DType dtype, Shape shape)
        : ref{dtype, shape, nullptr}, bytes_(tensor_bytes(dtype, shape)), memory_(allocate_aligned(bytes_ + 2 * fence)) {
        std::memset(memory_.get(), mark, bytes_ + 2 * fence);
        ref.data = memory_.get() + fence;
    }
    [[nodiscard]] bool intact() const {
        for (std::size_t i = 0; i < fence; ++i)
            if (memory_.get()[i] != std::byte{mark} || memory_.get()[fence + bytes_ + i] != std::byte{mark}) return false;
        return true;
    }
    MutTensorRef ref;

private:
    static constexpr std::size_t fence = 64;
    static constexpr unsigned char mark = 0xa5;
    std::size_t bytes_;
    std::shared_ptr<std::byte> memory_;
};

/// Operators with arbitrary params and inputs.
class Lottery {
public:
    explicit Lottery(unsigned seed) : bits_(seed) {}

    std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(bits_() % static_cast<std::uint64_t>(n)); }
    DType dtype() {
        static constexpr DTypeId ids[] = {DTypeId::float32, DTypeId::float32, DTypeId::float32, DTypeId::int32, DTypeId::int32,
                                          DTypeId::uint8,   DTypeId::int8,    DTypeId::float16, DTypeId::qint8, DTypeId::quint8,
                                          DTypeId::bool_,   DTypeId::int4,    DTypeId::quint4,  DTypeId::int16, DTypeId::qint32};
        return {ids[below(std::size(ids))], 0.1F, 3};
    }
    Shape shape() {
        Shape s = Shape::filled(static_cast<std::size_t>(1 + below(5)), 1);
        for (std::size_t a = 0; a < s.ndim(); ++a) s[a] = below(20) == 0 ? 0 : 1 + below(5);
        return s;
    }
    Tensor tensor(DType dtype, Shape shape) {
        TensorBuffer buffer(dtype, shape);
        for (std::byte& b : buffer.bytes()) b = std::byte{0};
        for (std::size_t i = 0; i < shape.elements(); ++i) store_real(buffer.ref(), i, static_cast<double>(below(9)) - 2);
        return std::move(buffer).freeze();
    }
    Param param(const ParamType& type) {
        Param p(type);
        for (std::size_t f = 0; f < type.fields.size(); ++f)
            if (below(3) == 0) vary(p, f, type.fields[f]);
        return p;
    }
    /// Inputs as the catalogue counts them; mostly of one shape and dtype, so that kernels get to run.
    std::vector<Tensor> inputs(const InputNames& names) {
        auto count = names.required + below(static_cast<std::int64_t>(names.fixed.size()) - names.required + 1);
        if (!names.repeated.empty()) count += below(4);
        const DType common = dtype();
        const Shape base = shape();
        const bool mixed = below(2) == 0;
        std::vector<Tensor> values;
        for (std::int64_t i = 0; i < count; ++i) {
            const bool small = i > 0 && below(3) == 0;
            const Shape s = small ? Shape::filled(1, 1 + below(3)) : mixed && i > 0 ? shape() : base;
            const DType t = small && below(2) == 0 ? DType(DTypeId::int32) : below(4) == 0 ? dtype() : common;
            values.push_back(tensor(t, s));
        }
        return values;
    }

private:
    void vary(Param& p, std::size_t f, const ParamField& field) {
        switch (field.kind) {
        case ParamFieldKind::boolean: p.set(f, below(2) == 1); break;
        case ParamFieldKind::int32:
        case ParamFieldKind::uint8: p.set(f, below(6) - 2); break;
        case ParamFieldKind::uint32: p.set(f, below(4)); break;
        case ParamFieldKind::uint64: p.set(f, static_cast<std::uint64_t>(below(4))); break;
        case ParamFieldKind::float32: p.set(f, static_cast<float>(below(9) - 4) / 2); break;
        case ParamFieldKind::enumeration:
            if (field.name != "dtype") p.set(f, field.enumeration->values[static_cast<std::size_t>(below(std::ssize(field.enumeration->values)))].value);
            break;
        case ParamFieldKind::int32_list: {
            std::vector<std::int64_t> list;
            for (std::int64_t i = below(4); i >= 0; --i) list.push_back(below(5) - 1);
            p.set(f, list);
            break;
        }
        case ParamFieldKind::index_list: {
            std::vector<IndexItem> items;
            for (std::int64_t i = below(3); i >= 0; --i) {
                const bool idx = below(2) == 0;
                items.push_back({static_cast<std::int8_t>(below(5) - 1), !idx && below(2) == 0, !idx && below(2) == 0, !idx && below(2) == 0, idx});
            }
            p.set(f, items);
            break;
        }
        default: break;
        }
    }
    std::mt19937 bits_;
};

} // namespace

/// Kernels get what a damaged or hand-made file can hold: they answer with a sentence, and never touch foreign memory.
class ReferenceIndexMisfitsTest : public QObject {
    Q_OBJECT
private slots:
    void kernelsStayInsideTheirMemory() {
        std::size_t ran = 0;
        std::size_t refused = 0;
        for (const OprDef& def : Catalogue::builtin().all()) {
            const auto kernel = reference_kernels().find(def.type);
            if (kernel == reference_kernels().end() || !def.infer) continue;
            for (unsigned seed = 0; seed < 200; ++seed) {
                Lottery lottery(seed);
                Opr opr;
                opr.type = std::string(def.type);
                opr.kind = def.kind;
                for (std::string_view name : def.params) {
                    if (name.ends_with('?')) name.remove_suffix(1);
                    if (const ParamType* type = ParamRegistry::builtin().find(name)) opr.params.push_back(lottery.param(*type));
                }
                const std::vector<Tensor> values = lottery.inputs(def.inputs);
                std::vector<VarDesc> descs;
                for (const Tensor& value : values) {
                    opr.inputs.emplace_back(descs.size());
                    descs.push_back({value.dtype(), value.shape(), value});
                }
                const auto count = def.count_outputs ? def.count_outputs(opr) : Expected<std::size_t>(1);
                if (!count || *count > 8) continue;
                for (std::size_t i = 0; i < *count; ++i) opr.outputs.emplace_back(values.size() + i);
                const auto inferred = def.infer({opr, descs});
                if (!inferred || inferred->size() != *count) continue;
                const bool allocates = kernel->second.data_dependent;
                if (!allocates && !std::ranges::all_of(*inferred, [](const VarDesc& d) {
                        return d.known() && d.shape->checked_elements() && *d.shape->checked_elements() < 100000;
                    }))
                    continue;

                std::vector<std::unique_ptr<FencedTensor>> fenced;
                std::vector<TensorRef> inputs;
                for (const Tensor& value : values) inputs.push_back(fenced.emplace_back(std::make_unique<FencedTensor>(value))->ref);
                std::vector<std::unique_ptr<FencedOutput>> results;
                std::vector<MutTensorRef> outputs;
                if (!allocates)
                    for (const VarDesc& d : *inferred)
                        outputs.push_back(results.emplace_back(std::make_unique<FencedOutput>(*d.dtype, *d.shape))->ref);
                const OutputAllocator allocate = [&](std::size_t, DType dtype, Shape shape) {
                    return results.emplace_back(std::make_unique<FencedOutput>(dtype, shape))->ref;
                };
                const auto done = kernel->second.run({opr, inputs, outputs, allocates ? &allocate : nullptr});
                if (!done) QVERIFY2(done.error().message.ends_with('.'), done.error().message.c_str());
                ++(done ? ran : refused);
                for (const auto& result : results)
                    QVERIFY2(result->intact(), qPrintable(QString("%1 writes beyond its result, seed %2").arg(opr.type.c_str()).arg(seed)));
            }
        }
        QVERIFY(ran > 4000);
        QVERIFY(refused > 4000);
    }
};

QTEST_APPLESS_MAIN(ReferenceIndexMisfitsTest)
#include "test_reference_index_misfits.moc"
