#include "feed/image.h"

#include <cstdint>
#include <cstring>
#include <exception>

#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

#include "base/mapped_file.h"

namespace megascope {

namespace {

/// Where channels, height and width of a target stand.
struct ImageLayout {
    bool batched = true;
    bool channels_last = false;
    std::int64_t channels = 3;
    std::int64_t height = 0;
    std::int64_t width = 0;
};

Expected<ImageLayout> layout_of(const Shape& target) {
    ImageLayout layout;
    Shape shape = target;
    if (shape.ndim() == 3) {
        layout.batched = false;
        shape.insert(0, 1);
    }
    if (shape.ndim() != 4)
        return fail(ErrorCode::invalid_argument, "An image cannot feed an input of shape " + target.text() + "; it needs 3 or 4 axes.");
    const auto is_channels = [](std::int64_t size) { return size == 1 || size == 3; };
    if (is_channels(shape[1])) {
        layout.channels = shape[1];
        layout.height = shape[2];
        layout.width = shape[3];
    } else if (is_channels(shape[3])) {
        layout.channels_last = true;
        layout.channels = shape[3];
        layout.height = shape[1];
        layout.width = shape[2];
    } else {
        return fail(ErrorCode::invalid_argument, "An image cannot feed an input of shape " + target.text() +
                                                     "; neither its axis 1 nor its last one has 1 or 3 channels.");
    }
    return layout;
}

Tensor to_tensor(const cv::Mat& image, const ImageLayout& layout) {
    const std::int64_t h = image.rows;
    const std::int64_t w = image.cols;
    const std::int64_t c = image.channels();
    Shape shape = layout.channels_last ? Shape{h, w, c} : Shape{c, h, w};
    if (layout.batched) shape.insert(0, 1);
    TensorBuffer buffer(DTypeId::uint8, shape);
    auto* out = reinterpret_cast<std::uint8_t*>(buffer.bytes().data());
    for (std::int64_t y = 0; y < h; ++y) {
        const auto* row = image.ptr<std::uint8_t>(static_cast<int>(y));
        if (layout.channels_last) {
            std::memcpy(out + y * w * c, row, static_cast<std::size_t>(w * c));
            continue;
        }
        for (std::int64_t x = 0; x < w; ++x)
            for (std::int64_t k = 0; k < c; ++k) out[(k * h + y) * w + x] = row[x * c + k];
    }
    return std::move(buffer).freeze();
}

} // namespace

Expected<Tensor> read_image(const std::filesystem::path& path, const std::optional<Shape>& target, bool resize) {
    ImageLayout layout;
    if (target) {
        MGS_ASSIGN(layout, layout_of(*target));
    } else if (resize) {
        return fail_in(ErrorCode::invalid_argument, "The input has no static shape that the image could be resized to.", path.string());
    }
    MGS_ASSIGN(const auto file, MappedFile::open(path));
    try {
        const auto bytes = file->bytes();
        cv::Mat image;
        if (!bytes.empty()) {
            const cv::Mat encoded(1, static_cast<int>(bytes.size()), CV_8UC1, const_cast<std::byte*>(bytes.data()));
            image = cv::imdecode(encoded, cv::IMREAD_COLOR);
        }
        if (image.empty()) return fail_in(ErrorCode::foreign, "This is not an image that can be decoded.", path.string());
        if (resize) {
            if (layout.height < 1 || layout.width < 1)
                return fail_in(ErrorCode::invalid_argument, "The image cannot be resized to nothing.", path.string());
            cv::Mat scaled;
            cv::resize(image, scaled, cv::Size(static_cast<int>(layout.width), static_cast<int>(layout.height)), 0, 0, cv::INTER_LINEAR);
            image = scaled;
        }
        if (layout.channels == 1) {
            cv::Mat grey;
            cv::cvtColor(image, grey, cv::COLOR_BGR2GRAY);
            image = grey;
        }
        return to_tensor(image, layout);
    } catch (const std::exception& error) { // OpenCV throws on damaged files and impossible sizes
        return fail_in(ErrorCode::foreign, std::string("The image cannot be decoded: ") + error.what(), path.string());
    }
}

} // namespace megascope
