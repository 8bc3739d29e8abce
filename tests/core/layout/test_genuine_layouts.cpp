#include <QtTest>

#include <algorithm>
#include <filesystem>

#include "core/layout/layout_metrics.h"
#include "format/reader.h"
#include "layout/graph_scene.h"

using namespace megascope;
namespace fs = std::filesystem;

// Draws graphs of genuine networks as the window does, by default and with all groups open. In a good drawing no box lies on another
// one and no line runs through a box that it does not belong to.

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

} // namespace

class GenuineLayoutsTest : public QObject {
    Q_OBJECT
private slots:
    void nothingLiesOnAnything_data() {
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
    void nothingLiesOnAnything() {
        QFETCH(QString, path);
        if (path.isEmpty()) QSKIP("The reference data with genuine dumps is not here.");
        const auto graph = path == "chain" ? chain(4000) : path == "fan" ? fan(4000) : read(path.toStdString());
        QVERIFY(graph);
        const auto structure = analyse_structure(graph);
        SceneOptions options;
        options.expanded = default_expansion(*structure, first_boxes);
        check(structure, options, "by default");
        options.expanded.assign(structure->groups->groups().size(), 1);
        check(structure, options, "all open");
        options.groups = false;
        check(structure, options, "without groups");
    }

private:
    static void check(const std::shared_ptr<const GraphStructure>& structure, const SceneOptions& options, const char* what) {
        GraphScene scene = build_scene(structure, options);
        if (scene.nodes.size() > whole_limit) return;
        measure_scene(scene, [&](const SceneNode& node) { return box_size(scene, node); },
                      [&](GroupId group) { return SceneSize{20 + 6.5 * static_cast<double>(structure->groups->group(group).title.size()), 20}; });
        const auto layout = run_layout(scene.layout);
        QVERIFY(layout);
        const auto m = test::measure(scene.layout, *layout, false);
        QVERIFY2(m.overlaps == 0 && m.through_boxes == 0 && m.through_frames == 0,
                 qPrintable(QStringLiteral("%1, %2 boxes: %3 overlaps, %4 lines through boxes, %5 boxes on frames")
                                .arg(QLatin1String(what)).arg(scene.nodes.size()).arg(m.overlaps).arg(m.through_boxes).arg(m.through_frames)));
    }
};

QTEST_APPLESS_MAIN(GenuineLayoutsTest)
#include "test_genuine_layouts.moc"
