<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="en" sourcelanguage="en">
<context>
    <name>megascope::AnalysisPage</name>
    <message numerus="yes">
        <source>%n Copy operators: %1.</source>
        <translation>
            <numerusform>%n Copy operator: %1.</numerusform>
            <numerusform>%n Copy operators: %1.</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>GraphView</name>
    <message numerus="yes">
        <source>%n operators</source>
        <translation>
            <numerusform>%n operator</numerusform>
            <numerusform>%n operators</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>megascope::ColourClasses</name>
    <message numerus="yes">
        <source>%1: %n operators</source>
        <translation>
            <numerusform>%1: %n operator</numerusform>
            <numerusform>%1: %n operators</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>megascope::ColourRamp</name>
    <message numerus="yes">
        <source>%1 to %2: %n boxes</source>
        <translation>
            <numerusform>%1 to %2: %n box</numerusform>
            <numerusform>%1 to %2: %n boxes</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n boxes have no finite number</source>
        <translation>
            <numerusform>%n box has no finite number</numerusform>
            <numerusform>%n boxes have no finite number</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>megascope::RunRecord</name>
    <message numerus="yes">
        <source>%n values, in the order of execution. The file has the first elements and statistics of each, not the values themselves.</source>
        <translation>
            <numerusform>%n value. The file has its first elements and statistics, not the value itself.</numerusform>
            <numerusform>%n values, in the order of execution. The file has the first elements and statistics of each, not the values themselves.</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n values of %1.</source>
        <translation>
            <numerusform>%n value of %1.</numerusform>
            <numerusform>%n values of %1.</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>The file has %n bytes for this value, which do not make up %1 of %2.</source>
        <translation>
            <numerusform>The file has %n byte for this value, which does not make up %1 of %2.</numerusform>
            <numerusform>The file has %n bytes for this value, which do not make up %1 of %2.</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>Algorithms that a fast run measured for %n operations, fastest first.</source>
        <translation>
            <numerusform>Algorithms that a fast run measured for %n operation, fastest first.</numerusform>
            <numerusform>Algorithms that a fast run measured for %n operations, fastest first.</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>megascope::FilePage</name>
    <message numerus="yes">
        <source>%n entries</source>
        <translation>
            <numerusform>%n entry</numerusform>
            <numerusform>%n entries</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>Graph %1 of %2: %n operators</source>
        <translation>
            <numerusform>Graph %1 of %2: %n operator</numerusform>
            <numerusform>Graph %1 of %2: %n operators</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n bytes</source>
        <translation>
            <numerusform>%n byte</numerusform>
            <numerusform>%n bytes</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>megascope::GraphDiffView</name>
    <message numerus="yes">
        <source>Both graphs are the same: %n operators.</source>
        <translation>
            <numerusform>Both graphs are the same: %n operator.</numerusform>
            <numerusform>Both graphs are the same: %n operators.</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n operators differ</source>
        <translation>
            <numerusform>%n operator differs</numerusform>
            <numerusform>%n operators differ</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>megascope::FindPanel</name>
    <message numerus="yes">
        <source>%n hits</source>
        <translation>
            <numerusform>%n hit</numerusform>
            <numerusform>%n hits</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>megascope::GraphController</name>
    <message numerus="yes">
        <source>%1 depends on %n operators</source>
        <translation>
            <numerusform>%1 depends on %n operator</numerusform>
            <numerusform>%1 depends on %n operators</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n operators depend on %1</source>
        <translation>
            <numerusform>%n operator depends on %1</numerusform>
            <numerusform>%n operators depend on %1</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n operators on all ways (shortest: %1): %2 → %3</source>
        <translation>
            <numerusform>%n operator on all ways (shortest: %1): %2 → %3</numerusform>
            <numerusform>%n operators on all ways (shortest: %1): %2 → %3</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n steps</source>
        <translation>
            <numerusform>%n step</numerusform>
            <numerusform>%n steps</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>megascope::Inspector</name>
    <message numerus="yes">
        <source>%n operators</source>
        <translation>
            <numerusform>%n operator</numerusform>
            <numerusform>%n operators</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>megascope::CompareController</name>
    <message numerus="yes">
        <source>%n operators</source>
        <translation>
            <numerusform>%n operator</numerusform>
            <numerusform>%n operators</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>megascope::MainWindow</name>
    <message numerus="yes">
        <source>%n threads</source>
        <translation>
            <numerusform>%n thread</numerusform>
            <numerusform>%n threads</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>This file holds %n graphs; the File tab chooses which one is shown.</source>
        <translation>
            <numerusform>This file holds %n graph; the File tab chooses which one is shown.</numerusform>
            <numerusform>This file holds %n graphs; the File tab chooses which one is shown.</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>Opened %1: %n slices</source>
        <translation>
            <numerusform>Opened %1: %n slice</numerusform>
            <numerusform>Opened %1: %n slices</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n operators</source>
        <translation>
            <numerusform>%n operator</numerusform>
            <numerusform>%n operators</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n testcases</source>
        <translation>
            <numerusform>%n testcase</numerusform>
            <numerusform>%n testcases</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n slices</source>
        <translation>
            <numerusform>%n slice</numerusform>
            <numerusform>%n slices</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n warnings</source>
        <translation>
            <numerusform>%n warning</numerusform>
            <numerusform>%n warnings</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>profiled run on %1, %n threads</source>
        <translation>
            <numerusform>profiled run on %1, %n thread</numerusform>
            <numerusform>profiled run on %1, %n threads</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>megascope::OutlineModel</name>
    <message numerus="yes">
        <source>%1
%n operators</source>
        <translation>
            <numerusform>%1
%n operator</numerusform>
            <numerusform>%1
%n operators</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>megascope::ProfileCompareController</name>
    <message numerus="yes">
        <source>run %1 on %2, %n threads</source>
        <translation>
            <numerusform>run %1 on %2, %n thread</numerusform>
            <numerusform>run %1 on %2, %n threads</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>megascope::ReportTableView</name>
    <message numerus="yes">
        <source>%n rows</source>
        <translation>
            <numerusform>%n row</numerusform>
            <numerusform>%n rows</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%1 of %n rows</source>
        <translation>
            <numerusform>%1 of %n row</numerusform>
            <numerusform>%1 of %n rows</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>megascope::RunController</name>
    <message numerus="yes">
        <source>Running %n testcases</source>
        <translation>
            <numerusform>Running %n testcase</numerusform>
            <numerusform>Running %n testcases</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n testcases passed, largest error %1.</source>
        <translation>
            <numerusform>%n testcase passed, largest error %1.</numerusform>
            <numerusform>%n testcases passed, largest error %1.</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%1 of %n testcases failed.</source>
        <translation>
            <numerusform>%1 of %n testcase failed.</numerusform>
            <numerusform>%1 of %n testcases failed.</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>megascope::TablePage</name>
    <message numerus="yes">
        <source>%n rows</source>
        <translation>
            <numerusform>%n row</numerusform>
            <numerusform>%n rows</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>megascope::TestcasePanel</name>
    <message numerus="yes">
        <source>%n expected outputs</source>
        <translation>
            <numerusform>%n expected output</numerusform>
            <numerusform>%n expected outputs</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>megascope::FlameView</name>
    <message numerus="yes">
        <source>%n calls, %1 each on average</source>
        <translation>
            <numerusform>%n call, %1 on average</numerusform>
            <numerusform>%n calls, %1 each on average</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n frames below</source>
        <translation>
            <numerusform>%n frame below</numerusform>
            <numerusform>%n frames below</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>megascope::FlamePanel</name>
    <message numerus="yes">
        <source>%n frames, %1</source>
        <translation>
            <numerusform>%n frame, %1</numerusform>
            <numerusform>%n frames, %1</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>megascope::MemoryView</name>
    <message numerus="yes">
        <source>%n further vars live in it, in place or forwarded</source>
        <translation>
            <numerusform>%n further var lives in it, in place or forwarded</numerusform>
            <numerusform>%n further vars live in it, in place or forwarded</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>megascope::DumpForm</name>
    <message numerus="yes">
        <source>take over %n testcases</source>
        <translation>
            <numerusform>take over %n testcase</numerusform>
            <numerusform>take over %n testcases</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>megascope::DumpDialog</name>
    <message numerus="yes">
        <source>%n operators</source>
        <translation>
            <numerusform>%n operator</numerusform>
            <numerusform>%n operators</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n operators instead of %1</source>
        <translation>
            <numerusform>%n operator instead of %1</numerusform>
            <numerusform>%n operators instead of %1</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n testcases</source>
        <translation>
            <numerusform>%n testcase</numerusform>
            <numerusform>%n testcases</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n names of params are kept</source>
        <translation>
            <numerusform>%n name of a param is kept</numerusform>
            <numerusform>%n names of params are kept</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>megascope::TimelinePanel</name>
    <message numerus="yes">
        <source>%n slices</source>
        <translation>
            <numerusform>%n slice</numerusform>
            <numerusform>%n slices</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>megascope::RooflinePanel</name>
    <message numerus="yes">
        <source>%1, %n threads, measured %2</source>
        <translation>
            <numerusform>%1, %n thread, measured %2</numerusform>
            <numerusform>%1, %n threads, measured %2</numerusform>
        </translation>
    </message>
</context>
</TS>
