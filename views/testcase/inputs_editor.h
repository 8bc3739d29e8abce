#pragma once

#include <QWidget>

#include <vector>

#include "feed/input_data.h"
#include "session/inputs.h"

class QFormLayout;
class QLineEdit;

namespace megascope {

/// One line per graph input: "#rand(0,1)", "#zeros", or a .npy / image file.
class InputsEditor : public QWidget {
    Q_OBJECT
public:
    explicit InputsEditor(QWidget* parent = nullptr);

    void setInputs(std::vector<GraphInput> inputs);
    [[nodiscard]] bool empty() const { return rows_.empty(); }
    /// What is typed for an input of that name.
    void setSource(const QString& name, const QString& source);
    [[nodiscard]] std::vector<std::pair<GraphInput, std::string>> sources() const;

signals:
    /// Some line changed.
    void edited();

private:
    struct Row {
        GraphInput input;
        QLineEdit* edit;
    };
    QFormLayout* form_;
    std::vector<Row> rows_;
};

/// Turns typed sources into values. Blocking; any thread. Errors: invalid_argument with the input's name, io.
[[nodiscard]] Expected<std::vector<NamedTensor>> makeInputs(const std::vector<std::pair<GraphInput, std::string>>& sources, const CancelToken& cancel);

} // namespace megascope
