#include "format/tensor_blobs.h"

#include <cstring>

namespace megascope {

namespace {

std::optional<BlobOrder> blob_order(const Opr& opr) {
    if (!opr.kind.valid()) return std::nullopt;
    if (opr.type == "MultipleDeviceTensorHolder") return BlobOrder::count_first;
    if (opr.type == "MultipleDeviceTensorWithFormatHolder") return BlobOrder::count_then_pairs;
    if (opr.type == "SharedDeviceTensorWithFormat") return BlobOrder::pairs;
    return std::nullopt;
}

bool has_count(BlobOrder order) { return order != BlobOrder::pairs; }
bool has_formats(BlobOrder order) { return order != BlobOrder::count_first; }

std::optional<TensorFormat> parse_format(std::span<const std::byte> blob) {
    if (blob.size() < 4) return std::nullopt;
    std::int32_t kind = 0;
    std::memcpy(&kind, blob.data(), 4);
    const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(blob[i]); };
    TensorFormat f;
    if (kind == 0 && blob.size() == 4) return f;
    if (kind == 1 && blob.size() == 5) {
        f.kind = TensorFormat::Kind::image2d_pack4;
        f.align_axis = byte(4);
        return f;
    }
    if (kind == 2 && blob.size() == 6) {
        f.kind = TensorFormat::Kind::lowbits_aligned;
        f.size_nbits = byte(4);
        f.align_size_in_bits = byte(5);
        return f;
    }
    return std::nullopt;
}

std::vector<std::byte> format_blob(const TensorFormat& f) {
    std::vector<std::byte> blob(4);
    blob[0] = static_cast<std::byte>(f.kind);
    if (f.kind == TensorFormat::Kind::image2d_pack4) blob.push_back(static_cast<std::byte>(f.align_axis));
    if (f.kind == TensorFormat::Kind::lowbits_aligned) {
        blob.push_back(static_cast<std::byte>(f.size_nbits));
        blob.push_back(static_cast<std::byte>(f.align_size_in_bits));
    }
    return blob;
}

} // namespace

Expected<void> take_format_blobs(Opr& opr) {
    const auto order = blob_order(opr);
    if (!order) return {};
    const std::size_t counts = has_count(*order) ? 1 : 0;
    const std::size_t expected = counts + (has_formats(*order) ? opr.tensors.size() : 0);
    if (opr.blobs.size() != expected)
        return fail(ErrorCode::corrupt, opr.type + " has " + std::to_string(opr.blobs.size()) + " blobs for its " +
                                            std::to_string(opr.tensors.size()) + " tensors, " + std::to_string(expected) + " are needed.");
    if (counts) {
        std::uint32_t count = 0;
        if (opr.blobs[0].size() != 4) return fail(ErrorCode::corrupt, opr.type + " has a tensor count of the wrong size.");
        std::memcpy(&count, opr.blobs[0].data(), 4);
        if (count != opr.tensors.size())
            return fail(ErrorCode::corrupt, opr.type + " says that it holds " + std::to_string(count) + " tensors, but " +
                                                std::to_string(opr.tensors.size()) + " are stored.");
    }
    for (std::size_t i = counts; i < opr.blobs.size(); ++i) {
        const auto format = parse_format(opr.blobs[i]);
        if (!format) return fail(ErrorCode::corrupt, opr.type + " has a tensor format that is not known.");
        opr.tensors[i - counts].format = *format;
    }
    opr.blobs.clear();
    return {};
}

std::optional<FormatBlobs> make_format_blobs(const Opr& opr) {
    const auto order = blob_order(opr);
    if (!order) return std::nullopt;
    FormatBlobs out;
    out.order = *order;
    if (has_count(*order)) {
        const auto count = static_cast<std::uint32_t>(opr.tensors.size());
        std::vector<std::byte> blob(4);
        std::memcpy(blob.data(), &count, 4);
        out.blobs.push_back(std::move(blob));
    }
    if (has_formats(*order))
        for (const StoredTensor& tensor : opr.tensors) out.blobs.push_back(format_blob(tensor.format));
    return out;
}

} // namespace megascope
