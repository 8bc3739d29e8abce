#include <QtTest>

#include <set>

#include "core/layout/generated_graphs.h"
#include "layout/graph_scene.h"
#include "tests/views/test_graph_support.h"
#include "views/graph/graph_picture.h"

using namespace megascope;
using namespace megascope::test;

/// Lines are looked for by pieces of their routes: nothing of a line may be missing, and none may be drawn twice or over a gap.
class EdgePiecesTest : public QObject {
    Q_OBJECT
    std::shared_ptr<const GraphPicture> frames_, flat_;

    static std::shared_ptr<const GraphPicture> drawn(bool groups) {
        PictureRequest request;
        request.graph = real_graph(generate_graph("train", 300));
        request.structure = analyse_structure(request.graph);
        request.scene.groups = groups;
        request.scene.expanded.assign(request.structure->groups->groups().size(), 1);
        const auto made = make_picture(request, GraphFonts{QFont()}, {}, {});
        if (!made) qFatal("%s", made.error().text().c_str());
        return *made;
    }
private slots:
    void initTestCase() {
        frames_ = drawn(true);
        flat_ = drawn(false);
        QVERIFY(std::ranges::any_of(frames_->layout.edges, [](const EdgeRoute& r) { return r.count > 1 + 3 * 8; })); // ways through many frames
        QVERIFY(std::ranges::any_of(flat_->layout.edges, &EdgeRoute::taken_out));
    }

    void piecesFollowEachOther_data() {
        QTest::addColumn<bool>("frames");
        QTest::newRow("frames") << true;
        QTest::newRow("flat") << false;
    }
    void piecesFollowEachOther() {
        QFETCH(bool, frames);
        const GraphPicture& picture = frames ? *frames_ : *flat_;
        std::size_t at = 0;
        const auto& pieces = picture.edge_pieces;
        for (std::uint32_t e = 0; e < picture.layout.edges.size(); ++e) {
            const EdgeRoute& route = picture.layout.edges[e];
            for (std::uint32_t next = 0; route.count != 0 && next + 1 < route.count;) {
                if (route.taken_out() && next + 1 == route.second) ++next; // nothing between the two parts
                QVERIFY(at < pieces.size());
                QCOMPARE(pieces[at].edge, e);
                QCOMPARE(pieces[at].begin, next);
                QVERIFY(pieces[at].end > next && pieces[at].end < route.count);
                QCOMPARE((pieces[at].end - next) % 3, 0U);
                QVERIFY(!route.taken_out() || next >= route.second || pieces[at].end < route.second);
                next = pieces[at++].end;
            }
        }
        QCOMPARE(at, pieces.size());
    }

    void everyLineInSightIsFound_data() { piecesFollowEachOther_data(); }
    void everyLineInSightIsFound() {
        QFETCH(bool, frames);
        const GraphPicture& picture = frames ? *frames_ : *flat_;
        const LayoutRect all = picture.layout.bounds;
        for (int step = 0; step < 40; ++step) {
            const LayoutRect sight{all.width * (step % 5) / 5, all.height * step / 40, all.width / 5, all.height / 40};
            std::set<std::uint32_t> found;
            picture.piece_index.query(sight, [&](std::uint32_t i) { found.insert(picture.edge_pieces[i].edge); });
            for (std::uint32_t e = 0; e < picture.layout.edges.size(); ++e)
                for (const LayoutPoint& p : picture.layout.route(e))
                    if (sight.contains(p)) QVERIFY(found.contains(e));
        }
    }
};

QTEST_MAIN(EdgePiecesTest)
#include "test_edge_pieces.moc"
