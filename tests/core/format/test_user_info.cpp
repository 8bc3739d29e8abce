#include <QtTest>

#include <filesystem>

#include "format/reader.h"
#include "format/user_info.h"

using namespace megascope;

namespace {

QStringList leaves(const UserInfo& info, std::size_t limit = 500) {
    QStringList out;
    if (info.pickle)
        for (const PickleLeaf& leaf : pickle_leaves(*info.pickle, limit)) out << QString::fromStdString(leaf.path + " = " + leaf.text);
    return out;
}

std::string from_hex(const char* hex) { return QByteArray::fromHex(hex).toStdString(); }

} // namespace

class UserInfoTest : public QObject {
    Q_OBJECT

private slots:
    // Python 3.11: {'epoch': 3, 'lr': 0.5, 'note': 'naïve', 'ok': True, 'none': None, 'shape': [1, 3, 224, 224],
    // 'layers': [{'name': 'a', 'k': (3, 3)}, {'name': 'b'}], 'raw': b'\x00\xff', 'empty': {}, 'set': {1}}
    void valuesAreListedOneByOne() {
        const UserInfo info = read_user_info(from_hex("8004959f000000000000007d94288c0565706f6368944b038c026c7294473fe00000000000008c046e6f7465948c066e61c3af7665948c026f6b94888c046e6f6e65944e8c057368617065945d94284b014b034be04be0658c066c6179657273945d94287d94288c046e616d65948c0161948c016b944b034b038694757d94680c8c01629473658c0372617794430200ff948c05656d707479947d948c03736574948f94284b0190752e"));
        QVERIFY(info.problem.empty());
        QCOMPARE(leaves(info), (QStringList{"epoch = 3", "lr = 0.5", QString::fromUtf8("note = 'na\xc3\xafve'"), "ok = True", "none = None", "shape = [1, 3, 224, 224]",
                                            "layers[0].name = 'a'", "layers[0].k = (3, 3)", "layers[1].name = 'b'", "raw = b'\\x00\\xff'", "empty = {}", "set = {1}"}));
        QCOMPARE(leaves(info, 2), (QStringList{"epoch = 3", "lr = 0.5", QString::fromUtf8("\xe2\x80\xa6 = more values that are not shown")}));
    }

    void aValueAloneHasNoPath() { QCOMPARE(leaves(read_user_info(from_hex("80044e2e"))), QStringList{" = None"}); }

    void nothingIsNothing() {
        const UserInfo info = read_user_info({});
        QVERIFY(!info.pickle);
        QVERIFY(info.problem.empty());
    }

    void whatIsNoPickleIsNamed() {
        const UserInfo info = read_user_info("plain text");
        QVERIFY(!info.pickle);
        QVERIFY2(info.problem.starts_with("10 bytes, not a readable pickle: "), info.problem.c_str());
    }

    void bytesBehindThePickleAreMentioned() {
        const UserInfo info = read_user_info(from_hex("80044e2e0000"));
        QVERIFY(info.pickle);
        QVERIFY2(info.problem.starts_with("2 bytes "), info.problem.c_str());
    }

    // Lists that hold each other: printing and listing end.
    void valuesThatContainThemselvesEnd() {
        const UserInfo info = read_user_info(from_hex("80045d94286800680068006800652e"));
        QVERIFY(info.pickle);
        QVERIFY(leaves(info).size() <= 501);
    }

    // A file that MegEngine wrote with user info.
    void aGenuineFile() {
        const auto file = MappedFile::open(std::filesystem::path(MEGASCOPE_TEST_DATA) / "format" / "smallcnn.v2_allnames.mge");
        QVERIFY(file);
        const auto model = read_model(*file);
        QVERIFY(model);
        const UserInfo info = read_user_info((*model)->main().metadata.user_info);
        QVERIFY(info.pickle);
        QVERIFY(info.problem.empty());
        QCOMPARE(leaves(info), (QStringList{"net = 'smallcnn'", "seed = 11"}));
    }
};

QTEST_APPLESS_MAIN(UserInfoTest)
#include "test_user_info.moc"
