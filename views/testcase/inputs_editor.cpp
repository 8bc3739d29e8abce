#include "views/testcase/inputs_editor.h"

#include <QAction>
#include <QFileDialog>
#include <QFormLayout>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>

#include <algorithm>
#include <cstring>

#include "views/common/icon.h"
#include "views/common/number_text.h"

namespace megascope {

namespace {

constexpr const char* shapedExample = "#rand(0,1,1,3,224,224)";

/// An input's name, shortened in its middle where the panel is narrow, and what it takes.
class InputLabel : public QLabel {
public:
    InputLabel(const QString& name, const QString& type, QWidget* parent) : QLabel(parent), name_(name), type_(type) {
        setTextFormat(Qt::PlainText);
        setToolTip(QStringLiteral("<span>%1</span>").arg((name + type).toHtmlEscaped()));
        setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
        setText(name + type);
    }

protected:
    void resizeEvent(QResizeEvent* event) override {
        QLabel::resizeEvent(event);
        const QString shown = fontMetrics().elidedText(name_, Qt::ElideMiddle, std::max(width() - fontMetrics().horizontalAdvance(type_), fontMetrics().averageCharWidth() * 6));
        setText(QString(shown).replace(QLatin1Char('&'), QStringLiteral("&&")) + type_); // a label with a buddy takes a single & for a shortcut
    }

private:
    QString name_;
    QString type_;
};

std::string noShape() { return std::string("It has no shape in this file; give one, for example ") + shapedExample + "."; }

} // namespace

InputsEditor::InputsEditor(QWidget* parent) : QWidget(parent) {
    form_ = new QFormLayout(this);
    form_->setContentsMargins(8, 4, 8, 8);
    form_->setSpacing(4);
    form_->setRowWrapPolicy(QFormLayout::WrapAllRows);
}

void InputsEditor::setInputs(std::vector<GraphInput> inputs) {
    while (form_->rowCount() > 0) form_->removeRow(0);
    rows_.clear();
    for (GraphInput& input : inputs) {
        if (input.is_expectation) continue;
        auto* edit = new QLineEdit(this);
        edit->setObjectName(QStringLiteral("input-") + text(input.name));
        // Without a shape in the file nothing can be filled in for the user.
        const bool open = !input.has_default && !input.shape;
        edit->setPlaceholderText(input.has_default ? tr("the dump's own value") : open ? tr("for example %1").arg(QLatin1String(shapedExample)) : QStringLiteral("#rand(0,1)"));
        edit->setText(input.has_default || open ? QString() : input.dtype.is_float() ? QStringLiteral("#rand(0,1)") : QStringLiteral("#zeros"));
        edit->setToolTip(tr("#rand(low,high), #rand(low,high,shape…), #zeros, or a .npy or image file"));
        QAction* browse = edit->addAction(themedIcon(QStringLiteral("open")), QLineEdit::TrailingPosition);
        browse->setToolTip(tr("Choose a file, or a common value"));
        connect(browse, &QAction::triggered, edit, [this, edit] {
            QMenu menu;
            menu.addAction(tr("File…"), edit, [this, edit] {
                const QString path = QFileDialog::getOpenFileName(this, tr("Value of an input"), {}, tr("Arrays and pictures (*.npy *.npz *.png *.jpg *.jpeg *.bmp);;All files (*)"));
                if (!path.isEmpty()) edit->setText(path);
            });
            menu.addAction(tr("Random, 0 … 1"), edit, [edit] { edit->setText(QStringLiteral("#rand(0,1)")); });
            menu.addAction(tr("Random, 0 … 255"), edit, [edit] { edit->setText(QStringLiteral("#rand(0,255)")); });
            menu.addAction(tr("Zeros"), edit, [edit] { edit->setText(QStringLiteral("#zeros")); });
            menu.exec(edit->mapToGlobal(QPoint(0, edit->height())));
        });
        connect(edit, &QLineEdit::textChanged, this, &InputsEditor::edited);
        auto* label = new InputLabel(text(input.name), QStringLiteral("   %1  %2").arg(shapeText(input.shape), text(input.dtype.text())), this);
        label->setBuddy(edit);
        edit->setAccessibleName(text(input.name));
        // Each has the whole width: a label that may be shortened would get none beside its field.
        form_->addRow(label);
        form_->addRow(edit);
        rows_.push_back({std::move(input), edit});
    }
}

void InputsEditor::setSource(const QString& name, const QString& source) {
    for (Row& row : rows_)
        if (text(row.input.name) == name) row.edit->setText(source);
}

std::vector<std::pair<GraphInput, std::string>> InputsEditor::sources() const {
    std::vector<std::pair<GraphInput, std::string>> sources;
    for (const Row& row : rows_) sources.emplace_back(row.input, row.edit->text().trimmed().toStdString());
    return sources;
}

Expected<std::vector<NamedTensor>> makeInputs(const std::vector<std::pair<GraphInput, std::string>>& sources, const CancelToken& cancel) {
    std::vector<NamedTensor> values;
    std::uint64_t seed = 0;
    for (const auto& [input, source] : sources) {
        ++seed;
        if (source.empty()) {
            if (input.has_default) continue;
            if (!input.shape) return fail_in(ErrorCode::invalid_argument, noShape(), input.name);
            return fail_in(ErrorCode::invalid_argument, "A value is missing: type #rand(0,1), #zeros or a file.", input.name);
        }
        if (source == "#zeros") {
            if (!input.shape || !input.shape->checked_elements())
                return fail_in(ErrorCode::invalid_argument, noShape(), input.name);
            TensorBuffer buffer(input.dtype, *input.shape);
            // Zero as a real number: asymmetric quantized dtypes store their zero point.
            std::memset(buffer.bytes().data(), input.dtype.id == DTypeId::quint8 ? input.dtype.zero_point : 0, buffer.bytes().size());
            values.push_back({input.name, std::move(buffer).freeze()});
            continue;
        }
        const std::vector<FeedTarget> targets = {{input.name, input.dtype, input.shape}};
        const std::vector<std::string> items = {source};
        FeedOptions options;
        options.seed = seed;
        auto cases = parse_input_data(items, targets, options, cancel);
        if (!cases) {
            Error error = std::move(cases).error();
            if (error.where.empty()) error.where = input.name;
            return forward(std::move(error));
        }
        for (FedInput& fed : cases->front().inputs) values.push_back({fed.name, std::move(fed.value)});
    }
    return values;
}

} // namespace megascope
