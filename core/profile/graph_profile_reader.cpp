#include "profile/graph_profile_reader.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <unordered_map>

#include <simdjson.h>

namespace megascope {

namespace {

namespace od = simdjson::ondemand;

/// Stops parsing from inside nested lambdas; caught in read_graph_profile and turned into an Error.
struct Malformed {
    std::string message;
};
struct Stopped {};

std::string without_full_stop(std::string text) {
    while (text.ends_with('.')) text.pop_back();
    return text;
}

std::optional<std::uint64_t> to_number(std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

class Reader {
public:
    Reader(const CancelToken& cancel, const Progress& progress) : cancel_(cancel), progress_(progress) {}

    std::shared_ptr<GraphProfile> read(od::document& document) {
        bool any = false;
        for (auto field : object_of(document, "the profile")) {
            const std::string_view key = field.unescaped_key();
            if (key == "graph_exec") {
                graph_exec(object_of(field.value(), "graph_exec"));
                any = true;
            } else if (key == "profiler") {
                profiler(object_of(field.value(), "profiler"));
                any = true;
            } else {
                note("unknown top-level key '" + std::string(key) + "'");
            }
        }
        if (!any) throw Malformed{"no graph_exec and no profiler"};
        resolve();
        return std::move(profile_);
    }

private:
    struct PendingOpr {
        ProfileOpr opr;
        std::vector<std::uint64_t> inputs;
        std::vector<std::uint64_t> outputs;
    };
    struct PendingRecord {
        std::uint64_t opr;
        StringId where;
        ProfileSpan span;
    };

    template <class Value>
    static od::object object_of(Value&& value, std::string_view what) {
        od::object object;
        if (value.get_object().get(object)) throw Malformed{std::string(what) + " is not an object"};
        return object;
    }
    template <class Value>
    static od::array array_of(Value&& value, std::string_view what) {
        od::array array;
        if (value.get_array().get(array)) throw Malformed{std::string(what) + " is not an array"};
        return array;
    }
    static std::string_view string_of(od::value value, std::string_view what) {
        std::string_view text;
        if (value.get_string().get(text)) throw Malformed{std::string(what) + " is not a string"};
        return text;
    }
    /// Numbers; "inf", "-inf" and "nan" come as strings.
    static double real_of(od::value value, std::string_view what) {
        od::json_type type = value.type();
        if (type == od::json_type::string) {
            const std::string_view text = value.get_string();
            if (text == "inf") return std::numeric_limits<double>::infinity();
            if (text == "-inf") return -std::numeric_limits<double>::infinity();
            if (text == "nan" || text == "-nan") return std::numeric_limits<double>::quiet_NaN();
        }
        double number = 0;
        if (type != od::json_type::number || value.get_double().get(number)) throw Malformed{std::string(what) + " is not a number"};
        return number;
    }
    static std::int64_t integer_of(od::value value, std::string_view what) {
        const double number = real_of(value, what);
        if (!(std::abs(number) < 9.2e18)) throw Malformed{std::string(what) + " is not an integer"};
        return static_cast<std::int64_t>(number);
    }
    static std::uint64_t id_of(std::string_view text, std::string_view what) {
        const auto number = to_number(text);
        if (!number) throw Malformed{"'" + std::string(text.substr(0, 40)) + "' is not an id of " + std::string(what)};
        return *number;
    }
    static std::vector<std::uint64_t> ids_of(od::value value, std::string_view what) {
        std::vector<std::uint64_t> ids;
        for (od::value item : array_of(value, what)) ids.push_back(id_of(string_of(item, what), what));
        return ids;
    }
    static std::vector<std::int64_t> sizes_of(od::value value, std::string_view what) {
        std::vector<std::int64_t> sizes;
        for (od::value item : array_of(value, what)) sizes.push_back(integer_of(item, what));
        return sizes;
    }
    static bool is_null(od::value& value) { return value.is_null().value(); }

    void note(std::string text) { ++notes_[std::move(text)]; }

    void tick(const char* what) {
        if (++ticks_ % 256 != 0) return;
        if (cancel_.cancelled()) throw Stopped{};
        progress_.report(what, ticks_, 0);
    }

    void graph_exec(od::object object) {
        for (auto field : object) {
            const std::string_view key = field.unescaped_key();
            if (key == "operator") operators(object_of(field.value(), "graph_exec.operator"));
            else if (key == "var") vars(object_of(field.value(), "graph_exec.var"));
            else if (key == "mem_chunk") chunks(object_of(field.value(), "graph_exec.mem_chunk"));
            else if (key == "comp_seq") sequence_ = ids_of(field.value(), "graph_exec.comp_seq");
            else note("unknown key graph_exec." + std::string(key));
        }
    }

    void operators(od::object object) {
        for (auto entry : object) {
            tick("reading operators");
            PendingOpr pending;
            pending.opr.number = id_of(entry.unescaped_key(), "graph_exec.operator");
            for (auto field : object_of(entry.value(), "an operator")) {
                const std::string_view key = field.unescaped_key();
                if (key == "name") pending.opr.name = profile_->strings.intern(string_of(field.value(), "an operator's name"));
                else if (key == "type") pending.opr.type = profile_->strings.intern(string_of(field.value(), "an operator's type"));
                else if (key == "input") pending.inputs = ids_of(field.value(), "an operator's inputs");
                else if (key == "output") pending.outputs = ids_of(field.value(), "an operator's outputs");
                else if (key == "extra") extra(field.value(), pending.opr);
                else if (key != "id" && key != "node_type" && key != "waiting_spec") note("unknown key of an operator: " + std::string(key));
            }
            oprs_.push_back(std::move(pending));
        }
    }

    static void extra(od::value value, ProfileOpr& opr) {
        if (is_null(value)) return;
        ProfileOpr::Order order;
        bool ordered = false;
        for (auto field : object_of(value, "an operator's extra")) {
            const std::string_view key = field.unescaped_key();
            if (key == "priority") order.priority = integer_of(field.value(), key);
            else if (key == "input_update_time") order.input_update_time = integer_of(field.value(), key);
            else if (key == "dfs_step_num") order.dfs_step_num = integer_of(field.value(), key);
            else continue;
            ordered = true;
        }
        if (ordered) opr.order = order;
    }

    void vars(od::object object) {
        for (auto entry : object) {
            tick("reading vars");
            ProfileVar var;
            var.number = id_of(entry.unescaped_key(), "graph_exec.var");
            for (auto field : object_of(entry.value(), "a var")) {
                const std::string_view key = field.unescaped_key();
                od::value value = field.value();
                if (key == "name") var.name = profile_->strings.intern(string_of(value, "a var's name"));
                else if (key == "comp_node") var.comp_node = profile_->strings.intern(string_of(value, "a var's comp_node"));
                else if (key == "mem_plan") { if (!is_null(value)) var.mem_plan = mem_plan(object_of(value, "mem_plan")); }
                else if (key == "static_infer_tags") { if (!is_null(value)) infer_tags(object_of(value, "static_infer_tags"), var); }
            }
            if (!var.shape && var.mem_plan) var.shape = var.mem_plan->shape;
            profile_->vars.push_back(std::move(var));
        }
    }

    ProfileMemPlan mem_plan(od::object object) {
        ProfileMemPlan plan;
        for (auto field : object) {
            const std::string_view key = field.unescaped_key();
            if (key == "mem_chunk_id") plan.chunk = profile_->strings.intern(string_of(field.value(), "mem_chunk_id"));
            else if (key == "offset_byte") plan.offset = static_cast<std::uint64_t>(integer_of(field.value(), "offset_byte"));
            else if (key == "layout")
                for (auto part : object_of(field.value(), "layout")) {
                    const std::string_view name = part.unescaped_key();
                    if (name == "shape") plan.shape = sizes_of(part.value(), "layout.shape");
                    else if (name == "dtype") plan.dtype = profile_->strings.intern(string_of(part.value(), "layout.dtype"));
                }
        }
        return plan;
    }

    static ProfileInfer infer_type(std::string_view text) {
        if (text == "NO_DESC") return ProfileInfer::no_desc;
        if (text == "CONST") return ProfileInfer::constant;
        if (text == "RT_STATIC") return ProfileInfer::rt_static;
        if (text == "MISSING_INP") return ProfileInfer::missing_inp;
        return ProfileInfer::unknown;
    }

    static void infer_tags(od::object object, ProfileVar& var) {
        for (auto tag : object) {
            const bool is_shape = std::string_view(tag.unescaped_key()) == "SHAPE";
            od::value tag_value = tag.value();
            if (is_null(tag_value)) continue;
            for (auto field : object_of(tag_value, "static_infer_tags")) {
                const std::string_view key = field.unescaped_key();
                od::value part = field.value();
                if (key == "infer_type") (is_shape ? var.shape_infer : var.value_infer) = infer_type(string_of(part, key));
                else if (key == "inferred_result" && is_shape && !is_null(part)) var.shape = sizes_of(part, key);
            }
        }
    }

    void chunks(od::object object) {
        for (auto entry : object) {
            ProfileMemChunk chunk;
            chunk.id = profile_->strings.intern(entry.unescaped_key());
            std::uint64_t owner = 0;
            for (auto field : object_of(entry.value(), "a mem_chunk")) {
                const std::string_view key = field.unescaped_key();
                if (key == "size") chunk.size = static_cast<std::uint64_t>(integer_of(field.value(), "a chunk's size"));
                else if (key == "dev_ptr") {
                    od::value address = field.value();
                    if (!is_null(address)) chunk.address = static_cast<std::uint64_t>(integer_of(address, "a chunk's address"));
                } else if (key == "owner_var") owner = id_of(string_of(field.value(), "owner_var"), "owner_var");
            }
            profile_->chunks.push_back(chunk);
            chunk_owners_.push_back(owner);
        }
    }

    void profiler(od::object object) {
        for (auto field : object) {
            const std::string_view key = field.unescaped_key();
            if (key == "device") records(object_of(field.value(), "profiler.device"), device_);
            else if (key == "host") records(object_of(field.value(), "profiler.host"), host_);
            else if (key == "opr_footprint") footprints(object_of(field.value(), "profiler.opr_footprint"));
            else if (key != "opr_internal_pf") note("unknown key profiler." + std::string(key));
        }
    }

    void records(od::object object, std::vector<PendingRecord>& out) {
        for (auto entry : object) {
            tick("reading times");
            const std::uint64_t opr = id_of(entry.unescaped_key(), "a time record");
            for (auto place : object_of(entry.value(), "a time record")) {
                PendingRecord record{opr, profile_->strings.intern(place.unescaped_key()), {}};
                for (auto field : object_of(place.value(), "a time record")) {
                    const std::string_view key = field.unescaped_key();
                    if (key == "start") record.span.start = real_of(field.value(), "start");
                    else if (key == "kern") record.span.kern = real_of(field.value(), "kern");
                    else if (key == "end") record.span.end = real_of(field.value(), "end");
                }
                out.push_back(record);
            }
        }
    }

    void footprints(od::object object) {
        for (auto entry : object) {
            tick("reading footprints");
            ProfileFootprint footprint;
            const std::uint64_t opr = id_of(entry.unescaped_key(), "opr_footprint");
            for (auto field : object_of(entry.value(), "a footprint")) {
                const std::string_view key = field.unescaped_key();
                od::value value = field.value();
                if (key == "computation") { if (!is_null(value)) footprint.computation = real_of(value, "computation"); }
                else if (key == "memory") footprint.memory = static_cast<std::uint64_t>(integer_of(value, "memory"));
                else if (key == "in_shapes") shapes(value, footprint.in_shapes);
                else if (key == "out_shapes") shapes(value, footprint.out_shapes);
                else if (key == "in_layouts") shapes(value, footprint.in_strides);
                else if (key == "param") footprint.param = std::string(std::string_view(simdjson::to_json_string(value)));
            }
            footprints_.emplace(opr, std::move(footprint));
        }
    }

    static void shapes(od::value value, std::vector<std::vector<std::int64_t>>& out) {
        for (od::value item : array_of(value, "a footprint's shapes")) {
            if (is_null(item)) out.emplace_back();
            else out.push_back(sizes_of(item, "a footprint's shape"));
        }
    }

    /// Turns ids into positions once everything is read.
    void resolve() {
        GraphProfile& p = *profile_;
        std::vector<std::uint64_t> listed;
        listed.reserve(oprs_.size());
        for (const auto& pending : oprs_) listed.push_back(pending.opr.number);
        std::sort(oprs_.begin(), oprs_.end(), [](const auto& a, const auto& b) { return a.opr.number < b.opr.number; });
        std::sort(p.vars.begin(), p.vars.end(), [](const auto& a, const auto& b) { return a.number < b.number; });

        const auto var_ids = [&](const std::vector<std::uint64_t>& numbers, std::vector<ProfileVarId>& out) {
            for (const std::uint64_t number : numbers) {
                const ProfileVarId id = p.find_var(number);
                if (id.valid()) out.push_back(id);
                else note("an operator names a var that the profile does not list");
            }
        };
        p.oprs.reserve(oprs_.size());
        for (auto& pending : oprs_) {
            var_ids(pending.inputs, pending.opr.inputs);
            var_ids(pending.outputs, pending.opr.outputs);
            const ProfileOprId id(p.oprs.size());
            for (const ProfileVarId out : pending.opr.outputs) p.vars[out.index()].producer = id;
            p.oprs.push_back(std::move(pending.opr));
        }
        for (const std::uint64_t number : listed) p.file_order.push_back(p.find_opr(number));
        for (std::size_t i = 0; i < p.chunks.size(); ++i) p.chunks[i].owner = p.find_var(chunk_owners_[i]);

        const auto opr_id = [&](std::uint64_t number, const char* where) {
            const ProfileOprId id = p.find_opr(number);
            if (!id.valid()) note(std::string(where) + " names an operator that graph_exec does not list");
            return id;
        };
        for (const std::uint64_t number : sequence_)
            if (const auto id = opr_id(number, "comp_seq"); id.valid()) p.sequence.push_back(id);
        const auto take = [&](const std::vector<PendingRecord>& from, std::vector<ProfileRecord>& to, const char* where) {
            for (const auto& record : from)
                if (const auto id = opr_id(record.opr, where); id.valid()) to.push_back({id, record.where, record.span});
        };
        take(device_, p.device, "profiler.device");
        take(host_, p.host, "profiler.host");
        p.footprints.resize(p.oprs.size());
        for (auto& [number, footprint] : footprints_)
            if (const auto id = opr_id(number, "opr_footprint"); id.valid()) p.footprints[id.index()] = std::move(footprint);

        for (const auto& [text, count] : notes_) p.warnings.push_back(text + (count > 1 ? " (" + std::to_string(count) + " times)" : "") + ".");
    }

    const CancelToken& cancel_;
    const Progress& progress_;
    std::uint64_t ticks_ = 0;
    std::shared_ptr<GraphProfile> profile_ = std::make_shared<GraphProfile>();
    std::vector<PendingOpr> oprs_;
    std::vector<std::uint64_t> chunk_owners_;
    std::vector<std::uint64_t> sequence_;
    std::vector<PendingRecord> device_;
    std::vector<PendingRecord> host_;
    std::unordered_map<std::uint64_t, ProfileFootprint> footprints_;
    std::map<std::string, std::size_t> notes_;
};

} // namespace

bool looks_like_graph_profile(std::span<const std::byte> bytes) {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), std::min<std::size_t>(bytes.size(), 512 * 1024));
    const auto first = text.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos || text[first] != '{') return false;
    if (text.find("\"graph_exec\"") != std::string_view::npos) return true;
    return text.find("\"profiler\"") != std::string_view::npos &&
           (text.find("\"opr_footprint\"") != std::string_view::npos || text.find("\"device\"") != std::string_view::npos);
}

Expected<std::shared_ptr<const GraphProfile>> read_graph_profile(std::span<const std::byte> bytes, const CancelToken& cancel,
                                                                 const Progress& progress) {
    const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const auto first = all.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos) return fail(ErrorCode::foreign, "This is an empty file, not a GraphProfiler profile.");
    if (all[first] == '[') return fail(ErrorCode::foreign, "This is a JSON list (of trace events, perhaps), not a GraphProfiler profile.");
    if (all[first] != '{') return fail(ErrorCode::foreign, "This is not a JSON document, so it is no GraphProfiler profile.");
    if (all.substr(first, 4096).find("\"traceEvents\"") != std::string_view::npos)
        return fail(ErrorCode::foreign, "This is a trace of events (Chrome's format), not a GraphProfiler profile.");
    const simdjson::padded_string text(all);
    od::parser parser;
    od::document document;
    if (const auto error = parser.iterate(text).get(document))
        return fail_at(ErrorCode::corrupt, std::string("This JSON document is broken or cut off: ") + without_full_stop(simdjson::error_message(error)) + ".", bytes.size());

    const auto offset = [&]() -> std::optional<std::uint64_t> {
        const char* at = nullptr;
        if (document.current_location().get(at)) return std::nullopt;
        return static_cast<std::uint64_t>(at - text.data());
    };
    const auto broken = [&](const std::string& reason) {
        Error error{ErrorCode::corrupt, "This is not a complete GraphProfiler profile: " + reason + ".", offset(), {}};
        return forward(std::move(error));
    };
    Reader reader(cancel, progress);
    // simdjson's on-demand values convert with exceptions; both kinds end here and leave as values.
    try {
        return std::shared_ptr<const GraphProfile>(reader.read(document));
    } catch (const Malformed& malformed) {
        return broken(malformed.message);
    } catch (const Stopped&) {
        return CancelToken::error();
    } catch (const simdjson::simdjson_error& error) {
        return broken(std::string("the JSON is broken, ") + without_full_stop(error.what()));
    }
}

} // namespace megascope
