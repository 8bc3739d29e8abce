#include <QtTest>

#include <filesystem>

#include "format/flat_reader.h"
#include "format/raw_param.h"
#include "format/reader.h"
#include "format/writer.h"
#include "opr/catalogue.h"
#include "opr/param_registry.h"

using namespace megascope;

// Files that flatc made with a schema whose union has one more member, number 200:
//   table NewDeeper { depth:int; note:string; }
//   table NewNested { label:string; weights:[float]; deeper:NewDeeper; }
//   table NewParam { mode:int; ratio:double; flag:bool; text:string; sizes:[int]; nested:NewNested; list:[NewNested];
//                    names:[string]; big:ulong; tiny:ubyte; alone:NewDeeper; }
// Their last operator has an unknown type id, this param, and two additional ones: {mode: 1} under number 201 and
// {text: "second", sizes: [1, 2, 3]} under number 200.
namespace {

std::shared_ptr<const Model> open_bytes(std::span<const std::byte> bytes) {
    auto model = read_model(MappedFile::from_bytes("written", bytes));
    return model ? *model : nullptr;
}

std::shared_ptr<const Model> open(const char* name) {
    auto file = MappedFile::open(std::filesystem::path(MEGASCOPE_TEST_DATA) / "format" / name);
    if (!file) return nullptr;
    auto model = read_model(*file);
    return model ? *model : nullptr;
}

constexpr std::uint16_t vt(int slot) { return static_cast<std::uint16_t>(4 + 2 * slot); }

/// Where the vtable slots of an operator's params and of the graph's operators are: they differ between the containers.
struct Places {
    std::uint64_t buffer = 0; ///< first byte of the flatbuffer in the file
    std::uint16_t oprs = 0;
    std::uint16_t param_type = 0;
    std::uint16_t param = 0;
    std::uint16_t more_types = 0;
    std::uint16_t more = 0;
};

Places places(const StoredGraph& stored) {
    // The order of fields in core/format/schema; a union takes two slots.
    if (stored.container == Container::fbs_v2) return {stored.offset + 4, vt(2), vt(3), vt(4), vt(5), vt(6)};
    const std::uint64_t header = stored.container == Container::fbs_mgbc ? 24 : 16;
    return {stored.offset + header + stored.tensor_bytes + 4, vt(3), vt(1), vt(2), vt(10), vt(11)};
}

std::string text_of(const std::optional<std::string_view>& text) { return text ? std::string(*text) : std::string("absent"); }

/// All that the param of number 200 in the files says, as a text.
QString told(FlatReader& reader, const FlatTable& p) {
    QStringList out;
    out << QString::number(p.scalar<std::int32_t>(vt(0))) << QString::number(p.scalar<double>(vt(1))) << QString::number(p.scalar<std::uint8_t>(vt(2)))
        << QString::fromStdString(text_of(p.text(vt(3))));
    const FlatVector sizes = p.vector(vt(4), 4);
    for (std::size_t i = 0; i < sizes.size; ++i) out << QString::number(p.element<std::int32_t>(sizes, i));
    const auto deeper = [&](const FlatTable& t) {
        return QStringLiteral("deeper(%1 %2)").arg(t.scalar<std::int32_t>(vt(0))).arg(QString::fromStdString(text_of(t.text(vt(1)))));
    };
    const auto nested = [&](const FlatTable& t) {
        QString s = QStringLiteral("nested(") + QString::fromStdString(text_of(t.text(vt(0))));
        const FlatVector weights = t.vector(vt(1), 4);
        for (std::size_t i = 0; i < weights.size; ++i) s += QStringLiteral(" %1").arg(static_cast<double>(t.element<float>(weights, i)));
        if (const FlatTable d = t.table(vt(2)); d.present()) s += QLatin1Char(' ') + deeper(d);
        return s + QLatin1Char(')');
    };
    out << nested(p.table(vt(5)));
    const FlatVector list = p.vector(vt(6), 4);
    for (std::size_t i = 0; i < list.size; ++i) out << nested(p.table_element(list, i));
    const FlatVector names = p.vector(vt(7), 4);
    for (std::size_t i = 0; i < names.size; ++i) out << QString::fromUtf8(p.text_element(names, i));
    out << QString::number(p.scalar<std::uint64_t>(vt(8))) << QString::number(p.scalar<std::uint8_t>(vt(9)));
    if (const FlatTable d = p.table(vt(10)); d.present()) out << deeper(d);
    if (!reader.ok()) out << QStringLiteral("damaged: ") + QString::fromStdString(reader.error().value().message);
    return out.join(QLatin1Char('|'));
}

const QString whole = QStringLiteral(
    "12|0.25|1|a text of the future|4|8|12|16|-8|nested(outer 1 0.5 -2 deeper(7 inner))|nested(one)|nested(two 3)|x|yy|zzz|1234567890123|9|deeper(64 alone)");
const QString second = QStringLiteral("0|0|0|second|1|2|3|nested(absent)|0|0");
const QString onlyMode = QStringLiteral("1|0|0|absent|nested(absent)|0|0");

/// What the three params of the last operator say, read from the file's bytes.
QStringList params_of(const Model& model) {
    const Places at = places(model.main());
    FlatReader reader(model.file->bytes().subspan(at.buffer), at.buffer);
    const FlatTable root = reader.root();
    const FlatVector oprs = root.vector(at.oprs, 4);
    const FlatTable opr = root.table_element(oprs, oprs.size - 1);
    const FlatVector types = opr.vector(at.more_types, 1);
    const FlatVector more = opr.vector(at.more, 4);
    QStringList out{QStringLiteral("%1: ").arg(opr.scalar<std::uint8_t>(at.param_type)) + told(reader, opr.table(at.param))};
    for (std::size_t i = 0; i < more.size; ++i)
        out << QStringLiteral("%1: ").arg(opr.element<std::uint8_t>(types, i)) + told(reader, opr.table_element(more, i));
    return out;
}

const QStringList expected{QStringLiteral("200: ") + whole, QStringLiteral("201: ") + onlyMode, QStringLiteral("200: ") + second};

QByteArray bytes_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), static_cast<qsizetype>(bytes.size())};
}

} // namespace

class RawParamTest : public QObject {
    Q_OBJECT

private slots:
    void paramsOfUnknownKindsSurvive_data() {
        QTest::addColumn<QByteArray>("name");
        QTest::newRow("v2") << QByteArray("newer/params.v2.mge");
        QTest::newRow("v1") << QByteArray("newer/params.v1.mge");
    }
    void paramsOfUnknownKindsSurvive() {
        QFETCH(QByteArray, name);
        const auto model = open(name.constData());
        QVERIFY(model);
        QCOMPARE(params_of(*model), expected);
        const Opr& last = model->main().graph->oprs().back();
        QVERIFY(!last.kind.valid());
        QCOMPARE(last.type_id, std::uint64_t{123456789});
        QCOMPARE(last.raw_params.size(), std::size_t{3});
        QVERIFY(raw_param_size(last.raw_params[0]) > raw_param_size(last.raw_params[1]));

        const auto once = encode_dump(DumpContent::like_input(*model));
        QVERIFY2(once, once ? "" : once.error().message.c_str());
        const auto again = open_bytes(*once);
        QVERIFY(again);
        QCOMPARE(params_of(*again), expected);
        // Written in MegEngine's order now: the next time every byte stays.
        const auto twice = encode_dump(DumpContent::like_input(*again));
        QVERIFY(twice);
        QCOMPARE(bytes_of(*twice), bytes_of(*once));
    }

    // Other names around it move everything; what is inside must not mind.
    void theyMoveWithTheRest_data() { paramsOfUnknownKindsSurvive_data(); }
    void theyMoveWithTheRest() {
        QFETCH(QByteArray, name);
        const auto model = open(name.constData());
        QVERIFY(model);
        for (const bool opr_name : {false, true})
            for (const int var_name : {0, 1, 2})
                for (const char* info : {"", "a", "some more user info", "1234567"}) {
                    DumpContent content = DumpContent::like_input(*model);
                    content.main.options.kept = {.var_name = var_name, .opr_name = opr_name, .opr_priority = true};
                    content.main.options.metadata.user_info = info;
                    const auto written = encode_dump(content);
                    QVERIFY2(written, written ? "" : written.error().message.c_str());
                    const auto again = open_bytes(*written);
                    QVERIFY(again);
                    QCOMPARE(params_of(*again), expected);
                }
    }

    // A known operator that carries a param of an unknown kind is kept and shown; the other container can have it, too.
    void knownOperatorsKeepThem() {
        const auto model = open("newer/params.v2.mge");
        QVERIFY(model);
        GraphBuilder builder;
        for (const Opr& opr : model->main().graph->oprs()) {
            Opr copy = opr;
            if (opr.id.index() + 1 == model->main().graph->oprs().size()) {
                const OprDef* def = Catalogue::builtin().find_type("Subtensor");
                copy.type = def->type;
                copy.type_id = def->v2.id;
                copy.version = def->v2.version;
                copy.registered_type = def->v2_name;
            }
            QVERIFY(builder.add(std::move(copy), opr.outputs.size(), opr.type == "Host2DeviceCopy"));
        }
        for (const GraphOutput& output : model->main().graph->outputs()) QVERIFY(builder.add_output(output));
        const auto graph = builder.finish();
        for (const Container container : {Container::fbs_v2, Container::fbs_mgbc, Container::fbs_mgbs}) {
            WriteOptions options;
            options.container = container;
            const auto written = encode_graph(graph, options);
            QVERIFY2(written, written ? "" : written.error().message.c_str());
            const auto again = open_bytes(written->joined());
            QVERIFY(again);
            QCOMPARE(params_of(*again), expected);
            QCOMPARE(again->main().graph->oprs().back().type, std::string("Subtensor"));
            QVERIFY(!again->main().graph->oprs().back().kind.valid());
            QVERIFY(!again->warnings.empty());
        }
    }

    // The operator's own type id is all that names it: the other container has another one.
    void unknownOperatorsStayInTheirContainer() {
        const auto model = open("newer/params.v2.mge");
        QVERIFY(model);
        DumpContent content = DumpContent::like_input(*model);
        content.main.options.container = Container::fbs_mgbc;
        const auto written = encode_dump(content);
        QVERIFY(!written);
        QVERIFY(written.error().code == ErrorCode::unsupported);
        QVERIFY(written.error().where.find("FutureOpr") != std::string::npos);
    }

    // A param whose text is one that others share can only be written where that text is again.
    void sharedTextsAreNotLost() {
        // By hand: a param with one offset field to a comp node's name, which stands before it in the buffer.
        Opr holder;
        const OprDef* def = Catalogue::builtin().find_type("Host2DeviceCopy");
        holder.kind = def->kind;
        holder.type = def->type;
        holder.params.emplace_back(*ParamRegistry::builtin().find("Host2DeviceCopy"));
        StoredTensor tensor;
        tensor.name = "data";
        tensor.has_name = true;
        tensor.dtype = DType(DTypeId::float32);
        tensor.shape = Shape{2};
        tensor.comp_node = CompNode{"xpux:0"};
        holder.tensors.push_back(std::move(tensor));
        const OprDef* relu = Catalogue::builtin().find_type("Identity");
        Opr user;
        user.kind = relu->kind;
        user.type = relu->type;
        user.params.emplace_back(*ParamRegistry::builtin().find("Empty"));
        user.comp_nodes = {CompNode{"xpux:0"}};
        GraphBuilder builder;
        QVERIFY(builder.add(std::move(holder), 1, true));
        user.inputs = {VarId(0U)};
        QVERIFY(builder.add(std::move(user), 1));
        QVERIFY(builder.add_output({VarId(1U), 1, {}}));
        const auto written = encode_graph(builder.finish(), WriteOptions{.container = Container::fbs_mgbc});
        QVERIFY(written);
        std::vector<std::byte> bytes = written->joined();
        // Comp node tables become params of number 200: the same layout, one offset to a shared text.
        const auto model = open_bytes(bytes);
        QVERIFY(model);
        const Places at = places(model->main());
        FlatReader reader(std::span<const std::byte>(bytes).subspan(at.buffer), at.buffer);
        const FlatTable root = reader.root();
        const FlatVector oprs = root.vector(at.oprs, 4);
        const FlatTable opr = root.table_element(oprs, 1);
        const FlatVector nodes = opr.vector(vt(4), 4); // comp_node
        QCOMPARE(nodes.size, std::size_t{1});
        const std::size_t node = opr.table_element(nodes, 0).position();
        const std::size_t param_field = opr.position() + opr.field(at.param, 4);
        const auto offset = static_cast<std::uint32_t>(node - param_field);
        std::memcpy(bytes.data() + at.buffer + param_field, &offset, 4);
        bytes[at.buffer + opr.position() + opr.field(at.param_type, 1)] = std::byte{200};

        const auto changed = open_bytes(bytes);
        QVERIFY(changed);
        QCOMPARE(changed->main().graph->oprs().back().raw_params.size(), std::size_t{1});
        DumpContent content = DumpContent::like_input(*changed);
        const auto same = encode_dump(content);
        // The comp node's own table is no longer shared with the param, so the distance differs.
        QVERIFY(!same);
        QVERIFY(same.error().message.find("unknown kind 200") != std::string::npos);
        QVERIFY(same.error().where.find("Identity") != std::string::npos);
    }
};

QTEST_APPLESS_MAIN(RawParamTest)
#include "test_raw_param.moc"
