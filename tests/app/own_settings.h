#pragma once

#include <QCoreApplication>
#include <QSettings>
#include <QTemporaryDir>

namespace megascope {

/// Settings of this test program alone: nothing of the user's is read or written. Take them before the first window.
class OwnSettings {
public:
    /// False: there is no folder for them, and the test must not go on.
    [[nodiscard]] bool take() const {
        QSettings::setDefaultFormat(QSettings::IniFormat);
        QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, folder_.path());
        QCoreApplication::setOrganizationName(QStringLiteral("MegascopeTest"));
        return folder_.isValid();
    }

private:
    QTemporaryDir folder_;
};

} // namespace megascope
