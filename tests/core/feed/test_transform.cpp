#include <QtTest>

#include <QProcess>
#include <QTemporaryDir>
#include <chrono>
#include <thread>

#include "feed/transform.h"
#include "tensor/element.h"

using namespace megascope;

namespace {

Tensor numbers() {
    const std::vector<float> values = {1, 2, 3};
    return Tensor::copy_of<float>(DTypeId::float32, {3}, values);
}

/// An interpreter that ignores its script: a shell line of ours.
std::string interpreter(const QTemporaryDir& dir, const QByteArray& line) {
    QFile file(dir.filePath("python"));
    if (!file.open(QIODevice::WriteOnly)) return {};
    file.write("#!/bin/sh\n" + line + "\n");
    file.close();
    file.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
    return file.fileName().toStdString();
}

} // namespace

class TransformTest : public QObject {
    Q_OBJECT
private slots:
    void arraysGoThroughTheInterpreter() {
        const QTemporaryDir dir;
        const auto result = transform_array(numbers(), "data", interpreter(dir, "exec cat"));
        QVERIFY2(result.has_value(), result ? "" : result.error().text().c_str());
        QCOMPARE(to_real(result->ref()), (std::vector<double>{1, 2, 3}));
    }

    void failuresQuoteTheLastLine() {
        const QTemporaryDir dir;
        auto result = transform_array(numbers(), "dta", interpreter(dir, "echo Traceback >&2; echo \"NameError: name 'dta' is not defined\" >&2; exit 1"));
        QCOMPARE(result.error().code, ErrorCode::run_failed);
        QCOMPARE(result.error().message, std::string("The transform 'dta' failed: NameError: name 'dta' is not defined."));
        result = transform_array(numbers(), "data", interpreter(dir, "echo hello"));
        QCOMPARE(result.error().code, ErrorCode::foreign); // no array came back
        result = transform_array(numbers(), "data", "/no/such/python");
        QCOMPARE(result.error().code, ErrorCode::io);
    }

    void cancelStopsTheInterpreter() {
        const QTemporaryDir dir;
        const CancelToken cancel;
        std::thread later([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
            cancel.cancel();
        });
        QElapsedTimer timer;
        timer.start();
        const auto result = transform_array(numbers(), "data", interpreter(dir, "exec sleep 60"), cancel);
        later.join();
        QCOMPARE(result.error().code, ErrorCode::cancelled);
        QVERIFY(timer.elapsed() < 10000);
    }

    void numpyComputes() {
        QProcess probe;
        probe.start("python3", {"-c", "import numpy"});
        if (!probe.waitForFinished() || probe.exitCode() != 0) QSKIP("No python3 with NumPy is on this machine.");
        const auto result = transform_array(numbers(), "np.stack([data * 2, data - 1])");
        QVERIFY2(result.has_value(), result ? "" : result.error().text().c_str());
        QCOMPARE(result->shape(), (Shape{2, 3}));
        QCOMPARE(to_real(result->ref()), (std::vector<double>{2, 4, 6, 0, 1, 2}));
    }
};

QTEST_APPLESS_MAIN(TransformTest)
#include "test_transform.moc"
