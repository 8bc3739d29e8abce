#include <algorithm>
#include <map>
#include <memory>
#include <string>

#include "commands.h"
#include "console.h"
#include "exec/cpu/coverage.h"
#include "exec/forward.h"
#include "exec/reference/kernel_table.h"
#include "opr/catalogue.h"
#include "opr/param_registry.h"

namespace megascope::cli {

namespace {

struct OperatorsOptions {
    std::string name;
    bool markdown = false;
};

std::string joined(const std::vector<std::string>& parts, std::string_view separator = ", ") {
    std::string s;
    for (const std::string& part : parts) {
        if (!s.empty()) s += separator;
        s += part;
    }
    return s;
}

/// "src, filter, [bias, [z]]", "x, x…"
std::string inputs_text(const OprDef& def) {
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < def.inputs.fixed.size(); ++i) {
        const std::string name(def.inputs.fixed[i]);
        parts.push_back(i < def.inputs.required ? name : "[" + name + "]");
    }
    if (!def.inputs.repeated.empty()) parts.push_back(std::string(def.inputs.repeated) + " …");
    return parts.empty() ? "none" : joined(parts);
}

std::string outputs_text(const OprDef& def) {
    std::vector<std::string> parts(def.outputs.begin(), def.outputs.end());
    return joined(parts);
}

std::string params_text(const OprDef& def) {
    std::vector<std::string> parts;
    for (const std::string_view name : def.params)
        if (!name.starts_with("ExecutionPolicy") && name != "Empty") parts.emplace_back(name);
    return parts.empty() ? "–" : joined(parts);
}

/// Does the operator only hold a value, so that there is nothing to compute?
bool holds_value(const OprDef& def) { return def.category == OprCategory::data && def.inputs.required == 0; }

/// Why nothing runs it; empty when it can run.
std::string obstacle(const OprDef& def) {
    if (reference_kernels().contains(def.type) || holds_value(def)) return {};
    if (def.type.find("Runtime") != std::string_view::npos) return "no: needs its vendor's runtime library";
    if (def.category == OprCategory::external) return "no: its code lies in a library outside the dump";
    if (def.category == OprCategory::image) return "no: only the graphics card's own engine computes it";
    return "no: stands for other operators while a graph is built, never runs";
}

std::string reference_text(const OprDef& def) {
    const std::string no = obstacle(def);
    return !no.empty() ? no : holds_value(def) ? "holds a value" : "yes";
}

/// What the cpu backend has, as it says itself.
std::string cpu_text(const OprDef& def) {
    if (!obstacle(def).empty()) return "no";
    if (holds_value(def)) return "holds a value";
    Opr probe;
    probe.type = def.type;
    probe.inputs.resize(1);
    probe.outputs.resize(1);
    if (forwards_first_input(probe)) return "passes its input on";
    std::string own;
    for (const CpuCoverage& entry : cpu_coverage()) {
        if (entry.type != def.type) continue;
        std::vector<std::string> names;
        for (const DTypeId id : entry.dtypes) names.emplace_back(DType(id).name());
        own += (own.empty() ? "own kernel: " : "; ") + joined(names) + (entry.needs_vnni ? " (with VNNI)" : "");
    }
    return own.empty() ? "plain loops" : own;
}

std::string yes_no(bool yes) { return yes ? "yes" : "no"; }

void print_markdown() {
    print("# Operators\n\n"
          "Every operator class that a MegEngine dump can contain, by category. Inputs in brackets may be absent; an ellipsis stands for any "
          "number of further inputs. \"Reference\" says whether the reference backend, which holds the plain loops, computes the operator, and "
          "if not why. \"Cpu\" names the dtypes of the first input for which the cpu backend has a kernel of its own; it runs everything else, "
          "and params that its kernel was not made for, by the plain loops. \"Cost\" says whether operations are counted. Shapes are inferred for every "
          "operator of the library itself; the sizes that CondTake and NonZero take are known only when they have run.\n\n"
          "`megascope-cli operators NAME` shows one class with all params; `megascope-cli operators --markdown` writes this page.\n");
    std::map<OprCategory, std::vector<const OprDef*>> by_category;
    for (const OprDef& def : Catalogue::builtin().all()) by_category[def.category].push_back(&def);
    for (auto& [category, defs] : by_category) {
        std::ranges::sort(defs, {}, &OprDef::type);
        std::string title(category_name(category));
        title[0] = static_cast<char>(title[0] - 'a' + 'A');
        print("\n## " + title + "\n\n| Operator | What it does | Inputs | Outputs | Param | Reference | Cpu | Cost |\n|---|---|---|---|---|---|---|---|\n");
        for (const OprDef* def : defs)
            print("| " + std::string(def->type) + " | " + std::string(def->summary) + " | " + inputs_text(*def) + " | " + outputs_text(*def) + " | " +
                  params_text(*def) + " | " + reference_text(*def) + " | " + cpu_text(*def) + " | " + yes_no(def->cost != nullptr) + " |\n");
    }
    print("\n## Forms that are refused\n\n"
          "Each is refused with a sentence that names the operator; nothing is computed in its place.\n\n"
          "| Operator | Form | Reason |\n|---|---|---|\n"
          "| LSTM, LSTMBackward | proj_size other than 0 | there is no value of MegEngine to check a kernel with |\n"
          "| RNN, LSTM, MultiHeadAttn | dropout while training | which values drop is decided by the device's generator; the result is not defined by the file |\n"
          "| MultiHeadAttnBackward | with bias_k and bias_v, or with a mask | their values are not among its inputs |\n"
          "| Elemwise | complex numbers | no kernel of MegEngine's CPU takes them |\n"
          "| DeformableConv, Local, GroupLocal, MaskConvolution, Correlation, GroupNorm, InstanceNorm | formats other than NCHW | MegEngine defines them for NCHW only |\n"
          "| WarpPerspective, WarpAffine, Remap, their gradients | border and interpolation modes beyond MegEngine's own kernels' | MegEngine has no kernel for them either |\n"
          "| runtimes of vendors (TensorRT, Cambricon, Atlas, …), external and custom operators, NvOf | all | the program they carry belongs to another library |\n");
}

/// Without what follows the colon.
std::string short_text(const std::string& text) { return text.substr(0, text.find(':')); }

void print_list() {
    Table table({{"operator"}, {"category"}, {"reference"}, {"cpu"}, {"what it does"}});
    std::vector<const OprDef*> defs;
    for (const OprDef& def : Catalogue::builtin().all()) defs.push_back(&def);
    std::ranges::sort(defs, {}, &OprDef::type);
    for (const OprDef* def : defs)
        table.add({std::string(def->type), std::string(category_name(def->category)), short_text(reference_text(*def)), short_text(cpu_text(*def)), std::string(def->summary)});
    print(table.text());
}

std::string values_text(const ParamField& field) {
    if (!field.enumeration) return {};
    std::vector<std::string> names;
    for (const ParamEnumValue& value : field.enumeration->values) names.push_back(value.name);
    return joined(names, " | ");
}

void print_one(const OprDef& def) {
    print(std::string(def.type) + ": " + std::string(def.summary) + "\n");
    Table facts({{""}, {""}});
    facts.add({"category", std::string(category_name(def.category))});
    facts.add({"inputs", inputs_text(def)});
    facts.add({"outputs", outputs_text(def)});
    facts.add({"reference", reference_text(def)});
    facts.add({"cpu", cpu_text(def)});
    facts.add({"shape inference", yes_no(def.infer != nullptr)});
    facts.add({"FBS v1", std::string(def.v1_name) + ", id " + std::to_string(def.v1_id) + "; old header: id " + std::to_string(def.mgbs_id)});
    std::string v2 = std::string(def.v2_name) + ", version " + std::to_string(def.v2.version) + ", id " + std::to_string(def.v2.id);
    for (const OprIdentity& also : def.v2_also) v2 += "; also version " + std::to_string(also.version) + ", id " + std::to_string(also.id);
    facts.add({"FBS v2", v2});
    facts.add({"in profiles", std::string(def.profile_type)});
    print(facts.text(2));
    for (std::string_view name : def.params) {
        const bool optional = name.ends_with('?');
        if (optional) name.remove_suffix(1);
        const ParamType* type = ParamRegistry::builtin().find(name);
        if (!type || type->fields.empty()) continue;
        print("\n  Param " + std::string(name) + (optional ? " (may be absent)" : "") + "\n");
        const Param defaults(*type);
        Table fields({{""}, {""}, {""}});
        for (std::size_t i = 0; i < type->fields.size(); ++i)
            fields.add({type->fields[i].name, type->fields[i].kind == ParamFieldKind::dtype ? "dtype" : defaults.text(i), values_text(type->fields[i])});
        print(fields.text(4));
    }
}

int operators(const OperatorsOptions& options) {
    if (options.markdown) {
        print_markdown();
    } else if (options.name.empty()) {
        print_list();
    } else if (const OprDef* def = Catalogue::builtin().find_type(options.name)) {
        print_one(*def);
    } else {
        return report({ErrorCode::invalid_argument, "There is no operator " + options.name + "; \"megascope-cli operators\" lists them.", std::nullopt, {}});
    }
    return passed;
}

} // namespace

void add_operators(CLI::App& app, int& status) {
    auto options = std::make_shared<OperatorsOptions>();
    CLI::App* command = app.add_subcommand("operators", "Lists the operators of MegEngine dumps, or describes one with its params");
    command->add_option("name", options->name, "A class name, such as Convolution");
    command->add_flag("--markdown", options->markdown, "All of them as a Markdown page, grouped by category");
    command->callback([options, &status] { status = operators(*options); });
}

} // namespace megascope::cli
