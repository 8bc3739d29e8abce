#include "exec/reference/conv_core.h"

#include <algorithm>
#include <string>

#include "exec/reference/weighted_rows.h"

// How the loops are arranged. A source channel is copied once into "phase planes": for stride s, phase p holds the padded
// source at p, p + s, p + 2s, … along each axis. A tap k of the filter then reads phase (k dilate) mod s at the constant
// distance (k dilate) / s, whatever the stride: output element o and tap k meet at plane[o + distance]. All planes have the same
// row length W', so with results kept "wide" (rows of W' elements, of which the last W' - OW mean nothing) a tap is one long
// multiply-add over contiguous memory: wide[i] += weight * plane[i + distance].
// The adjoints use the same planes the other way round, with the meaningless elements of the wide difference set to 0.

namespace megascope {

namespace {

using Index = std::int64_t;

/// Planes and wide rows have this much room behind their end, because the inner loop works on whole chunks.
constexpr Index chunk = row_chunk;

std::size_t sz(Index value) { return static_cast<std::size_t>(value); }

class PhasePlanes {
public:
    explicit PhasePlanes(const ConvGeometry& g) : axes_(g.axes) {
        std::array<Index, 3> phase_slots{}; // phases in use per axis: at most min(stride, kernel) of them
        for (std::size_t a = 0; a < 3; ++a) {
            const ConvAxis& axis = axes_[a];
            size_[a] = axis.out + (axis.dilate * (axis.kernel - 1)) / axis.stride;
            for (Index k = 0; k < axis.kernel; ++k) {
                const Index phase = (k * axis.dilate) % axis.stride;
                auto& phases = phases_[a];
                auto place = std::find(phases.begin(), phases.end(), phase);
                if (place == phases.end()) place = phases.insert(phases.end(), phase);
                taps_[a].push_back({place - phases.begin(), (k * axis.dilate) / axis.stride});
            }
            phase_slots[a] = static_cast<Index>(phases_[a].size());
        }
        plane_ = size_[0] * size_[1] * size_[2];
        channel_ = plane_ * phase_slots[0] * phase_slots[1] * phase_slots[2];
        wide_ = ((axes_[0].out - 1) * size_[1] + axes_[1].out - 1) * size_[2] + axes_[2].out;
        for (Index kd = 0; kd < axes_[0].kernel; ++kd)
            for (Index kh = 0; kh < axes_[1].kernel; ++kh)
                for (Index kw = 0; kw < axes_[2].kernel; ++kw) {
                    const Tap d = taps_[0][sz(kd)];
                    const Tap h = taps_[1][sz(kh)];
                    const Tap w = taps_[2][sz(kw)];
                    const Index slot = (d.slot * phase_slots[1] + h.slot) * phase_slots[2] + w.slot;
                    offsets_.push_back(slot * plane_ + (d.distance * size_[1] + h.distance) * size_[2] + w.distance);
                }
        if (g.flip) std::reverse(offsets_.begin(), offsets_.end());
    }

    /// Elements of one channel's planes.
    [[nodiscard]] Index channel() const { return channel_; }
    /// Elements of a wide result.
    [[nodiscard]] Index wide() const { return wide_; }
    /// Where each filter element (row-major) reads, relative to the channel's planes.
    [[nodiscard]] const std::vector<Index>& offsets() const { return offsets_; }

    void fill(const double* source, double* planes) const {
        visit([&](Index in, Index place) { planes[place] = source[in]; });
    }
    /// Precondition: `grad` is zero.
    void scatter(const double* planes, double* grad) const {
        visit([&](Index in, Index place) { grad[in] = planes[place]; });
    }
    void narrow(const double* wide, double* result) const {
        visit_out([&](Index out, Index place) { result[out] = wide[place]; });
    }
    /// Precondition: the elements of `wide` outside the result are zero.
    void widen(const double* diff, double* wide) const {
        visit_out([&](Index out, Index place) { wide[place] = diff[out]; });
    }

private:
    struct Tap {
        Index slot = 0;     ///< which of the phases in use
        Index distance = 0; ///< in elements of the phase plane along its axis
    };

    /// Calls body(source index, place in the planes) for every source element that some tap reads.
    template <class Body>
    void visit(Body body) const {
        Index base = 0;
        for (const Index pd : phases_[0])
            for (const Index ph : phases_[1])
                for (const Index pw : phases_[2]) {
                    for (Index z = 0; z < size_[0]; ++z) {
                        const Index d = z * axes_[0].stride + pd - axes_[0].pad;
                        if (d < 0 || d >= axes_[0].in) continue;
                        for (Index y = 0; y < size_[1]; ++y) {
                            const Index h = y * axes_[1].stride + ph - axes_[1].pad;
                            if (h < 0 || h >= axes_[1].in) continue;
                            const Index row = (d * axes_[1].in + h) * axes_[2].in;
                            const Index place = base + (z * size_[1] + y) * size_[2];
                            for (Index x = 0; x < size_[2]; ++x) {
                                const Index w = x * axes_[2].stride + pw - axes_[2].pad;
                                if (w >= 0 && w < axes_[2].in) body(row + w, place + x);
                            }
                        }
                    }
                    base += plane_;
                }
    }
    template <class Body>
    void visit_out(Body body) const {
        Index out = 0;
        for (Index z = 0; z < axes_[0].out; ++z)
            for (Index y = 0; y < axes_[1].out; ++y)
                for (Index x = 0; x < axes_[2].out; ++x) body(out++, (z * size_[1] + y) * size_[2] + x);
    }

    std::array<ConvAxis, 3> axes_;
    std::array<Index, 3> size_{}; ///< of a phase plane
    std::array<std::vector<Index>, 3> phases_;
    std::array<std::vector<Tap>, 3> taps_;
    Index plane_ = 0;
    Index channel_ = 0;
    Index wide_ = 0;
    std::vector<Index> offsets_;
};

/// Where every (input channel, tap) of a group reads, relative to the first channel's planes.
std::vector<Index> group_offsets(const PhasePlanes& planes, Index icpg) {
    std::vector<Index> offsets;
    offsets.reserve(sz(icpg) * planes.offsets().size());
    for (Index ic = 0; ic < icpg; ++ic)
        for (const Index offset : planes.offsets()) offsets.push_back(ic * planes.channel() + offset);
    return offsets;
}

bool empty(const ConvGeometry& g) { return g.src_elements() == 0 || g.filter_elements() == 0 || g.dst_elements() == 0; }

} // namespace

std::int64_t ConvAxis::forward_size() const {
    const Index room = in + 2 * pad - (dilate * (kernel - 1) + 1);
    return room < 0 ? 0 : room / stride + 1;
}

Expected<void> check(const ConvGeometry& geometry) {
    Index plane = 1;
    for (const ConvAxis& axis : geometry.axes) {
        if (axis.stride < 1 || axis.dilate < 1)
            return fail(ErrorCode::invalid_argument, "The convolution has stride " + std::to_string(axis.stride) + " and dilation " +
                                                         std::to_string(axis.dilate) + "; both must be at least 1.");
        constexpr Index limit = Index{1} << 31;
        const Index size = axis.out + axis.dilate * std::max<Index>(axis.kernel - 1, 0) / axis.stride;
        if (size >= limit || (plane *= std::max<Index>(size, 1)) >= limit)
            return fail(ErrorCode::unsupported, "The padded image of the convolution has more than 2^31 elements.");
    }
    return {};
}

std::vector<double> convolve(const ConvGeometry& g, std::span<const double> src, std::span<const double> filter) {
    std::vector<double> dst(sz(g.dst_elements()));
    if (empty(g)) return dst;
    const PhasePlanes planes(g);
    const std::vector<Index> offsets = group_offsets(planes, g.icpg);
    const auto terms = static_cast<Index>(offsets.size());
    const Index wide_step = planes.wide() + chunk;
    std::vector<double> padded(sz(g.icpg * planes.channel() + chunk));
    std::vector<double> wide(sz(g.ocpg * wide_step));
    for (Index n = 0; n < g.batch; ++n)
        for (Index group = 0; group < g.groups; ++group) {
            for (Index ic = 0; ic < g.icpg; ++ic)
                planes.fill(src.data() + ((n * g.groups + group) * g.icpg + ic) * g.in_plane(), padded.data() + ic * planes.channel());
            std::fill(wide.begin(), wide.end(), 0.0);
            for (Index begin = 0; begin < planes.wide(); begin += chunk)
                for (Index oc = 0; oc < g.ocpg; ++oc)
                    add_weighted(wide.data() + oc * wide_step + begin, padded.data() + begin, offsets,
                                 filter.data() + (group * g.ocpg + oc) * terms, 1);
            for (Index oc = 0; oc < g.ocpg; ++oc)
                planes.narrow(wide.data() + oc * wide_step, dst.data() + ((n * g.groups + group) * g.ocpg + oc) * g.out_plane());
        }
    return dst;
}

std::vector<double> convolve_backward_data(const ConvGeometry& g, std::span<const double> filter, std::span<const double> diff) {
    std::vector<double> grad(sz(g.src_elements()));
    if (empty(g)) return grad;
    const PhasePlanes planes(g);
    const Index terms = g.icpg * g.taps();
    const Index wide_step = planes.wide() + chunk;
    std::vector<Index> diff_offsets;
    for (Index oc = 0; oc < g.ocpg; ++oc) diff_offsets.push_back(oc * wide_step);
    std::vector<double> wide(sz(g.ocpg * wide_step));
    std::vector<double> padded(sz(planes.channel() + chunk));
    for (Index n = 0; n < g.batch; ++n)
        for (Index group = 0; group < g.groups; ++group) {
            for (Index oc = 0; oc < g.ocpg; ++oc)
                planes.widen(diff.data() + ((n * g.groups + group) * g.ocpg + oc) * g.out_plane(), wide.data() + oc * wide_step);
            for (Index ic = 0; ic < g.icpg; ++ic) {
                std::fill(padded.begin(), padded.end(), 0.0);
                for (Index tap = 0; tap < g.taps(); ++tap) {
                    const double* weights = filter.data() + (group * g.ocpg * g.icpg + ic) * g.taps() + tap;
                    double* target = padded.data() + planes.offsets()[sz(tap)];
                    for (Index begin = 0; begin < planes.wide(); begin += chunk)
                        add_weighted(target + begin, wide.data() + begin, diff_offsets, weights, terms);
                }
                planes.scatter(padded.data(), grad.data() + ((n * g.groups + group) * g.icpg + ic) * g.in_plane());
            }
        }
    return grad;
}

std::vector<double> convolve_backward_filter(const ConvGeometry& g, std::span<const double> src, std::span<const double> diff) {
    std::vector<double> grad(sz(g.filter_elements()));
    if (empty(g)) return grad;
    const PhasePlanes planes(g);
    std::vector<double> padded(sz(g.icpg * planes.channel()));
    std::vector<double> wide(sz(planes.wide()));
    for (Index n = 0; n < g.batch; ++n)
        for (Index group = 0; group < g.groups; ++group) {
            for (Index ic = 0; ic < g.icpg; ++ic)
                planes.fill(src.data() + ((n * g.groups + group) * g.icpg + ic) * g.in_plane(), padded.data() + ic * planes.channel());
            for (Index oc = 0; oc < g.ocpg; ++oc) {
                planes.widen(diff.data() + ((n * g.groups + group) * g.ocpg + oc) * g.out_plane(), wide.data());
                double* result = grad.data() + (group * g.ocpg + oc) * g.icpg * g.taps();
                for (Index ic = 0; ic < g.icpg; ++ic)
                    for (const Index offset : planes.offsets()) {
                        const double* x = padded.data() + ic * planes.channel() + offset;
                        double sum = 0;
                        for (Index i = 0; i < planes.wide(); ++i) sum += wide[sz(i)] * x[i];
                        *result++ += sum;
                    }
            }
        }
    return grad;
}

} // namespace megascope
