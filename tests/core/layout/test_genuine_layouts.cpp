#include <QtTest>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include "core/layout/layout_metrics.h"
#include "format/reader.h"
#include "layout/graph_scene.h"

using namespace megascope;
namespace fs = std::filesystem;

// Draws graphs of genuine networks as the window does, by default and with groups open to some depth. In a good drawing no box lies on
// another one and no line runs through a box that it does not belong to. And when a group is opened, what stood beside each other
// keeps its order.

namespace {

/// Drawings of more boxes than this are only checked collapsed.
constexpr std::size_t whole_limit = 5000;
/// As many boxes as the window opens at first.
constexpr std::size_t first_boxes = 160;

std::shared_ptr<const Graph> read(const std::string& path) {
    const auto file = MappedFile::open(path);
    if (!file) return nullptr;
    const auto model = read_model(*file);
    return model ? (*model)->main().graph : nullptr;
}

VarId add(GraphBuilder& builder, const char* type, std::vector<VarId> inputs) {
    Opr opr;
    opr.type = type;
    opr.inputs = std::move(inputs);
    const auto id = builder.add(std::move(opr), 1, std::string_view(type) == "Host2DeviceCopy");
    return builder.opr(*id).outputs.front();
}

std::shared_ptr<const Graph> chain(int n) {
    GraphBuilder builder;
    VarId x = add(builder, "Host2DeviceCopy", {});
    for (int i = 0; i < n; ++i) x = add(builder, "Elemwise", {x});
    (void)builder.add_output({x, 0, {}});
    return builder.finish();
}

/// One var with n readers, all of them joined again.
std::shared_ptr<const Graph> fan(int n) {
    GraphBuilder builder;
    const VarId x = add(builder, "Host2DeviceCopy", {});
    std::vector<VarId> all;
    for (int i = 0; i < n; ++i) all.push_back(add(builder, "Elemwise", {x}));
    (void)builder.add_output({add(builder, "Concat", all), 0, {}});
    return builder.finish();
}

/// Nearly the sizes of the window's boxes, without its fonts.
SceneSize box_size(const GraphScene& scene, const SceneNode& node) {
    const Graph& graph = scene.graph();
    std::size_t letters = 12;
    if (node.opr.valid()) letters = std::max(letters, std::min<std::size_t>(32, std::max(graph.opr(node.opr).type.size(), graph.display_name(node.opr).size())));
    if (node.group.valid()) letters = std::max(letters, scene.structure->groups->group(node.group).title.size());
    const std::size_t pills = std::min<std::size_t>(node.pill_count, 6);
    return {20 + 6.5 * static_cast<double>(std::max(letters, pills * 8)), pills ? 58.0 : 40.0};
}

struct Drawing {
    GraphScene scene;
    LayoutResult layout;
};

std::optional<Drawing> draw(const std::shared_ptr<const GraphStructure>& structure, const SceneOptions& options, const Drawing* former = nullptr) {
    Drawing d{build_scene(structure, options), {}};
    measure_scene(d.scene, [&](const SceneNode& node) { return box_size(d.scene, node); },
                  [&](GroupId group) { return SceneSize{20 + 6.5 * static_cast<double>(structure->groups->group(group).title.size()), 20}; });
    if (former) keep_order(d.scene, former->scene, former->layout);
    auto layout = run_layout(d.scene.layout);
    if (!layout) return std::nullopt;
    d.layout = std::move(*layout);
    return d;
}

/// A box or frame in a drawing; the same thing has the same key in every drawing of a graph.
using Key = std::pair<int, std::uint32_t>;
struct Placed {
    LayoutRect rect;
    std::int64_t frame; ///< the group in whose frame it stands, -1 = none
};
std::map<Key, Placed> placed(const Drawing& d) {
    std::map<Key, Placed> all;
    const auto frame = [&](std::int32_t cluster) { return cluster < 0 ? std::int64_t{-1} : std::int64_t{d.scene.frames[static_cast<std::size_t>(cluster)].value()}; };
    for (std::size_t i = 0; i < d.scene.nodes.size(); ++i) {
        const SceneNode& n = d.scene.nodes[i];
        const Key key = n.kind == SceneNode::Kind::group ? Key{1, n.group.value()} : n.kind == SceneNode::Kind::output ? Key{2, n.var.value()} : Key{0, n.opr.value()};
        all[key] = {d.layout.nodes[i], frame(d.scene.layout.nodes[i].cluster)};
    }
    for (std::size_t i = 0; i < d.scene.frames.size(); ++i)
        all[{1, d.scene.frames[i].value()}] = {d.layout.clusters[i], frame(d.scene.layout.clusters[i].parent)};
    return all;
}

/// Pairs that stand side by side in the same frame in both drawings, but the other way round.
std::size_t inversions(const std::map<Key, Placed>& before, const std::map<Key, Placed>& after) {
    std::map<std::int64_t, std::vector<std::pair<LayoutRect, LayoutRect>>> siblings;
    for (const auto& [key, b] : before)
        if (const auto a = after.find(key); a != after.end() && a->second.frame == b.frame) siblings[b.frame].emplace_back(b.rect, a->second.rect);
    const auto beside = [](const LayoutRect& a, const LayoutRect& b) { return a.y < b.bottom() && b.y < a.bottom(); };
    std::size_t count = 0;
    for (const auto& [frame, list] : siblings)
        for (std::size_t i = 0; i < list.size(); ++i)
            for (std::size_t k = i + 1; k < list.size(); ++k)
                count += beside(list[i].first, list[k].first) && beside(list[i].second, list[k].second) &&
                         (list[i].first.x < list[k].first.x) != (list[i].second.x < list[k].second.x);
    return count;
}

} // namespace

class GenuineLayoutsTest : public QObject {
    Q_OBJECT
private slots:
    void nothingLiesOnAnything_data() { graphs(); }
    void nothingLiesOnAnything() {
        QFETCH(QString, path);
        const auto graph = graph_of(path);
        if (!graph) QSKIP("The reference data with genuine dumps is not here.");
        const auto structure = analyse_structure(graph);
        SceneOptions options;
        options.expanded = default_expansion(*structure, first_boxes);
        check(structure, options, "by default");
        for (const std::uint32_t depth : {1U, 2U}) {
            options.expanded = expansion_to_depth(*structure->groups, depth);
            check(structure, options, depth == 1 ? "one level open" : "two levels open");
        }
        options.expanded.assign(structure->groups->groups().size(), 1);
        check(structure, options, "all open");
        options.groups = false;
        check(structure, options, "without groups");
    }

    void openingAGroupKeepsTheOrderOfTheOthers_data() { graphs(); }
    void openingAGroupKeepsTheOrderOfTheOthers() {
        QFETCH(QString, path);
        const auto graph = graph_of(path);
        if (!graph) QSKIP("The reference data with genuine dumps is not here.");
        const auto structure = analyse_structure(graph);
        SceneOptions options;
        options.expanded = default_expansion(*structure, first_boxes);
        const auto before = draw(structure, options);
        QVERIFY(before);
        const auto places = placed(*before);
        int tried = 0;
        for (const SceneNode& node : before->scene.nodes) {
            if (node.kind != SceneNode::Kind::group || ++tried > 20) continue;
            SceneOptions open = options;
            open.expanded[node.group.index()] = 1;
            const auto after = draw(structure, open, &*before);
            QVERIFY(after);
            const std::size_t turned = inversions(places, placed(*after));
            QVERIFY2(turned == 0, qPrintable(QStringLiteral("%1 pairs change sides when %2 is opened")
                                                 .arg(turned).arg(QString::fromStdString(structure->groups->group(node.group).path))));
        }
    }

private:
    static void graphs() {
        QTest::addColumn<QString>("path");
        QTest::newRow("chain of 4,000") << "chain";
        QTest::newRow("fan of 4,000") << "fan";
        // Large dumps lie packed among the reference data; the variable names a folder where they are unpacked.
        const QByteArray unpacked = qgetenv("MEGASCOPE_UNPACKED_BIG");
        const fs::path folder = unpacked.isEmpty() ? fs::path(MEGASCOPE_REFERENCE_DATA "/big") : fs::path(unpacked.toStdString());
        std::vector<std::string> files;
        std::error_code none;
        for (fs::recursive_directory_iterator i(folder, fs::directory_options::skip_permission_denied, none), end; !none && i != end; i.increment(none))
            if (i->path().filename() == "plain.mge") files.push_back(i->path().string());
        std::sort(files.begin(), files.end());
        for (const std::string& file : files)
            QTest::newRow(fs::relative(fs::path(file).parent_path(), folder).string().c_str()) << QString::fromStdString(file);
        if (files.empty()) QTest::newRow("reference data") << QString();
    }
    static std::shared_ptr<const Graph> graph_of(const QString& path) {
        return path.isEmpty() ? nullptr : path == "chain" ? chain(4000) : path == "fan" ? fan(4000) : read(path.toStdString());
    }
    static void check(const std::shared_ptr<const GraphStructure>& structure, const SceneOptions& options, const char* what) {
        if (build_scene(structure, options).nodes.size() > whole_limit) return;
        const auto d = draw(structure, options);
        QVERIFY(d);
        const auto m = test::measure(d->scene.layout, d->layout, false);
        QVERIFY2(m.overlaps == 0 && m.through_boxes == 0 && m.through_frames == 0,
                 qPrintable(QStringLiteral("%1, %2 boxes: %3 overlaps, %4 lines through boxes, %5 boxes on frames")
                                .arg(QLatin1String(what)).arg(d->scene.nodes.size()).arg(m.overlaps).arg(m.through_boxes).arg(m.through_frames)));
    }
};

QTEST_APPLESS_MAIN(GenuineLayoutsTest)
#include "test_genuine_layouts.moc"
