#include "profile/graph_profile_writer.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <map>

namespace megascope {

namespace {

/// MegEngine's compact text form: `{ "a": 1, "b": [ 1, 2]}`.
class JsonText {
public:
    void begin_object() { open('{'); }
    void end_object() { close('}'); }
    void begin_array() { open('['); }
    void end_array() { close(']'); }

    JsonText& key(std::string_view name) {
        separate();
        quote(name);
        text_ += ": ";
        after_key_ = true;
        return *this;
    }
    void string(std::string_view value) { separate(); quote(value); }
    void null() { separate(); text_ += "null"; }
    void raw(std::string_view json) { separate(); text_ += json; }
    void integer(std::int64_t value) { separate(); text_ += std::to_string(value); }
    /// 15 significant digits; infinities and NaN as strings.
    void real(double value) {
        separate();
        if (std::isnan(value)) text_ += "\"nan\"";
        else if (std::isinf(value)) text_ += value > 0 ? "\"inf\"" : "\"-inf\"";
        else {
            std::array<char, 40> digits{};
            std::snprintf(digits.data(), digits.size(), "%.15g", value);
            text_ += digits.data();
        }
    }
    void id(std::uint64_t number) { string(std::to_string(number)); }
    void sizes(const std::vector<std::int64_t>& values) {
        begin_array();
        for (const std::int64_t v : values) integer(v);
        end_array();
    }

    std::string take() && { return std::move(text_); }

private:
    void open(char bracket) {
        separate();
        text_ += bracket;
        first_ = true;
    }
    void close(char bracket) {
        if (first_) text_ += ' ';
        text_ += bracket;
        first_ = false;
    }
    void separate() {
        if (after_key_) after_key_ = false;
        else if (!text_.empty()) text_ += first_ ? " " : ", ";
        first_ = false;
    }
    void quote(std::string_view value) {
        text_ += '"';
        for (const char c : value) {
            switch (c) {
            case '"': text_ += "\\\""; break;
            case '\\': text_ += "\\\\"; break;
            case '/': text_ += "\\/"; break;
            case '\b': text_ += "\\b"; break;
            case '\f': text_ += "\\f"; break;
            case '\n': text_ += "\\n"; break;
            case '\r': text_ += "\\r"; break;
            case '\t': text_ += "\\t"; break;
            default: text_ += c;
            }
        }
        text_ += '"';
    }

    std::string text_;
    bool first_ = false;
    bool after_key_ = false;
};

std::string_view infer_name(ProfileInfer infer) {
    switch (infer) {
    case ProfileInfer::constant: return "CONST";
    case ProfileInfer::rt_static: return "RT_STATIC";
    case ProfileInfer::missing_inp: return "MISSING_INP";
    case ProfileInfer::no_desc:
    case ProfileInfer::unknown: break;
    }
    return "NO_DESC";
}

class Writer {
public:
    explicit Writer(const GraphProfile& profile) : p_(profile) {}

    std::string write() && {
        json_.begin_object();
        json_.key("graph_exec").begin_object();
        operators();
        vars();
        chunks();
        json_.key("comp_seq").begin_array();
        for (const ProfileOprId opr : p_.sequence) json_.id(p_.oprs[opr.index()].number);
        json_.end_array();
        json_.end_object();

        json_.key("profiler").begin_object();
        records("device", p_.device);
        records("host", p_.host);
        footprints();
        json_.key("opr_internal_pf").begin_object();
        json_.end_object();
        json_.end_object();
        json_.end_object();
        return std::move(json_).take();
    }

private:
    void var_ids(std::string_view key, const std::vector<ProfileVarId>& ids) {
        json_.key(key).begin_array();
        for (const ProfileVarId id : ids) json_.id(p_.vars[id.index()].number);
        json_.end_array();
    }

    void operators() {
        std::vector<bool> in_sequence(p_.oprs.size());
        for (const ProfileOprId opr : p_.sequence) in_sequence[opr.index()] = true;
        json_.key("operator").begin_object();
        for (std::size_t i = 0; i < p_.oprs.size(); ++i) {
            const ProfileOpr& opr = p_.oprs[i];
            json_.key(std::to_string(opr.number)).begin_object();
            json_.key("node_type").string("operator");
            json_.key("id").id(opr.number);
            json_.key("name").string(p_.text(opr.name));
            json_.key("type").string(p_.text(opr.type));
            var_ids("input", opr.inputs);
            var_ids("output", opr.outputs);
            json_.key("extra").begin_object();
            if (opr.order) {
                json_.key("priority").integer(opr.order->priority);
                json_.key("input_update_time").integer(opr.order->input_update_time);
                json_.key("dfs_step_num").integer(opr.order->dfs_step_num);
            }
            json_.end_object();
            json_.key("waiting_spec");
            if (in_sequence[i]) {
                json_.begin_object();
                json_.end_object();
            } else {
                json_.null();
            }
            json_.end_object();
        }
        json_.end_object();
    }

    void vars() {
        json_.key("var").begin_object();
        for (const ProfileVar& var : p_.vars) {
            json_.key(std::to_string(var.number)).begin_object();
            json_.key("node_type").string("var");
            json_.key("id").id(var.number);
            json_.key("name").string(p_.text(var.name));
            json_.key("mem_readonly_fwd_src").null();
            json_.key("force_update_src").null();
            json_.key("mem_plan");
            if (var.mem_plan) mem_plan(*var.mem_plan);
            else json_.null();
            json_.key("comp_node").string(p_.text(var.comp_node));
            json_.key("dev_ptr").null();
            json_.key("prev_dev_ptr").integer(0);
            json_.key("flag").begin_array();
            json_.end_array();
            json_.key("static_infer_tags").begin_object();
            infer_tag("SHAPE", var.shape_infer, var, true);
            infer_tag("VALUE", var.value_infer, var, false);
            json_.end_object();
            json_.end_object();
        }
        json_.end_object();
    }

    void mem_plan(const ProfileMemPlan& plan) {
        json_.begin_object();
        json_.key("mem_chunk_id").string(p_.text(plan.chunk));
        json_.key("layout").begin_object();
        json_.key("shape").sizes(plan.shape);
        std::vector<std::int64_t> strides(plan.shape.size());
        std::int64_t step = 1;
        for (std::size_t i = strides.size(); i-- > 0;) {
            strides[i] = step;
            step *= plan.shape[i];
        }
        json_.key("stride").sizes(strides);
        json_.key("dtype").string(p_.text(plan.dtype));
        json_.end_object();
        json_.key("offset_byte").integer(static_cast<std::int64_t>(plan.offset));
        json_.end_object();
    }

    void infer_tag(std::string_view key, ProfileInfer infer, const ProfileVar& var, bool is_shape) {
        json_.key(key).begin_object();
        json_.key("node_type").string("static_infer_tag");
        json_.key("infer_type").string(infer_name(infer));
        json_.key("inferred_result");
        if (is_shape && var.shape) json_.sizes(*var.shape);
        else json_.null();
        json_.key("deps").begin_array();
        if (is_shape && var.producer.valid() && (infer == ProfileInfer::missing_inp || infer == ProfileInfer::rt_static))
            for (const ProfileVarId in : p_.oprs[var.producer.index()].inputs) {
                json_.begin_object();
                json_.key("var").id(p_.vars[in.index()].number);
                json_.key("dep_type").string("SHAPE");
                json_.end_object();
            }
        json_.end_array();
        json_.end_object();
    }

    void chunks() {
        json_.key("mem_chunk").begin_object();
        for (const ProfileMemChunk& chunk : p_.chunks) {
            json_.key(p_.text(chunk.id)).begin_object();
            json_.key("node_type").string("mem_chunk");
            json_.key("id").string(p_.text(chunk.id));
            json_.key("size").integer(static_cast<std::int64_t>(chunk.size));
            json_.key("owner_var");
            if (chunk.owner.valid()) json_.id(p_.vars[chunk.owner.index()].number);
            else json_.string("0");
            json_.key("dev_ptr");
            if (chunk.address) json_.integer(static_cast<std::int64_t>(*chunk.address));
            else json_.null();
            json_.end_object();
        }
        json_.end_object();
    }

    void records(std::string_view key, const std::vector<ProfileRecord>& records) {
        std::map<std::uint64_t, std::vector<const ProfileRecord*>> by_opr;
        for (const ProfileRecord& record : records) by_opr[p_.oprs[record.opr.index()].number].push_back(&record);
        json_.key(key).begin_object();
        for (const auto& [number, entries] : by_opr) {
            json_.key(std::to_string(number)).begin_object();
            for (const ProfileRecord* record : entries) {
                json_.key(p_.text(record->where)).begin_object();
                json_.key("start").real(record->span.start);
                json_.key("kern").real(record->span.kern);
                json_.key("end").real(record->span.end);
                json_.end_object();
            }
            json_.end_object();
        }
        json_.end_object();
    }

    void shape_list(std::string_view key, const std::vector<std::vector<std::int64_t>>& shapes) {
        json_.key(key).begin_array();
        for (const auto& shape : shapes) json_.sizes(shape);
        json_.end_array();
    }

    void footprints() {
        json_.key("opr_footprint").begin_object();
        for (std::size_t i = 0; i < p_.oprs.size(); ++i) {
            const auto& footprint = p_.footprints[i];
            if (!footprint) continue;
            json_.key(std::to_string(p_.oprs[i].number)).begin_object();
            json_.key("computation");
            if (footprint->computation) json_.real(*footprint->computation);
            else json_.null();
            json_.key("memory").integer(static_cast<std::int64_t>(footprint->memory));
            shape_list("in_shapes", footprint->in_shapes);
            shape_list("out_shapes", footprint->out_shapes);
            if (!footprint->in_strides.empty()) {
                json_.key("in_layouts").begin_array();
                for (const auto& strides : footprint->in_strides) {
                    if (strides.empty()) json_.null();
                    else json_.sizes(strides);
                }
                json_.end_array();
            }
            json_.key("param").raw(footprint->param.empty() ? std::string_view("{ }") : std::string_view(footprint->param));
            json_.end_object();
        }
        json_.end_object();
    }

    const GraphProfile& p_;
    JsonText json_;
};

} // namespace

std::string write_graph_profile(const GraphProfile& profile) { return Writer(profile).write(); }

} // namespace megascope
