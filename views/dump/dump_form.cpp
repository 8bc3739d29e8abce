#include "views/dump/dump_form.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDoubleValidator>
#include <QFormLayout>
#include <QGroupBox>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QSpinBox>
#include <QVBoxLayout>

#include "format/pickle.h"
#include "trace/dump_names.h"
#include "views/common/number_text.h"
#include "views/common/theme.h"

namespace megascope {

DumpForm::DumpForm(QWidget* parent) : QWidget(parent) {
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(12, 8, 12, 12);
    layout->setSpacing(12);
    for (QGroupBox* group : {buildOptimization(), buildTestcases(), buildNames(), buildFormat(), buildMetadata()}) layout->addWidget(group);
    layout->addStretch();
    updateEnabled();
}

QCheckBox* DumpForm::check(const QString& name, const QString& title, bool on, const QString& tip) {
    auto* box = new QCheckBox(title, this);
    box->setObjectName(name);
    box->setChecked(on);
    box->setToolTip(tip);
    connect(box, &QCheckBox::toggled, this, [this] {
        updateEnabled();
        emit changed();
    });
    return box;
}

QLabel* DumpForm::problem(Place place, QVBoxLayout* layout) {
    auto* label = new QLabel(this);
    label->setObjectName(QStringLiteral("problem%1").arg(static_cast<int>(place)));
    label->setWordWrap(true);
    label->hide();
    layout->addWidget(label);
    problems_[static_cast<std::size_t>(place)] = label;
    return label;
}

QGroupBox* DumpForm::buildNames() {
    auto* group = new QGroupBox(tr("Names"), this);
    auto* layout = new QVBoxLayout(group);
    nameFields_ = new QWidget(group);
    new QFormLayout(nameFields_);
    nameFields_->layout()->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(nameFields_);
    keepVarName_ = new QComboBox(group);
    keepVarName_->setObjectName(QStringLiteral("keepVarName"));
    keepVarName_->addItems({tr("0: no var names"), tr("1: as MegEngine does"), tr("2: all var names")});
    keepVarName_->setCurrentIndex(1);
    connect(keepVarName_, &QComboBox::currentIndexChanged, this, &DumpForm::changed);
    auto* row = new QFormLayout;
    row->addRow(QStringLiteral("keep_var_name"), keepVarName_);
    layout->addLayout(row);
    layout->addWidget(keepOprName_ = check(QStringLiteral("keepOprName"), QStringLiteral("keep_opr_name"), false, tr("Store the names of operators")));
    layout->addWidget(keepParamName_ = check(QStringLiteral("keepParamName"), QStringLiteral("keep_param_name"), false, tr("Store the names of shared params")));
    layout->addWidget(keepOprPriority_ = check(QStringLiteral("keepOprPriority"), QStringLiteral("keep_opr_priority"), false, tr("Store priorities; operators without one get their number")));
    problem(Place::names, layout);
    return group;
}

QGroupBox* DumpForm::buildFormat() {
    auto* group = new QGroupBox(tr("Format"), this);
    auto* layout = new QVBoxLayout(group);
    auto* rows = new QFormLayout;
    format_ = new QComboBox(group);
    format_->setObjectName(QStringLiteral("dumpFormat"));
    format_->addItems({QStringLiteral("FBS_V2"), QStringLiteral("FBS")});
    rows->addRow(QStringLiteral("dump_format"), format_);
    modelVersion_ = new QSpinBox(group);
    modelVersion_->setRange(0, 1000000);
    modelVersion_->setValue(2);
    rows->addRow(QStringLiteral("model_version"), modelVersion_);
    stripInfo_ = new QLineEdit(group);
    stripInfo_->setObjectName(QStringLiteral("stripInfo"));
    stripInfo_->setPlaceholderText(tr("no file"));
    stripInfo_->setToolTip(tr("A JSON file that says which operators, dtypes and modes a stripped build needs"));
    rows->addRow(QStringLiteral("strip_info_file"), stripInfo_);
    layout->addLayout(rows);
    layout->addWidget(appendJson_ = check(QStringLiteral("appendJson"), QStringLiteral("append_json"), false, tr("Keep what the strip info file has")));
    layout->addWidget(compat_ = check(QStringLiteral("compat"), tr("compat_older_version 8.14"), false, tr("The old header of FBS, for MegEngine 8.14 and older")));
    layout->addWidget(noChange_ = check(QStringLiteral("noChangeGraph"), QStringLiteral("no_change_graph"), false, tr("Keep operators that older readers do not know")));
    layout->addWidget(append_ = check(QStringLiteral("append"), QStringLiteral("append"), false, tr("Add the graph to the end of an existing file")));
    connect(format_, &QComboBox::currentIndexChanged, this, [this] {
        updateEnabled();
        emit changed();
    });
    connect(modelVersion_, &QSpinBox::valueChanged, this, &DumpForm::changed);
    connect(stripInfo_, &QLineEdit::textChanged, this, [this] {
        updateEnabled();
        emit changed();
    });
    problem(Place::format, layout);
    return group;
}

QGroupBox* DumpForm::buildOptimization() {
    optimize_ = new QGroupBox(QStringLiteral("optimize_for_inference"), this);
    optimize_->setObjectName(QStringLiteral("optimize"));
    optimize_->setCheckable(true);
    optimize_->setChecked(true);
    auto* layout = new QVBoxLayout(optimize_);
    layout_ = new QComboBox(optimize_);
    layout_->setObjectName(QStringLiteral("layout"));
    layout_->addItem(tr("as they are"), 0);
    const DumpOptions defaults;
    for (const OptimizeOptionInfo& option : optimize_option_infos()) {
        const QString name = text(option.name);
        if (!option.flag) {
            layout_->addItem(name, static_cast<int>(option.layout));
            layout_->setItemData(layout_->count() - 1, text(option.summary), Qt::ToolTipRole);
            continue;
        }
        QCheckBox* box = check(name, name, defaults.optimize.*option.flag, text(option.summary));
        flags_.emplace_back(box, option.flag);
        layout->addWidget(box);
    }
    auto* row = new QFormLayout;
    row->addRow(tr("Layouts"), layout_);
    layout->insertLayout(0, row);
    connect(layout_, &QComboBox::currentIndexChanged, this, &DumpForm::changed);
    connect(optimize_, &QGroupBox::toggled, this, &DumpForm::changed);
    return optimize_;
}

QGroupBox* DumpForm::buildTestcases() {
    auto* group = new QGroupBox(tr("Testcases"), this);
    auto* layout = new QVBoxLayout(group);
    layout->addWidget(takeOver_ = check(QStringLiteral("takeOver"), {}, true, tr("Write the testcases of the Testcases panel")));
    layout->addWidget(recompute_ = check(QStringLiteral("recompute"), tr("compute their expected values again"), false, tr("With this program's cpu backend, on the graph before optimization")));
    inputData_ = new QPlainTextEdit(group);
    inputData_->setObjectName(QStringLiteral("inputData"));
    inputData_->setPlaceholderText(tr("input_data: a testcase a line, like #rand(0,1), name:file;name:file or @list"));
    inputData_->setTabChangesFocus(true);
    inputData_->setFixedHeight(fontMetrics().lineSpacing() * 3 + 12);
    layout->addWidget(inputData_);
    problem(Place::testcases, layout);
    auto* rows = new QFormLayout;
    repeat_ = new QSpinBox(group);
    repeat_->setRange(1, 1000000);
    rows->addRow(QStringLiteral("repeat"), repeat_);
    seed_ = new QSpinBox(group);
    seed_->setObjectName(QStringLiteral("seed"));
    seed_->setRange(0, 2147483647);
    seed_->setToolTip(tr("Of random values"));
    rows->addRow(tr("seed"), seed_);
    transform_ = new QLineEdit(group);
    transform_->setPlaceholderText(QStringLiteral("data / 255"));
    transform_->setToolTip(tr("A Python expression over data and np, computed by python3 with your rights"));
    rows->addRow(QStringLiteral("input_transform"), transform_);
    maxerr_ = new QLineEdit(QStringLiteral("0.0001"), group);
    maxerr_->setObjectName(QStringLiteral("dumpMaxerr"));
    auto* validator = new QDoubleValidator(0, 1e9, 12, maxerr_);
    validator->setLocale(QLocale::c());
    maxerr_->setValidator(validator);
    rows->addRow(QStringLiteral("maxerr"), maxerr_);
    layout->addLayout(rows);
    layout->addWidget(resize_ = check(QStringLiteral("resizeInput"), QStringLiteral("resize_input"), false, tr("Scale images to the input's height and width")));
    layout->addWidget(noAssert_ = check(QStringLiteral("noAssert"), QStringLiteral("no_assert"), false, tr("Testcases without expected values")));
    layout->addWidget(silent_ = check(QStringLiteral("silent"), QStringLiteral("silent"), false, tr("AssertEqual tells its error only when it fails")));
    connect(inputData_, &QPlainTextEdit::textChanged, this, [this] {
        updateEnabled();
        emit changed();
    });
    for (QSpinBox* box : {repeat_, seed_}) connect(box, &QSpinBox::valueChanged, this, &DumpForm::changed);
    for (QLineEdit* edit : {transform_, maxerr_}) connect(edit, &QLineEdit::textChanged, this, &DumpForm::changed);
    return group;
}

QGroupBox* DumpForm::buildMetadata() {
    metadata_ = new QGroupBox(QStringLiteral("enable_metadata"), this);
    metadata_->setObjectName(QStringLiteral("metadata"));
    metadata_->setCheckable(true);
    metadata_->setChecked(true);
    auto* layout = new QVBoxLayout(metadata_);
    auto* rows = new QFormLayout;
    userInfo_ = new QLineEdit(metadata_);
    userInfo_->setObjectName(QStringLiteral("userInfo"));
    userInfo_->setToolTip(tr("JSON is stored as the Python value, anything else as a text; null stores None. Empty: as in the file"));
    rows->addRow(QStringLiteral("user_info"), userInfo_);
    layout->addLayout(rows);
    problem(Place::metadata, layout);
    connect(metadata_, &QGroupBox::toggled, this, &DumpForm::changed);
    connect(userInfo_, &QLineEdit::textChanged, this, &DumpForm::changed);
    return metadata_;
}

void DumpForm::setSource(const StoredGraph& stored, const Graph& network, std::vector<DumpTestcase> testcases, double maxerr, bool verbose) {
    given_ = std::move(testcases);
    storedInfo_ = stored.metadata.is_valid ? stored.metadata.user_info : std::string(pickled_none);
    optimizedBefore_ = stored.metadata.optimize_options;
    auto* form = static_cast<QFormLayout*>(nameFields_->layout());
    while (form->rowCount() > 0) form->removeRow(0);
    argNames_.clear();
    outputNames_.clear();
    const auto add = [&](std::vector<QLineEdit*>& edits, const QString& title, const std::string& name) {
        auto* edit = new QLineEdit(nameFields_);
        edit->setObjectName(title + QStringLiteral("-") + text(name));
        edit->setPlaceholderText(text(name));
        connect(edit, &QLineEdit::textChanged, this, &DumpForm::changed);
        form->addRow(title + QStringLiteral(" %1").arg(edits.size()), edit);
        edits.push_back(edit);
    };
    for (const OprId id : network.inputs()) add(argNames_, tr("input"), input_name(network, id));
    for (const GraphOutput& output : network.outputs()) add(outputNames_, tr("output"), network.display_name(output.var));
    takeOver_->setText(tr("take over %n testcases", nullptr, static_cast<int>(given_.size())));
    takeOver_->setVisible(!given_.empty());
    recompute_->setVisible(!given_.empty());
    maxerr_->setText(numberText(maxerr, 9));
    silent_->setChecked(!verbose);
    const auto pickle = read_pickle(std::as_bytes(std::span(storedInfo_)));
    userInfo_->setPlaceholderText(tr("as in the file: %1").arg(pickle ? text(pickle->text(200)) : tr("nothing")));
    updateEnabled();
    emit changed();
}

void DumpForm::updateEnabled() {
    const bool v1 = format_->currentIndex() == 1;
    compat_->setEnabled(v1 && !noChange_->isChecked());
    noChange_->setEnabled(!(v1 && compat_->isChecked()));
    modelVersion_->setEnabled(!v1);
    appendJson_->setEnabled(!stripInfo_->text().isEmpty());
    const bool fed = !inputData_->toPlainText().trimmed().isEmpty();
    for (QWidget* field : std::initializer_list<QWidget*>{repeat_, seed_, transform_, resize_}) field->setEnabled(fed);
    const bool any = fed || (takeOver_->isChecked() && !given_.empty());
    recompute_->setEnabled(takeOver_->isChecked() && !noAssert_->isChecked());
    noAssert_->setEnabled(any);
    for (QWidget* field : std::initializer_list<QWidget*>{maxerr_, silent_}) field->setEnabled(any && !noAssert_->isChecked());
}

DumpOptions DumpForm::options() const {
    DumpOptions o;
    const auto names = [](const std::vector<QLineEdit*>& edits) {
        std::vector<std::string> given;
        bool any = false;
        for (const QLineEdit* edit : edits) {
            given.push_back(edit->text().trimmed().toStdString());
            any |= !given.back().empty();
        }
        return any ? given : std::vector<std::string>();
    };
    o.arg_names = names(argNames_);
    o.output_names = names(outputNames_);
    o.keep_var_name = keepVarName_->currentIndex();
    o.keep_opr_name = keepOprName_->isChecked();
    o.keep_param_name = keepParamName_->isChecked();
    o.keep_opr_priority = keepOprPriority_->isChecked();
    if (format_->currentIndex() == 1) o.dump_format = "FBS";
    o.model_version = static_cast<std::uint32_t>(modelVersion_->value());
    if (compat_->isChecked() && compat_->isEnabled()) o.compat_older_version = "8.14";
    o.no_change_graph = noChange_->isChecked();
    o.append = append_->isChecked();
    o.strip_info_file = std::filesystem::path(stripInfo_->text().trimmed().toStdU16String());
    o.append_json = appendJson_->isChecked() && !o.strip_info_file.empty();
    o.optimize_for_inference = optimize_->isChecked();
    for (const auto& [box, flag] : flags_) o.optimize.*flag = box->isChecked();
    o.optimize.layout = static_cast<LayoutTransform>(layout_->currentData().toInt());
    o.optimized_before = optimizedBefore_;
    o.enable_metadata = metadata_->isChecked();
    o.user_info = userInfo_->text().trimmed().isEmpty() ? storedInfo_ : pickle_of_typed(userInfo_->text().trimmed().toStdString());
    if (takeOver_->isChecked()) o.testcases = given_;
    if (recompute_->isChecked() && recompute_->isEnabled())
        for (DumpTestcase& testcase : o.testcases) std::erase_if(testcase.values, [](const TestcaseInput& value) { return value.is_expectation; });
    std::vector<std::string> items;
    for (const QString& line : inputData_->toPlainText().split(QLatin1Char('\n')))
        if (!line.trimmed().isEmpty()) items.push_back(line.trimmed().toStdString());
    if (!items.empty()) o.input_data = items;
    o.repeat = static_cast<std::uint32_t>(repeat_->value());
    o.seed = static_cast<std::uint64_t>(seed_->value());
    o.input_transform = transform_->text().trimmed().toStdString();
    o.resize_input = resize_->isChecked();
    o.no_assert = noAssert_->isChecked();
    o.silent = silent_->isChecked();
    bool ok = false;
    const double maxerr = QLocale::c().toDouble(maxerr_->text(), &ok);
    o.maxerr = ok ? maxerr : -1;
    return o;
}

DumpCommand DumpForm::command() const {
    DumpCommand command;
    command.user_info = userInfo_->text().trimmed().toStdString();
    command.keep_user_info = command.user_info.empty();
    command.drop_testcases = !given_.empty() && !takeOver_->isChecked();
    command.recompute = recompute_->isChecked() && recompute_->isEnabled() && !given_.empty();
    return command;
}

void DumpForm::setProblem(Place place, const QString& sentence) {
    QLabel* label = problems_[static_cast<std::size_t>(place)];
    QPalette colours = palette();
    colours.setColor(QPalette::WindowText, themeColours(palette()).bad);
    label->setPalette(colours);
    label->setText(sentence);
    label->setVisible(!sentence.isEmpty());
}

void DumpForm::clearProblems() {
    for (int place = 0; place < 4; ++place) setProblem(static_cast<Place>(place), {});
}

} // namespace megascope
