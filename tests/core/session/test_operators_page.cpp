#include <QtTest>

#include <QProcess>

/// docs/operators.md is what the program says today.
class OperatorsPageTest : public QObject {
    Q_OBJECT
private slots:
    void pageIsUpToDate() {
        const QString program = QStringLiteral(MEGASCOPE_BIN_DIR) + "/megascope-cli";
        if (!QFile::exists(program)) QSKIP("megascope-cli is not built here.");
        QProcess process;
        process.start(program, {"operators", "--markdown"});
        QVERIFY(process.waitForFinished());
        QCOMPARE(process.exitCode(), 0);
        QFile page(QStringLiteral(MEGASCOPE_TEST_DATA) + "/../../docs/operators.md");
        QVERIFY(page.open(QIODevice::ReadOnly));
        QVERIFY2(page.readAll() == process.readAllStandardOutput(), "Write it anew: megascope-cli operators --markdown > docs/operators.md");
    }

    void oneOperatorIsDescribed() {
        const QString program = QStringLiteral(MEGASCOPE_BIN_DIR) + "/megascope-cli";
        if (!QFile::exists(program)) QSKIP("megascope-cli is not built here.");
        QProcess process;
        process.start(program, {"operators", "Reduce"});
        QVERIFY(process.waitForFinished());
        const QString text = QString::fromUtf8(process.readAllStandardOutput());
        QVERIFY(text.contains("ReduceV2"));
        QVERIFY(text.contains("2147483647")); // the default axis
        process.start(program, {"operators", "NoSuchOpr"});
        QVERIFY(process.waitForFinished());
        QCOMPARE(process.exitCode(), 2);
    }
};

QTEST_APPLESS_MAIN(OperatorsPageTest)
#include "test_operators_page.moc"
