#pragma once

#include <QString>
#include <QTextDocument>

namespace megascope {

/// Tooltips take text for markup when it looks like some; names of operators and files are never meant so.
[[nodiscard]] inline QString plainToolTip(const QString& text) {
    if (!Qt::mightBeRichText(text)) return text;
    return QStringLiteral("<span>%1</span>").arg(text.toHtmlEscaped().replace(QLatin1Char('\n'), QStringLiteral("<br>")));
}

} // namespace megascope
