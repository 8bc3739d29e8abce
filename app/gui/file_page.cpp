#include "app/gui/file_page.h"

#include <QComboBox>
#include <QFileInfo>
#include <QHeaderView>
#include <QTreeView>
#include <QVBoxLayout>

#include <algorithm>
#include <map>

#include "format/packed_model.h"
#include "format/user_info.h"
#include "session/inputs.h"
#include "views/common/number_text.h"
#include "views/inspector/property_model.h"

namespace megascope {

namespace {

Property plain(const QString& name, const QString& value, const QString& exact = {}) { return {name, value, exact, {}, false, false, {}}; }

/// What the dump's maker wrote beside the graph, taken apart without executing anything.
PropertyGroup userInfoGroup(const Metadata& metadata) {
    PropertyGroup group{FilePage::tr("User info"), {}};
    const UserInfo info = read_user_info(metadata.user_info);
    if (info.pickle)
        for (const PickleLeaf& leaf : pickle_leaves(*info.pickle))
            group.properties.push_back(plain(leaf.path.empty() ? FilePage::tr("value") : text(leaf.path), text(leaf.text), text(leaf.text)));
    if (!info.problem.empty()) group.properties.push_back(plain(FilePage::tr("not readable"), text(info.problem), text(info.problem)));
    return group;
}

PropertyGroup packedGroup(const Model& model) {
    PropertyGroup group{FilePage::tr("Packed model"), {}};
    const PackedModel& packed = *model.packed;
    const auto add = [&](const QString& name, const std::string& value) {
        if (!value.empty()) group.properties.push_back(plain(name, text(value), text(value)));
    };
    add(FilePage::tr("name"), packed.name);
    add(FilePage::tr("model encryption"), packed.model_cipher);
    add(FilePage::tr("info encryption"), packed.info_cipher);
    if (model.lite_info) {
        const LiteInfo& info = *model.lite_info;
        add(FilePage::tr("info valid"), info.valid ? "yes" : "no");
        add(FilePage::tr("version"), info.version);
        add(FilePage::tr("backend"), info.backend);
        add(FilePage::tr("device"), info.device_type);
        for (const auto& [key, value] : info.device) add(FilePage::tr("device: %1").arg(text(key)), value);
        for (const auto& [key, value] : info.options) add(FilePage::tr("option: %1").arg(text(key)), value);
        add(FilePage::tr("extra info"), info.extra_info);
    }
    if (packed.algo_policy) {
        const auto cache = read_fast_run_cache(*packed.algo_policy);
        std::size_t entries = 0;
        if (cache)
            for (const auto& category : cache->categories) entries += category.entries.size();
        group.properties.push_back(plain(FilePage::tr("fast-run cache"), cache ? FilePage::tr("%n entries", nullptr, static_cast<int>(entries)) : text(cache.error().text())));
    }
    return group;
}

} // namespace

FilePage::FilePage(Selection* selection, QWidget* parent) : QWidget(parent), selection_(selection) {
    setObjectName(QStringLiteral("filePage"));
    graphs_ = new QComboBox(this);
    properties_ = new PropertyModel(this);
    tree_ = new QTreeView(this);
    tree_->setModel(properties_);
    tree_->setFrameShape(QFrame::NoFrame);
    tree_->setHeaderHidden(true);
    tree_->setRootIsDecorated(false);
    tree_->setIndentation(16);
    tree_->setUniformRowHeights(true);
    tree_->header()->setStretchLastSection(true);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(12, 8, 0, 0);
    layout->setSpacing(8);
    layout->addWidget(graphs_, 0, Qt::AlignLeft);
    layout->addWidget(tree_, 1);
    connect(graphs_, &QComboBox::activated, this, [this](int index) { emit graphRequested(static_cast<std::uint32_t>(index)); });
    // A click or Enter.
    for (const auto signal : {&QTreeView::clicked, &QTreeView::activated})
        connect(tree_, signal, this, [this](const QModelIndex& index) {
            const Pick pick = index.siblingAtColumn(1).data(PropertyModel::PickRole).value<Pick>();
            if (!pick.empty()) selection_->select(pick);
        });
}

void FilePage::setModel(const std::shared_ptr<const OpenedModel>& opened) {
    graphs_->clear();
    if (!opened) {
        properties_->setGroups({});
        return;
    }
    const Model& model = *opened->model;
    const StoredGraph& stored = model.graphs[opened->graph];
    const GraphFacts& facts = *opened->facts;
    const Graph& graph = *facts.graph;
    for (std::size_t i = 0; i < model.graphs.size(); ++i)
        graphs_->addItem(tr("Graph %1 of %2: %n operators", nullptr, static_cast<int>(model.graphs[i].graph->oprs().size())).arg(i + 1).arg(model.graphs.size()));
    graphs_->setCurrentIndex(static_cast<int>(opened->graph));
    graphs_->setVisible(model.graphs.size() > 1);

    std::vector<PropertyGroup> groups;
    PropertyGroup file{tr("File"), {}};
    const auto bytes = model.file->bytes().size();
    file.properties.push_back(plain(tr("path"), opened->path));
    file.properties.push_back(plain(tr("what it is"), text(model.description)));
    file.properties.push_back(plain(tr("size"), bytesText(static_cast<double>(bytes)), tr("%1 bytes").arg(bytes)));
    file.properties.push_back(plain(tr("testcases"), QString::number(model.testcases.size())));
    groups.push_back(std::move(file));

    PropertyGroup format{tr("Format"), {}};
    format.properties.push_back(plain(tr("container"), text(container_name(stored.container))));
    format.properties.push_back(plain(tr("written by"), tr("MegEngine %1").arg(text(mge_version_text(stored.mge_version))), QString::number(stored.mge_version)));
    if (stored.container == Container::fbs_v2) {
        format.properties.push_back(plain(tr("model version"), QString::number(stored.model_version)));
    } else {
        format.properties.push_back(plain(tr("hash"), QStringLiteral("%1 (%2)").arg(stored.hash, 16, 16, QLatin1Char('0')).arg(stored.hash_matches ? tr("matches") : tr("does not match")),
                                          QString::number(stored.hash)));
    }
    format.properties.push_back(plain(tr("position"), tr("bytes %1 to %2").arg(stored.offset).arg(stored.offset + stored.size)));
    format.properties.push_back(plain(tr("stored tensors"), bytesText(static_cast<double>(stored.tensor_bytes)), tr("%1 bytes").arg(stored.tensor_bytes)));
    if (stored.nr_shared_tensor) format.properties.push_back(plain(tr("shared tensors"), QString::number(stored.nr_shared_tensor)));
    QStringList kept;
    if (stored.kept.var_name) kept << tr("var names (%1)").arg(stored.kept.var_name);
    if (stored.kept.opr_name) kept << tr("operator names");
    if (stored.kept.param_name) kept << tr("param names");
    if (stored.kept.opr_priority) kept << tr("priorities");
    format.properties.push_back(plain(tr("kept"), kept.isEmpty() ? tr("no names") : kept.join(QStringLiteral(", "))));
    groups.push_back(std::move(format));

    PropertyGroup metadata{tr("Metadata"), {}};
    if (!stored.metadata.stored) {
        metadata.properties.push_back(plain(tr("stored"), tr("no")));
    } else {
        metadata.properties.push_back(plain(tr("valid"), stored.metadata.is_valid ? tr("yes") : tr("no")));
        metadata.properties.push_back(plain(tr("graph modified"), stored.metadata.graph_modified ? tr("yes") : tr("no")));
        metadata.properties.push_back(plain(tr("optimize options"), QStringLiteral("0x%1").arg(stored.metadata.optimize_options, 0, 16), QString::number(stored.metadata.optimize_options)));
        if (stored.metadata.has_user_info) metadata.properties.push_back(plain(tr("user info"), tr("%n bytes", nullptr, static_cast<int>(stored.metadata.user_info.size()))));
    }
    groups.push_back(std::move(metadata));
    if (PropertyGroup info = userInfoGroup(stored.metadata); !info.properties.empty()) groups.push_back(std::move(info));
    if (model.packed) groups.push_back(packedGroup(model));

    PropertyGroup inputs{tr("Inputs"), {}};
    for (const GraphInput& input : graph_inputs(graph)) {
        QString value = shapeText(input.shape) + QStringLiteral("  ") + text(input.dtype.text());
        if (input.is_expectation) value += tr("  (expected value)");
        inputs.properties.push_back({text(input.name), value, {}, Pick::of(input.opr), false, false, {}});
    }
    groups.push_back(std::move(inputs));
    PropertyGroup outputs{tr("Outputs"), {}};
    for (const GraphOutput& output : graph.outputs()) {
        const VarDesc& desc = facts.info.var(output.var);
        outputs.properties.push_back({text(graph.display_name(output.var)), shapeText(desc.shape) + QStringLiteral("  ") + dtypeText(desc.dtype), {}, Pick::of(output.var), false, false, {}});
    }
    groups.push_back(std::move(outputs));

    PropertyGroup operators{tr("Graph"), {}};
    operators.properties.push_back(plain(tr("operators"), countText(graph.oprs().size())));
    operators.properties.push_back(plain(tr("vars"), countText(graph.vars().size())));
    if (facts.total_flops > 0) operators.properties.push_back(plain(tr("computation"), siText(facts.total_flops, "FLOP"), QString::number(facts.total_flops, 'f', 0)));
    operators.properties.push_back(plain(tr("weights"), bytesText(static_cast<double>(facts.weight_bytes)), tr("%1 bytes").arg(facts.weight_bytes)));
    groups.push_back(std::move(operators));

    std::map<std::string, std::size_t> counts;
    for (const Opr& opr : graph.oprs()) ++counts[graph.type_text(opr.id)];
    std::vector<std::pair<std::string, std::size_t>> sorted(counts.begin(), counts.end());
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
    PropertyGroup types{tr("Operators by type"), {}};
    for (const auto& [type, count] : sorted) types.properties.push_back(plain(text(type), countText(count)));
    groups.push_back(std::move(types));

    properties_->setGroups(std::move(groups));
    tree_->expandAll();
    for (int i = 0; i < properties_->rowCount(); ++i) tree_->setFirstColumnSpanned(i, {}, true);
    tree_->resizeColumnToContents(0);
    tree_->setColumnWidth(0, std::min(tree_->columnWidth(0) + 16, 320));
}

} // namespace megascope
